"""Passes that consist of a conversion table."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from relex.dialects.errors import Diagnostic
from relex.lowering.conversion.driver import Conversion, ConversionTable, Rule, TypeConverter, convert
from relex.passes.base import RelexPass


class ConversionPass(RelexPass, ABC):
    """Converts the ops that its table has rules for, and leaves all others as they are."""

    table: ClassVar[ConversionTable]
    types: ClassVar[TypeConverter]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert(op, self.table, self.types)

    def takes(self, op: Operation) -> bool:
        return self.table.find(op) is not None

    def refusals(self, module: ModuleOp, ops: Iterable[Operation]) -> list[Diagnostic]:
        """Return the errors of the rules on a copy of the module. Ops nested in a refused op are not tried."""
        given = set(ops)
        copy = module.clone()
        chosen = {new for old, new in zip(module.walk(), copy.walk(), strict=True) if old in given}

        def only_chosen(rule: Rule) -> Rule:
            return lambda op, conversion: rule(op, conversion) if op in chosen else None

        rules = {kind: only_chosen(rule) for kind, rule in self.table.items()}
        return Conversion(rules, self.types).walk(copy)
