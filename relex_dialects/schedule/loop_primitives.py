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
    StringAttr,
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

from relex.dialects.schedule.sequence import NamesConstr, NamingOp, PrimitiveOp, names_in


class LoopPrimitiveOp(PrimitiveOp):
    """A primitive on one loop."""

    loop = prop_def(FlatSymbolRefAttrConstr)

    assembly_format = "$loop attr-dict"


class LoopsPrimitiveOp(PrimitiveOp):
    """A primitive on several loops."""

    loops = prop_def(NamesConstr)

    def verify_(self) -> None:
        super().verify_()
        loops = names_in(self.loops)
        if not loops:
            raise VerifyException("expected one loop or more, found none")
        if len(set(loops)) != len(loops):
            raise VerifyException("expected loops that differ")


class MultiplePrimitiveOp(PrimitiveOp):
    """A primitive that brings a number of iterations to a multiple of another number."""

    multiple = prop_def(IntegerAttr.constr(i64))

    def verify_(self) -> None:
        super().verify_()
        if self.multiple.value.data < 1:
            raise VerifyException(f"expected a multiple of 1 or more, found {self.multiple.value.data}")


@irdl_custom_directive
class Factors(CustomDirective):
    """Numbers in brackets, one of which may be left open: `[?, 4, 8]`."""

    factors: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        found = parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, lambda: _parse_factor(parser))
        self.factors.set(state, factors_attr(found))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        factors = factors_in(cast("DenseArrayBase[IntegerType]", self.factors.get(op)))
        printer.print_string(f"[{', '.join('?' if factor is None else str(factor) for factor in factors)}]")


def _parse_factor(parser: Parser) -> int | None:
    return None if parser.parse_optional_punctuation("?") else parser.parse_integer(allow_boolean=False)


def factors_attr(factors: Sequence[int | None]) -> DenseArrayBase[IntegerType]:
    """Return an attribute for factors, None for one that is left open."""
    return DenseArrayBase.from_list(i64, [DYNAMIC_INDEX if factor is None else factor for factor in factors])


def factors_in(attr: DenseArrayBase[IntegerType]) -> list[int | None]:
    """Return the factors in an attribute, None for one that is left open."""
    return [None if factor == DYNAMIC_INDEX else factor for factor in attr.iter_values()]


@irdl_op_definition
class SplitOp(LoopPrimitiveOp, NamingOp):
    """
    Splits a loop into nested ones with the given trip counts. One factor may be left open (`?`): it is as large as
    needed. If the factors do not divide the extent, a guard keeps blocks from running too often.

    ```mlir
    schedule.split @j by [?, 8] into [@j_0, @j_1]
    ```
    """

    name = "schedule.split"

    factors = prop_def(DenseArrayBase.constr(i64))

    custom_directives = (Factors,)
    assembly_format = "$loop `by` custom<Factors>($factors) (`into` $into^)? attr-dict"

    def verify_(self) -> None:
        super().verify_()
        sizes = factors_in(self.factors)
        if not sizes:
            raise VerifyException("expected one factor or more, found none")
        if sizes.count(None) > 1:
            raise VerifyException(f"expected at most one factor that is left open, found {sizes.count(None)}")
        if (smallest := min((size for size in sizes if size is not None), default=1)) < 1:
            raise VerifyException(f"expected factors of 1 or more, found {smallest}")


@irdl_op_definition
class ReorderOp(LoopsPrimitiveOp):
    """
    Reorders perfectly nested loops. Loops between them that are not named stay in place.

    ```mlir
    schedule.reorder [@j_0, @k, @j_1]
    ```
    """

    name = "schedule.reorder"

    assembly_format = "$loops attr-dict"


@irdl_op_definition
class FuseOp(LoopsPrimitiveOp, NamingOp):
    """
    Fuses perfectly nested loops, listed outermost first, into one.

    ```mlir
    schedule.fuse [@i, @j] into [@i_j_fused]
    ```
    """

    name = "schedule.fuse"

    assembly_format = "$loops (`into` $into^)? attr-dict"


@irdl_op_definition
class PadLoopOp(LoopPrimitiveOp, MultiplePrimitiveOp):
    """
    Pads the extent of a loop to a multiple of a number. Blocks do nothing in the additional iterations.

    ```mlir
    schedule.pad @j to 8
    ```
    """

    name = "schedule.pad"

    assembly_format = "$loop `to` $multiple attr-dict"


@irdl_op_definition
class PartitionOp(LoopsPrimitiveOp, MultiplePrimitiveOp, NamingOp):
    """
    Splits the iterations of loops with the same extent, in consecutive nests, into two parts: all nests run for the
    largest multiple of a number, then copies of them for the remaining iterations.

    ```mlir
    schedule.partition [@i, @i1] by 8 into [@Y_rest, @Z_rest, @i_rest, @j_rest, @i1_rest, @j1_rest]
    ```
    """

    name = "schedule.partition"

    assembly_format = "$loops `by` $multiple (`into` $into^)? attr-dict"


@irdl_op_definition
class DispatchOp(LoopsPrimitiveOp, NamingOp):
    """
    Makes a second version of consecutive nests, whose loops have the same extent. At run time, all iterations of these
    loops are in the first version if another loop has at least this number of iterations, and in the second one if it
    has fewer.

    ```mlir
    schedule.dispatch [@j, @j1] on @i from 28 into [@Y_rest, @Z_rest, @i_rest, @j_rest, @i1_rest, @j1_rest]
    ```
    """

    name = "schedule.dispatch"

    loop = prop_def(FlatSymbolRefAttrConstr)
    least = prop_def(IntegerAttr.constr(i64))

    assembly_format = "$loops `on` $loop `from` $least (`into` $into^)? attr-dict"

    def verify_(self) -> None:
        super().verify_()
        if self.least.value.data < 1:
            raise VerifyException(f"expected 1 iteration or more, found {self.least.value.data}")


@irdl_op_definition
class ParallelOp(LoopPrimitiveOp):
    """
    Marks a loop as `parallel`: its iterations may run at the same time.

    ```mlir
    schedule.parallel @j_0
    ```
    """

    name = "schedule.parallel"


@irdl_op_definition
class VectorizeOp(LoopPrimitiveOp):
    """
    Marks a loop as `vectorized`: its iterations may run as vector lanes.

    ```mlir
    schedule.vectorize @j_1
    ```
    """

    name = "schedule.vectorize"


@irdl_op_definition
class UnrollOp(LoopPrimitiveOp):
    """
    Marks a loop as `unrolled`: a copy of its body may replace each iteration.

    ```mlir
    schedule.unroll @k_1
    ```
    """

    name = "schedule.unroll"


@irdl_op_definition
class TensorizeOp(LoopPrimitiveOp):
    """
    Computes a loop, and the loops inside of it, by an instruction that multiplies tiles.

    ```mlir
    schedule.tensorize @k by "tdpbusd"
    ```
    """

    name = "schedule.tensorize"

    by = prop_def(StringAttr)

    assembly_format = "$loop `by` $by attr-dict"


@irdl_op_definition
class SkipPaddingOp(LoopPrimitiveOp):
    """
    Guards the sum in a loop: iterations of the loop in which all products are with the zeros around a padded copy are
    skipped. The other factors are finite.

    ```mlir
    schedule.skip_padding @k
    ```
    """

    name = "schedule.skip_padding"


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
