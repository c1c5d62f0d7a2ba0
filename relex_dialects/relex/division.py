"""Quotients of integers, and remainders. Quotients and remainders by the integer 0 are 0, as in NumPy."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import AnyFloat

from relex.dialects.dtypes import INTEGERS, NUMBERS, is_unsigned
from relex.dialects.relex.declared import declared
from relex.dialects.relex.elementwise import BinaryFunction, Element, Functions
from relex.dialects.relex.operator import Exactness, tensor_type


class _Division(BinaryFunction, ABC, exactness=Exactness.NUMBERS):
    """A quotient or a remainder."""

    @property
    def on_floats(self) -> bool:
        """True if the operands are floats."""
        return isinstance(tensor_type(self.lhs.type).element_type, AnyFloat)

    @property
    def on_unsigned(self) -> bool:
        """True if the operands are integers without negative numbers."""
        return is_unsigned(tensor_type(self.lhs.type).element_type)

    def quotient(self, f: Functions, x: Element, y: Element) -> Element:
        """Return the quotient rounded towards zero. The quotient of the smallest integer by -1 wraps around."""
        zero = f.equal(y, 0)
        if self.on_unsigned:
            return f.select(zero, 0, f.trunc_divide(x, f.select(zero, 1, y)))
        # Processors trap on both 0 and the quotient that does not fit.
        simple = zero | f.equal(y, -1)
        return f.select(simple, f.select(zero, 0, -x), f.trunc_divide(x, f.select(simple, 1, y)))

    def remainder(self, f: Functions, x: Element, y: Element) -> Element:
        """Return the remainder with the sign of the dividend."""
        simple = f.equal(y, 0) if self.on_unsigned else f.equal(y, 0) | f.equal(y, -1)
        return f.fmod(x, f.select(simple, 1, y))


def _is_between(f: Functions, remainder: Element, y: Element) -> Element:
    """Return whether a quotient rounded towards zero differs from the one that is rounded down, given the remainder."""
    return f.not_equal(remainder, 0) & f.bitwise_xor(remainder < 0, y < 0)


@declared
class FloorDivideOp(_Division, allowed=INTEGERS, neutral=(None, 1)):
    """The quotient of integers, rounded down, as in Python. Of floats, take `relex.floor` of `relex.divide`."""

    def formula(self, f: Functions, x: Element, y: Element) -> Element:
        quotient = self.quotient(f, x, y)
        if self.on_unsigned:
            return quotient
        return f.select(_is_between(f, self.remainder(f, x, y), y) & f.not_equal(y, 0), quotient - 1, quotient)


@declared
class TruncDivideOp(_Division, allowed=INTEGERS, neutral=(None, 1)):
    """The quotient of integers, rounded towards zero, as in C."""

    def formula(self, f: Functions, *elements: Element) -> Element:
        return self.quotient(f, *elements)


@declared
class FloorModOp(_Division, allowed=NUMBERS):
    """
    The remainder of the quotient that is rounded down: it has the sign of the divisor, as in Python and NumPy. Of
    floats, it is NaN for a divisor of 0.
    """

    def formula(self, f: Functions, x: Element, y: Element) -> Element:
        remainder = f.fmod(x, y) if self.on_floats else self.remainder(f, x, y)
        if self.on_unsigned:
            return remainder
        result = f.select(_is_between(f, remainder, y), remainder + y, remainder)
        return f.select(f.equal(result, 0), f.copysign(0, y), result) if self.on_floats else result


@declared
class ModOp(_Division, allowed=NUMBERS):
    """
    The remainder of the quotient that is rounded towards zero: it has the sign of the dividend, as C's `%` and `fmod`.
    Of floats, it is NaN for a divisor of 0.
    """

    def formula(self, f: Functions, *elements: Element) -> Element:
        return f.fmod(*elements) if self.on_floats else self.remainder(f, *elements)
