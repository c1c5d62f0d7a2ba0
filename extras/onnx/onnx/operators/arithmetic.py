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
from relex.dialects.sizes import IndexExpr, never_negative
from relex.frontend import op
from relex.frontend.importing.values import plain
from relex.frontend.onnx import Known, Node, Operand, Tensor, imports, refuse
from relex.frontend.onnx.table import IMPORTS
from relex.frontend.onnx.tensors import dtype_of
from relex.frontend.onnx.values import element_type_of

Function = Callable[..., Operand]


UNARY: dict[str, Callable[[Operand], Operand]] = {
    "Abs": op.abs,
    "Erf": op.erf,
    "Exp": op.exp,
    "Floor": op.floor,
    "Log": op.log,
    "Neg": op.negative,
    "Relu": op.relu,
    "Sigmoid": op.sigmoid,
    "Sqrt": op.sqrt,
    "Tanh": op.tanh,
    "Acos": op.acos,
    "Acosh": op.acosh,
    "Asin": op.asin,
    "Asinh": op.asinh,
    "Atan": op.atan,
    "Atanh": op.atanh,
    "BitwiseNot": op.bitwise_not,
    "Ceil": op.ceil,
    "Cos": op.cos,
    "Cosh": op.cosh,
    "IsNaN": op.isnan,
    "Not": op.logical_not,
    "Round": op.round,
    "Sign": op.sign,
    "Sin": op.sin,
    "Sinh": op.sinh,
    "Tan": op.tan,
    "Reciprocal": lambda x: op.divide(1.0, x),
}

BINARY: dict[str, Function] = {
    "Add": op.add,
    "Sub": op.subtract,
    "Mul": op.multiply,
    "And": op.logical_and,
    "BitwiseAnd": op.bitwise_and,
    "BitwiseOr": op.bitwise_or,
    "BitwiseXor": op.bitwise_xor,
    "Or": op.logical_or,
    "Xor": op.logical_xor,
    "Less": op.less,
    "LessOrEqual": op.less_equal,
    "Greater": op.greater,
    "GreaterOrEqual": op.greater_equal,
}


for _name, _function in {**UNARY, **BINARY}.items():
    IMPORTS.add(plain(_function), ("", _name, 1))


@imports("Identity")
def identity(node: Node, x: Tensor) -> Operand:
    """Return the input itself, which may be a sequence."""
    return x


@imports("Equal")
def equal(node: Node, x: Tensor, y: Tensor) -> Operand:
    """Compare. Dynamic sizes are compared at import, where that is possible for all their values."""
    if _any_open(x, y):
        # As Python's numbers, which is what expressions of sizes compute with.
        pairs = np.broadcast(*(node.known(each, "a shape").astype(object) for each in (x, y)))
        return Known(np.array([_same(*pair) for pair in pairs], bool).reshape(pairs.shape))
    return op.equal(x, y)


def _any_open(*tensors: Tensor) -> bool:
    return any(isinstance(x, Known) and x.is_symbolic for x in tensors)


def _same(x: int | IndexExpr, y: int | IndexExpr) -> bool:
    difference = x - y
    if isinstance(difference, int):
        return difference == 0
    if never_negative(difference - 1) or never_negative(-difference - 1):
        return False
    refuse(f"a comparison of dynamic sizes: {x} and {y}; fix the sizes with `shapes=`")


@imports("Div")
def divide(node: Node, x: Tensor, y: Tensor) -> Operand:
    """Divide; integers are rounded towards zero."""
    if node.is_float(x):
        return op.divide(x, y)
    if _any_open(x, y):
        return Known(_quotient(node.known(x, "a size"), node.known(y, "a size")))
    return op.trunc_divide(x, y)


def _quotient(x: Array, y: Array) -> Array:
    if any(isinstance(divisor, IndexExpr) or divisor <= 0 for divisor in y.flat):
        refuse("division of sizes by dynamic sizes")
    return x // y


