"""Passes that consist of a conversion table."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from relex.lowering.conversion.driver import ConversionTable, TypeConverter, convert
from relex.passes.base import RelexPass


class ConversionPass(RelexPass, ABC):
    """Converts the ops that its table has rules for, and leaves all others as they are."""

    table: ClassVar[ConversionTable]
    types: ClassVar[TypeConverter]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert(op, self.table, self.types)
