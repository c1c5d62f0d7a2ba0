"""Sequences of primitives, and base classes of primitives."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ArrayAttr, FlatSymbolRefAttrConstr, SymbolRefAttr, UnitAttr
from xdsl.ir import Block, Operation, Region
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def, prop_def, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, MemoryWriteEffect, NoTerminator
from xdsl.utils.exceptions import VerifyException

from relex.dialects.relex.calls import PRIMITIVE_ATTR
from relex.dialects.symbols import VerifiesCallee, lookup, resolve
from relex.dialects.tir import PrimFuncOp

NamesConstr = ArrayAttr.constr(FlatSymbolRefAttrConstr)


def symbols(names: Iterable[str]) -> ArrayAttr[SymbolRefAttr]:
    """Return symbol references to names."""
    return ArrayAttr(map(SymbolRefAttr, names))


def names_in(attr: ArrayAttr[SymbolRefAttr] | None) -> list[str]:
    """Return the names in symbol references; none without an attribute."""
    return [symbol.root_reference.data for symbol in attr] if attr is not None else []


@irdl_op_definition
class SequenceOp(IRDLOperation):
    """
    The primitives to apply to a loop function, in order. The function may be one that passes make of operators: it is
    named as it is when the primitives are applied. In the default compilation, a `final` sequence takes the place of
    the default schedule: it is for the loops that passes before it leave, also of functions that exist.

    ```mlir
    schedule.sequence for @relu {
      schedule.split @j by [?, 8]
      schedule.vectorize @j_1
    }
    schedule.sequence final for @fused_dense_relu {
      schedule.parallel @i0
    }
    ```
    """

    name = "schedule.sequence"

    function = prop_def(FlatSymbolRefAttrConstr)
    final = opt_prop_def(UnitAttr)
    body = region_def("single_block")

    traits = traits_def(MemoryWriteEffect(), NoTerminator(), VerifiesCallee())

    def __init__(self, function: str, body: Sequence[Operation] | Region = (), *, final: bool = False):
        region = body if isinstance(body, Region) else Region(Block(body))
        super().__init__(
            properties={"function": SymbolRefAttr(function), "final": UnitAttr() if final else None}, regions=[region]
        )

    def verify_callee(self) -> None:
        """Check that the sequence is for a loop function, which passes may make later, also of a group of operators."""
        callee = lookup(self, self.function)
        if callee is not None and PRIMITIVE_ATTR not in callee.attributes:
            resolve(self, self.function, PrimFuncOp)

    def verify_(self) -> None:
        if self.body.block.args:
            raise VerifyException("expected no variables")
        for op in self.body.block.ops:
            if not isinstance(op, PrimitiveOp):
                raise VerifyException(f"expected primitives of schedules, found '{op.name}'")

    @classmethod
    def parse(cls, parser: Parser) -> SequenceOp:
        final = parser.parse_optional_keyword("final") is not None
        parser.parse_keyword("for")
        name = parser.parse_symbol_name().data
        attributes = parser.parse_optional_attr_dict_with_keyword(("function", "final"))
        op = cls(name, parser.parse_region(()), final=final)
        if attributes is not None:
            op.attributes |= attributes.data
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" final for " if self.final is not None else " for ")
        printer.print_attribute(self.function)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)


class PrimitiveOp(IRDLOperation, ABC):
    """One step of a schedule."""

    traits = traits_def(HasParent(SequenceOp), MemoryWriteEffect())


class NamingOp(PrimitiveOp, ABC):
    """
    A primitive that creates blocks or loops. `into` names them, blocks first, then loops, outermost first. Without it,
    names are derived, and recorded when the primitive is applied.
    """

    into = opt_prop_def(NamesConstr)

    @property
    def new_names(self) -> list[str]:
        """The names of the new blocks and loops."""
        return names_in(self.into)

    @new_names.setter
    def new_names(self, names: Sequence[str]) -> None:
        self.into = symbols(names) if names else None

    def verify_(self) -> None:
        if len(set(self.new_names)) != len(self.new_names):
            raise VerifyException("expected new names that differ")
