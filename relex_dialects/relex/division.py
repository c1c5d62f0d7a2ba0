"""Quotients of integers, and remainders. Quotients and remainders by the integer 0 are 0, as in NumPy."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import AnyFloat
from xdsl.irdl import irdl_op_definition

from relex.dialects.dtypes import INTEGERS, NUMBERS, is_unsigned
from relex.dialects.relex.elementwise import BinaryFunction, Element, Functions
from relex.dialects.relex.operator import Exactness, tensor_type


class _Division(BinaryFunction, ABC):
    """A quotient or a remainder."""

    EXACTNESS: ClassVar = Exactness.NUMBERS

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


@irdl_op_definition
class FloorDivideOp(_Division):
    """
    The quotient of integers, rounded down, as in Python. Of floats, take `relex.floor` of `relex.divide`.

    ```mlir
    %z = relex.floor_divide %x, %y : (tensor<3x4xi32>, tensor<4xi32>) -> tensor<3x4xi32>
    ```
    """

    name = "relex.floor_divide"
    NEUTRAL: ClassVar = (None, 1)
    ALLOWED: ClassVar = INTEGERS

    def formula(self, f: Functions, x: Element, y: Element) -> Element:
        quotient = self.quotient(f, x, y)
        if self.on_unsigned:
            return quotient
        return f.select(_is_between(f, self.remainder(f, x, y), y) & f.not_equal(y, 0), quotient - 1, quotient)


@irdl_op_definition
class TruncDivideOp(_Division):
    """
    The quotient of integers, rounded towards zero, as in C.

    ```mlir
    %z = relex.trunc_divide %x, %y : (tensor<3x4xi32>, tensor<4xi32>) -> tensor<3x4xi32>
    ```
    """

    name = "relex.trunc_divide"
    NEUTRAL: ClassVar = (None, 1)
    ALLOWED: ClassVar = INTEGERS

    def formula(self, f: Functions, *elements: Element) -> Element:
        return self.quotient(f, *elements)


@irdl_op_definition
class FloorModOp(_Division):
    """
    The remainder of the quotient that is rounded down: it has the sign of the divisor, as in Python and NumPy. Of
    floats, it is NaN for a divisor of 0.

    ```mlir
    %z = relex.floor_mod %x, %y : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.floor_mod"
    ALLOWED: ClassVar = NUMBERS

    def formula(self, f: Functions, x: Element, y: Element) -> Element:
        remainder = f.fmod(x, y) if self.on_floats else self.remainder(f, x, y)
        if self.on_unsigned:
            return remainder
        result = f.select(_is_between(f, remainder, y), remainder + y, remainder)
        return f.select(f.equal(result, 0), f.copysign(0, y), result) if self.on_floats else result


@irdl_op_definition
class ModOp(_Division):
    """
    The remainder of the quotient that is rounded towards zero: it has the sign of the dividend, as C's `%` and `fmod`.
    Of floats, it is NaN for a divisor of 0.

    ```mlir
    %z = relex.mod %x, %y : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.mod"
    ALLOWED: ClassVar = NUMBERS

    def formula(self, f: Functions, *elements: Element) -> Element:
        return f.fmod(*elements) if self.on_floats else self.remainder(f, *elements)
