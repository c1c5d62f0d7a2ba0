"""Numbers in blocks of a few bits, and products with them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32, i32

from relex.dialects.relex import DenseBlockRowsOp, DenseBlocksOp, DequantizeBlocksOp
from relex.dialects.relex.block_layouts import Bytes
from relex.dialects.relex.block_quantized import layout_of
from relex.lowering import te
from relex.lowering.legalizations.elementwise import ScalarFunctions
from relex.lowering.legalizations.legalization_table import legalizes, result_shape


def bytes_of(part: te.Tensor, row: Sequence[te.PrimExpr], block: te.PrimExpr, count: int, first: int = 0) -> Bytes:
    """Return the bytes of a part of a block, whose blocks have `count` bytes."""
    return lambda place: te.cast(part[*row, block * count + place + first], i32)


@legalizes(DequantizeBlocksOp)
def dequantize_blocks(op: DequantizeBlocksOp, x: te.Tensor) -> te.Tensor:
    """Legalize to a loop over the blocks; loops inside follow the bytes."""
    layout, shape, f = layout_of(op.properties), result_shape(op, x), ScalarFunctions()

    def emit(code: te.Code, out: te.Tensor) -> None:
        with code.block("dequantize", *shape[:-1], x.shape[-1] // layout.bytes) as (*row, block):
            scales = bytes_of(x, row, block, layout.bytes, layout.first_scale)
            digits = bytes_of(x, row, block, layout.bytes, layout.first_digit)
            with code.loops(*layout.groups) as groups:
                scale = code.let(layout.scale(f, scales, *groups))
                minimum = code.let(layout.minimum(f, scales, *groups)) if layout.minimum else None
                with code.loops(*layout.numbers) as numbers:
                    product = layout.digit(f, digits, *groups, *numbers) * scale
                    place = place_of([block, *groups, *numbers])
                    code.store(out, (*row, place), product if minimum is None else product + minimum)

    return te.procedure(shape, f32, [x], emit, "dequantize_blocks")


@legalizes(DenseBlocksOp)
def dense_blocks(op: DenseBlocksOp, x: te.Tensor, scales: te.Tensor, digits: te.Tensor) -> te.Tensor:
    """Legalize to a sum of products with digits for each group, and the sum of these times the scales. Minima multiply
    sums of `x`."""
    layout, f = layout_of(op.properties), ScalarFunctions()
    *rows, _ = x.shape
    rank, columns, blocks = len(rows), digits.shape[0], digits.shape[1] // layout.digit_bytes

    numbers = [te.reduce_axis(size, f"t{d}") for d, size in enumerate(layout.numbers)]

    def of_group(i: Sequence[te.PrimExpr]) -> te.PrimExpr:
        """Return an element of `x`, by the indices of a row, a block, a group and a number."""
        return x[*i[:rank], place_of([*i[rank:], *numbers])]

    def product(*i: te.Axis) -> te.PrimExpr:
        *outer, column = i
        block, *groups = outer[rank:]
        byte = bytes_of(digits, [column], block, layout.digit_bytes)
        return te.sum(of_group(outer) * layout.digit(f, byte, *groups, *numbers), axis=numbers)

    shape = (*rows, blocks, *layout.groups)
    total = te.compute((*shape, columns), product, name="total")
    sums = te.compute(shape, lambda *i: te.sum(of_group(i), axis=numbers), name="sums") if layout.minimum else None
    block = te.reduce_axis(blocks, "b")
    groups = [te.reduce_axis(size, f"g{d}") for d, size in enumerate(layout.groups)]

    def element(*i: te.Axis) -> te.PrimExpr:
        row, column = i[:-1], i[-1]
        byte = bytes_of(scales, [column], block, layout.scale_bytes)
        digits_of_group = total[*row, block, *groups, column]
        if sums is None or layout.minimum is None:
            return te.sum(layout.scale(f, byte, *groups) * digits_of_group, axis=[block, *groups])
        # The sums of `x` come first, as loops: `scaled-sums` needs the other two next to each other.
        least = layout.minimum(f, byte, *groups) * sums[*row, block, *groups]
        return te.sum(least + layout.scale(f, byte, *groups) * digits_of_group, axis=[block, *groups])

    return te.compute((*rows, columns), element, name="dense_blocks")


@legalizes(DenseBlockRowsOp)
def dense_block_rows(op: DenseBlockRowsOp, x: te.Tensor, w: te.Tensor) -> te.Tensor:
    """Legalize to a sum of products with numbers that are scaled in registers."""
    layout, f = layout_of(op.properties), ScalarFunctions()
    block = te.reduce_axis(w.shape[1] // layout.bytes, "b")
    groups = [te.reduce_axis(size, f"g{d}") for d, size in enumerate(layout.groups)]
    numbers = [te.reduce_axis(size, f"t{d}") for d, size in enumerate(layout.numbers)]
    axes = [block, *groups, *numbers]

    def element(*i: te.Axis) -> te.PrimExpr:
        scales = bytes_of(w, [i[-1]], block, layout.bytes, layout.first_scale)
        digits = bytes_of(w, [i[-1]], block, layout.bytes, layout.first_digit)
        number = layout.digit(f, digits, *groups, *numbers) * layout.scale(f, scales, *groups)
        if layout.minimum is not None:
            number = number + layout.minimum(f, scales, *groups)
        return te.sum(x[*i[:-1], place_of(axes)] * number, axis=axes)

    return te.compute((*x.shape[:-1], w.shape[0]), element, name="dense_block_rows")


def place_of(axes: Sequence[te.PrimExpr]) -> te.PrimExpr:
    """Return the position in row-major order."""
    first, *others = axes
    place = first
    for axis in others:
        assert isinstance(axis, te.Axis)
        place = place * axis.extent + axis
    return place
