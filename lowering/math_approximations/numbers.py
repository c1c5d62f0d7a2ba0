"""Operator overloads for writing formulas: each emits an op of `arith`, on scalars or vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerType, VectorType
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa
from xdsl.utils.type import get_element_type_or_self

from relex.dialects.dtypes import record_of
from relex.dialects.element_types import ELEMENTS, ElementType
from relex.lowering.conversion import Conversion
from relex.lowering.te.scalars import build_constant

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

    def _new(self, op: Operation) -> Self:
        return type(self)(self.conversion.add(op).results[0], self.conversion)

    def constant(self, number: float) -> Self:
        """Return a constant of the same type; of a vector type, a splat."""
        kind, add = self.value.type, self.conversion.add
        value = self.conversion.once_in_block((number, kind), lambda: add(build_constant(number, kind)).result)
        return type(self)(value, self.conversion)

    def _same(self, other: _Numbers | float) -> SSAValue:
        """Return the other operand of an op as a value."""
        return (other if isinstance(other, _Numbers) else self.constant(other)).value


class Floats(_Numbers):
    """A float, or a vector of floats."""

    @property
    def format(self) -> ElementType:
        """The type of the elements."""
        return record_of(get_element_type_or_self(self.value.type))

    def __add__(self, other: Floats | float) -> Floats:
        return self._new(arith.AddfOp(self.value, self._same(other)))

    def __sub__(self, other: Floats | float) -> Floats:
        return self._new(arith.SubfOp(self.value, self._same(other)))

    def __rsub__(self, other: float) -> Floats:
        return self._new(arith.SubfOp(self._same(other), self.value))

    def __mul__(self, other: Floats | float) -> Floats:
        return self._new(arith.MulfOp(self.value, self._same(other)))

    def __truediv__(self, other: Floats | float) -> Floats:
        return self._new(arith.DivfOp(self.value, self._same(other)))

    def __rtruediv__(self, other: float) -> Floats:
        return self._new(arith.DivfOp(self._same(other), self.value))

    def times_plus(self, factor: Floats | float, term: Floats | float) -> Floats:
        """Return `self * factor + term`, fused if the target supports it."""
        product = self._new(arith.MulfOp(self.value, self._same(factor), _CONTRACT))
        return self._new(arith.AddfOp(product.value, self._same(term), _CONTRACT))

    def polynomial(self, coefficients: Sequence[float]) -> Floats:
        """Evaluate the polynomial with these coefficients, lowest power first, at `self`."""
        *others, last = coefficients
        result: Floats | float = last
        for coefficient in reversed(others):
            result = self.times_plus(result, coefficient)
        assert isinstance(result, Floats)
        return result

    def at_least(self, low: float) -> Floats:
        """Return the larger number; NaN propagates."""
        return self._new(arith.MaximumfOp(self.value, self._same(low)))

    def at_most(self, high: float) -> Floats:
        """Return the smaller number; NaN propagates."""
        return self._new(arith.MinimumfOp(self.value, self._same(high)))

    def __abs__(self) -> Floats:
        return self._new(math.AbsFOp(self.value))

    def with_sign_of(self, other: Floats) -> Floats:
        """Return the magnitude with the sign of another float."""
        return self._new(math.CopySignOp(self.value, other.value))

    @cached_property
    def bits(self) -> Bits:
        """The bits, as integers."""
        kind = _like(self.value.type, IntegerType(self.format.bits))
        return Bits(self.conversion.add(arith.BitcastOp(self.value, kind)).result, self.conversion)


class Bits(_Numbers):
    """An integer of the width of a float, or a vector of such integers; arithmetic wraps around."""

    def __add__(self, other: Bits | int) -> Bits:
        return self._new(arith.AddiOp(self.value, self._same(other)))

    def __sub__(self, other: Bits | int) -> Bits:
        return self._new(arith.SubiOp(self.value, self._same(other)))

    def __rsub__(self, other: int) -> Bits:
        return self._new(arith.SubiOp(self._same(other), self.value))

    def __and__(self, other: Bits | int) -> Bits:
        return self._new(arith.AndIOp(self.value, self._same(other)))

    def __or__(self, other: Bits | int) -> Bits:
        return self._new(arith.OrIOp(self.value, self._same(other)))

    def __xor__(self, other: Bits | int) -> Bits:
        return self._new(arith.XOrIOp(self.value, self._same(other)))

    def __lshift__(self, places: int) -> Bits:
        return self._new(arith.ShLIOp(self.value, self._same(places)))

    def __rshift__(self, places: int) -> Bits:
        """Shift right, filling with zeros."""
        return self._new(arith.ShRUIOp(self.value, self._same(places)))

    @property
    def negative(self) -> Bits:
        """All ones if the sign bit is set, else 0."""
        element = get_element_type_or_self(self.value.type)
        assert isinstance(element, IntegerType)
        return self._new(arith.ShRSIOp(self.value, self._same(element.bitwidth - 1)))

    def choose(self, value: Bits, other: Bits) -> Bits:
        """Return `value` where all bits are set, `other` where none is. (xDSL's comparisons cannot yield vectors.)"""
        return other ^ ((value ^ other) & self)

    def as_floats(self, kind: Attribute) -> Floats:
        """Reinterpret the bits as floats."""
        return Floats(self.conversion.add(arith.BitcastOp(self.value, kind)).result, self.conversion)


def _like(kind: Attribute, element: IntegerType) -> Attribute:
    return VectorType(element, kind.shape, kind.scalable_dims) if isa(kind, VectorType) else element
