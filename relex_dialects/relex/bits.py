"""Operators on the bits of integers, on booleans, and questions about floats."""

from __future__ import annotations

from abc import ABC
from math import inf
from typing import ClassVar

from xdsl.dialects.builtin import i1

from relex.dialects.dtypes import INTEGERS, integer_limits, is_unsigned, record_of
from relex.dialects.relex.declared import declared
from relex.dialects.relex.elementwise import BinaryFunction, Element, FloatFunction, Functions, Predicate, UnaryFunction
from relex.dialects.relex.operator import Exactness, tensor_type


class _Bitwise(BinaryFunction, ABC, allowed=(*INTEGERS, i1), exactness=Exactness.BITS):
    """A function of each pair of bits, on i1 of booleans."""


class _Logical(BinaryFunction, ABC, allowed=(i1,), exactness=Exactness.BITS):
    """A function of booleans, the bitwise one of them."""

    def formula(self, f: Functions, *elements: Element) -> Element:
        return getattr(f, self.name.replace("relex.logical", "bitwise"))(*elements)


@declared
class BitwiseAndOp(_Bitwise, idempotent=True):
    """Bitwise and of integers; on i1, the logical operator."""


@declared
class BitwiseOrOp(_Bitwise, idempotent=True):
    """Bitwise or of integers; on i1, the logical operator."""


@declared
class BitwiseXorOp(_Bitwise):
    """Bitwise exclusive or of integers; on i1, the logical operator."""


@declared
class LogicalAndOp(_Logical, idempotent=True):
    """Logical and of booleans."""


@declared
class LogicalOrOp(_Logical, idempotent=True):
    """Logical or of booleans."""


@declared
class LogicalXorOp(_Logical):
    """Logical exclusive or of booleans."""


@declared
class BitwiseNotOp(UnaryFunction, allowed=(*INTEGERS, i1), exactness=Exactness.BITS):
    """The complement of each bit; on i1, logical not."""

    def formula(self, f: Functions, *elements: Element) -> Element:
        element_type = tensor_type(self.operand.type).element_type
        low, high = integer_limits(element_type)
        return f.bitwise_xor(*elements, True if element_type == i1 else -1 if low < 0 else high)


@declared
class LogicalNotOp(UnaryFunction, allowed=(i1,), exactness=Exactness.BITS, formula=lambda f, x: f.bitwise_xor(x, True)):
    """The opposite of each boolean."""


class _Shift(BinaryFunction, ABC, allowed=INTEGERS, exactness=Exactness.BITS):
    """A shift of integers. A count that is negative, or not below the width, shifts all bits out."""

    @property
    def width(self) -> int:
        """The number of bits of an element."""
        return record_of(tensor_type(self.lhs.type).element_type).bits


@declared
class LeftShiftOp(_Shift, neutral=(None, 0)):
    """
    The first integer shifted to the left by the second, filled with zeros. A count that is negative, or not below the
    width of the type, gives 0.
    """

    def formula(self, f: Functions, x: Element, count: Element) -> Element:
        fits = (count >= 0) & (count < self.width)
        return f.select(fits, f.left_shift(x, f.select(fits, count, 0)), 0)


@declared
class RightShiftOp(_Shift, neutral=(None, 0)):
    """
    The first integer shifted to the right by the second, filled with its sign. A count that is negative, or not below
    the width of the type, only leaves the sign: 0 or -1.
    """

    def formula(self, f: Functions, x: Element, count: Element) -> Element:
        last = self.width - 1
        if is_unsigned(tensor_type(self.lhs.type).element_type):
            return f.select(count <= last, f.right_shift(x, f.select(count < last, count, last)), 0)
        return f.right_shift(x, f.select((count >= 0) & (count < last), count, last))


class _Question(Predicate, FloatFunction, ABC):
    """A question about a float."""

    EXAMPLE: ClassVar = "%c = {op} %x : (tensor<3x4x{t}>) -> tensor<3x4xi1>"


@declared
class IsnanOp(_Question, formula=lambda f, x: f.not_equal(x, x)):
    """True for NaN."""


@declared
class IsinfOp(_Question, formula=lambda f, x: f.equal(abs(x), inf)):
    """True for infinity and minus infinity."""


@declared
class IsfiniteOp(_Question, formula=lambda f, x: abs(x) < inf):
    """True for all but NaN and the infinities."""
