"""Trigonometric and hyperbolic functions."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

from relex.dialects.relex.elementwise import FloatFunction


@irdl_op_definition
class SinOp(FloatFunction):
    """
    The sine of an angle in radians; NaN for infinity.

    ```mlir
    %y = relex.sin %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.sin"


@irdl_op_definition
class CosOp(FloatFunction):
    """
    The cosine of an angle in radians; NaN for infinity.

    ```mlir
    %y = relex.cos %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.cos"


@irdl_op_definition
class TanOp(FloatFunction):
    """
    The tangent of an angle in radians; NaN for infinity.

    ```mlir
    %y = relex.tan %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.tan"


@irdl_op_definition
class AsinOp(FloatFunction):
    """
    The inverse sine, from -pi/2 to pi/2; NaN outside of -1 to 1.

    ```mlir
    %y = relex.asin %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.asin"


@irdl_op_definition
class AcosOp(FloatFunction):
    """
    The inverse cosine, from 0 to pi; NaN outside of -1 to 1.

    ```mlir
    %y = relex.acos %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.acos"


@irdl_op_definition
class AtanOp(FloatFunction):
    """
    The inverse tangent, from -pi/2 to pi/2.

    ```mlir
    %y = relex.atan %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.atan"


@irdl_op_definition
class SinhOp(FloatFunction):
    """
    The hyperbolic sine.

    ```mlir
    %y = relex.sinh %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.sinh"


@irdl_op_definition
class CoshOp(FloatFunction):
    """
    The hyperbolic cosine.

    ```mlir
    %y = relex.cosh %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.cosh"


@irdl_op_definition
class AsinhOp(FloatFunction):
    """
    The inverse hyperbolic sine.

    ```mlir
    %y = relex.asinh %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.asinh"


@irdl_op_definition
class AcoshOp(FloatFunction):
    """
    The inverse hyperbolic cosine, which is not negative; NaN below 1.

    ```mlir
    %y = relex.acosh %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.acosh"


@irdl_op_definition
class AtanhOp(FloatFunction):
    """
    The inverse hyperbolic tangent; infinite for -1 and 1, NaN beyond.

    ```mlir
    %y = relex.atanh %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.atanh"
