"""Matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

from xdsl.dialects.builtin import IntegerType, Signedness, i32

from relex.dialects.dtypes import ui8
from relex.dialects.relex import (
    DenseOp,
    MatmulOp,
    MatmulPackedOp,
    MatmulPairsOp,
    MatmulShortsOp,
    Operator,
    PackBytesOp,
)
from relex.dialects.relex.packed import BYTES, PackedProduct, PairsProduct, ShortsProduct
from relex.dialects.relex.types import broadcast
from relex.lowering import te
from relex.lowering.legalizations.broadcasting import broadcast_indices
from relex.lowering.legalizations.legalization_table import legalizes, result_shape
from relex.lowering.te.tensors import Widened

UI16 = IntegerType(16, Signedness.UNSIGNED)


@legalizes(DenseOp)
def dense(op: DenseOp, x: te.Tensor, w: te.Tensor) -> te.Tensor:
    """Legalize to a sum over the last dimensions of `x` and `w`."""
    x, k = made_wide(x), te.reduce_axis(x.shape[-1])
    return te.compute((*x.shape[:-1], w.shape[0]), lambda *i: te.sum(x[*i[:-1], k] * w[i[-1], k], axis=k), name="dense")


@legalizes(MatmulOp, MatmulPackedOp, MatmulPairsOp, MatmulShortsOp)
def matmul(op: MatmulOp | MatmulPackedOp | MatmulPairsOp | MatmulShortsOp, a: te.Tensor, b: te.Tensor) -> te.Tensor:
    """Legalize to a sum of products, with NumPy's rules for vectors and broadcast batch dimensions."""
    a, k = made_wide(a), te.reduce_axis(a.shape[-1])
    batch = len(broadcast(a.shape[:-2], b.shape[:-2]))

    def element(*i: te.Axis) -> te.PrimExpr:
        rest = list(i[batch:])
        row = [rest.pop(0)] if a.ndim > 1 else []
        left = a[*broadcast_indices(a.shape[:-2], i[:batch]), *row, k]
        right = b[*broadcast_indices(b.shape[:-2], i[:batch]), k, *rest]
        return te.sum(times(op, left, right), axis=k)

    return te.compute(result_shape(op, a, b), element, name="matmul")


def made_wide(data: te.Tensor) -> te.Tensor:
    """Return data that becomes wider before it is multiplied, not once for each column: `inline-blocks` decides."""
    return te.compute(data.shape, lambda *i: data[*i], name="wide") if isinstance(data, Widened) else data


def times(op: Operator, lhs: te.PrimExpr, rhs: te.PrimExpr) -> te.PrimExpr:
    """Return the product of two elements, or of the numbers in them."""
    if isinstance(op, PairsProduct):
        return te.call("dot2", lhs, rhs)
    if isinstance(op, ShortsProduct):
        return te.call("dot2i", lhs, rhs)
    return te.call("dot4", lhs, rhs) if isinstance(op, PackedProduct) else lhs * rhs


@legalizes(PackBytesOp)
def pack_bytes(op: PackBytesOp, x: te.Tensor) -> te.Tensor:
    """Legalize to words made of the bits of bytes, or of numbers of 16 bits; nothing is read after the last one."""
    axis, size, count = op.normal_axis, x.shape[op.normal_axis], op.count
    is_full = isinstance(size, int) and size % count == 0

    def element(*i: te.Axis) -> te.PrimExpr:
        return reduce(partial(te.call, "bitwise_or"), (shifted(i, n) for n in range(count)))

    def shifted(i: Sequence[te.Axis], n: int) -> te.PrimExpr:
        place = i[axis] * count + n
        part = x[*i[:axis], place, *i[axis + 1 :]]
        inside = part if is_full else te.if_then_else(place < size, part, 0)
        bits = te.cast(inside, ui8) if count == BYTES else te.bitcast(inside, UI16)
        word = te.cast(bits, i32)
        return te.call("left_shift", word, 8 * BYTES // count * n) if n else word

    return te.compute(result_shape(op, x), element, name="words")
