"""Reductions with contiguous columns."""

from __future__ import annotations

from relex.dialects.errors import fail
from relex.dialects.target.processors import Processor
from relex.dialects.tir import BlockOp, ForOp
from relex.passes.analysis.loop_tree import label_of
from relex.passes.cpu import cost
from relex.passes.cpu.reduction_nest import ReductionNest, block_named, check_at_least, count, named
from relex.passes.cpu.rule import Plan
from relex.passes.schedule import Schedule


def column_sums(block: BlockOp, processor: Processor) -> Plan:
    """Accumulate rows of terms into a row of results, one after the other, which LLVM vectorizes. Each sum keeps its
    order.

    ```mlir
    tir.for %j, %k in (1000, 500) {
      ... // y[j] += x[k, j]
    }
    // columns
    tir.for %j in (1000) {
      ... // y[j] = 0
    }
    tir.for %k, %j in (500, 1000) {
      ... // y[j] += x[k, j]
    }
    ```
    """
    reduction = ReductionNest.of(block)
    loop = reduction.columns()
    reduction.check_side_by_side(loop)
    check_at_least(block, cost.MIN_TERMS_OF_COLUMNS, count(reduction.terms), "terms")
    if (extent := count([loop], cost.LIKELY_SIZE)) > cost.MAX_COLUMNS:
        fail(block, f"expected {cost.MAX_COLUMNS} columns or less, found {extent}")
    return Plan(f"terms around {label_of(loop)}", lambda schedule: _schedule(schedule, reduction, loop))


def _schedule(schedule: Schedule, reduction: ReductionNest, loop: ForOp) -> None:
    terms = list(map(named, reduction.terms))
    outer = [named(other) for other in reduction.spatial if other is not loop]
    schedule.reorder(*outer, *terms, named(loop))
    schedule.decompose_reduction(block_named(reduction.block), terms[0])
