"""Computing with operands that broadcast as in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from relex.dialects.relex.types import broadcast
from relex.dialects.sizes import Size
from relex.lowering.te import Axis, Expr, Tensor, compute


class ScalarFunction(Protocol):
    """From one element of each operand to one of the result."""

    def __call__(self, *elements: Expr) -> Expr: ...


def elementwise(name: str, function: ScalarFunction, *operands: Tensor) -> Tensor:
    """The tensor of `function` applied to elements at the same place, operands broadcast as in NumPy."""
    shape = broadcast(*(t.shape for t in operands))
    return compute(shape, lambda *i: function(*(t[broadcast_indices(t.shape, i)] for t in operands)), name=name)


def broadcast_indices(shape: Sequence[Size], indices: Sequence[Axis]) -> list[Any]:
    """Where to read an operand of `shape` that is broadcast to the space of `indices`."""
    own = indices[len(indices) - len(shape) :]
    return [0 if size == 1 and axis.extent != 1 else axis for size, axis in zip(shape, own, strict=True)]
