"""Loops of the loop dialect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import UNKNOWN_LOC, IndexType, IntegerAttr, LocationAttr, StringAttr, i64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Block, BlockArgument, Region, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, RecursivelySpeculatable, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from relex.dialects.element_types import MAX_SIZE
from relex.dialects.index.domains import Counting
from relex.dialects.upstream.attributes import INDEX, integer_attr
from relex.dialects.upstream.parser import RelexParser


class LoopKind(StrEnum):
    """The way in which the iterations of a loop may be executed."""

    SERIAL = "serial"
    PARALLEL = "parallel"
    VECTORIZED = "vectorized"
    UNROLLED = "unrolled"


@irdl_attr_definition
class LoopKindAttr(EnumAttribute[LoopKind], SpacedOpaqueSyntaxAttribute):
    """The kind of a loop."""

    name = "tir.loop_kind"


_KINDS = {kind: LoopKindAttr(kind) for kind in LoopKind}


@irdl_op_definition
class ForOp(Counting, IRDLOperation):
    """
    A loop from 0 to an extent, which is a number or an `index` value. `parallel`, `vectorized` and `unrolled` allow its
    iterations to be executed that way. A label (`@i`) is a name for schedules. Perfectly nested loops print as one:

    ```mlir
    tir.for %i @i, parallel %j @j in (8, %n) {
      tir.for %k in (4) {
      }
      tir.for %l in (2) {
      }
    }
    ```
    """

    name = "tir.for"

    dynamic_extent = opt_operand_def(IndexType)
    static_extent = opt_prop_def(IntegerAttr.constr(i64))
    kind = prop_def(LoopKindAttr, default_value=LoopKindAttr(LoopKind.SERIAL))
    label = opt_prop_def(StringAttr)
    body = region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect(), RecursivelySpeculatable(), NoTerminator())

    def __init__(
        self,
        extent: int | SSAValue,
        body: Region | None = None,
        *,
        kind: LoopKind = LoopKind.SERIAL,
        label: str | None = None,
    ):
        super().__init__(
            operands=[extent if isinstance(extent, SSAValue) else None],
            properties={
                "static_extent": integer_attr(extent, i64) if isinstance(extent, int) else None,
                "kind": _KINDS[kind],
                "label": StringAttr(label) if label else None,
            },
            regions=[body or Region(Block(arg_types=[INDEX]))],
        )

    def extent_of(self, variable: BlockArgument) -> int | SSAValue:
        """Return the extent of the loop."""
        return self.extent

    @property
    def extent(self) -> int | SSAValue:
        """The trip count, a number or a value."""
        # Asked often: accessors of xDSL take longer.
        static = self.properties.get("static_extent")
        if type(static) is IntegerAttr:
            return static.value.data
        if not (operands := self.operands):
            raise VerifyException("expected an extent, a number or a value, found none")
        return operands[0]

    @property
    def variable(self) -> BlockArgument:
        """The loop variable."""
        # Asked often, as the extent is.
        body = self.regions[0].first_block
        assert body is not None
        return body.args[0]

    @property
    def nest(self) -> list[ForOp]:
        """The perfect nest that prints in one head: this loop and each inner one that is the only op in its parent."""
        loops: list[ForOp] = [self]
        while isinstance(inner := loops[-1].body.block.first_op, ForOp) and inner is loops[-1].body.block.last_op:
            if inner.attributes or any(inner.dynamic_extent is loop.variable for loop in loops):
                break  # The attributes of a head belong to the outermost loop, and its extents come from outside.
            loops.append(inner)
        return loops

    def verify_(self) -> None:
        if [arg.type for arg in self.body.block.args] != [IndexType()]:
            raise VerifyException("expected one variable of type index")
        if (self.static_extent is None) == (self.dynamic_extent is None):
            raise VerifyException("expected one extent, either a number or a value")
        if isinstance(self.extent, int) and self.extent < 0:
            raise VerifyException(f"expected an extent of 0 or more, found {self.extent}")
        verify_name(self.label, "a label")

    @classmethod
    def parse(cls, parser: Parser) -> ForOp:
        heads = parser.parse_comma_separated_list(Parser.Delimiter.NONE, lambda: _Head.parse(parser))
        parser.parse_keyword("in")
        position = parser.pos
        extents = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, lambda: parse_size(parser))
        if len(extents) != len(heads):
            parser.raise_error(f"expected {len(heads)} extents, one for each variable, found {len(extents)}", position)
        # While the body is parsed, one region holds the variables of the whole head; it is split into a nest
        # afterwards.
        body = parser.parse_region([head.variable.resolve(IndexType()) for head in heads])
        attributes = parser.parse_optional_attr_dict()
        loop = cls._nest(heads, [resolve_size(parser, extent) for extent in extents], body)
        loop.attributes.update(attributes)
        return loop

    @classmethod
    def _nest(cls, heads: Sequence[_Head], extents: Sequence[int | SSAValue], body: Region) -> ForOp:
        block = body.block
        for head, extent in reversed(list(zip(heads, extents, strict=True))[1:]):
            inner = Block(arg_types=[IndexType()])
            variable = block.args[-1]
            inner.args[0].name_hint = variable.name_hint
            variable.replace_all_uses_with(inner.args[0])
            block.erase_arg(variable)
            for op in list(block.ops):
                op.detach()
                inner.add_op(op)
            nested = head.loop(extent, Region(inner))
            nested.location = head.location
            block.add_op(nested)
        return heads[0].loop(extents[0], body)

    def print(self, printer: Printer) -> None:
        loops = self.nest
        printer.print_string(" ")
        printer.print_list(loops, lambda loop: loop._print_head(printer))
        printer.print_string(" in ")
        with printer.in_parens():
            printer.print_list(loops, lambda loop: print_size(printer, loop.extent))
        printer.print_string(" ")
        printer.print_region(loops[-1].body, print_entry_block_args=False, print_empty_block=False)
        printer.print_op_attributes(self.attributes)

    def _print_head(self, printer: Printer) -> None:
        if self.kind.data != LoopKind.SERIAL:
            printer.print_string(f"{self.kind.data} ")
        printer.print_ssa_value(self.variable)
        if self.label is not None:
            printer.print_string(" ")
            printer.print_symbol_name(self.label.data)


@dataclass(frozen=True)
class _Head:
    """The part of a loop before `in`: `parallel %i @i`."""

    location: LocationAttr
    variable: Parser.UnresolvedArgument
    kind: LoopKind
    label: str | None

    @classmethod
    def parse(cls, parser: Parser) -> _Head:
        location = parser.location if isinstance(parser, RelexParser) else UNKNOWN_LOC
        kind = parser.parse_optional_keyword_in([*LoopKind])
        variable = parser.expect(
            lambda: parser.parse_optional_argument(expect_type=False),
            f"expected a variable, or a kind of loop: {', '.join(LoopKind)}",
        )
        label = parser.parse_optional_symbol_name()
        return cls(location, variable, LoopKind(kind) if kind else LoopKind.SERIAL, label.data if label else None)

    def loop(self, extent: int | SSAValue, body: Region) -> ForOp:
        return ForOp(extent, body, kind=self.kind, label=self.label)


def parse_size(parser: Parser) -> int | UnresolvedOperand:
    """Parse a number or an `index` value."""
    operand = parser.parse_optional_unresolved_operand()
    if operand is not None:
        return operand
    position = parser.pos
    size = parser.parse_integer(allow_boolean=False, allow_negative=False)
    if size > MAX_SIZE:
        parser.raise_error(f"expected an extent of at most {MAX_SIZE}, found {size}", position)
    return size


def resolve_size(parser: Parser, size: int | UnresolvedOperand) -> int | SSAValue:
    """Resolve a parsed size to a number or an `index` value."""
    return size if isinstance(size, int) else parser.resolve_operand(size, IndexType())


def print_size(printer: Printer, size: int | SSAValue) -> None:
    """Print a number or an `index` value."""
    printer.print_int(size) if isinstance(size, int) else printer.print_ssa_value(size)


def verify_name(name: StringAttr | None, what: str) -> None:
    """Raise `VerifyException` if a name is empty."""
    if name is not None and not name.data:
        raise VerifyException(f"expected {what} of one letter or more, found an empty string")
