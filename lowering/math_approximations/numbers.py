"""What formulas are written with: each operator adds an op of `arith`, on scalars or on vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerType, VectorType, i32, i64
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa
from xdsl.utils.type import get_element_type_or_self

from relex.lowering.conversion import Conversion
from relex.lowering.te.scalars import build_constant

_CONTRACT = arith.FastMathFlagsAttr([FastMathFlag.ALLOW_CONTRACT])


@dataclass(frozen=True)
class Format:
    """How a type of floats stands in bits."""

    dtype: type[np.floating[Any]]
    integer: IntegerType
    """Integers of the same width."""
    fraction: int
    """The number of bits behind those of the exponent."""
    bias: int
    """The exponent of 1, as it stands there."""

    @property
    def rounder(self) -> float:
        """Added to a number that is not large, it rounds it to a whole one, which is then added to its bits."""
        return 1.5 * 2.0**self.fraction

    def bits_of(self, value: float) -> int:
        return int(self.dtype(value).view(f"i{self.integer.bitwidth // 8}"))


F32 = Format(np.float32, i32, 23, 127)
F64 = Format(np.float64, i64, 52, 1023)

FORMATS: dict[type[Attribute], Format] = {Float32Type: F32, Float64Type: F64}
"""By the type of the elements."""


@dataclass(frozen=True)
class _Numbers:
    """A value, and the conversion that adds what is computed from it before the op that it replaces."""

    value: SSAValue
    conversion: Conversion

    def _new(self, op: Operation) -> Self:
        return type(self)(self.conversion.add(op).results[0], self.conversion)

    def constant(self, number: float) -> Self:
        """A number of the same type; the same in every element of a vector."""
        kind, add = self.value.type, self.conversion.add
        value = self.conversion.once_in_block((number, kind), lambda: add(build_constant(number, kind)).result)
        return type(self)(value, self.conversion)

    def _same(self, other: _Numbers | float) -> SSAValue:
        """The other operand of an op."""
        return (other if isinstance(other, _Numbers) else self.constant(other)).value


class Floats(_Numbers):
    """A float, or a vector of them."""

    @property
    def format(self) -> Format:
        return FORMATS[type(get_element_type_or_self(self.value.type))]

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
        """`self * factor + term`, rounded once where the target can."""
        product = self._new(arith.MulfOp(self.value, self._same(factor), _CONTRACT))
        return self._new(arith.AddfOp(product.value, self._same(term), _CONTRACT))

    def polynomial(self, coefficients: Sequence[float]) -> Floats:
        """The sum of the coefficients times 1, `self`, its square, and so on."""
        *others, last = coefficients
        result: Floats | float = last
        for coefficient in reversed(others):
            result = self.times_plus(result, coefficient)
        assert isinstance(result, Floats)
        return result

    def at_least(self, low: float) -> Floats:
        """The larger number; NaN stays."""
        return self._new(arith.MaximumfOp(self.value, self._same(low)))

    def at_most(self, high: float) -> Floats:
        """The smaller number; NaN stays."""
        return self._new(arith.MinimumfOp(self.value, self._same(high)))

    def __abs__(self) -> Floats:
        return self._new(math.AbsFOp(self.value))

    def with_sign_of(self, other: Floats) -> Floats:
        return self._new(math.CopySignOp(self.value, other.value))

    @cached_property
    def bits(self) -> Bits:
        kind = _like(self.value.type, self.format.integer)
        return Bits(self.conversion.add(arith.BitcastOp(self.value, kind)).result, self.conversion)


class Bits(_Numbers):
    """An integer of the width of a float, or a vector of them; numbers wrap around."""

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
        """Shifted down, filled with zeros."""
        return self._new(arith.ShRUIOp(self.value, self._same(places)))

    @property
    def negative(self) -> Bits:
        """All bits where the first one is set, else none."""
        element = get_element_type_or_self(self.value.type)
        assert isinstance(element, IntegerType)
        return self._new(arith.ShRSIOp(self.value, self._same(element.bitwidth - 1)))

    def choose(self, value: Bits, other: Bits) -> Bits:
        """`value` where all bits are set, `other` where none is. (xDSL has no comparison that gives a vector.)"""
        return other ^ ((value ^ other) & self)

    def as_floats(self, kind: Attribute) -> Floats:
        """The floats that these are the bits of."""
        return Floats(self.conversion.add(arith.BitcastOp(self.value, kind)).result, self.conversion)


def _like(kind: Attribute, element: IntegerType) -> Attribute:
    return VectorType(element, kind.shape, kind.scalable_dims) if isa(kind, VectorType) else element
