"""Elementwise functions of one tensor."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import ParsePropInAttrDict, irdl_op_definition, opt_prop_def, prop_def

from relex.dialects.dtypes import ELEMENT_TYPES, FLOATS, INTEGERS, NUMBERS, ElementConstr, numpy_dtype
from relex.dialects.errors import InferenceError
from relex.dialects.relex.elementwise import UnaryElementwise
from relex.dialects.relex.extremes import maximum, minimum
from relex.dialects.relex.operator import Exactness, ieee_arithmetic
from relex.dialects.relex.properties import ScalarConstr, expect_scalar, number, scalar
from relex.dialects.relex.types import SizedType

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array


class UnaryFunction(UnaryElementwise, ABC):
    """An elementwise function that NumPy provides."""

    NUMPY: ClassVar[str]
    """The name of the function in NumPy."""

    def evaluate(self, *operands: Array) -> Array:
        import numpy as np

        with ieee_arithmetic():
            return getattr(np, self.NUMPY)(*operands)


@irdl_op_definition
class NegativeOp(UnaryFunction):
    """
    Each element with its sign flipped, including NaN and zeros; the smallest integer stays as it is. Not defined on i1.

    ```mlir
    %y = relex.negative %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.negative"
    EXACTNESS: ClassVar = Exactness.BITS
    ALLOWED: ClassVar = NUMBERS
    NUMPY: ClassVar = "negative"


@irdl_op_definition
class AbsOp(UnaryFunction):
    """
    Each element without its sign; the smallest integer stays as it is.

    ```mlir
    %y = relex.abs %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.abs"
    EXACTNESS: ClassVar = Exactness.BITS
    NUMPY: ClassVar = "abs"


@irdl_op_definition
class FloorOp(UnaryFunction):
    """
    The largest integer not above the element.

    ```mlir
    %y = relex.floor %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.floor"
    EXACTNESS: ClassVar = Exactness.NUMBERS
    ALLOWED: ClassVar = FLOATS
    NUMPY: ClassVar = "floor"


@irdl_op_definition
class SqrtOp(UnaryFunction):
    """
    The square root, correctly rounded; NaN for negative numbers.

    ```mlir
    %y = relex.sqrt %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.sqrt"
    EXACTNESS: ClassVar = Exactness.NUMBERS
    ALLOWED: ClassVar = FLOATS
    NUMPY: ClassVar = "sqrt"


@irdl_op_definition
class RsqrtOp(UnaryElementwise):
    """
    The reciprocal of the square root, both correctly rounded; infinite for zero, with its sign.

    ```mlir
    %y = relex.rsqrt %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.rsqrt"
    EXACTNESS: ClassVar = Exactness.NUMBERS
    ALLOWED: ClassVar = FLOATS

    def evaluate(self, *operands: Array) -> Array:
        import numpy as np

        with ieee_arithmetic():
            return 1 / np.sqrt(*operands)


@irdl_op_definition
class ExpOp(UnaryFunction):
    """
    The exponential function.

    ```mlir
    %y = relex.exp %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.exp"
    ALLOWED: ClassVar = FLOATS
    NUMPY: ClassVar = "exp"


@irdl_op_definition
class LogOp(UnaryFunction):
    """
    The natural logarithm; minus infinity for zero, NaN for negative numbers.

    ```mlir
    %y = relex.log %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.log"
    ALLOWED: ClassVar = FLOATS
    NUMPY: ClassVar = "log"


@irdl_op_definition
class TanhOp(UnaryFunction):
    """
    The hyperbolic tangent.

    ```mlir
    %y = relex.tanh %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.tanh"
    ALLOWED: ClassVar = FLOATS
    NUMPY: ClassVar = "tanh"


@irdl_op_definition
class ErfOp(UnaryElementwise):
    """
    The error function.

    ```mlir
    %y = relex.erf %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.erf"
    ALLOWED: ClassVar = FLOATS

    def evaluate(self, *operands: Array) -> Array:
        (x,) = operands
        return erf(x)


@irdl_op_definition
class SigmoidOp(UnaryElementwise):
    """
    The logistic function `1 / (1 + exp(-x))`.

    ```mlir
    %y = relex.sigmoid %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.sigmoid"
    ALLOWED: ClassVar = FLOATS

    def evaluate(self, *operands: Array) -> Array:
        import numpy as np

        (x,) = operands
        with ieee_arithmetic():
            return 1 / (1 + np.exp(-x))


@irdl_op_definition
class SiluOp(UnaryElementwise):
    """
    `x * sigmoid(x)`, computed as `x / (1 + exp(-x))`; NaN for minus infinity.

    ```mlir
    %y = relex.silu %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.silu"
    IN_NN: ClassVar = True
    ALLOWED: ClassVar = FLOATS

    def evaluate(self, *operands: Array) -> Array:
        import numpy as np

        (x,) = operands
        with ieee_arithmetic():
            return x / (1 + np.exp(-x))


