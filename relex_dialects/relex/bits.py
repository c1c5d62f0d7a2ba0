"""Operators on the bits of integers, on booleans, and questions about floats."""

from __future__ import annotations

from abc import ABC
from math import inf
from typing import ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition

from relex.dialects.dtypes import INTEGERS, integer_limits, is_unsigned, record_of
from relex.dialects.relex.elementwise import BinaryFunction, Element, FloatFunction, Functions, Predicate, UnaryFunction
from relex.dialects.relex.operator import Exactness, tensor_type


class _Bitwise(BinaryFunction, ABC):
    """A function of each pair of bits, on i1 of booleans."""

    EXACTNESS: ClassVar = Exactness.BITS
    ALLOWED: ClassVar[tuple[Attribute, ...]] = (*INTEGERS, i1)


class _Logical(BinaryFunction, ABC):
    """A function of booleans, the bitwise one of them."""

    EXACTNESS: ClassVar = Exactness.BITS
    ALLOWED: ClassVar[tuple[Attribute, ...]] = (i1,)

    def formula(self, f: Functions, *elements: Element) -> Element:
        return getattr(f, self.name.replace("relex.logical", "bitwise"))(*elements)


@irdl_op_definition
class BitwiseAndOp(_Bitwise):
    """
    Bitwise and of integers; on i1, the logical operator.

    ```mlir
    %z = relex.bitwise_and %x, %y : (tensor<3x4xi32>, tensor<4xi32>) -> tensor<3x4xi32>
    ```
    """

    name = "relex.bitwise_and"
    IDEMPOTENT: ClassVar = True


@irdl_op_definition
class BitwiseOrOp(_Bitwise):
    """
    Bitwise or of integers; on i1, the logical operator.

    ```mlir
    %z = relex.bitwise_or %x, %y : (tensor<3x4xi32>, tensor<4xi32>) -> tensor<3x4xi32>
    ```
    """

    name = "relex.bitwise_or"
    IDEMPOTENT: ClassVar = True


@irdl_op_definition
class BitwiseXorOp(_Bitwise):
    """
    Bitwise exclusive or of integers; on i1, the logical operator.

    ```mlir
    %z = relex.bitwise_xor %x, %y : (tensor<3x4xi32>, tensor<4xi32>) -> tensor<3x4xi32>
    ```
    """

    name = "relex.bitwise_xor"


@irdl_op_definition
class LogicalAndOp(_Logical):
    """
    Logical and of booleans.

    ```mlir
    %z = relex.logical_and %x, %y : (tensor<3x4xi1>, tensor<4xi1>) -> tensor<3x4xi1>
    ```
    """

    name = "relex.logical_and"
    IDEMPOTENT: ClassVar = True


@irdl_op_definition
class LogicalOrOp(_Logical):
    """
    Logical or of booleans.

    ```mlir
    %z = relex.logical_or %x, %y : (tensor<3x4xi1>, tensor<4xi1>) -> tensor<3x4xi1>
    ```
    """

    name = "relex.logical_or"
    IDEMPOTENT: ClassVar = True


@irdl_op_definition
class LogicalXorOp(_Logical):
    """
    Logical exclusive or of booleans.

    ```mlir
    %z = relex.logical_xor %x, %y : (tensor<3x4xi1>, tensor<4xi1>) -> tensor<3x4xi1>
    ```
    """

    name = "relex.logical_xor"


@irdl_op_definition
class BitwiseNotOp(UnaryFunction):
    """
    The complement of each bit; on i1, logical not.

    ```mlir
    %y = relex.bitwise_not %x : (tensor<3x4xi32>) -> tensor<3x4xi32>
    ```
    """

    name = "relex.bitwise_not"
    EXACTNESS: ClassVar = Exactness.BITS
    ALLOWED: ClassVar = (*INTEGERS, i1)

    def formula(self, f: Functions, *elements: Element) -> Element:
        element_type = tensor_type(self.operand.type).element_type
        low, high = integer_limits(element_type)
        return f.bitwise_xor(*elements, True if element_type == i1 else -1 if low < 0 else high)


@irdl_op_definition
class LogicalNotOp(UnaryFunction):
    """
    The opposite of each boolean.

    ```mlir
    %y = relex.logical_not %x : (tensor<3x4xi1>) -> tensor<3x4xi1>
    ```
    """

    name = "relex.logical_not"
    EXACTNESS: ClassVar = Exactness.BITS
    ALLOWED: ClassVar = (i1,)

    def formula(self, f: Functions, x: Element) -> Element:
        return f.bitwise_xor(x, True)


class _Shift(BinaryFunction, ABC):
    """A shift of integers. A count that is negative, or not below the width, shifts all bits out."""

    EXACTNESS: ClassVar = Exactness.BITS
    ALLOWED: ClassVar = INTEGERS

    @property
    def width(self) -> int:
        """The number of bits of an element."""
        return record_of(tensor_type(self.lhs.type).element_type).bits


@irdl_op_definition
class LeftShiftOp(_Shift):
    """
    The first integer shifted to the left by the second, filled with zeros. A count that is negative, or not below the
    width of the type, gives 0.

    ```mlir
    %z = relex.left_shift %x, %y : (tensor<3x4xi32>, tensor<4xi32>) -> tensor<3x4xi32>
    ```
    """

    name = "relex.left_shift"
    NEUTRAL: ClassVar = (None, 0)

    def formula(self, f: Functions, x: Element, count: Element) -> Element:
        fits = (count >= 0) & (count < self.width)
        return f.select(fits, f.left_shift(x, f.select(fits, count, 0)), 0)


@irdl_op_definition
class RightShiftOp(_Shift):
    """
    The first integer shifted to the right by the second, filled with its sign. A count that is negative, or not below
    the width of the type, leaves nothing but the sign: 0 or -1.

    ```mlir
    %z = relex.right_shift %x, %y : (tensor<3x4xi32>, tensor<4xi32>) -> tensor<3x4xi32>
    ```
    """

    name = "relex.right_shift"
    NEUTRAL: ClassVar = (None, 0)

    def formula(self, f: Functions, x: Element, count: Element) -> Element:
        last = self.width - 1
        if is_unsigned(tensor_type(self.lhs.type).element_type):
            return f.select(count <= last, f.right_shift(x, f.select(count < last, count, last)), 0)
        return f.right_shift(x, f.select((count >= 0) & (count < last), count, last))


class _Question(Predicate, FloatFunction, ABC):
    """A question about a float."""


@irdl_op_definition
class IsnanOp(_Question):
    """
    True for NaN.

    ```mlir
    %c = relex.isnan %x : (tensor<3x4xf32>) -> tensor<3x4xi1>
    ```
    """

    name = "relex.isnan"

    def formula(self, f: Functions, x: Element) -> Element:
        return f.not_equal(x, x)


@irdl_op_definition
class IsinfOp(_Question):
    """
    True for infinity and minus infinity.

    ```mlir
    %c = relex.isinf %x : (tensor<3x4xf32>) -> tensor<3x4xi1>
    ```
    """

    name = "relex.isinf"

    def formula(self, f: Functions, x: Element) -> Element:
        return f.equal(abs(x), inf)


@irdl_op_definition
class IsfiniteOp(_Question):
    """
    True for all but NaN and the infinities.

    ```mlir
    %c = relex.isfinite %x : (tensor<3x4xf32>) -> tensor<3x4xi1>
    ```
    """

    name = "relex.isfinite"

    def formula(self, f: Functions, x: Element) -> Element:
        return abs(x) < inf
