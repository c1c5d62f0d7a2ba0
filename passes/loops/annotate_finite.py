"""Annotate inputs of loop functions that are finite."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr

from relex.dialects.arrays import np
from relex.dialects.dtypes import array_from_dense, is_float_dtype
from relex.dialects.function_arguments import FINITE_ATTR, set_argument_attr
from relex.dialects.relex import ConstantOp
from relex.passes.analysis.constant_inputs import constant_of, known_calls
from relex.passes.analysis.loop_tree import blocks_in
from relex.passes.analysis.padding import pads
from relex.passes.driver.base import RelexPass


class AnnotateFinitePass(RelexPass):
    """
    Annotates inputs of loop functions that are constants without infinities and NaNs in all calls, for `schedule-cpu`:
    their products with padding are zero. Functions in which no block pads are left as they are.

    ```mlir
    func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {
      %w = relex.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
      %0 = relex.call_tir @conv1d(%x, %w) : (tensor<5xf32>, tensor<3xf32>) -> tensor<5xf32>
      func.return %0 : tensor<5xf32>
    }
    tir.prim_func private @conv1d(%x: memref<5xf32>, %w: memref<3xf32>) outs(%y: memref<5xf32>) {
      ...
    }
    // annotate-finite
    tir.prim_func private @conv1d(%x: memref<5xf32>, %w: memref<3xf32> {relex.finite}) outs(%y: memref<5xf32>) {
      ...
    }
    ```
    """

    name = "annotate-finite"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for known in known_calls(op):
            if not any(map(pads, blocks_in(known.func))):
                continue
            for i in known.constants:
                if all(is_finite(constant_of(call.arguments[i])) for call in known.calls):
                    set_argument_attr(known.func, i, FINITE_ATTR, UnitAttr())


def is_finite(constant: ConstantOp) -> bool:
    """Return whether a constant has no infinities and NaNs."""
    values = array_from_dense(constant.value)
    # The sum of finite numbers may be infinite, but not the other way round, and takes a fraction of the time.
    with np.errstate(all="ignore"):
        return not is_float_dtype(values.dtype) or bool(np.isfinite(values.sum()) or np.isfinite(values).all())
