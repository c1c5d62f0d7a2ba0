"""Scalar expressions: how an element of a tensor is computed.

They are built by ordinary Python operators on elements of tensors, numbers and indices: `x[i, k] * w[j, k] + 1`.
Dynamic sizes are expressions of names (`relex.dialects.sizes.IndexExpr`), which may take the place of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerType,
    Signedness,
    f16,
    f32,
    f64,
    i1,
    i8,
    i64,
)
from xdsl.ir import Attribute

from relex.dialects.dtypes import SUB_BYTE, integer_limits, is_emulated, is_unsigned, record_of
from relex.dialects.sizes import IndexExpr, Size
from relex.dialects.tir import IterKind, table_of
from relex.dialects.walks import reachable

if TYPE_CHECKING:
    from relex.lowering.te.statements import Code
    from relex.lowering.te.tensors import Tensor

ui8 = IntegerType(8, Signedness.UNSIGNED)

Number = int | float | IndexExpr
"""A number; an `IndexExpr` is a dynamic size."""


Method = Callable[["PrimExpr", "PrimExpr | Number"], "PrimExpr"]


def _binary(function: str) -> Method:
    """Return the method that applies a scalar function to an expression and another one."""
    return lambda expr, other: call(function, expr, other)


def _reflected(function: str) -> Method:
    """Return the method that applies a scalar function to a number and an expression."""
    return lambda expr, other: call(function, other, expr)


def _comparison(function: str) -> Method:
    return lambda expr, other: compare(function, expr, other)


def _of_indices(function: str) -> Method:
    def method(expr: PrimExpr, other: PrimExpr | Number) -> PrimExpr:
        if expr.type != IndexType():
            raise ValueError(f"expected indices for '{function}', found {expr.type}")
        return call(function, expr, other)

    return method


@dataclass(frozen=True, eq=False)
class PrimExpr:
    """A scalar expression. `type` is its element type, or `index`."""

    type: Attribute

    __add__ = _binary("add")
    __radd__ = _reflected("add")
    __sub__ = _binary("subtract")
    __rsub__ = _reflected("subtract")
    __mul__ = _binary("multiply")
    __rmul__ = _reflected("multiply")
    __truediv__ = _binary("divide")
    __rtruediv__ = _reflected("divide")
    __and__ = _binary("and")
    __or__ = _binary("or")
    __lt__ = _comparison("less")
    __le__ = _comparison("less_equal")
    __gt__ = _comparison("greater")
    __ge__ = _comparison("greater_equal")
    __floordiv__ = _of_indices("floor_divide")
    """Divide two indices, which must not be negative."""
    __mod__ = _of_indices("remainder")
    """Return the remainder of two indices, which must not be negative."""

    def __neg__(self) -> PrimExpr:
        return call("negative", self) if isinstance(self.type, AnyFloat) else 0 - self

    def __abs__(self) -> PrimExpr:
        if self.type == i1 or is_unsigned(self.type):
            return self
        return call("abs", self) if isinstance(self.type, AnyFloat) else maximum(self, -self)

    def __bool__(self) -> bool:
        raise TypeError("an expression has no truth value yet; use 'if_then_else', '&' and '|'")


@dataclass(frozen=True, eq=False)
class Const(PrimExpr):
    """A constant."""

    value: float


@dataclass(frozen=True, eq=False)
class Axis(PrimExpr):
    """An iteration variable that runs from 0 to `extent`."""

    name: str
    extent: Size
    kind: IterKind


@dataclass(frozen=True, eq=False)
class Extent(PrimExpr):
    """A dynamic size."""

    size: IndexExpr


@dataclass(frozen=True, eq=False)
class PrimCall(PrimExpr):
    """A scalar function, by its name in `relex.lowering.te.scalars`."""

    function: str
    args: tuple[PrimExpr, ...]
    by_reciprocal: bool = False
    """Whether a quotient may be computed as the product with the reciprocal of the divisor, unless compilation is
    strict."""


@dataclass(frozen=True, eq=False)
class Converted(PrimExpr):
    """A number converted to the nearest one of another type; see `cast` for numbers out of range."""

    value: PrimExpr


@dataclass(frozen=True, eq=False)
class Reinterpreted(PrimExpr):
    """The number of another type of the same width that has the same bits."""

    value: PrimExpr


@dataclass(frozen=True, eq=False)
class LookedUp(PrimExpr):
    """A number in a table, which the lowest bits of an integer count to."""

    value: PrimExpr
    table: DenseIntOrFPElementsAttr


@dataclass(frozen=True, eq=False)
class IfThenElse(PrimExpr):
    """One of two expressions, of which only the chosen one is computed."""

    condition: PrimExpr
    value: PrimExpr
    other: PrimExpr


@dataclass(frozen=True, eq=False)
class Element(PrimExpr):
    """An element of a tensor."""

    tensor: Tensor
    indices: tuple[PrimExpr, ...]


@dataclass(frozen=True, eq=False)
class Reduce(PrimExpr):
    """`body` over all values of `axes`, combined by the scalar function `combiner`, starting from `identity`."""

    combiner: str
    identity: float
    body: PrimExpr
    axes: tuple[Axis, ...]


@dataclass(frozen=True, eq=False)
class Procedure(PrimExpr):
    """A whole tensor, computed by statements that `emit` makes, from the tensors that it `reads`."""

    reads: tuple[Tensor, ...]
    emit: Callable[[Code, Tensor], None]


def as_expr(value: PrimExpr | Number, type: Attribute) -> PrimExpr:
    """Make a constant of the given type from a number, or convert a dynamic size; keep an expression as it is."""
    if isinstance(value, PrimExpr):
        return value
    if not isinstance(value, IndexExpr):
        return Const(type, value)
    extent = Extent(IndexType(), value)
    return cast(cast(extent, i64), type) if type != IndexType() else extent


def call(function: str, *args: PrimExpr | Number) -> PrimExpr:
    """Apply a scalar function to expressions of one type; numbers take the type of the others."""
    exprs = _of_one_type(function, *args)
    if function == "dot2":
        return PrimCall(f32, function, exprs)
    if function == "power" and is_unsigned(exprs[0].type):
        return _power_of_unsigned(*exprs)
    return PrimCall(exprs[0].type, function, exprs)


def _power_of_unsigned(x: PrimExpr, y: PrimExpr) -> PrimExpr:
    """Raise to a power. Exponents of `math.ipowi` are signed; the half of an unsigned one is not negative."""
    root = PrimCall(x.type, "power", (x, call("right_shift", y, 1)))
    return root * root * select(equal(call("bitwise_and", y, 1), 0), 1, x)


def quotient(value: PrimExpr, divisor: PrimExpr) -> PrimExpr:
    """Divide, or multiply by the reciprocal, which rounds once more: for a divisor shared by many numbers."""
    return PrimCall(value.type, "divide", _of_one_type("divide", value, divisor), by_reciprocal=True)


def compare(function: str, lhs: PrimExpr | Number, rhs: PrimExpr | Number) -> PrimExpr:
    """Apply a scalar function that gives an i1. On NaN only `not_equal` holds."""
    return PrimCall(i1, function, _of_one_type(function, lhs, rhs))


def equal(lhs: PrimExpr | Number, rhs: PrimExpr | Number) -> PrimExpr:
    """Compare for equality; false on NaN."""
    return compare("equal", lhs, rhs)


def not_equal(lhs: PrimExpr | Number, rhs: PrimExpr | Number) -> PrimExpr:
    """Compare for inequality; true on NaN."""
    return compare("not_equal", lhs, rhs)


def is_nan(value: PrimExpr) -> PrimExpr:
    """Return whether a float is NaN: the only number that differs from itself."""
    return not_equal(value, value)


def _of_one_type(function: str, *args: PrimExpr | Number) -> tuple[PrimExpr, ...]:
    types = {arg.type for arg in args if isinstance(arg, PrimExpr)}
    if len(types) != 1:
        raise ValueError(
            f"expected arguments of one type for '{function}', found {', '.join(map(str, types)) or 'none'}"
        )
    (type,) = types
    return tuple(as_expr(arg, type) for arg in args)


def select(condition: PrimExpr, value: PrimExpr | Number, other: PrimExpr | Number) -> PrimExpr:
    """Return `value` if the condition holds, else `other`; both are computed."""
    value, other = _of_one_type("select", value, other)
    return PrimCall(value.type, "select", (condition, value, other))


def if_then_else(condition: PrimExpr, value: PrimExpr | Number, other: PrimExpr | Number) -> PrimExpr:
    """Return `value` if the condition holds, else `other`; the other one is not computed and reads nothing."""
    value, other = _of_one_type("if_then_else", value, other)
    return IfThenElse(value.type, condition, value, other)


def cast(value: PrimExpr, type: Attribute) -> PrimExpr:
    """Convert a number to another type.

    Integers wrap around. Floats are rounded towards zero to integers; those out of range saturate, and NaN becomes 0.
    To i1, everything but zero is true.
    """
    if value.type == type:
        return value
    if value.type in SUB_BYTE:
        return cast(_unpacked(value), type)
    if type in SUB_BYTE:
        return _packed(value, type)
    if is_emulated(type) and value.type != f32 and (value.type, type) != (f64, f16):
        return cast(cast(value, f32), type)  # As NumPy and its extension do.
    if is_emulated(value.type) and type != f32:
        return cast(cast(value, f32), type)
    if type == i1:
        return not_equal(value, 0)
    if type == IndexType() and is_unsigned(value.type):
        value = cast(value, i64)
    if not isinstance(value.type, AnyFloat) or isinstance(type, AnyFloat):
        return Converted(type, value)
    return _saturated(value, type, lowest(type), highest(type))


def _saturated(value: PrimExpr, type: Attribute, low: float, high: float) -> PrimExpr:
    """Convert a float to an integer type, saturating at the numbers `low` and `high`."""
    inside = (value >= low) & (value < high + 1)  # As floats, `high` itself may be rounded up.
    converted = Converted(type, select(inside, value, 0))
    return select(value < low, low, select(value >= high + 1, high, converted))


def _unpacked(value: PrimExpr) -> PrimExpr:
    """Return the byte that equals an integer of fewer than 8 bits, which is in the low bits of its byte."""
    element = record_of(value.type)
    if element.unsigned:
        return call("bitwise_and", Converted(ui8, value), element.mask)
    unused = 8 - element.bits
    return call("right_shift", call("left_shift", Converted(i8, value), unused), unused)


def _packed(value: PrimExpr, type: Attribute) -> PrimExpr:
    """Convert a number to an integer of fewer than 8 bits."""
    if is_emulated(value.type):
        value = cast(value, f32)
    is_float = isinstance(value.type, AnyFloat)
    byte = _saturated(value, i8, *integer_limits(type)) if is_float else cast(value, i8)
    return Converted(type, call("bitwise_and", byte, record_of(type).mask))


def bitcast(value: PrimExpr, type: Attribute) -> PrimExpr:
    """Return the number of another type of the same width that has the same bits."""
    return value if value.type == type else Reinterpreted(type, value)


def look_up(value: PrimExpr, table: Sequence[float], type: Attribute) -> PrimExpr:
    """Return the number of a type in a table of 16 or 256 that the lowest bits of an integer count to."""
    return LookedUp(type, value, table_of(table, type))


def lowest(type: Attribute) -> float:
    """Return the smallest number of a type."""
    return -inf if isinstance(type, AnyFloat) else integer_limits(type)[0]


def highest(type: Attribute) -> float:
    """Return the largest number of a type."""
    return inf if isinstance(type, AnyFloat) else integer_limits(type)[1]


def maximum(lhs: PrimExpr | Number, rhs: PrimExpr | Number) -> PrimExpr:
    """Return the larger of two numbers, NaN if either is."""
    return call("maximum", lhs, rhs)


def minimum(lhs: PrimExpr | Number, rhs: PrimExpr | Number) -> PrimExpr:
    """Return the smaller of two numbers, NaN if either is."""
    return call("minimum", lhs, rhs)


def reduce_axis(extent: Size, name: str = "k") -> Axis:
    """Declare an axis to reduce over."""
    return Axis(IndexType(), name, extent, IterKind.REDUCE)


def sum(body: PrimExpr, axis: Axis | Sequence[Axis]) -> PrimExpr:
    """Sum `body` over all values of the axes; 0 over none. On i1 it is the logical or, as in NumPy's `@`."""
    return reduce("add", 0, body, axis)


