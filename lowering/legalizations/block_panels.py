"""Weights in blocks, in panels of columns, that become numbers of f32, or pairs of numbers of bf16."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import IntegerType, Signedness, bf16, i32

from relex.dialects.relex import UnpackNumbersOp, UnpackPairsOp, UnpackScalesOp
from relex.dialects.relex.block_layouts import Bytes
from relex.dialects.relex.block_panels import PANEL, Unpacking
from relex.dialects.relex.block_quantized import layout_of
from relex.lowering import te
from relex.lowering.legalizations.elementwise import ScalarFunctions
from relex.lowering.legalizations.legalization_table import legalizes, result_shape

UI16 = IntegerType(16, Signedness.UNSIGNED)


@legalizes(UnpackScalesOp)
def unpack_scales(op: UnpackScalesOp, scales: te.Tensor) -> te.Tensor:
    """Legalize to the formulas of the scale and the minimum of each group."""
    layout, f = layout_of(op.properties), ScalarFunctions()

    def element(number: te.Axis, panel: te.Axis, group: te.Axis, column: te.Axis) -> te.PrimExpr:
        block, *groups = _places(group, layout.groups)
        byte = _bytes_of(scales, panel, block, layout.scale_bytes, column)
        scale = layout.scale(f, byte, *groups)
        if layout.minimum is None:
            return scale
        return te.if_then_else(number < 1, scale, layout.minimum(f, byte, *groups))

    return te.compute(result_shape(op, scales), element, name="factors")


@legalizes(UnpackNumbersOp)
def unpack_numbers(op: UnpackNumbersOp, factors: te.Tensor, digits: te.Tensor) -> te.Tensor:
    """Legalize to digits times scales, plus minima."""
    sizes = layout_of(op.properties).numbers

    def element(term: te.Axis, column: te.Axis) -> te.PrimExpr:
        return _number(op, factors, digits, term // prod(sizes), _places(term, sizes)[1:], column)

    return te.compute(result_shape(op, factors, digits), element, name="unpacked")


@legalizes(UnpackPairsOp)
def unpack_pairs(op: UnpackPairsOp, factors: te.Tensor, digits: te.Tensor) -> te.Tensor:
    """Legalize to words of two numbers, rounded."""
    *others, last = layout_of(op.properties).numbers
    sizes, f = (*others, last // 2), ScalarFunctions()

    def element(word: te.Axis, column: te.Axis) -> te.PrimExpr:
        *outer, place = _places(word, sizes)[1:]

        def number(n: int) -> te.PrimExpr:
            whole = _number(op, factors, digits, word // prod(sizes), [*outer, 2 * place + n], column)
            return te.cast(te.bitcast(te.cast(whole, bf16), UI16), i32)

        return f.bitwise_or(number(0), f.left_shift(number(1), 16))

    return te.compute(result_shape(op, factors, digits), element, name="unpacked")


def _number(
    op: Unpacking,
    factors: te.Tensor,
    digits: te.Tensor,
    group: te.PrimExpr,
    places: Sequence[te.PrimExpr],
    column: te.PrimExpr,
) -> te.PrimExpr:
    """Return the number at a place in a group of a column."""
    layout, panel, place = layout_of(op.properties), column // PANEL, column % PANEL
    block, *groups = _places(group, layout.groups)
    byte = _bytes_of(digits, panel, block, layout.digit_bytes, place)
    whole = layout.digit(ScalarFunctions(), byte, *groups, *places) * factors[0, panel, group, place]
    return whole if layout.minimum is None else whole + factors[1, panel, group, place]


def _bytes_of(part: te.Tensor, panel: te.PrimExpr, block: te.PrimExpr, count: int, place: te.PrimExpr) -> Bytes:
    """Return the bytes of a part of a block of a column, at a place in a panel."""
    return lambda byte: te.cast(part[panel, block * count + byte, place], i32)


def _places(place: te.PrimExpr, sizes: Sequence[int]) -> list[te.PrimExpr]:
    """Return the indices, in row-major order, of a place: the first one may be any, others are below some sizes."""
    found: list[te.PrimExpr] = []
    for size in reversed(sizes):
        found.insert(0, place % size)
        place = place // size
    return [place, *found]
