"""`tvm.runtime`: the names that TVM has had for arrays since `tvm.nd`."""

from relex.frontend.tvm.nd import NDArray as Tensor
from relex.frontend.tvm.nd import array as tensor
from relex.frontend.tvm.nd import empty as empty

__all__ = ["Tensor", "empty", "tensor"]
