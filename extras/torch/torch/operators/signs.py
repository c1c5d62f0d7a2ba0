"""Signs, and angles that depend on them."""

from __future__ import annotations

from collections.abc import Callable
from math import pi

from xdsl.dialects.builtin import i1

from relex.dialects.dtypes import DTYPES
from relex.frontend import op
from relex.frontend.torch import Operand, Tensor, TorchNode, imports
from relex.frontend.torch.complex_numbers import Pair, of_pairs
from relex.frontend.torch.node import Value


def _is_negative(x: Tensor) -> Operand:
    """Return whether the sign of numbers is a minus, as of -0.0."""
    if x.dtype.kind in "iub":
        return op.less(x, 0) if x.element_type != i1 else op.logical_and(x, op.logical_not(x))
    return op.less(op.bitcast(x, DTYPES[f"int{8 * x.dtype.itemsize}"]), 0)


@imports("aten.signbit")
def signbit(node: TorchNode, x: Tensor) -> Operand:
    """Whether the sign is a minus."""
    return _is_negative(x)


@imports("aten.copysign")
def copysign(node: TorchNode, x: Value, y: Value) -> Operand:
    """The numbers of one tensor with the signs of another."""
    length = op.abs(node.typed(x))
    return op.where(_is_negative(node.typed(y)), op.negative(length), length)


def _without_nan(node: TorchNode, function: Callable[..., Operand], x: Value, y: Value) -> Operand:
    a, b = node.typed(x), node.typed(y)
    if not node.is_float(a):
        return function(a, b)
    return op.where(op.isnan(a), b, op.where(op.isnan(b), a, function(a, b)))


@imports("aten.fmax")
def larger_number(node: TorchNode, x: Value, y: Value) -> Operand:
    """The larger one of two elements, or the one that is not NaN."""
    return _without_nan(node, op.maximum, x, y)


@imports("aten.fmin")
def smaller_number(node: TorchNode, x: Value, y: Value) -> Operand:
    """The smaller one of two elements, or the one that is not NaN."""
    return _without_nan(node, op.minimum, x, y)


@imports("aten.atan2")
def atan2(node: TorchNode, y: Value, x: Value) -> Operand:
    """The angle of a point, from -pi to pi."""
    return node.typed(_angle(node, node.widened(y), node.widened(x)))


@imports("aten.angle")
def angle(node: TorchNode, x: Value) -> Operand:
    """The angle of a real number: pi for negative numbers, 0 for others."""
    y = node.typed(x)
    return op.where(op.isnan(y), y, op.where(op.less(y, 0.0), node.like(pi, y), 0.0))


@of_pairs("aten.angle")
def angle_of_pair(node: TorchNode, x: Pair) -> Operand:
    """The angle of a complex number."""
    return _angle(node, x.imaginary, x.real)


def _angle(node: TorchNode, y: Tensor, x: Tensor) -> Operand:
    """Return angles of points. The quotient is at most 1, so that the angle is exact to a few units in the last place
    everywhere; for two zeros, or two infinities, it follows from their signs."""
    height, width = op.abs(y), op.abs(x)
    longer, shorter = op.maximum(height, width), op.minimum(height, width)
    alike = op.logical_and(op.equal(height, width), op.logical_not(op.isfinite(height)))
    share = op.where(alike, 1.0, op.divide(shorter, op.where(op.equal(longer, 0.0), 1.0, longer)))
    angles = op.atan(share)
    angles = op.where(op.greater(height, width), op.subtract(node.like(pi / 2, y), angles), angles)
    angles = op.where(_is_negative(x), op.subtract(node.like(pi, y), angles), angles)
    # NaN has no angle, whatever its sign.
    return op.where(_is_negative(y), op.negative(angles), angles)
