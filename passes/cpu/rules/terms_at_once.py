"""A few rows times a matrix with contiguous columns."""

from __future__ import annotations

from collections.abc import Sequence

from relex.dialects.errors import fail, name_of
from relex.dialects.index.expr import IndexExpr
from relex.dialects.target.processors import Processor
from relex.dialects.tir import BlockOp, ForOp
from relex.passes.analysis.constant_inputs import is_constant_input
from relex.passes.analysis.loop_tree import label_of, loops_of, name_of_block
from relex.passes.cpu import cost
from relex.passes.cpu.reduction_nest import ReductionNest, block_named, count, divisors, is_side_by_side, named, uses
from relex.passes.cpu.rule import Plan
from relex.passes.schedule import Schedule


def terms_at_once(block: BlockOp, processor: Processor) -> Plan:
    """Add several terms to all results before going on, so that a matrix with little reuse is read row by row. LLVM
    vectorizes the results. Each sum keeps its order.

    ```mlir
    tir.for %j, %k in (1000, 1024) {
      ... // y[j] += x[k] * w[k, j]
    }
    // terms-at-once
    tir.for %j in (1000) {
      ... // y[j] = 0
    }
    tir.for %k0, %j, unrolled %k1 in (128, 1000, 8) {
      ... // y[j] += x[8 k0 + k1] * w[8 k0 + k1, j]
    }
    ```
    """
    reduction = ReductionNest.of(block)
    loop = reduction.columns()
    matrices = [access for access in reduction.reads if uses(access, loop)]
    if len(matrices) != 1 or len(reduction.reads) == 1:
        fail(block, f"expected one of several operands along {label_of(loop)}")
    (matrix,) = matrices
    matrix_name = name_of(matrix.buffer)
    if matrix.element[-1:] != (IndexExpr.of(loop.variable),) or not is_side_by_side(matrix, loop):
        fail(block, f"expected elements of {matrix_name} that lie side by side along {label_of(loop)} alone")
    if is_constant_input(matrix.buffer):
        fail(block, f"expected {matrix_name} to be no constant, which tiles get in their order at no cost")
    width = count([loop])
    size = count(other for other in loops_of(block) if uses(matrix, other)) * reduction.bits // 8
    fills_vectors = width * reduction.bits % processor.vector_bits == 0
    rows = [other for other in reduction.spatial if not uses(matrix, other)]
    if (uses_of_each := count(rows)) > (most := 1 if fills_vectors else cost.MAX_USES_AT_ONCE):
        fail(block, f"it is for matrices used {'once' if most == 1 else f'at most {most} times'}; "
                    f"{name_of_block(block)} uses each element of {matrix_name} {uses_of_each} times")  # fmt: skip
    large = int(cost.L2_SIZES_FROM_AFAR * processor.l2_bytes)
    if fills_vectors and (size < large or width * reduction.bits // 8 < cost.FAR_APART):
        fail(block, f"expected {large} bytes of {matrix_name} in long rows, or rows that do not fill vectors")
    if not cost.MIN_COLUMNS_AT_ONCE <= width <= cost.MAX_COLUMNS:
        fail(block, f"expected {cost.MIN_COLUMNS_AT_ONCE} to {cost.MAX_COLUMNS} columns, found {width}")
    at_once = max(divisors(reduction.terms[-1], cost.MAX_TERMS_AT_ONCE))
    return Plan(
        f"{at_once} around {label_of(loop)}", lambda schedule: _schedule(schedule, reduction, rows, loop, at_once)
    )


def _schedule(schedule: Schedule, reduction: ReductionNest, rows: Sequence[ForOp], loop: ForOp, at_once: int) -> None:
    *terms, last = map(named, reduction.terms)
    steps, inner = schedule.split(last, [None, at_once])
    outer = [named(other) for other in reduction.spatial if other is not loop and other not in rows]
    schedule.reorder(*outer, *terms, steps, *map(named, rows), named(loop), inner)
    schedule.decompose_reduction(block_named(reduction.block), [*terms, steps][0])
    schedule.unroll(inner)
