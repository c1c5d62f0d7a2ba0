"""The dialect `mobile`."""

from typing import Any, ClassVar

import numpy as np
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import AnyAttr, IRDLOperation, VarConstraint, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from relex.dialects.dtypes import FLOATS
from relex.dialects.relex import UnaryElementwise, UnaryFunction
from relex.dialects.relex.elementwise import Element, Functions
from relex.dialects.relex.extremes import maximum, minimum


@irdl_op_definition
class HardSwishOp(UnaryFunction):
    """
    `x * min(max(x + 3, 0), 6) / 6`; NaN for minus infinity.

    %y = mobile.hard_swish %x : (tensor<2x5xf32>) -> tensor<2x5xf32>
    """

    name = "mobile.hard_swish"
    ALLOWED: ClassVar = FLOATS

    def formula(self, f: Functions, x: Element) -> Element:
        return x * f.minimum(f.maximum(x + 3, 0), 6) / 6


@irdl_op_definition
class Relu6Op(UnaryElementwise):
    """
    `min(max(x, 0), 6)`; NaN for NaN.

    %y = mobile.relu6 %x : (tensor<2x5xf32>) -> tensor<2x5xf32>
    """

    name = "mobile.relu6"
    ALLOWED: ClassVar = FLOATS

    def evaluate(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return minimum(maximum(x, x.dtype.type(0)), x.dtype.type(6))


@irdl_op_definition
class Clamp6Op(IRDLOperation):
    """
    `mobile.relu6` of a number, or of each element of a vector, for loops.

    %y = mobile.clamp6 %x : f32
    """

    name = "mobile.clamp6"
    T: ClassVar = VarConstraint("T", AnyAttr())

    x = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())
    assembly_format = "$x attr-dict `:` type($x)"

    def __init__(self, x: SSAValue):
        super().__init__(operands=[x], result_types=[x.type])


Mobile = Dialect("mobile", [HardSwishOp, Relu6Op, Clamp6Op])
