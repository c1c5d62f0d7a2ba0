"""Storage contraction: local buffers hold what one iteration of the loops around their uses needs."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.errors import PassError
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, LoopKind, PrimFuncOp, loops_around
from relex.dialects.walks import walk_of
from relex.passes.analysis.buffers import accesses_in, buffers_written
from relex.passes.analysis.kept import Kept, keeping
from relex.passes.analysis.loop_tree import blocks_in, loops_of
from relex.passes.analysis.op_patterns import reuses_operands
from relex.passes.analysis.sharing import has_views
from relex.passes.cpu import cost
from relex.passes.cpu.caches import bytes_nearby, bytes_used
from relex.passes.cpu.reduction_nest import count
from relex.passes.driver.base import RelexPass
from relex.passes.rewriting.memoize import rewrite_once
from relex.passes.schedule.buffers import compact_buffer


class CompactBuffersPass(RelexPass):
    """
    Moves each local buffer into the innermost loop around all its uses, and shrinks it to what one iteration uses: an
    element stays in a register, a row in the first-level cache, where the whole buffer would go through memory. Blocks
    compute the same.

    A buffer stays as it is if it carries elements across iterations, or if the loop is vectorized or unrolled; also if
    what an iteration uses would not fit on the stack, unless it stays in the second-level cache of the module's target,
    and iterations of a nest with products take so long that memory may be allocated in each.

    ```mlir
    %T = tir.alloc_buffer : memref<64x100xf32>
    tir.for %i in (64) {
      tir.for %j in (100) {
        ... // T[i, j] = exp(x[i, j])
      }
      tir.for %k in (100) {
        ... // y[i] += T[i, k]
      }
    }
    // compact-buffers
    tir.for %i in (64) {
      %T = tir.alloc_buffer : memref<1x100xf32>
      tir.for %j in (100) {
        ... // T[0, j] = exp(x[i, j])
      }
      tir.for %k in (100) {
        ... // y[i] += T[0, k]
      }
    }
    ```
    """

    name = "compact-buffers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        nearby = bytes_nearby(op)
        for function in [f for f in op.ops if isinstance(f, PrimFuncOp) and not has_views(f)]:
            rewrite_once(function, f"{self.name} {nearby}", partial(_compact_all, nearby=nearby))


def _compact_all(function: PrimFuncOp, nearby: int) -> None:
    kept: Kept = {}
    for alloc in walk_of(function, AllocBufferOp):
        with suppress(PassError):
            with keeping(kept):
                block = _writer_in_loops(alloc, function, nearby)
            if block is not None:
                kept.clear()
                compact_buffer(block, buffers_written(block).index(alloc.buffer))


def _writer_in_loops(alloc: AllocBufferOp, function: PrimFuncOp, nearby: int) -> BlockOp | None:
    """Return a block that writes a buffer, if it fits the innermost loop around all uses of the buffer."""
    accesses = list(accesses_in(function, alloc.buffer))
    writers = [access.block for access in accesses if access.is_write]
    shared = [loop for loop in loops_of(writers[0]) if _holds(loop, alloc)] if writers else []
    if not shared or shared[-1].is_ancestor(alloc):
        return None
    if any(
        loop.kind.data in (LoopKind.VECTORIZED, LoopKind.UNROLLED) for loop in (shared[-1], *loops_around(shared[-1]))
    ):
        return None
    elements = [access.element for access in accesses]
    on_stack = bytes_used(alloc.buffer, elements, shared[-1], cost.MANY) <= cost.MAX_BUFFER_ON_STACK
    on_heap = bytes_used(alloc.buffer, elements, shared[-1]) <= nearby and _takes_long(shared[-1])
    return writers[0] if on_stack or on_heap else None


def _takes_long(loop: ForOp) -> bool:
    """Return whether an iteration of a loop makes up for an allocation."""
    # Rows of nests without products may be few elements each, if their number is not known.
    has_products = any(map(reuses_operands, blocks_in([loop, *loops_around(loop)][-1])))
    unknown = cost.LIKELY_SIZE if has_products else 1
    inner = ([inner for inner in loops_of(block) if loop.is_ancestor(inner)] for block in blocks_in(loop))
    steps = sum(count(loops, unknown) for loops in inner)
    return steps // max(1, count([loop], unknown)) >= cost.MIN_STEPS_TO_ALLOCATE


def _holds(loop: ForOp, alloc: AllocBufferOp) -> bool:
    """Return whether all uses of a buffer are inside a loop."""
    return all(loop.is_ancestor(use.operation) for use in alloc.buffer.uses)
