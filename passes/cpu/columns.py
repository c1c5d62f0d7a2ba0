"""Reductions with contiguous columns."""

from __future__ import annotations

from relex.dialects.errors import fail, name_of
from relex.dialects.processors import Processor
from relex.dialects.tir import BlockOp, ForOp
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.loop_tree import label_of, name_of_block
from relex.passes.cpu.nests import Reduction, block_named, count, is_side_by_side, named, uses
from relex.passes.cpu.rule import Plan
from relex.passes.schedule import Schedule

MIN_TERMS = 9
"""Minimum number of terms of a result; LLVM unrolls fewer, and vectorizes the columns itself."""

MAX_COLUMNS = 2**16
"""Maximum number of columns of a row; more results would not stay in the cache from one term to the next."""


def columns(block: BlockOp, processor: Processor) -> Plan:
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
    reduction = Reduction.of(block)
    loop = columns_of(reduction)
    for access in reduction.reads:
        if uses(access, loop) and not is_side_by_side(access, loop):
            fail(block, f"expected elements of {name_of(access.buffer)} that lie side by side along {label_of(loop)}")
    if (terms := count(reduction.terms)) < MIN_TERMS:
        fail(block, f"expected {MIN_TERMS} terms or more, found {terms}")
    if (extent := count([loop])) > MAX_COLUMNS:
        fail(block, f"expected {MAX_COLUMNS} columns or less, found {extent}")
    return Plan(f"terms around {label_of(loop)}", lambda schedule: _schedule(schedule, reduction, loop))


def columns_of(reduction: Reduction) -> ForOp:
    """Return the loop along which the results are contiguous, and some operand varies; fail if there is none."""
    results = [access for access in block_accesses(reduction.block) if access.buffer is reduction.result]
    for loop in reduction.spatial:
        used = any(uses(access, loop) for access in reduction.reads)
        if used and all(is_side_by_side(access, loop) for access in results):
            return loop
    fail(reduction.block, f"expected a loop along which {name_of_block(reduction.block)} writes elements side by side")


def _schedule(schedule: Schedule, reduction: Reduction, loop: ForOp) -> None:
    terms = list(map(named, reduction.terms))
    outer = [named(other) for other in reduction.spatial if other is not loop]
    schedule.reorder(*outer, *terms, named(loop))
    schedule.decompose_reduction(block_named(reduction.block), terms[0])
