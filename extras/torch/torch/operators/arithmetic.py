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
from relex.frontend.compositions.number_functions import clamped
from relex.frontend.compositions.special_functions import floor_quotient, hypot
from relex.frontend.compositions.truth import all_of
from relex.frontend.torch import Known, Operand, Tensor, TorchNode, imports, refuse
from relex.frontend.torch.import_table import IMPORTS, row
from relex.frontend.torch.library import torch
from relex.frontend.torch.node import Value, in_common_type, in_result_type, in_steps, of_truth
from relex.frontend.torch.tensors import element_type_for

IN_RESULT_TYPE: dict[str, Callable[[Operand, Operand], Operand]] = {
    "bitwise_and __and__": op.bitwise_and,
    "bitwise_left_shift __lshift__": op.left_shift,
    "bitwise_or __or__": op.bitwise_or,
    "bitwise_right_shift __rshift__": op.right_shift,
    "bitwise_xor __xor__": op.bitwise_xor,
    "clamp_max minimum min.other": op.minimum,
    "clamp_min maximum max.other": op.maximum,
    "mul": op.multiply,
}
"""Functions of operands that are converted to the type of the result first."""

IN_COMMON_TYPE = {
    "eq": op.equal,
    "ne": op.not_equal,
    "lt": op.less,
    "le": op.less_equal,
    "gt": op.greater,
    "ge": op.greater_equal,
}
"""Comparisons."""

OF_TRUTH: dict[str, Callable[..., Operand]] = {
    "logical_and": op.logical_and,
    "logical_or": op.logical_or,
    "logical_xor": op.logical_xor,
    "logical_not": op.logical_not,
}
"""Functions of truth values."""

for _rule, _functions in ((in_result_type, IN_RESULT_TYPE), (in_common_type, IN_COMMON_TYPE), (of_truth, OF_TRUTH)):
    for _names, _function in _functions.items():
        row(_names, _function, _rule)


def _scaled(x: Operand, factor: Any) -> Operand:
    number = factor.array.item() if isinstance(factor, Known) and factor.array.size == 1 else factor
    return x if number == 1 else op.multiply(x, factor)


@imports("aten.add")
def add(node: TorchNode, x: Value, y: Value, alpha: float = 1) -> Operand:
    """The sum; for booleans, logical or."""
    if node.result_type == i1:
        return op.logical_or(node.typed(x), node.typed(y))
    return op.add(node.typed(x), _scaled(node.typed(y), alpha))


@imports("aten.sub", "aten.rsub")
def subtract(node: TorchNode, x: Value, y: Value, alpha: float = 1) -> Operand:
    """The difference; of `rsub`, the other way around."""
    a, b = (y, x) if node.name == "rsub" else (x, y)
    return op.subtract(node.typed(a), _scaled(node.typed(b), alpha))


@imports("aten.div")
def divide(node: TorchNode, x: Value, y: Value, rounding_mode: str | None = None) -> Operand:
    """The quotient, which may be rounded."""
    a, b = node.typed(x), node.typed(y)
    if rounding_mode is None:
        return op.divide(a, b)
    _expect_no_zeros(node, b)
    if rounding_mode == "floor":
        return in_steps(node, floor_quotient, a, b) if node.is_float(a) else op.floor_divide(a, b)
    return op.trunc(op.divide(a, b)) if node.is_float(a) else op.trunc_divide(a, b)


IMPORTS.add(partial(divide, rounding_mode="floor"), "aten.floor_divide")


@imports("aten.fmod", "aten.remainder")
def remainder(node: TorchNode, x: Value, y: Value) -> Operand:
    """The remainder of the quotient that is rounded, toward zero or down."""
    a, b = node.typed(x), node.typed(y)
    _expect_no_zeros(node, b)
    return op.mod(a, b) if node.name == "fmod" else op.floor_mod(a, b)


def _expect_no_zeros(node: TorchNode, divisors: Tensor) -> None:
    """Let the program stop with an error if an integer is divided by 0."""
    if not node.is_float(divisors):
        node.expect(all_of(node, op.not_equal(divisors, 0)), "ZeroDivisionError: expected divisors other than 0")


@imports("aten.addcmul", "aten.addcdiv")
def product_added(node: TorchNode, x: Value, y: Value, z: Value, value: float = 1) -> Operand:
    """A tensor and the product or quotient of two others."""
    function = op.multiply if node.name == "addcmul" else op.divide
    return op.add(node.typed(x), function(_scaled(node.typed(y), value), node.typed(z)))


