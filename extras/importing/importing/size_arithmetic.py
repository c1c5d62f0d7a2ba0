"""Operators on arrays of sizes: what they compute of sizes of the program is known at import where it is a size again,
or, among floats, a size divided by a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import i32, i64

from relex.dialects import relex
from relex.dialects.arrays import Array
from relex.dialects.dtypes import FLOATS
from relex.dialects.index.expr import constant_of, divide_factors, terms_of
from relex.dialects.relex.reductions import Reduction
from relex.dialects.sizes import IndexExpr, Size, larger, never_negative, smaller


@dataclass(frozen=True)
class Ratio:
    """A size divided by a number larger than 1, of which it is no multiple."""

    dividend: IndexExpr
    divisor: int

    def __str__(self) -> str:
        return f"({self.dividend}) / {self.divisor}"


Element: TypeAlias = int | float | IndexExpr | Ratio


class UndecidedError(Exception):
    """The result is no size, or depends on the run."""


def parts_of(x: Element) -> tuple[Size, int]:
    """Return a number or a size as a dividend and a divisor larger than 0."""
    match x:
        case Ratio():
            return x.dividend, x.divisor
        case float():
            if not np.isfinite(x):
                raise UndecidedError
            return x.as_integer_ratio()
        case _:
            return x, 1


def ratio(dividend: Size, divisor: int) -> Element:
    """Return a quotient by a number larger than 0."""
    common = gcd(constant_of(dividend), *terms_of(dividend).values(), divisor)
    dividend, divisor = divide_factors(dividend, common), divisor // common
    if divisor == 1:
        return dividend
    return Ratio(dividend, divisor) if isinstance(dividend, IndexExpr) else dividend / divisor


def floor(x: Element) -> Size:
    """Return a number rounded down."""
    dividend, divisor = parts_of(x)
    return dividend // divisor


def ceil(x: Element) -> Size:
    """Return a number rounded up."""
    dividend, divisor = parts_of(x)
    return -(-dividend // divisor)


def truncated(x: Element) -> Size:
    """Return a number rounded towards zero."""
    dividend, divisor = parts_of(x)
    return larger(dividend, 0) // divisor - larger(-dividend, 0) // divisor


def _together(function: Callable[[Size, Size], Size], x: Element, y: Element) -> Element:
    """Apply a function that a common divisor does not change."""
    (a, b), (c, d) = parts_of(x), parts_of(y)
    return ratio(function(a * d, c * b), b * d)


def difference(x: Element, y: Element) -> Element:
    """Return a difference."""
    return _together(lambda a, b: a - b, x, y)


def _product(x: Element, y: Element) -> Element:
    (a, b), (c, d) = parts_of(x), parts_of(y)
    return ratio(a * c, b * d)


def quotient(x: Element, y: Element) -> Element:
    """Return a quotient. Raises `UndecidedError` for one by a size."""
    (a, b), (c, d) = parts_of(x), parts_of(y)
    if isinstance(c, IndexExpr) or c == 0:
        raise UndecidedError
    return ratio(a * d if c > 0 else -a * d, b * abs(c))


def _absolute(x: Element) -> Element:
    dividend, divisor = parts_of(x)
    if never_negative(dividend):
        return x
    return ratio(larger(dividend, -dividend), divisor)


def _floor_mod(x: Element, y: Element) -> Element:
    return difference(x, _product(floor(quotient(x, y)), y))


def _is_less(x: Element, y: Element) -> bool:
    (a, b), (c, d) = parts_of(x), parts_of(y)
    slack = c * b - a * d
    if never_negative(slack - 1):
        return True
    if never_negative(-slack):
        return False
    raise UndecidedError


def _is_equal(x: Element, y: Element) -> bool:
    return x == y or (not _is_less(x, y) and not _is_less(y, x))


OF_ONE: Mapping[type[relex.Operator], Callable[[Element], Element]] = {
    relex.AbsOp: _absolute,
    relex.CeilOp: ceil,
    relex.FloorOp: floor,
    relex.NegativeOp: lambda x: _product(x, -1),
}
"""The functions of an element."""

OF_TWO: Mapping[type[relex.Operator], Callable[[Element, Element], Element]] = {
    relex.AddOp: lambda x, y: _together(lambda a, b: a + b, x, y),
    relex.DivideOp: quotient,
    relex.EqualOp: _is_equal,
    relex.FloorDivideOp: lambda x, y: floor(quotient(x, y)),
    relex.FloorModOp: _floor_mod,
    relex.GreaterEqualOp: lambda x, y: not _is_less(x, y),
    relex.GreaterOp: lambda x, y: _is_less(y, x),
    relex.LessEqualOp: lambda x, y: not _is_less(y, x),
    relex.LessOp: _is_less,
    relex.MaximumOp: lambda x, y: _together(larger, x, y),
    relex.MinimumOp: lambda x, y: _together(smaller, x, y),
    relex.MultiplyOp: _product,
    relex.NotEqualOp: lambda x, y: not _is_equal(x, y),
    relex.SubtractOp: difference,
    relex.TruncDivideOp: lambda x, y: truncated(quotient(x, y)),
}
"""The functions of two elements."""

MOVES = (
    relex.BroadcastToOp,
    relex.ConcatOp,
    relex.ExpandDimsOp,
    relex.PermuteDimsOp,
    relex.ReshapeOp,
    relex.SqueezeOp,
    relex.StridedSliceOp,
    relex.TakeOp,
    relex.WhereOp,
)
"""Operators that compute nothing of elements."""

REDUCTIONS: Mapping[type[relex.Operator], Callable[[Element, Element], Element]] = {
    relex.MaxOp: OF_TWO[relex.MaximumOp],
    relex.MinOp: OF_TWO[relex.MinimumOp],
    relex.ProdOp: OF_TWO[relex.MultiplyOp],
    relex.SumOp: OF_TWO[relex.AddOp],
}
"""The functions of two elements by which all elements are joined."""


def evaluate_on_sizes(op: relex.Operator, arrays: Sequence[Array]) -> Array | None:
    """Return the result of an operator on arrays of which some have elements that are sizes; None if it is none of
    sizes."""
    kind = type(op)
    function = _conversion(op) if isinstance(op, relex.AstypeOp) else OF_ONE.get(kind) or OF_TWO.get(kind)
    try:
        if function is not None:
            # Of scalars, NumPy returns elements.
            return np.asarray(np.frompyfunc(_bounded(function), len(arrays), 1)(*arrays), object)
        if isinstance(op, Reduction) and kind in REDUCTIONS:
            return _reduced(op, arrays[0])
    except UndecidedError:
        return None
    is_open_choice = isinstance(op, relex.WhereOp) and arrays[0].dtype == object
    return np.asarray(op.evaluate(*arrays)) if isinstance(op, MOVES) and not is_open_choice else None


def _bounded(function: Callable[..., Element]) -> Callable[..., Element]:
    """Return a function whose results are undecided where integers of 64 bits would wrap around. A model that squares a
    number again and again would take forever to import."""

    def bounded(*elements: Element) -> Element:
        found = function(*elements)
        if isinstance(found, int) and not -(1 << 63) <= found < 1 << 63:
            raise UndecidedError
        return found

    return bounded


def _conversion(op: relex.AstypeOp) -> Callable[[Element], Element] | None:
    if op.dtype in FLOATS:
        return lambda x: x
    # Narrower integers wrap around.
    return truncated if op.dtype in (i32, i64) else None


def _reduced(op: Reduction, array: Array) -> Array:
    join = np.frompyfunc(_bounded(REDUCTIONS[type(op)]), 2, 1)
    for axis in sorted(op.axes, reverse=True):
        array = np.asarray(join.reduce(array, axis=axis, keepdims=op.keeps), object)
    return array
