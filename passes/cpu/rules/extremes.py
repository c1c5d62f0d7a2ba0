"""Maximum and minimum of contiguous floats."""

from __future__ import annotations

from contextlib import suppress

from xdsl.dialects import arith

from relex.dialects.errors import PassError, fail
from relex.dialects.target.processors import Processor
from relex.dialects.tir import BlockOp
from relex.passes.analysis.loop_tree import name_of_block
from relex.passes.analysis.reduction_order import combiner_of
from relex.passes.cpu import cost
from relex.passes.cpu.reduction_nest import ReductionNest, block_named, check_at_least, count, named
from relex.passes.cpu.rule import Plan
from relex.passes.schedule import Schedule


def extremes(block: BlockOp, processor: Processor) -> Plan:
    """Compute the maximum or minimum on integers of the same order as the floats, which LLVM vectorizes. For floats,
    x86-64 has no instruction that respects NaN and the sign of zeros, so each step takes six dependent ones.

    ```mlir
    tir.for %i, %k in (1000, 1000) {
      ... // y[i] = max(y[i], x[i, k])
    }
    // extremes
    tir.for %i in (1000) {
      %best = tir.alloc_buffer : memref<1xi32>
      tir.for %k in (1000) {
        ... // best[0] = max(best[0], integer(x[i, k]))
      }
      ... // y[i] = float(best[0])
    }
    ```
    """
    if processor.has_maximum:
        fail(block, "expected a CPU without an instruction for the largest of two floats that minds NaN")
    reduction = ReductionNest.of(block)
    if not isinstance(combiner_of(block), arith.MaximumfOp | arith.MinimumfOp):
        fail(block, f"expected {name_of_block(block)} to look for the largest or smallest of floats")
    if reduction.bits > processor.compared_bits:
        fail(block, "expected vectors of integers as wide as the floats that can be compared")
    last = reduction.terms[-1]
    reduction.check_side_by_side(last)
    check_at_least(block, cost.MIN_TERMS_OF_EXTREMES, count([last]), "terms in a row")
    return Plan("floats as integers in the same order", lambda schedule: _schedule(schedule, reduction))


def is_extreme_without_instruction(block: BlockOp, processor: Processor) -> bool:
    """Return whether a reduction is the maximum or minimum of floats that a processor computes faster on integers."""
    with suppress(PassError):
        is_extreme = isinstance(combiner_of(block), arith.MaximumfOp | arith.MinimumfOp)
        return is_extreme and not processor.has_maximum and ReductionNest.of(block).bits <= processor.compared_bits
    return False  # A sum in order, for example.


def _schedule(schedule: Schedule, reduction: ReductionNest) -> None:
    block, spatial = block_named(reduction.block), list(map(named, reduction.spatial))
    copy = schedule.cache_write(block, 0)
    if spatial:
        schedule.reorder(*spatial, *map(named, reduction.terms))
        schedule.reverse_compute_at(copy, spatial[-1])
        schedule.compact_buffer(block, 0)
    schedule.order_as_integers(block)
