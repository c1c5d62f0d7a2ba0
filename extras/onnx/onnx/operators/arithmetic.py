"""Arithmetic, comparisons, logic and conversions, element by element."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, f32, f64, i1, i32

from relex.dialects.arrays import Array
from relex.dialects.dtypes import FLOATS, SUB_BYTE
from relex.frontend import op
from relex.frontend.compositions.number_functions import OF_NUMBERS, clamped, reciprocal
from relex.frontend.importing.values import with_node
from relex.frontend.onnx import Known, OnnxNode, Operand, Tensor, imports
from relex.frontend.onnx.import_table import row
from relex.frontend.onnx.tensors import dtype_of
from relex.frontend.onnx.values import element_type_of


def _itself(x: Tensor) -> Tensor:
    """Return the input, which may be a sequence."""
    return x


FUNCTIONS: dict[str, Callable[..., Operand]] = {
    **{name.capitalize(): function for name, function in OF_NUMBERS.items()},
    "Add": op.add,
    "And": op.logical_and,
    "BitwiseAnd": op.bitwise_and,
    "BitwiseNot": op.bitwise_not,
    "BitwiseOr": op.bitwise_or,
    "BitwiseXor": op.bitwise_xor,
    "Equal": op.equal,
    "Greater": op.greater,
    "GreaterOrEqual": op.greater_equal,
    "Identity": _itself,
    "IsNaN": op.isnan,
    "Less": op.less,
    "LessOrEqual": op.less_equal,
    "Mul": op.multiply,
    "Neg": op.negative,
    "Not": op.logical_not,
    "Or": op.logical_or,
    "Reciprocal": reciprocal,
    "Round": op.round,
    "Sign": op.sign,
    "Sub": op.subtract,
    "Xor": op.logical_xor,
}

for _name, _function in FUNCTIONS.items():
    row(_name, _function)


def _combined(
    node: OnnxNode, function: Callable[[Operand, Operand], Operand], first: Operand, *others: Operand
) -> Operand:
    """Apply a function of two tensors to all tensors, one after another: nodes may have hundreds."""
    for x in others:
        first = node.tensor(function(first, x))
    return first


def _mean(node: OnnxNode, *tensors: Tensor) -> Operand:
    """Return the mean of tensors."""
    return op.divide(_combined(node, op.add, *tensors), node.like(len(tensors), tensors[0]))


def _shifted(x: Operand, y: Operand, direction: str) -> Operand:
    """Shift the bits of integers."""
    return op.left_shift(x, y) if direction == "LEFT" else op.right_shift(x, y)


def _within_limits(x: Operand, low: float, high: float) -> Operand:
    """Clamp between two numbers, of which the second one wins."""
    return op.minimum(op.maximum(x, low), high)


def _clamped(x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Operand:
    """Clamp between two tensors, of which the second one wins."""
    return clamped(x, (low, high), [bound.array.item() if isinstance(bound, Known) else None for bound in (low, high)])


row("BitShift", _shifted, direction="direction")
row("Clip", _within_limits, since=6, low="min", high="max")
row("Clip", _clamped, since=11)
row("Max", op.maximum, _combined)
row("Mean", _mean, with_node)
row("Min", op.minimum, _combined)
row("Sum", op.add, _combined)
row("Where", op.where)


@imports("Div")
def divide(node: OnnxNode, x: Tensor, y: Tensor) -> Operand:
    """Divide; integers are rounded towards zero."""
    return op.divide(x, y) if node.is_float(x) else op.trunc_divide(x, y)


@imports("Mod", since=10)
def remainder(node: OnnxNode, x: Tensor, y: Tensor) -> Operand:
    """The remainder, with the sign of the divisor, or of the dividend."""
    return op.mod(x, y) if node.integer("fmod") else op.floor_mod(x, y)


@imports("BitCast")
def bitcast(node: OnnxNode, x: Tensor) -> Operand:
    """The numbers of another type with the same bits."""
    element_type = element_type_of(dtype_of(node.integer("to")))
    # A boolean is a byte that is 0 or 1.
    numbers = op.astype(x, IntegerType(8, Signedness.UNSIGNED)) if x.element_type == i1 else x
    return numbers if node.element_type(numbers) == element_type else op.bitcast(numbers, element_type)


@imports("Pow")
def power(node: OnnxNode, x: Tensor, y: Tensor) -> Operand:
    """Raise to a power. The exponent may have another type; the result has the type of the base."""
    if isinstance(y, Known) and y.array.ndim == 0 and y.array.item() in (1, 2, 3):
        return reduce(op.multiply, [x] * int(y.array.item()))
    if x.element_type == y.element_type:
        return op.power(x, y)
    has_floats = node.is_float(x) or node.is_float(y)
    if not has_floats or (node.is_float(x) and isinstance(y, Known) and _are_equal(y.array, x.dtype)):
        return op.power(x, op.astype(y, x.element_type))
    # Neither type has all numbers of the other.
    return op.astype(op.power(op.astype(x, f64), op.astype(y, f64)), x.element_type)


def _are_equal(array: Array, dtype: np.dtype[Any]) -> bool:
    """Return whether another type has the numbers of an array."""
    return bool((array.astype(dtype).astype(np.float64) == array.astype(np.float64)).all())


@imports("IsInf")
def is_infinite(node: OnnxNode, x: Tensor) -> Operand:
    """Compare with the infinities that the attributes choose."""
    limits = {"detect_positive": np.inf, "detect_negative": -np.inf}
    found = [op.equal(x, limit) for name, limit in limits.items() if node.integer(name, 1)]
    return reduce(op.add, found) if found else op.not_equal(op.abs(x), op.abs(x)) * Known(False)


@imports("Cast", "CastLike")
def cast_to(node: OnnxNode, x: Tensor, like: Tensor | None = None) -> Operand:
    """Convert to another element type, possibly the type of another tensor."""
    dtype = dtype_of(node.integer("to")) if like is None else like.dtype
    return converted(x, dtype, bool(node.integer("saturate", 1)))


def converted(x: Tensor, dtype: np.dtype[Any], saturate: bool = True) -> Operand:
    """Return a tensor with another element type. Floats of 8 bits saturate at the largest one; integers of fewer than
    8 bits have the low bits of a number."""
    element_type = element_type_of(dtype)
    if x.element_type == element_type:
        return x
    if element_type in SUB_BYTE and x.element_type in FLOATS:
        return op.astype(op.astype(x, i32), element_type)
    if dtype.name.startswith("float8"):
        return op.astype(_within(x, dtype) if saturate else x, element_type)
    return op.astype(x, element_type)


def _within(x: Operand, dtype: np.dtype[Any]) -> Operand:
    """Return floats clamped to the range of a type."""
    limits = cast(Any, ml_dtypes).finfo(dtype)
    largest = float(limits.max)
    return op.clip(op.astype(x, f32), -largest, largest)
