"""Blocks of the loop dialect, and the initialization of reductions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DenseArrayBase, IndexType, StringAttr, i64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Block, BlockArgument, Operation, Region, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import HasParent, NoTerminator, RecursivelySpeculatable, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from relex.dialects.index.domains import Counting
from relex.dialects.tir.loops import ForOp, parse_size, print_size, resolve_size, verify_name
from relex.dialects.upstream.attributes import INDEX
from relex.dialects.walks import ancestors


class IterKind(StrEnum):
    """The kind of a block variable: spatial ones select the element that is written, reduce ones are reduced over."""

    SPATIAL = "spatial"
    REDUCE = "reduce"


@irdl_attr_definition
class IterKindAttr(EnumAttribute[IterKind], SpacedOpaqueSyntaxAttribute):
    """The kind of a block variable."""

    name = "tir.iter_kind"


_KINDS = {kind: IterKindAttr(kind) for kind in IterKind}


@dataclass(frozen=True)
class IterVar:
    """A block variable with its kind, its extent, and the value it is bound to."""

    variable: BlockArgument
    kind: IterKind
    extent: int | SSAValue
    binding: SSAValue


@irdl_op_definition
class BlockOp(Counting, IRDLOperation):
    """
    One step of a computation, separate from the loops that drive it: its body is written in terms of its own variables,
    which are bound to expressions of the surrounding loop variables. Spatial variables take part in the indices of the
    element that is written, reduce variables do not. Loops can thus be split, reordered or fused by changing the
    bindings alone.

    ```mlir
    tir.for %i, %k in (8, 16) {
      tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<16> = %k) {
        tir.init {
          memref.store %zero, %Y[%vi] : memref<8xf32>
        }
        %x = memref.load %X[%vi, %vk] : memref<8x16xf32>
        %y = memref.load %Y[%vi] : memref<8xf32>
        %s = arith.addf %y, %x : f32
        memref.store %s, %Y[%vi] : memref<8xf32>
      }
    }
    ```
    """

    name = "tir.block"

    bindings = var_operand_def(IndexType)
    dynamic_extents = var_operand_def(IndexType)
    block_name = prop_def(StringAttr)
    kinds = prop_def(ArrayAttr[IterKindAttr])
    static_extents = prop_def(DenseArrayBase.constr(i64))
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RecursiveMemoryEffect(), RecursivelySpeculatable(), NoTerminator())

    def __init__(
        self,
        name: str,
        kinds: Sequence[IterKind],
        extents: Sequence[int | SSAValue],
        bindings: Sequence[SSAValue | Operation],
        body: Region | None = None,
    ):
        static = [extent if isinstance(extent, int) else DYNAMIC_INDEX for extent in extents]
        super().__init__(
            operands=[bindings, [extent for extent in extents if isinstance(extent, SSAValue)]],
            properties={
                "block_name": StringAttr(name),
                "kinds": ArrayAttr(map(_KINDS.__getitem__, kinds)),
                "static_extents": DenseArrayBase.from_list(i64, static),
            },
            regions=[body or Region(Block(arg_types=[INDEX] * len(kinds)))],
        )

    @property
    def extents(self) -> tuple[int | SSAValue, ...]:
        """The extents of the variables, numbers or values."""
        sizes = self.static_extents.get_values()
        if DYNAMIC_INDEX not in sizes:
            return sizes
        dynamic = iter(self.operands[len(sizes) :])
        return tuple(next(dynamic) if size == DYNAMIC_INDEX else size for size in sizes)

    @property
    def iter_vars(self) -> tuple[IterVar, ...]:
        """The variables, with their kinds, extents and bindings."""
        kinds = [attr.data for attr in self.kinds.data]
        columns = zip(self.body.block.args, kinds, self.extents, self.operands[: len(kinds)], strict=True)
        return tuple(IterVar(*column) for column in columns)

    def binding_of(self, variable: BlockArgument) -> SSAValue:
        """Return what a variable is bound to. Bindings come first; to ask for all of them takes ten times as long."""
        return self.operands[variable.index]

    def extent_of(self, variable: BlockArgument) -> int | SSAValue:
        """Return the extent of a variable: the number of its values."""
        size = self.static_extents.get_values()[variable.index]
        return self.extents[variable.index] if size == DYNAMIC_INDEX else size

    def kind_of(self, variable: BlockArgument) -> IterKind:
        """Return the kind of a variable."""
        return self.kinds.data[variable.index].data

    @property
    def init(self) -> InitOp | None:
        """The initialization of a reduction, if the block has one."""
        first = self.body.block.first_op
        return first if isinstance(first, InitOp) else None

    def verify_(self) -> None:
        from relex.dialects.tir.verification import verify_block

        verify_name(self.block_name, "a block name")
        count = len(self.kinds)
        sizes = list(self.static_extents.iter_values())
        found = (len(self.bindings), len(sizes), len(self.body.block.args))
        if found != (count,) * 3:
            raise VerifyException(
                f"expected {count} bindings, extents and variables, as there are kinds, "
                f"found {found[0]}, {found[1]} and {found[2]}"
            )
        if (dynamic := sizes.count(DYNAMIC_INDEX)) != len(self.dynamic_extents):
            raise VerifyException(f"expected {dynamic} values for dynamic extents, found {len(self.dynamic_extents)}")
        if (smallest := min((size for size in sizes if size != DYNAMIC_INDEX), default=0)) < 0:
            raise VerifyException(f"expected extents of 0 or more, found {smallest}")
        if any(arg.type != IndexType() for arg in self.body.block.args):
            raise VerifyException("expected variables of type index")
        verify_block(self)

    @classmethod
    def parse(cls, parser: Parser) -> BlockOp:
        name = parser.parse_symbol_name().data
        heads = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, lambda: _parse_iter_var(parser))
        variables = [variable.resolve(IndexType()) for variable, _, _, _ in heads]
        op = cls(
            name,
            [kind for _, kind, _, _ in heads],
            [resolve_size(parser, extent) for _, _, extent, _ in heads],
            [parser.resolve_operand(binding, IndexType()) for _, _, _, binding in heads],
            parser.parse_region(variables),
        )
        op.attributes.update(parser.parse_optional_attr_dict())
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.block_name.data)
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.iter_vars, lambda v: _print_iter_var(printer, v))
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)
        printer.print_op_attributes(self.attributes)


def _parse_iter_var(
    parser: Parser,
) -> tuple[Parser.UnresolvedArgument, IterKind, int | UnresolvedOperand, UnresolvedOperand]:
    variable = parser.parse_argument(expect_type=False)
    parser.parse_punctuation(":")
    kind = parser.parse_str_enum(IterKind)
    parser.parse_punctuation("<")
    extent = parse_size(parser)
    parser.parse_punctuation(">")
    parser.parse_punctuation("=")
    return variable, kind, extent, parser.parse_unresolved_operand()


def _print_iter_var(printer: Printer, v: IterVar) -> None:
    printer.print_ssa_value(v.variable)
    printer.print_string(f": {v.kind}<")
    print_size(printer, v.extent)
    printer.print_string("> = ")
    printer.print_ssa_value(v.binding)


@irdl_op_definition
class InitOp(IRDLOperation):
    """
    The initialization of a reduction: it runs once for each value of the block's spatial variables, before the first
    step, even if there are no steps. It is the first op of its block.

    ```mlir
    tir.init {
      memref.store %zero, %Y[%vi] : memref<8xf32>
    }
    ```
    """

    name = "tir.init"

    body = region_def("single_block")

    traits = traits_def(HasParent(BlockOp), RecursiveMemoryEffect(), NoTerminator())

    def __init__(self, body: Region | None = None):
        super().__init__(regions=[body or Region(Block())])

    def verify_(self) -> None:
        block = self.parent_op()
        if self.body.block.args:
            raise VerifyException("expected no variables; the block's variables count")
        if not isinstance(block, BlockOp) or block.init is not self:
            raise VerifyException("expected to be the first op of its block")
        if IterKindAttr(IterKind.REDUCE) not in block.kinds:
            raise VerifyException("expected a block with a reduce variable, found spatial ones only")

    @classmethod
    def parse(cls, parser: Parser) -> InitOp:
        op = cls(parser.parse_region(()))
        op.attributes.update(parser.parse_optional_attr_dict())
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)
        printer.print_op_attributes(self.attributes)


def loops_around(op: Operation) -> Iterator[ForOp]:
    """Return the loops around `op`, innermost first, up to the enclosing block or function."""
    # Classes are compared, as in `is_access`.
    inside = takewhile(lambda scope: type(scope) is not BlockOp, ancestors(op))
    return (scope for scope in inside if type(scope) is ForOp)