row("hypot", hypot, in_steps)
row("fma", op.ewise_fma, in_result_type, package="prims")


@imports("aten.lerp")
def interpolated(node: TorchNode, x: Value, y: Value, weight: Value) -> Operand:
    """Numbers between the numbers of two tensors, each exact where the weight is 0 or 1."""
    a, b, w = (node.widened(value) for value in (x, y, weight))
    difference = op.subtract(b, a)
    from_first = op.add(a, op.multiply(w, difference))
    from_second = op.subtract(b, op.multiply(difference, op.subtract(1.0, w)))
    return node.typed(op.where(op.less(op.abs(w), 0.5), from_first, from_second))


_ROOTS: dict[float, Callable[[Operand], Operand]] = {0.5: op.sqrt, -0.5: op.rsqrt, -1: lambda x: op.divide(1.0, x)}


@imports("aten.pow")
def power(node: TorchNode, x: Value, y: Value) -> Operand:
    """A power. Small whole exponents are products."""
    if isinstance(y, int | float) and y in (1, 2, 3):
        return reduce(op.multiply, [node.typed(x)] * int(y))
    if isinstance(y, int | float) and node.result_type in FLOATS and y in _ROOTS:
        return _ROOTS[y](node.typed(x))
    return op.power(node.typed(x), node.typed(y))


@imports("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar")
def where(node: TorchNode, condition: Tensor, x: Value, y: Value) -> Operand:
    """The elements of one tensor or of another."""
    return op.where(node.typed(condition, i1), node.typed(x), node.typed(y))


@imports("aten.masked_fill")
def masked_fill(node: TorchNode, x: Tensor, mask: Tensor, value: Value) -> Operand:
    """A value where a mask is true."""
    return op.where(mask, node.typed(value), x)


@imports("aten.clamp", "aten.hardtanh")
def clamp(node: TorchNode, x: Value, low: Value | None = None, high: Value | None = None) -> Operand:
    """The elements between two limits, of which the second wins."""
    y, bounds = node.typed(x), [None if bound is None else node.typed(bound) for bound in (low, high)]
    return clamped(y, bounds, [bound if isinstance(bound, int | float) else None for bound in (low, high)])


@imports("aten.isfinite", "aten.isinf", "aten.isnan")
def classify(node: TorchNode, x: Tensor) -> Operand:
    """Whether elements are finite, infinite or NaN."""
    if not node.is_float(x):
        return node.full(node.shape(x), node.name == "isfinite", i1)
    return {"isfinite": op.isfinite, "isinf": op.isinf, "isnan": op.isnan}[node.name](x)


@imports("aten._to_copy", "aten.to", "aten.type_as", "prims.convert_element_type")
def converted(node: TorchNode, x: Value, *options: Any) -> Operand:
    """Another element type."""
    tensor = node.tensor(x) if not isinstance(x, IndexExpr) else node.typed(x)
    if isinstance(tensor, Known) and tensor.is_symbolic and node.results[0].dtype.is_signed:
        return node.typed(tensor) if node.result_type in FLOATS else tensor
    return op.astype(tensor, node.result_type) if _is_clamped(node) else node.typed(tensor)


def _is_clamped(node: TorchNode) -> bool:
    """Return whether numbers that become integers were clamped to the range of these before, as quantizers do."""
    given, dtype = node.fx.args[0], node.results[0].dtype
    if getattr(given, "target", None) is not torch.ops.aten.clamp.default or dtype.is_floating_point:
        return False
    bounds = given.args[1:]
    numbers = [bound for bound in bounds if isinstance(bound, int | float)]
    if dtype == torch.bool or len(numbers) != 2 or len(bounds) != 2:
        return False
    info = torch.iinfo(dtype)
    return info.min <= min(numbers) and max(numbers) <= min(info.max, 2**24)


@imports("aten.view.dtype")
def reinterpreted(node: TorchNode, x: Tensor, dtype: Any) -> Operand:
    """The numbers of another type with the same bits."""
    element_type = element_type_for(dtype)
    if np.dtype(x.dtype).itemsize != node.results[0].element_size():
        refuse("elements of another width")
    return op.bitcast(x, element_type)


def _itself(x: Tensor, *options: object) -> Operand:
    """Return the tensor."""
    return x


row("clone detach detach_ alias lift_fresh_copy lift_fresh", _itself)
row("device_put", _itself, package="prims")


@imports("aten.copy")
def copied(node: TorchNode, x: Tensor, y: Tensor, non_blocking: bool = False) -> Operand:
    """The elements of another tensor."""
    return node.broadcast_to(node.typed(y), node.shape(x))
