"""Matrix products."""

from __future__ import annotations

from relex.dialects.relex import DenseOp, MatmulOp
from relex.dialects.relex.types import broadcast
from relex.lowering.legalizations.broadcasting import broadcast_indices
from relex.lowering.legalizations.table import legalizes, result_shape
from relex.lowering.te import Axis, Expr, Tensor, compute, reduce_axis, sum


@legalizes(DenseOp)
def dense(op: DenseOp, x: Tensor, w: Tensor) -> Tensor:
    """Legalize to a sum over the last dimensions of `x` and `w`."""
    k = reduce_axis(x.shape[-1])
    return compute((*x.shape[:-1], w.shape[0]), lambda *i: sum(x[*i[:-1], k] * w[i[-1], k], axis=k), name="dense")


@legalizes(MatmulOp)
def matmul(op: MatmulOp, a: Tensor, b: Tensor) -> Tensor:
    """Legalize to a sum of products, with NumPy's rules for vectors and broadcast batch dimensions."""
    k = reduce_axis(a.shape[-1])
    batch = len(broadcast(a.shape[:-2], b.shape[:-2]))

    def element(*i: Axis) -> Expr:
        rest = list(i[batch:])
        row = [rest.pop(0)] if a.ndim > 1 else []
        left = a[*broadcast_indices(a.shape[:-2], i[:batch]), *row, k]
        right = b[*broadcast_indices(b.shape[:-2], i[:batch]), k, *rest]
        return sum(left * right, axis=k)

    return compute(result_shape(op, a, b), element, name="matmul")
