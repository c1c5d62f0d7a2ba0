"""The lowering of the operators: their elementwise computation, and the conversion of scalar ops to LLVM."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from relex.lowering.conversion import Conversion
from relex.lowering.legalizations import legalizes
from relex.lowering.llvm.convert_to_llvm import TO_LLVM
from relex.lowering.llvm.intrinsics import add_intrinsic, float_constant
from relex.lowering.te import Tensor, call, compute
from relex.lowering.te.scalars import SCALARS, Scalar
from relex.lowering.vectors.forms import vector_form
from relex.lowering.vectors.lanes import LaneEmitter
from relex_mobile.dialect import Clamp6Op, Relu6Op

SCALARS.add(Scalar(on_float=Clamp6Op), "clamp6")


@legalizes(Relu6Op)
def relu6(op: Relu6Op, x: Tensor) -> Tensor:
    """Compute `mobile.relu6`."""
    return compute(x.shape, lambda *i: call("clamp6", x[*i]), name="relu6")


@vector_form(Clamp6Op)
def clamp_vector(op: Clamp6Op, operands: Sequence[SSAValue], out: LaneEmitter) -> SSAValue:
    """Vectorize the op; without this, vectors are computed lane by lane."""
    return out.add(Clamp6Op(operands[0])).result


@TO_LLVM.rule(Clamp6Op)
def convert_clamp(op: Clamp6Op, conversion: Conversion) -> None:
    """Convert the op on scalars or vectors."""
    x = conversion.value(op.x)
    zero, six = (float_constant(conversion, number, x.type) for number in (0.0, 6.0))
    positive = add_intrinsic(conversion, "llvm.maximum", [x, zero])
    conversion.replace(add_intrinsic(conversion, "llvm.minimum", [positive, six]))