@irdl_op_definition
class GeluOp(UnaryElementwise):
    """
    `x` times the cumulative normal distribution at `x`, in the exact form `x / 2 * (1 + erf(x / sqrt(2)))`; NaN for
    minus infinity.

    ```mlir
    %y = relex.gelu %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.gelu"
    IN_NN: ClassVar = True
    ALLOWED: ClassVar = FLOATS

    def evaluate(self, *operands: Array) -> Array:
        import numpy as np

        (x,) = operands
        with ieee_arithmetic():
            return x * 0.5 * (1 + erf(x * np.sqrt(0.5).astype(x.dtype)))


@irdl_op_definition
class AstypeOp(UnaryElementwise):
    """
    The elements converted to another type. Integers wrap around. Floats are rounded towards zero to integers and
    saturate at the ends of the range; NaN becomes 0 (NumPy specifies neither). To i1 everything but zero is true.

    ```mlir
    %y = relex.astype %x dtype = i32 : (tensor<3x4xf32>) -> tensor<3x4xi32>
    ```
    """

    name = "relex.astype"
    EXACTNESS: ClassVar = Exactness.NUMBERS

    dtype = prop_def(ElementConstr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$operand `dtype` `=` $dtype attr-dict `:` functional-type(operands, results)"

    def __init__(self, operand: SSAValue | Operation, dtype: Attribute):
        super().__init__(operand, properties={"dtype": dtype})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        (operand,) = operands
        if (dtype := properties["dtype"]) not in ELEMENT_TYPES:
            raise InferenceError(f"expected a dtype among {', '.join(map(str, ELEMENT_TYPES))}, found {dtype}")
        return SizedType(dtype, operand.get_shape())

    def evaluate(self, *operands: Array) -> Array:
        import numpy as np

        (x,) = operands
        dtype = numpy_dtype(self.dtype)
        is_truncated = self.dtype in INTEGERS and x.dtype.kind == "f"
        with ieee_arithmetic():
            wide = x.astype(np.float64 if is_truncated else dtype)
        if not is_truncated:
            return wide
        low, end = float(np.iinfo(dtype).min), -float(np.iinfo(dtype).min)
        inside = (low <= wide) & (wide < end)
        small, large = np.iinfo(dtype).min, np.iinfo(dtype).max
        beyond = np.where(wide < low, small, np.where(wide >= end, large, 0))
        return np.where(inside, np.where(inside, wide, 0).astype(dtype), beyond.astype(dtype))


@irdl_op_definition
class ClipOp(UnaryElementwise):
    """
    The elements clamped between two bounds of the same type, either of which may be missing. NaN stays NaN.

    ```mlir
    %y = relex.clip %x min = 0.0 : f32 max = 6.0 : f32 : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %z = relex.clip %x min = 0.0 : f32 : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "relex.clip"
    EXACTNESS: ClassVar = Exactness.NUMBERS

    min = opt_prop_def(ScalarConstr)
    max = opt_prop_def(ScalarConstr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$operand (`min` `=` $min^)? (`max` `=` $max^)? attr-dict `:` functional-type(operands, results)"

    def __init__(self, operand: SSAValue | Operation, min: float | None = None, max: float | None = None):
        bounds = {"min": min, "max": max}
        properties = {name: None if bound is None else scalar(bound, operand) for name, bound in bounds.items()}
        super().__init__(operand, properties=properties)

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        (operand,) = operands
        bounds = [expect_scalar(properties[name], operand) for name in ("min", "max") if name in properties]
        if bounds != sorted(bounds) or any(bound != bound for bound in bounds):
            raise InferenceError(f"expected a min that is not above the max, found {' and '.join(map(str, bounds))}")
        return super().infer(operands, properties)

    def evaluate(self, *operands: Array) -> Array:
        (x,) = operands
        if self.min is not None:
            x = maximum(x, x.dtype.type(number(self.min)))
        if self.max is not None:
            x = minimum(x, x.dtype.type(number(self.max)))
        return x


def erf(x: Array) -> Array:
    """Return the error function, computed in double precision and rounded to the type of `x`."""
    import math

    import numpy as np

    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(x.dtype)
