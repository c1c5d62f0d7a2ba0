"""Apply schedules that were found by measuring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr

from relex.dialects.errors import RelexError
from relex.dialects.fingerprint import fingerprint
from relex.dialects.function_arguments import SCHEDULED_ATTR
from relex.dialects.parser import parse_module
from relex.dialects.schedule import PrimitiveOp, SequenceOp
from relex.dialects.target.target_attribute import Target, get_target
from relex.dialects.tir import PrimFuncOp
from relex.passes.driver.base import RelexPass
from relex.passes.driver.extension import extends_pipeline
from relex.passes.rewriting.constant_marks import mark_constants, unmark_constants
from relex.passes.rewriting.stated_sizes import state_sizes
from relex.passes.schedule import apply_primitive


@extends_pipeline(before="schedule-cpu")
@dataclass(frozen=True)
class ApplyTuningPass(RelexPass):
    """
    Schedules loop functions as a file says that `relex-tune` wrote: those that the file has in the same form, whatever
    their names are. They are then left as they are by `schedule-cpu`, which schedules all others. A file for another
    target changes nothing.

    ```mlir
    tir.prim_func private @fill() outs(%Y: memref<16xf32>) {
      %one = arith.constant 1.0 : f32
      tir.for %i @i in (16) {
        tir.block @Y (%vi: spatial<16> = %i) {
          memref.store %one, %Y[%vi] : memref<16xf32>
        }
      }
    }
    // apply-tuning{file=tuned.mlir}, where the file holds this function, and `schedule.vectorize @i` for it
    tir.prim_func private @fill() outs(%Y: memref<16xf32>) attributes {relex.scheduled} {
      %one = arith.constant 1.0 : f32
      tir.for vectorized %i @i in (16) {
        tir.block @Y (%vi: spatial<16> = %i) {
          memref.store %one, %Y[%vi] : memref<16xf32>
        }
      }
    }
    ```

    Raises `RelexError` for a file that cannot be read, and `PassError` for a step that does not fit its function.
    """

    name = "apply-tuning"

    file: str
    text: str = field(init=False, repr=False, default="")
    """The contents of the file: what the pass does depends on nothing else."""

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "text", Path(self.file).read_text())
        except (OSError, UnicodeDecodeError) as e:
            raise RelexError(f"cannot read '{self.file}': {e}") from e

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        known = _tuned(parse_module(self.text, self.file), get_target(op))
        if not known:
            return
        state_sizes(op, of_private=False)
        mark_constants(op)
        for func in [f for f in op.ops if isinstance(f, PrimFuncOp)]:
            steps = known.get(identity(func))
            if steps is not None:
                _schedule(func, steps)
        unmark_constants(op)


def identity(func: PrimFuncOp) -> str:
    """Return what is the same for loop functions that are scheduled alike: those that differ in names and places only.
    Inputs that are constants in every call are marked."""
    return fingerprint([func], {func.sym_name.data: "tuned"})


def _tuned(module: ModuleOp, target: Target | None) -> dict[str, list[PrimitiveOp]]:
    """Return the steps of each function of a file, by identity; none if it is for another target."""
    if get_target(module) != target:
        return {}
    sequences = {op.function.root_reference.data: op for op in module.ops if isinstance(op, SequenceOp)}
    functions = [op for op in module.ops if isinstance(op, PrimFuncOp) and op.sym_name.data in sequences]
    return {
        identity(func): [op for op in sequences[func.sym_name.data].body.block.ops if isinstance(op, PrimitiveOp)]
        for func in functions
    }


def _schedule(func: PrimFuncOp, steps: Sequence[PrimitiveOp]) -> None:
    for step in steps:
        apply_primitive(step, func)
    func.attributes[SCHEDULED_ATTR] = UnitAttr()
