"""Sharing of loops among threads."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp

from relex.dialects.errors import CompileError, CompileRemark, Diagnostic, diagnose
from relex.dialects.functions import LEAST_ATTR
from relex.dialects.target import processor_in
from relex.dialects.tir import ForOp, PrimFuncOp
from relex.passes.analysis.loop_tree import blocks_in, function_of, label_of, loops_of, name_of_block
from relex.passes.base import RelexPass
from relex.passes.cpu.shared_loops import SharedLoop, loops_to_share
from relex.passes.schedule.loop_kinds import parallel


@dataclass(frozen=True)
class ShareLoopsPass(RelexPass):
    """
    Marks a loop of each nest that takes long enough as `parallel`, so that threads share its iterations: the outermost
    one with independent iterations that divides the nest into enough parts. How long a nest takes is estimated for the
    module's target, by the operations and the bytes in it; without a known target, nothing is marked. If the extent of
    the loop is only known at run time, its attribute `relex.least` says how many iterations are worth sharing.

    It comes after `merge-loops`, which lets a nest share the loops of another, and `compact-buffers`, which makes
    buffers of a loop's iterations private. Nests with loops that are parallel already stay as they are.

    With `explain`, a remark at each of these nests says which loop is shared.

    ```mlir
    tir.for %i, %j in (1000, 4096) {
      ... // y[i, j] = exp(x[i, j])
    }
    // share-loops
    tir.for parallel %i, %j in (1000, 4096) {
      ... // y[i, j] = exp(x[i, j])
    }
    ```
    """

    name = "share-loops"

    explain: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        processor = processor_in(op)
        if processor is None:
            return
        for function in [f for f in op.ops if isinstance(f, PrimFuncOp)]:
            for candidates in loops_to_share(function, processor):
                shared = _share_first(candidates)
                if shared is not None and self.explain:
                    warnings.warn(CompileRemark(_remark(shared)), stacklevel=2)


def _share_first(candidates: Sequence[SharedLoop]) -> ForOp | None:
    """Parallelize the first of these loops whose iterations are independent, and return it."""
    for shared in candidates:
        try:
            parallel(shared.loop)
        except CompileError:
            continue
        if shared.least:
            shared.loop.attributes[LEAST_ATTR] = IntegerAttr(shared.least, IndexType())
        return shared.loop
    return None


def _remark(loop: ForOp) -> Diagnostic:
    block = max(blocks_in(loop), key=lambda block: len(loops_of(block)))
    who = f"{name_of_block(block)} of @{function_of(block).sym_name.data}"
    extent = f"{loop.extent} " if isinstance(loop.extent, int) else ""
    said = diagnose(block, f"{who}: threads: they share the {extent}iterations of {label_of(loop)}")
    return replace(said, steps=(f"schedule.parallel {label_of(loop)}",) if loop.label is not None else ())
