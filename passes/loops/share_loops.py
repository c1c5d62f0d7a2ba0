"""Sharing of loops among threads."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp

from relex.dialects.errors import CompileError, CompileRemark, Diagnostic, diagnose
from relex.dialects.function_arguments import LEAST_ATTR
from relex.dialects.target.processors import Processor
from relex.dialects.target.target_attribute import processor_in
from relex.dialects.tir import ForOp, PrimFuncOp
from relex.passes.analysis.kept import keeping
from relex.passes.analysis.loop_tree import blocks_in, function_of, label_of, loops_of, name_of_block
from relex.passes.cpu.shared_loops import SharedLoops, better_inside, loops_to_share, nests_inside, stays
from relex.passes.driver.base import RelexPass
from relex.passes.schedule.loop_kinds import parallel


@dataclass(frozen=True)
class ShareLoopsPass(RelexPass):
    """
    Marks loops of each nest that takes long enough as `parallel`, so that threads share their iterations: the outermost
    one with independent iterations that divides the nest into enough parts, together with those in it if it has few, or
    an unknown number. Where that is not enough, but several nests in one loop have more iterations, these are shared
    one after the other. How long a nest takes is estimated for the module's target, by the operations and the bytes in
    it; without a known target, nothing is marked. If an extent is only known at run time, the attribute `relex.least`
    of the outermost loop says how many iterations are worth sharing.

    It comes after `merge-loops`, which lets a nest share the loops of another, and `compact-buffers`, which makes
    buffers of a loop's iterations private. Nests with loops that are parallel already stay as they are.

    With `explain`, a remark at each of these nests says which loops are shared.

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
            for nest in [o for o in function.body.block.ops if isinstance(o, ForOp)]:
                with keeping({}):  # Accesses stay as they are.
                    shares = _share(nest, processor)
                for shared in shares if self.explain else ():
                    warnings.warn(CompileRemark(_remark(shared)), stacklevel=2)


def _share(nest: ForOp, processor: Processor) -> list[Sequence[ForOp]]:
    """Parallelize loops of a nest, or, where these keep more threads busy, of the nests in it. Return those that are
    shared together in one sequence."""
    if stays(nest):
        return []
    outside = loops_to_share(nest, processor)
    if shared := _share_all(better_inside(nest, outside, processor), processor):
        return shared
    best = _share_first(outside)
    return [best] if best else _share_all(nests_inside(nest), processor)


def _share_all(nests: Sequence[ForOp], processor: Processor) -> list[Sequence[ForOp]]:
    return [shared for nest in nests for shared in _share(nest, processor)]


def _share_first(candidates: Sequence[SharedLoops]) -> Sequence[ForOp]:
    """Parallelize the first of these loops whose iterations are independent, and return them."""
    for shared in candidates:
        loops = list(_independent(shared.loops))
        if not loops:
            continue
        if least := replace(shared, loops=loops).least:
            loops[0].attributes[LEAST_ATTR] = IntegerAttr(least, IndexType())
        return loops
    return []


def _independent(loops: Sequence[ForOp]) -> Iterator[ForOp]:
    """Parallelize loops up to one whose iterations depend on each other, and yield them."""
    for loop in loops:
        try:
            parallel(loop)
        except CompileError:
            return
        yield loop


def _remark(loops: Sequence[ForOp]) -> Diagnostic:
    outer = loops[0]
    block = max(blocks_in(outer), key=lambda block: len(loops_of(block)))
    who = f"{name_of_block(block)} of @{function_of(block).sym_name.data}"
    known = [loop.extent for loop in loops if isinstance(loop.extent, int)]
    extent = f"{prod(known)} " if len(known) == len(loops) else ""
    said = diagnose(block, f"{who}: threads: they share the {extent}iterations of {', '.join(map(label_of, loops))}")
    labelled = [loop for loop in loops if loop.label is not None]
    return replace(said, steps=tuple(f"schedule.parallel {label_of(loop)}" for loop in labelled))
