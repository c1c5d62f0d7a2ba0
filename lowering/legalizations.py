"""What each graph operator computes: one tensor expression an operator.

Other packages add their operators with the same decorator; nothing else needs to change:

    @legalizes(NegativeOp)
    def negative(op: NegativeOp, x: Tensor) -> Tensor:
        return compute(x.shape, lambda *i: 0 - x[i], name="negative")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from xdsl.ir import Operation

from relex.dialects.relex import (
    AddOp,
    DenseOp,
    DivideOp,
    EwiseFMAOp,
    MatmulOp,
    MaximumOp,
    MinimumOp,
    MultiplyOp,
    ReluOp,
    SubtractOp,
)
from relex.dialects.relex.types import broadcast
from relex.lowering.te import Axis, Expr, Tensor, call, compute, maximum, reduce_axis, sum


class ScalarFunction(Protocol):
    """From one element of each operand to one of the result."""

    def __call__(self, *elements: Expr) -> Expr: ...


Legalization = Callable[..., Tensor]
"""From an operator and its operands, as inputs of a tensor expression, to its result."""

LEGALIZATIONS: dict[type[Operation], Legalization] = {}
"""The table, by operator class."""


def legalizes(*operators: type[Operation]) -> Callable[[Legalization], Legalization]:
    """Enter a function into the table. Its parameter names become the names of the buffers."""

    def enter(function: Legalization) -> Legalization:
        for operator in operators:
            LEGALIZATIONS[operator] = function
        return function

    return enter


@legalizes(DenseOp)
def dense(op: DenseOp, x: Tensor, w: Tensor) -> Tensor:
    k = reduce_axis(x.shape[-1])
    return compute((*x.shape[:-1], w.shape[0]), lambda *i: sum(x[*i[:-1], k] * w[i[-1], k], axis=k), name="dense")


@legalizes(MatmulOp)
def matmul(op: MatmulOp, a: Tensor, b: Tensor) -> Tensor:
    k = reduce_axis(a.shape[-1])
    batch = len(broadcast(a.shape[:-2], b.shape[:-2]))

    def element(*i: Axis) -> Expr:
        rest = list(i[batch:])
        row = [rest.pop(0)] if a.ndim > 1 else []
        left = a[*broadcast_indices(a.shape[:-2], i[:batch]), *row, k]
        right = b[*broadcast_indices(b.shape[:-2], i[:batch]), k, *rest]
        return sum(left * right, axis=k)

    return compute(op.result.type.get_shape(), element, name="matmul")


@legalizes(AddOp, SubtractOp, MultiplyOp, DivideOp, MaximumOp, MinimumOp)
def binary(op: Operation, a: Tensor, b: Tensor) -> Tensor:
    function = op.name.removeprefix("relex.")
    return elementwise(function, lambda *e: call(function, *e), a, b)


@legalizes(ReluOp)
def relu(op: ReluOp, x: Tensor) -> Tensor:
    return elementwise("relu", lambda *e: maximum(e[0], 0), x)


@legalizes(EwiseFMAOp)
def ewise_fma(op: EwiseFMAOp, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    return elementwise("ewise_fma", lambda *e: e[0] * e[1] + e[2], x, y, z)


def elementwise(name: str, function: ScalarFunction, *operands: Tensor) -> Tensor:
    """The tensor of `function` applied to elements at the same place, operands broadcast as in NumPy."""
    shape = broadcast(*(t.shape for t in operands))
    return compute(shape, lambda *i: function(*(t[broadcast_indices(t.shape, i)] for t in operands)), name=name)


def broadcast_indices(shape: Sequence[int], indices: Sequence[Axis]) -> list[Any]:
    """Where to read an operand of `shape` that is broadcast to the space of `indices`."""
    own = indices[len(indices) - len(shape) :]
    return [0 if size == 1 and axis.extent != 1 else axis for size, axis in zip(shape, own, strict=True)]
