"""What the operators compute, element by element."""

from relex.lowering.legalizations import legalizes
from relex.lowering.te import Tensor, compute, maximum, minimum
from relex_mobile.dialect import HardSwishOp


@legalizes(HardSwishOp)
def hard_swish(op: HardSwishOp, x: Tensor) -> Tensor:
    return compute(x.shape, lambda *i: x[*i] * minimum(maximum(x[*i] + 3, 0), 6) / 6, name="hard_swish")
