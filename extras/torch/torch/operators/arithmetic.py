"""Arithmetic, comparisons and conversions, element by element."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i1

from relex.dialects.dtypes import FLOATS
from relex.dialects.sizes import IndexExpr
from relex.frontend import op
from relex.frontend.compositions.special_functions import floor_quotient, hypot
from relex.frontend.compositions.truth import all_of
from relex.frontend.torch import Known, Node, Operand, Tensor, imports, refuse
from relex.frontend.torch.node import Value
from relex.frontend.torch.table import IMPORTS
from relex.frontend.torch.tensors import element_type_for

Function = Callable[..., Operand]

IN_RESULT_TYPE: dict[str, Callable[[Operand, Operand], Operand]] = {
    "aten.mul": op.multiply,
    "aten.maximum": op.maximum,
    "aten.max.other": op.maximum,
    "aten.clamp_min": op.maximum,
    "aten.minimum": op.minimum,
    "aten.min.other": op.minimum,
    "aten.clamp_max": op.minimum,
    "aten.bitwise_and": op.bitwise_and,
    "aten.bitwise_or": op.bitwise_or,
    "aten.bitwise_xor": op.bitwise_xor,
    "aten.bitwise_left_shift": op.left_shift,
    "aten.bitwise_right_shift": op.right_shift,
    "aten.__lshift__": op.left_shift,
    "aten.__rshift__": op.right_shift,
}
"""Functions of operands that are converted to the type of the result first."""

IN_COMMON_TYPE: dict[str, Function] = {
    "aten.eq": op.equal,
    "aten.ne": op.not_equal,
    "aten.lt": op.less,
    "aten.le": op.less_equal,
    "aten.gt": op.greater,
    "aten.ge": op.greater_equal,
}
"""Comparisons."""

OF_TRUTH: dict[str, Function] = {
    "aten.logical_and": op.logical_and,
    "aten.logical_or": op.logical_or,
    "aten.logical_xor": op.logical_xor,
    "aten.logical_not": op.logical_not,
}
"""Functions of truth values: numbers other than zero are true."""


def _typed_by(function: Function, typed: Callable[[Node, Value], Operand]) -> Function:
    def imported(node: Node, *operands: Value) -> Operand:
        return function(*(typed(node, x) for x in operands))

    return imported


for _name, _function in IN_RESULT_TYPE.items():
    IMPORTS.add(_typed_by(_function, lambda node, x: node.typed(x)), _name)
for _name, _function in IN_COMMON_TYPE.items():
    IMPORTS.add(_typed_by(_function, lambda node, x: node.typed(x, node.common_type)), _name)
for _name, _function in OF_TRUTH.items():
    IMPORTS.add(_typed_by(_function, lambda node, x: truth(node, x)), _name)


def truth(node: Node, x: Value) -> Operand:
    """Return whether elements are other than zero."""
    return node.typed(x, i1)


def _scaled(x: Operand, factor: Any) -> Operand:
    one = isinstance(factor, int | float) and factor == 1
    known_one = isinstance(factor, Known) and factor.array.size == 1 and factor.array.item() == 1
    return x if one or known_one else op.multiply(x, factor)


@imports("aten.add")
def add(node: Node, x: Value, y: Value, alpha: float = 1) -> Operand:
    """The sum; for booleans, logical or."""
    if node.result_type == i1:
        return op.logical_or(node.typed(x), node.typed(y))
    return op.add(node.typed(x), _scaled(node.typed(y), alpha))


@imports("aten.sub")
def subtract(node: Node, x: Value, y: Value, alpha: float = 1) -> Operand:
    """The difference."""
    return op.subtract(node.typed(x), _scaled(node.typed(y), alpha))


@imports("aten.rsub")
def subtract_from(node: Node, x: Value, y: Value, alpha: float = 1) -> Operand:
    """The difference, the other way around."""
    return op.subtract(node.typed(y), _scaled(node.typed(x), alpha))


@imports("aten.div")
def divide(node: Node, x: Value, y: Value, rounding_mode: str | None = None) -> Operand:
    """The quotient, which may be rounded."""
    a, b = node.typed(x), node.typed(y)
    if rounding_mode is None:
        return op.divide(a, b)
    _expect_no_zeros(node, b)
    if rounding_mode == "floor":
        return _floor_quotient(node, a, b)
    return op.trunc(op.divide(a, b)) if node.is_float(a) else op.trunc_divide(a, b)


IMPORTS.add(partial(divide, rounding_mode="floor"), "aten.floor_divide")


@imports("aten.fmod", "aten.remainder")
def remainder(node: Node, x: Value, y: Value) -> Operand:
    """The remainder of the quotient that is rounded, toward zero or down."""
    a, b = node.typed(x), node.typed(y)
    _expect_no_zeros(node, b)
    return op.mod(a, b) if node.name == "fmod" else op.floor_mod(a, b)


def _expect_no_zeros(node: Node, divisors: Tensor) -> None:
    """Let the program stop with an error if an integer is divided by 0."""
    if not node.is_float(divisors):
        node.expect(all_of(node, op.not_equal(divisors, 0)), "ZeroDivisionError: expected divisors other than 0")


def _floor_quotient(node: Node, a: Operand, b: Operand) -> Operand:
    """Return a quotient rounded down."""
    if not node.is_float(a):
        return op.floor_divide(a, b)
    return node.typed(floor_quotient(node.widened(a), node.widened(b)))


@imports("aten.addcmul", "aten.addcdiv")
def product_added(node: Node, x: Value, y: Value, z: Value, value: float = 1) -> Operand:
    """A tensor and the product or quotient of two others."""
    function = op.multiply if node.name == "addcmul" else op.divide
    return op.add(node.typed(x), function(_scaled(node.typed(y), value), node.typed(z)))


@imports("aten.hypot")
def hypotenuse(node: Node, x: Value, y: Value) -> Operand:
    """The length of a vector of two numbers."""
    return node.typed(hypot(node.widened(x), node.widened(y)))


@imports("aten.lerp")
def interpolated(node: Node, x: Value, y: Value, weight: Value) -> Operand:
    """Numbers between the numbers of two tensors, each exact where the weight is 0 or 1."""
    a, b, w = (node.widened(value) for value in (x, y, weight))
    difference = op.subtract(b, a)
    from_first = op.add(a, op.multiply(w, difference))
    from_second = op.subtract(b, op.multiply(difference, op.subtract(1.0, w)))
    return node.typed(op.where(op.less(op.abs(w), 0.5), from_first, from_second))


_ROOTS: dict[float, Callable[[Operand], Operand]] = {0.5: op.sqrt, -0.5: op.rsqrt, -1: lambda x: op.divide(1.0, x)}


@imports("aten.pow")
def power(node: Node, x: Value, y: Value) -> Operand:
    """A power. Small whole exponents are products."""
    if isinstance(y, int | float) and y in (1, 2, 3):
        return reduce(op.multiply, [node.typed(x)] * int(y))
    if isinstance(y, int | float) and node.result_type in FLOATS and y in _ROOTS:
        return _ROOTS[y](node.typed(x))
    return op.power(node.typed(x), node.typed(y))


@imports("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar")
def where(node: Node, condition: Tensor, x: Value, y: Value) -> Operand:
    """The elements of one tensor or of another."""
    return op.where(truth(node, condition), node.typed(x), node.typed(y))


@imports("aten.masked_fill")
def masked_fill(node: Node, x: Tensor, mask: Tensor, value: Value) -> Operand:
    """A value where a mask is true."""
    return op.where(mask, node.typed(value), x)


@imports("aten.clamp", "aten.hardtanh", "aten.clip")
def clamp(node: Node, x: Value, low: Value | None = None, high: Value | None = None) -> Operand:
    """The elements between two limits, of which the second wins."""
    y = node.typed(x)
    limits = [bound if isinstance(bound, int | float) else None for bound in (low, high)]
    known = [limit for limit in limits if limit is not None]
    if len(known) == sum(bound is not None for bound in (low, high)) and known == sorted(known):
        return op.clip(y, *limits)
    y = y if low is None else op.maximum(y, node.typed(low))
    return y if high is None else op.minimum(y, node.typed(high))


@imports("aten.isfinite", "aten.isinf", "aten.isnan")
def classify(node: Node, x: Tensor) -> Operand:
    """Whether elements are finite, infinite or NaN."""
    if not node.is_float(x):
        return node.full(node.shape(x), node.name == "isfinite", i1)
    return {"isfinite": op.isfinite, "isinf": op.isinf, "isnan": op.isnan}[node.name](x)


@imports("aten._to_copy", "aten.to", "aten.type_as", "prims.convert_element_type")
def converted(node: Node, x: Value, *options: Any) -> Operand:
    """Another element type."""
    tensor = node.tensor(x) if not isinstance(x, IndexExpr) else node.typed(x)
    if isinstance(tensor, Known) and tensor.is_symbolic and node.results[0].dtype.is_signed:
        return node.typed(tensor) if node.result_type in FLOATS else tensor
    return node.typed(tensor)


@imports("aten.view.dtype")
def reinterpreted(node: Node, x: Tensor, dtype: Any) -> Operand:
    """The numbers of another type with the same bits."""
    element_type = element_type_for(dtype)
    if np.dtype(x.dtype).itemsize != node.results[0].element_size():
        refuse("elements of another width")
    return op.bitcast(x, element_type)


COPIES = "clone contiguous detach detach_ alias lift_fresh_copy lift_fresh positive resolve_conj resolve_neg"
DROPOUTS = "dropout feature_dropout alpha_dropout"


@imports("prims.device_put", *(f"aten.{name}" for name in f"{COPIES} {DROPOUTS}".split()))
def unchanged(node: Node, x: Tensor, *options: Any) -> Operand:
    """The tensor itself."""
    return x


@imports("aten.copy")
def copied(node: Node, x: Tensor, y: Tensor, non_blocking: bool = False) -> Operand:
    """The elements of another tensor."""
    return node.broadcast_to(node.typed(y), node.shape(x))
