"""Operator overloads for writing formulas: each emits an op of `arith`, on scalars or vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self, TypeVar

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerType, VectorType
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.type import get_element_type_or_self

from relex.dialects.dtypes import record_of
from relex.dialects.element_types import ELEMENTS, ElementType
from relex.dialects.upstream.hints import isa
from relex.lowering.conversion import Conversion
from relex.lowering.te.scalars import build_constant

NumbersT = TypeVar("NumbersT", bound="_Numbers")

_CONTRACT = arith.FastMathFlagsAttr([FastMathFlag.ALLOW_CONTRACT])


F32, F64 = ELEMENTS["f32"], ELEMENTS["f64"]


def rounder(element: ElementType) -> float:
    """Return a constant that rounds a moderate number to an integer when added: the low bits of the sum hold it."""
    return 1.5 * 2.0**element.fraction_bits


@dataclass(frozen=True)
class _Numbers:
    """A value, and the conversion that inserts ops computed from it before the op that is replaced."""

    value: SSAValue
    conversion: Conversion

    def new(self, op: Operation) -> Self:
        """Emit an op, and return its result."""
        return type(self)(self.conversion.add(op).results[0], self.conversion)

    def constant(self, number: float) -> Self:
        """Return a constant of the same type; of a vector type, a splat."""
        kind, add = self.value.type, self.conversion.add
        value = self.conversion.once_in_block((number, kind), lambda: add(build_constant(number, kind)).result)
        return type(self)(value, self.conversion)

    def same(self, other: _Numbers | float) -> SSAValue:
        """Return the other operand of an op as a value."""
        return (other if isinstance(other, _Numbers) else self.constant(other)).value


def _binary(op: Callable[[SSAValue, SSAValue], Operation]) -> Callable[[NumbersT, NumbersT | float], NumbersT]:
    """Return the method that emits an op on a number and another one."""
    return lambda number, other: number.new(op(number.value, number.same(other)))


def _reflected(op: Callable[[SSAValue, SSAValue], Operation]) -> Callable[[NumbersT, float], NumbersT]:
    """Return the method that emits an op on a constant and a number."""
    return lambda number, other: number.new(op(number.same(other), number.value))


class Floats(_Numbers):
    """A float, or a vector of floats."""

    @property
    def format(self) -> ElementType:
        """The type of the elements."""
        return record_of(get_element_type_or_self(self.value.type))

    __add__ = _binary(arith.AddfOp)
    __sub__ = _binary(arith.SubfOp)
    __rsub__ = _reflected(arith.SubfOp)
    __mul__ = _binary(arith.MulfOp)
    __truediv__ = _binary(arith.DivfOp)
    __rtruediv__ = _reflected(arith.DivfOp)
    at_least = _binary(arith.MaximumfOp)
    """Return the larger number; NaN propagates."""
    at_most = _binary(arith.MinimumfOp)
    """Return the smaller number; NaN propagates."""

    def times_plus(self, factor: Floats | float, term: Floats | float) -> Floats:
        """Return `self * factor + term`, fused if the target supports it."""
        product = self.new(arith.MulfOp(self.value, self.same(factor), _CONTRACT))
        return self.new(arith.AddfOp(product.value, self.same(term), _CONTRACT))

    def polynomial(self, coefficients: Sequence[float]) -> Floats:
        """Evaluate the polynomial with these coefficients, lowest power first, at `self`.

        By Horner's scheme in the square of `self`, where the coefficients are sums of two neighbouring terms: of the
        multiply-adds, half are independent of each other, and only the other half wait for the one before. (With higher
        powers they would wait less, but need registers and multiplications.)
        """
        pairs = zip(coefficients[::2], coefficients[1::2], strict=False)
        terms: list[Floats | float] = [self.times_plus(second, first) for first, second in pairs]
        *others, result = [*terms, *coefficients[len(terms) * 2 :]]
        square = self * self
        for term in reversed(others):
            result = square.times_plus(result, term)
        assert isinstance(result, Floats)
        return result

    def __abs__(self) -> Floats:
        return self.new(math.AbsFOp(self.value))

    def rounded(self) -> Floats:
        """Return the nearest integer, the even one of two."""
        return self.new(math.RoundEvenOp(self.value))

    def to(self, element: Float32Type | Float64Type) -> Floats:
        """Convert to another type of elements."""
        old = self.value.type
        kind = VectorType(element, old.shape, old.scalable_dims) if isa(old, VectorType) else element
        op = arith.ExtFOp if record_of(element).bits > self.format.bits else arith.TruncFOp
        return self.new(op(self.value, kind))

    def with_sign_of(self, other: Floats) -> Floats:
        """Return the magnitude with the sign of another float."""
        return self.new(math.CopySignOp(self.value, other.value))

    @cached_property
    def bits(self) -> IntegerBits:
        """The bits, as integers."""
        old, element = self.value.type, IntegerType(self.format.bits)
        kind = VectorType(element, old.shape, old.scalable_dims) if isa(old, VectorType) else element
        return IntegerBits(self.conversion.add(arith.BitcastOp(self.value, kind)).result, self.conversion)


class IntegerBits(_Numbers):
    """An integer of the width of a float, or a vector of such integers; arithmetic wraps around."""

    __add__ = _binary(arith.AddiOp)
    __sub__ = _binary(arith.SubiOp)
    __rsub__ = _reflected(arith.SubiOp)
    __and__ = _binary(arith.AndIOp)
    __or__ = _binary(arith.OrIOp)
    __xor__ = _binary(arith.XOrIOp)
    __lshift__ = _binary(arith.ShLIOp)
    __rshift__ = _binary(arith.ShRUIOp)
    """Shift right, filling with zeros."""

    @property
    def negative(self) -> IntegerBits:
        """All ones if the sign bit is set, else 0."""
        element = get_element_type_or_self(self.value.type)
        assert isinstance(element, IntegerType)
        return self.new(arith.ShRSIOp(self.value, self.same(element.bitwidth - 1)))

    def choose(self, value: IntegerBits, other: IntegerBits) -> IntegerBits:
        """Return `value` where all bits are set, `other` where none is. (xDSL's comparisons cannot yield vectors.)"""
        return other ^ ((value ^ other) & self)

    def as_floats(self, kind: Attribute) -> Floats:
        """Reinterpret the bits as floats."""
        return Floats(self.conversion.add(arith.BitcastOp(self.value, kind)).result, self.conversion)
