"""Apply the schedules of a module."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr

from relex.dialects.errors import CompileRemark, diagnose, fail
from relex.dialects.function_arguments import SCHEDULED_ATTR
from relex.dialects.schedule import PrimitiveOp, SequenceOp
from relex.dialects.sizes.attributes import has_unknown
from relex.dialects.symbols import named
from relex.dialects.tir import PrimFuncOp
from relex.passes.driver.base import RelexPass
from relex.passes.rewriting.common_subexpressions import share_equal_values
from relex.passes.rewriting.equal_sizes import name_sizes
from relex.passes.rewriting.stated_sizes import state_sizes
from relex.passes.schedule import apply_primitive
from relex.passes.tracing import remark


@dataclass(frozen=True)
class ApplySchedulePass(RelexPass):
    """
    Applies every `schedule.sequence` to its function, step by step, and removes it. A step that would change what the
    function computes, or that does not fit it, is an error at that step.

    The default compilation runs it twice: before fusion, with `existing`, for the functions that exist, unless their
    sequence is `final`; right before `schedule-cpu`, with `final`, for all that are left. Both mark the functions, so
    that `fuse-ops` and the passes that choose schedules leave them as they are. Without `existing`, a schedule for a
    function that does not exist is an error.

    With `explain`, a remark at each schedule says that it was applied.

    ```mlir
    tir.prim_func @relu(%X: memref<16xf32>) outs(%Y: memref<16xf32>) attributes {tir.noalias} {
      %zero = arith.constant 0.0 : f32
      tir.for %i @i in (16) {
        tir.block @Y (%vi: spatial<16> = %i) {
          %x = memref.load %X[%vi] : memref<16xf32>
          %y = arith.maximumf %x, %zero : f32
          memref.store %y, %Y[%vi] : memref<16xf32>
        }
      }
    }
    schedule.sequence for @relu {
      schedule.split @i by [?, 8]
      schedule.vectorize @i_1
    }
    // apply-schedule
    tir.prim_func @relu(%X: memref<16xf32>) outs(%Y: memref<16xf32>) attributes {tir.noalias} {
      %c8 = arith.constant 8 : index
      %zero = arith.constant 0.0 : f32
      tir.for %i_0 @i_0, vectorized %i_1 @i_1 in (2, 8) {
        %0 = arith.muli %i_0, %c8 : index
        %i = arith.addi %0, %i_1 : index
        tir.block @Y (%vi: spatial<16> = %i) {
          %x = memref.load %X[%vi] : memref<16xf32>
          %y = arith.maximumf %x, %zero : f32
          memref.store %y, %Y[%vi] : memref<16xf32>
        }
      }
    }
    ```
    """

    name = "apply-schedule"

    final: bool = False
    existing: bool = False
    explain: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        sequences = [o for o in op.ops if isinstance(o, SequenceOp) and not (self.existing and o.final)]
        pairs = [(s, f) for s in sequences if (f := _function_of(s, op)) is not None]
        if not self.existing and len(pairs) < len(sequences):
            _fail_without_function(op, next(s for s in sequences if _function_of(s, op) is None))
        if not pairs:
            return
        state_sizes(op, of_private=not (self.final or self.existing))
        name_sizes(op)
        for sequence, func in pairs:
            count = _apply(sequence, func)
            if self.final or self.existing:
                func.attributes[SCHEDULED_ATTR] = UnitAttr()
            message = f"{sequence.function}: {count} step{'s' * (count != 1)} applied"
            remark(sequence, message)
            if self.explain:
                warnings.warn(CompileRemark(diagnose(sequence, message)), stacklevel=2)
            sequence.detach()
            sequence.erase()


def _function_of(sequence: SequenceOp, module: ModuleOp) -> PrimFuncOp | None:
    """Return the function of a sequence, which a later pass may make."""
    func = named(module, sequence.function.root_reference.data)
    return func if isinstance(func, PrimFuncOp) else None


def _fail_without_function(module: ModuleOp, sequence: SequenceOp) -> None:
    found = ", ".join(f"@{func.sym_name.data}" for func in module.ops if isinstance(func, PrimFuncOp))
    fail(sequence, f"expected {sequence.function} to be a loop function, found {found or 'none'}")


def _apply(sequence: SequenceOp, func: PrimFuncOp) -> int:
    """Apply the steps of a sequence, and return their number."""
    has_unknown_sizes = any(map(has_unknown, func.function_type.inputs))
    if has_unknown_sizes:
        share_equal_values(func)  # Steps compare sizes by value, as steps of schedule-cpu do.
    steps = [step for step in sequence.body.block.ops if isinstance(step, PrimitiveOp)]
    for step in steps:
        apply_primitive(step, func)
    if has_unknown_sizes:
        share_equal_values(func)
    return len(steps)
