"""Rounding of floats to whole numbers, and signs."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.irdl import irdl_op_definition

from relex.dialects.dtypes import FLOATS, NUMBERS, is_unsigned
from relex.dialects.relex.elementwise import Element, Functions, UnaryFunction
from relex.dialects.relex.operator import Exactness, tensor_type


class _Rounding(UnaryFunction, ABC):
    """A function from a float to a whole number; NaN, infinities and zeros stay as they are."""

    IDEMPOTENT: ClassVar[bool] = True
    EXACTNESS: ClassVar = Exactness.NUMBERS
    ALLOWED: ClassVar = FLOATS


@irdl_op_definition
class FloorOp(_Rounding):
    """
    The largest integer not above the element.

    ```mlir
    %y = relex.floor %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.floor"


@irdl_op_definition
class CeilOp(_Rounding):
    """
    The smallest integer not below the element.

    ```mlir
    %y = relex.ceil %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.ceil"


@irdl_op_definition
class TruncOp(_Rounding):
    """
    The element without its fraction: the nearest integer towards zero.

    ```mlir
    %y = relex.trunc %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.trunc"


@irdl_op_definition
class RoundOp(_Rounding):
    """
    The nearest integer; of two that are equally near, the even one, as in NumPy.

    ```mlir
    %y = relex.round %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.round"


@irdl_op_definition
class SignOp(UnaryFunction):
    """
    1 for positive elements, -1 for negative ones. Zeros and NaN stay as they are.

    ```mlir
    %y = relex.sign %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.sign"
    IDEMPOTENT: ClassVar = True
    EXACTNESS: ClassVar = Exactness.NUMBERS
    ALLOWED: ClassVar = NUMBERS

    def formula(self, f: Functions, x: Element) -> Element:
        if is_unsigned(tensor_type(self.operand.type).element_type):
            return f.select(x > 0, 1, x)
        return f.select(x > 0, 1, f.select(x < 0, -1, x))
