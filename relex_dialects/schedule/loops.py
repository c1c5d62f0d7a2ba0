"""Primitives that transform loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    IntegerType,
    SymbolRefAttr,
    i64,
)
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from relex.dialects.schedule.sequence import NamesConstr, NamingOp, PrimitiveOp, names_in, symbols


@irdl_custom_directive
class Factors(CustomDirective):
    """Numbers in brackets, one of which may be left open: `[?, 4, 8]`."""

    factors: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        found = parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, lambda: _parse_factor(parser))
        self.factors.set(state, DenseArrayBase.from_list(i64, found))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        factors = cast("DenseArrayBase[IntegerType]", self.factors.get(op))
        shown = ("?" if factor == DYNAMIC_INDEX else str(factor) for factor in factors.iter_values())
        printer.print_string(f"[{', '.join(shown)}]")


def _parse_factor(parser: Parser) -> int:
    if parser.parse_optional_punctuation("?"):
        return DYNAMIC_INDEX
    return parser.parse_integer(allow_boolean=False)


@irdl_op_definition
class SplitOp(NamingOp):
    """
    Splits a loop into nested ones with the given trip counts. One factor may be left open (`?`): it is as large as
    needed. If the factors do not divide the extent, a guard keeps blocks from running too often.

    ```mlir
    schedule.split @j by [?, 8] into [@j_0, @j_1]
    ```
    """

    name = "schedule.split"

    loop = prop_def(FlatSymbolRefAttrConstr)
    factors = prop_def(DenseArrayBase.constr(i64))

    custom_directives = (Factors,)
    assembly_format = "$loop `by` custom<Factors>($factors) (`into` $into^)? attr-dict"

    def __init__(self, loop: str, factors: Sequence[int | None]):
        sizes = [DYNAMIC_INDEX if factor is None else factor for factor in factors]
        super().__init__(properties={"loop": SymbolRefAttr(loop), "factors": DenseArrayBase.from_list(i64, sizes)})

    @property
    def sizes(self) -> list[int | None]:
        """The factors, with None for the one that is left open."""
        return [None if factor == DYNAMIC_INDEX else factor for factor in self.factors.iter_values()]

    def verify_(self) -> None:
        super().verify_()
        sizes = self.sizes
        if not sizes:
            raise VerifyException("expected one factor or more, found none")
        if sizes.count(None) > 1:
            raise VerifyException(f"expected at most one factor that is left open, found {sizes.count(None)}")
        if (smallest := min((size for size in sizes if size is not None), default=1)) < 1:
            raise VerifyException(f"expected factors of 1 or more, found {smallest}")


@irdl_op_definition
class ReorderOp(PrimitiveOp):
    """
    Reorders perfectly nested loops. Loops between them that are not named stay in place.

    ```mlir
    schedule.reorder [@j_0, @k, @j_1]
    ```
    """

    name = "schedule.reorder"

    loops = prop_def(NamesConstr)

    assembly_format = "$loops attr-dict"

    def __init__(self, loops: Sequence[str]):
        super().__init__(properties={"loops": symbols(loops)})

    def verify_(self) -> None:
        super().verify_()
        _verify_loops(names_in(self.loops))


@irdl_op_definition
class FuseOp(NamingOp):
    """
    Fuses perfectly nested loops, listed outermost first, into one.

    ```mlir
    schedule.fuse [@i, @j] into [@i_j_fused]
    ```
    """

    name = "schedule.fuse"

    loops = prop_def(NamesConstr)

    assembly_format = "$loops (`into` $into^)? attr-dict"

    def __init__(self, loops: Sequence[str]):
        super().__init__(properties={"loops": symbols(loops)})

    def verify_(self) -> None:
        super().verify_()
        _verify_loops(names_in(self.loops))


def _verify_loops(loops: Sequence[str]) -> None:
    if not loops:
        raise VerifyException("expected one loop or more, found none")
    if len(set(loops)) != len(loops):
        raise VerifyException("expected loops that differ")


@irdl_op_definition
class PadOp(PrimitiveOp):
    """
    Pads the extent of a loop to a multiple of a number. Blocks do nothing in the additional iterations.

    ```mlir
    schedule.pad @j to 8
    ```
    """

    name = "schedule.pad"

    loop = prop_def(FlatSymbolRefAttrConstr)
    multiple = prop_def(IntegerAttr.constr(i64))

    assembly_format = "$loop `to` $multiple attr-dict"

    def __init__(self, loop: str, multiple: int):
        super().__init__(properties={"loop": SymbolRefAttr(loop), "multiple": IntegerAttr(multiple, i64)})

    def verify_(self) -> None:
        super().verify_()
        if self.multiple.value.data < 1:
            raise VerifyException(f"expected a multiple of 1 or more, found {self.multiple.value.data}")


@irdl_op_definition
class PartitionOp(NamingOp):
    """
    Splits the iterations of loops with the same extent, in consecutive nests, into two parts: all nests run for the
    largest multiple of a number, then copies of them for the remaining iterations.

    ```mlir
    schedule.partition [@i, @i1] by 8 into [@Y_rest, @Z_rest, @i_rest, @j_rest, @i1_rest, @j1_rest]
    ```
    """

    name = "schedule.partition"

    loops = prop_def(NamesConstr)
    multiple = prop_def(IntegerAttr.constr(i64))

    assembly_format = "$loops `by` $multiple (`into` $into^)? attr-dict"

    def __init__(self, loops: Sequence[str], multiple: int):
        super().__init__(properties={"loops": symbols(loops), "multiple": IntegerAttr(multiple, i64)})

    def verify_(self) -> None:
        super().verify_()
        _verify_loops(names_in(self.loops))
        if self.multiple.value.data < 1:
            raise VerifyException(f"expected a multiple of 1 or more, found {self.multiple.value.data}")


class LoopKindOp(PrimitiveOp):
    """A primitive that sets the way in which the iterations of a loop may be executed."""

    loop = prop_def(FlatSymbolRefAttrConstr)

    assembly_format = "$loop attr-dict"

    def __init__(self, loop: str):
        super().__init__(properties={"loop": SymbolRefAttr(loop)})


@irdl_op_definition
class ParallelOp(LoopKindOp):
    """
    Marks a loop as `parallel`: its iterations may run at the same time.

    ```mlir
    schedule.parallel @j_0
    ```
    """

    name = "schedule.parallel"


@irdl_op_definition
class VectorizeOp(LoopKindOp):
    """
    Marks a loop as `vectorized`: its iterations may run as vector lanes.

    ```mlir
    schedule.vectorize @j_1
    ```
    """

    name = "schedule.vectorize"


@irdl_op_definition
class UnrollOp(LoopKindOp):
    """
    Marks a loop as `unrolled`: a copy of its body may replace each iteration.

    ```mlir
    schedule.unroll @k_1
    ```
    """

    name = "schedule.unroll"


@irdl_op_definition
class LabelLoopsOp(NamingOp):
    """
    Labels each loop that has no label, in program order: `@loop0`, `@loop1`, ...

    ```mlir
    schedule.label_loops into [@loop0, @loop1]
    ```
    """

    name = "schedule.label_loops"

    assembly_format = "(`into` $into^)? attr-dict"

    def __init__(self) -> None:
        super().__init__()
