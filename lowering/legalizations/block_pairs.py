"""Weights in blocks that become pairs of numbers of bf16."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import IntegerType, Signedness, bf16, i32

from relex.dialects.relex import UnpackPairsOp, UnpackScalesOp
from relex.dialects.relex.block_layouts import Bytes
from relex.dialects.relex.block_pairs import PANEL
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


@legalizes(UnpackPairsOp)
def unpack_pairs(op: UnpackPairsOp, factors: te.Tensor, digits: te.Tensor) -> te.Tensor:
    """Legalize to words of two numbers, rounded."""
    layout, f = layout_of(op.properties), ScalarFunctions()
    pairs = (*layout.numbers[:-1], layout.numbers[-1] // 2)

    def element(word: te.Axis, column: te.Axis) -> te.PrimExpr:
        panel, place = column // PANEL, column % PANEL
        group = word // prod(pairs)
        block, *places = _places(word, (*layout.groups, *pairs))
        byte = _bytes_of(digits, panel, block, layout.digit_bytes, place)

        def number(n: int) -> te.PrimExpr:
            digit = layout.digit(f, byte, *places[:-1], 2 * places[-1] + n)
            whole = digit * factors[0, panel, group, place]
            if layout.minimum is not None:
                whole = whole + factors[1, panel, group, place]
            return te.cast(te.bitcast(te.cast(whole, bf16), UI16), i32)

        return f.bitwise_or(number(0), f.left_shift(number(1), 16))

    return te.compute(result_shape(op, factors, digits), element, name="unpacked")


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
