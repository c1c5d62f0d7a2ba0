"""Trigonometric and hyperbolic functions."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.irdl import irdl_op_definition

from relex.dialects.dtypes import FLOATS
from relex.dialects.relex.elementwise import UnaryFunction


class _FloatFunction(UnaryFunction, ABC):
    """A function of one float, the scalar function of the same name."""

    ALLOWED: ClassVar = FLOATS


@irdl_op_definition
class SinOp(_FloatFunction):
    """
    The sine of an angle in radians; NaN for infinity.

    ```mlir
    %y = relex.sin %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.sin"


@irdl_op_definition
class CosOp(_FloatFunction):
    """
    The cosine of an angle in radians; NaN for infinity.

    ```mlir
    %y = relex.cos %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.cos"


@irdl_op_definition
class TanOp(_FloatFunction):
    """
    The tangent of an angle in radians; NaN for infinity.

    ```mlir
    %y = relex.tan %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.tan"


@irdl_op_definition
class AsinOp(_FloatFunction):
    """
    The inverse sine, from -pi/2 to pi/2; NaN outside of -1 to 1.

    ```mlir
    %y = relex.asin %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.asin"


@irdl_op_definition
class AcosOp(_FloatFunction):
    """
    The inverse cosine, from 0 to pi; NaN outside of -1 to 1.

    ```mlir
    %y = relex.acos %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.acos"


@irdl_op_definition
class AtanOp(_FloatFunction):
    """
    The inverse tangent, from -pi/2 to pi/2.

    ```mlir
    %y = relex.atan %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.atan"


@irdl_op_definition
class SinhOp(_FloatFunction):
    """
    The hyperbolic sine.

    ```mlir
    %y = relex.sinh %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.sinh"


@irdl_op_definition
class CoshOp(_FloatFunction):
    """
    The hyperbolic cosine.

    ```mlir
    %y = relex.cosh %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.cosh"


@irdl_op_definition
class AsinhOp(_FloatFunction):
    """
    The inverse hyperbolic sine.

    ```mlir
    %y = relex.asinh %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.asinh"


@irdl_op_definition
class AcoshOp(_FloatFunction):
    """
    The inverse hyperbolic cosine, which is not negative; NaN below 1.

    ```mlir
    %y = relex.acosh %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.acosh"


@irdl_op_definition
class AtanhOp(_FloatFunction):
    """
    The inverse hyperbolic tangent; infinite for -1 and 1, NaN beyond.

    ```mlir
    %y = relex.atanh %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.atanh"