def prod(body: PrimExpr, axis: Axis | Sequence[Axis]) -> PrimExpr:
    """Multiply `body` over all values of the axes; 1 over none."""
    return reduce("multiply", 1, body, axis)


def max(body: PrimExpr, axis: Axis | Sequence[Axis]) -> PrimExpr:
    """Return the largest `body` over the axes, NaN if any is; over no values, the smallest number of the type."""
    return reduce("maximum", lowest(body.type), body, axis)


def min(body: PrimExpr, axis: Axis | Sequence[Axis]) -> PrimExpr:
    """Return the smallest `body` over the axes, NaN if any is; over no values, the largest number of the type."""
    return reduce("minimum", highest(body.type), body, axis)


def reduce(combiner: str, identity: float, body: PrimExpr, axis: Axis | Sequence[Axis]) -> PrimExpr:
    """Reduce `body` over all values of the axes by a scalar function, of which `identity` is the neutral element."""
    axes = (axis,) if isinstance(axis, Axis) else tuple(axis)
    if not axes or any(a.kind is not IterKind.REDUCE for a in axes):
        raise ValueError(f"expected axes made by 'reduce_axis', found {', '.join(a.name for a in axes) or 'none'}")
    return Reduce(body.type, combiner, identity, body, axes)


def walk(expr: PrimExpr) -> Iterator[PrimExpr]:
    """Yield the expression and all its subexpressions, outermost first, each once."""
    return reachable(expr, _parts)


def _parts(expr: PrimExpr) -> Sequence[PrimExpr]:
    match expr:
        case PrimCall(args=parts) | Element(indices=parts):
            return parts
        case IfThenElse(condition=condition, value=value, other=other):
            return condition, value, other
        case Reduce(body=part) | Converted(value=part) | LookedUp(value=part) | Reinterpreted(value=part):
            return (part,)
        case _:
            return ()
