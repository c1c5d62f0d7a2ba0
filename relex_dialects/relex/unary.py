"""Elementwise functions of one tensor."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence

from xdsl.ir import Attribute
from xdsl.irdl import opt_prop_def, prop_def

from relex.dialects.dtypes import NUMBERS, ElementConstr, record_of
from relex.dialects.errors import InferenceError
from relex.dialects.relex.declared import declared
from relex.dialects.relex.elementwise import Element, FloatFunction, Functions, UnaryFunction
from relex.dialects.relex.gaussian import weighted
from relex.dialects.relex.operator import Exactness, Operand, tensor_type
from relex.dialects.relex.properties import ScalarConstr, expect_scalar, number
from relex.dialects.relex.types import SizedType


@declared
class NegativeOp(UnaryFunction, allowed=NUMBERS, exactness=Exactness.BITS):
    """
    Each element with its sign flipped, including NaN and zeros; the smallest integer stays as it is. Not defined on i1.
    """


@declared
class AbsOp(UnaryFunction, exactness=Exactness.BITS, idempotent=True):
    """Each element without its sign; the smallest integer stays as it is."""


@declared
class SqrtOp(FloatFunction, exactness=Exactness.NUMBERS):
    """The square root, correctly rounded; NaN for negative numbers."""


@declared
class RsqrtOp(FloatFunction, exactness=Exactness.NUMBERS, formula=lambda f, x: 1 / f.sqrt(x)):
    """The reciprocal of the square root, both correctly rounded; infinite for zero, with its sign."""


@declared
class ExpOp(FloatFunction):
    """The exponential function."""


@declared
class LogOp(FloatFunction):
    """The natural logarithm; minus infinity for zero, NaN for negative numbers."""


@declared
class Exp2Op(FloatFunction):
    """Two to the power of each element."""


@declared
class Expm1Op(FloatFunction):
    """`exp(x) - 1`, exact near zero as well."""


@declared
class Log1pOp(FloatFunction):
    """`log(1 + x)`, exact near zero as well; minus infinity for -1, NaN for smaller numbers."""


@declared
class Log2Op(FloatFunction):
    """The logarithm to base 2; minus infinity for zero, NaN for negative numbers."""


@declared
class Log10Op(FloatFunction):
    """The logarithm to base 10; minus infinity for zero, NaN for negative numbers."""


@declared
class TanhOp(FloatFunction):
    """The hyperbolic tangent."""


@declared
class ErfOp(FloatFunction):
    """The error function."""


@declared
class SigmoidOp(FloatFunction):
    """The logistic function `1 / (1 + exp(-x))`, computed as `exp(x) / (1 + exp(x))` below zero."""

    def formula(self, f: Functions, x: Element) -> Element:
        power = f.exp(-f.abs(x))
        return f.select(x < 0, power, 1) / (1 + power)


@declared
class SiluOp(FloatFunction, script_namespace="nn"):
    """
    `x * sigmoid(x)`, computed as `x / (1 + exp(-x))`; NaN for minus infinity. Far below zero it is `x * exp(x)`, with
    the exponential as the square of one that is not too small for a float.
    """

    def formula(self, f: Functions, x: Element) -> Element:
        is_tail = x < -80
        power = f.exp(f.select(is_tail, x * 0.5, -x))
        factor = f.select(is_tail, power, 1)
        return x / (1 + power) * factor * factor


@declared
class GeluOp(FloatFunction, script_namespace="nn"):
    """
    `x` times the cumulative normal distribution at `x`, the exact form `x / 2 * (1 + erf(x / sqrt(2)))`, with all its
    digits where the distribution is small; NaN for minus infinity.
    """

    def formula(self, f: Functions, x: Element) -> Element:
        return weighted(f, x, tensor_type(self.operand.type).element_type)


class _ToType(UnaryFunction, ABC):
    """A function of one number whose result has the element type `dtype`."""

    dtype = prop_def(ElementConstr)

    def __init__(self, operand: Operand, dtype: Attribute):
        super().__init__(operand, properties={"dtype": dtype})


@declared
class AstypeOp(_ToType, exactness=Exactness.NUMBERS, converts=True):
    """
    The elements converted to another type. Integers wrap around. Floats are rounded towards zero to integers and
    saturate at the ends of the range; NaN becomes 0 (NumPy specifies neither). To i1 everything but zero is true.

    ```mlir
    %y = relex.astype %x dtype = i32 : (tensor<3x4xf32>) -> tensor<3x4xi32>
    ```
    """

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        (operand,) = operands
        return SizedType(properties["dtype"], operand.get_shape())

    def formula(self, f: Functions, x: Element) -> Element:
        return f.cast(x, self.dtype)


@declared
class BitcastOp(_ToType, exactness=Exactness.BITS, allowed=NUMBERS, moves=True):
    """
    The numbers of another type of the same width that have the same bits; not defined on i1.

    ```mlir
    %y = relex.bitcast %x dtype = i32 : (tensor<3x4xf32>) -> tensor<3x4xi32>
    ```
    """

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        same = super().infer(operands, properties)
        dtype, width = properties["dtype"], record_of(same.element_type).bits
        if record_of(dtype).bits != width:
            raise InferenceError(f"expected a type of {width} bits, as {same.element_type}, found {dtype}")
        return SizedType(dtype, same.get_shape())

    def formula(self, f: Functions, x: Element) -> Element:
        return f.bitcast(x, self.dtype)


@declared
class ClipOp(UnaryFunction, idempotent=True, exactness=Exactness.NUMBERS):
    """
    The elements clamped between two bounds of the same type, either of which may be missing. NaN stays NaN.

    ```mlir
    %y = relex.clip %x min = 0.0 : f32 max = 6.0 : f32 : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %z = relex.clip %x min = 0.0 : f32 : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    min = opt_prop_def(ScalarConstr)
    max = opt_prop_def(ScalarConstr)

    def __init__(self, operand: Operand, min: float | None = None, max: float | None = None):
        super().__init__(operand, properties={"min": min, "max": max})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        (operand,) = operands
        bounds = [expect_scalar(properties[name], operand) for name in ("min", "max") if name in properties]
        if bounds != sorted(bounds) or any(bound != bound for bound in bounds):
            raise InferenceError(f"expected a min that is not above the max, found {' and '.join(map(str, bounds))}")
        return super().infer(operands, properties)

    def formula(self, f: Functions, x: Element) -> Element:
        if self.min is not None:
            x = f.maximum(x, number(self.min))
        return x if self.max is None else f.minimum(x, number(self.max))
