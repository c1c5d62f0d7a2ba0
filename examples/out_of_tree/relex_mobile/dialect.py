"""The dialect `mobile`."""

from typing import Any, ClassVar

import numpy as np
from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition

from relex.dialects.dtypes import FLOATS
from relex.dialects.relex import UnaryElementwise
from relex.dialects.relex.extremes import maximum, minimum


@irdl_op_definition
class HardSwishOp(UnaryElementwise):
    """
    `x * min(max(x + 3, 0), 6) / 6`; NaN for minus infinity.

    %y = mobile.hard_swish %x : (tensor<2x5xf32>) -> tensor<2x5xf32>
    """

    name = "mobile.hard_swish"
    ALLOWED: ClassVar = FLOATS

    def evaluate(self, *operands: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        (x,) = operands
        zero, three, six = (x.dtype.type(number) for number in (0, 3, 6))
        with np.errstate(all="ignore"):
            return x * minimum(maximum(x + three, zero), six) / six


Mobile = Dialect("mobile", [HardSwishOp])