@imports("Mod", since=10)
def remainder(node: Node, x: Tensor, y: Tensor) -> Operand:
    """The remainder, with the sign of the divisor, or of the dividend."""
    if _any_open(x, y):
        return Known(node.known(x, "a size") % node.known(y, "a size"))
    return op.mod(x, y) if node.integer("fmod") else op.floor_mod(x, y)


@imports("BitShift")
def shift(node: Node, x: Tensor, y: Tensor) -> Operand:
    """Shift the bits of integers."""
    return op.left_shift(x, y) if node.text("direction") == "LEFT" else op.right_shift(x, y)


@imports("BitCast")
def bitcast(node: Node, x: Tensor) -> Operand:
    """The numbers of another type with the same bits."""
    element_type = element_type_of(dtype_of(node.integer("to")))
    # A boolean is a byte that is 0 or 1.
    numbers = op.astype(x, IntegerType(8, Signedness.UNSIGNED)) if x.element_type == i1 else x
    return numbers if node.element_type(numbers) == element_type else op.bitcast(numbers, element_type)


@imports("Pow")
def power(node: Node, x: Tensor, y: Tensor) -> Operand:
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


@imports("Mean")
def mean(node: Node, *tensors: Tensor) -> Operand:
    """Return the mean of tensors."""
    return op.divide(reduce(op.add, tensors), node.like(len(tensors), tensors[0]))


@imports("Sum", "Max", "Min")
def combined(node: Node, *tensors: Tensor) -> Operand:
    """Add all tensors, or return the maximum or minimum of all."""
    return reduce({"Sum": op.add, "Max": op.maximum, "Min": op.minimum}[node.proto.op_type], tensors)


@imports("Where")
def where(node: Node, condition: Tensor, x: Tensor, y: Tensor) -> Operand:
    """Choose. Between dynamic sizes, the condition is known."""
    if _any_open(x, y):
        return Known(np.where(node.known(condition, "a condition"), *(node.known(z, "a shape") for z in (x, y))))
    return op.where(condition, x, y)


@imports("IsInf")
def is_infinite(node: Node, x: Tensor) -> Operand:
    """Compare with the infinities that the attributes choose."""
    limits = {"detect_positive": np.inf, "detect_negative": -np.inf}
    found = [op.equal(x, limit) for name, limit in limits.items() if node.integer(name, 1)]
    return reduce(op.add, found) if found else op.not_equal(op.abs(x), op.abs(x)) * Known(False)


@imports("Clip", since=6)
def clip_by_attributes(node: Node, x: Tensor) -> Operand:
    """Clamp between two attributes."""
    return op.minimum(op.maximum(x, node.number("min")), node.number("max"))


@imports("Clip", since=11)
def clip(node: Node, x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Operand:
    """Clamp between two inputs, of which the second one wins."""
    bounds = [bound.array.item() if isinstance(bound, Known) else None for bound in (low, high)]
    if all(bound is None or number is not None for bound, number in zip((low, high), bounds, strict=True)):
        known = [number for number in bounds if number is not None]
        if known == sorted(known) and not any(number != number for number in known):
            return op.clip(x, *bounds) if known else x
    y = x if low is None else op.maximum(x, low)
    return y if high is None else op.minimum(y, high)


@imports("Cast", "CastLike")
def cast_to(node: Node, x: Tensor, like: Tensor | None = None) -> Operand:
    """Convert to another element type, possibly the type of another tensor."""
    dtype = dtype_of(node.integer("to")) if like is None else like.dtype
    return converted(x, dtype, bool(node.integer("saturate", 1)))


def converted(x: Tensor, dtype: np.dtype[Any], saturate: bool = True) -> Operand:
    """Return a tensor with another element type. Floats of 8 bits saturate at the largest one; integers of fewer than
    8 bits have the low bits of a number."""
    if isinstance(x, Known) and x.is_symbolic and dtype.kind == "i":
        return x
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
