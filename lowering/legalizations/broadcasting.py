"""Elementwise computation with NumPy broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from relex.dialects.relex.types import broadcast
from relex.dialects.sizes import Size
from relex.lowering import te


class ScalarFunction(Protocol):
    """A function from one element of each operand to one of the result."""

    def __call__(self, *elements: te.PrimExpr) -> te.PrimExpr: ...


def elementwise(name: str, function: ScalarFunction, *operands: te.Tensor) -> te.Tensor:
    """Apply `function` to the elements of tensors, with NumPy broadcasting."""
    shape = broadcast(*(t.shape for t in operands))
    return te.compute(shape, lambda *i: function(*(t[broadcast_indices(t.shape, i)] for t in operands)), name=name)


def broadcast_indices(shape: Sequence[Size], indices: Sequence[te.Axis]) -> list[Any]:
    """Return the indices at which to read an operand of `shape` that is broadcast to the space of `indices`."""
    own = indices[len(indices) - len(shape) :]
    return [0 if size == 1 and axis.extent != 1 else axis for size, axis in zip(shape, own, strict=True)]
