"""Rounding of floats to whole numbers, and signs."""

from __future__ import annotations

from abc import ABC

from relex.dialects.dtypes import FLOATS, NUMBERS, is_unsigned
from relex.dialects.relex.declared import declared
from relex.dialects.relex.elementwise import Element, Functions, UnaryFunction
from relex.dialects.relex.operator import Exactness, tensor_type


class _Rounding(UnaryFunction, ABC, allowed=FLOATS, exactness=Exactness.NUMBERS, idempotent=True):
    """A function from a float to a whole number; NaN, infinities and zeros stay as they are."""


@declared
class FloorOp(_Rounding):
    """The largest integer not above the element."""


@declared
class CeilOp(_Rounding):
    """The smallest integer not below the element."""


@declared
class TruncOp(_Rounding):
    """The element without its fraction: the nearest integer towards zero."""


@declared
class RoundOp(_Rounding):
    """The nearest integer; of two that are equally near, the even one, as in NumPy."""


@declared
class SignOp(UnaryFunction, allowed=NUMBERS, exactness=Exactness.NUMBERS, idempotent=True):
    """1 for positive elements, -1 for negative ones. Zeros and NaN stay as they are."""

    def formula(self, f: Functions, x: Element) -> Element:
        if is_unsigned(tensor_type(self.operand.type).element_type):
            return f.select(x > 0, 1, x)
        return f.select(x > 0, 1, f.select(x < 0, -1, x))
