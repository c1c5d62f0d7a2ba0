"""Reductions of few terms, such as a window of an image."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from relex.dialects.errors import fail
from relex.dialects.index.expr import values_in
from relex.dialects.processors import Processor
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp
from relex.passes.analysis.dependence import BlockAccess
from relex.passes.cpu import cost
from relex.passes.cpu.reductions import Reduction, block_named, check_at_least, count, named, uses
from relex.passes.cpu.rule import Plan
from relex.passes.cpu.rules.extremes import is_extreme_without_instruction
from relex.passes.cpu.steps import move_consumer, part
from relex.passes.schedule import Block, Loop, Schedule


def stencil(block: BlockOp, processor: Processor) -> Plan:
    """Compute each result from all of its terms, in registers, before going on to the next: the code has a copy of the
    block for each term. Neighbouring results are in a vector, with a mask at the end of a row, if what they read is
    contiguous as well; otherwise, as with strides, LLVM vectorizes them. Each sum keeps its order. Vectors of an
    operand that neighbouring rows have in common, as of a convolution of each channel in blocks of channels, stay in
    registers from row to row.

    ```mlir
    tir.for %y, %x, %r, %s in (14, 14, 3, 3) {
      ... // b[y, x] += a[y + r, x + s] * w[r, s]
    }
    // stencil
    tir.for %y, %x in (14, 1) {
      %sums = tir.alloc_buffer : memref<8xf32>
      tir.for unrolled %r, unrolled %s, vectorized %lane in (3, 3, 8) {
        ... // sums[lane] += a[y + r, 8 x + lane + s] * w[r, s]
      }
      ... // b[y, 8 x + lane] = sums[lane]
    }
    ... // the last 6 columns, in vectors of 4 and 2
    ```
    """
    reduction = Reduction.of(block)
    loop = reduction.columns()
    check_at_least(block, cost.MIN_STEPS, count([*reduction.spatial, *reduction.terms]), "steps")
    if (terms := count(reduction.terms)) > cost.MAX_COPIES:
        fail(block, f"expected {cost.MAX_COPIES} terms or less, found {terms}")
    as_integers = is_extreme_without_instruction(block, processor)
    if not as_integers:
        check_at_least(block, cost.MIN_TERMS_OF_COLUMNS, terms, "terms")
    read = [access for access in reduction.reads if uses(access, loop)]
    rows = max(count([term for term in reduction.terms if _is_across(access, term, reduction.bits)]) for access in read)
    if rows > cost.MAX_TERMS_AT_ONCE:
        fail(block, f"expected {cost.MAX_TERMS_AT_ONCE} rows or less that are read at the same time, found {rows}")
    check_at_least(block, cost.MIN_COLUMNS_OF_A_STENCIL, count([loop]), "columns")
    lanes = processor.lanes(reduction.bits)
    parts = _parts(loop, lanes)
    summary = f"{terms} terms at a time, in vectors of {' and '.join(map(str, parts))} elements"
    return Plan(summary, lambda schedule: _schedule(schedule, reduction, loop, parts, as_integers))


def _is_across(access: BlockAccess, loop: ForOp, bits: int) -> bool:
    """Return whether a loop goes from row to row of an operand, where rows are far apart."""
    shape = access.access.shape
    steps = (prod(shape[d + 1 :]) for d, form in enumerate(access.element) if loop.variable in values_in(form))
    return any(step < 0 or step * bits // 8 >= cost.FAR_APART for step in steps)


def _reuses_vectors(reduction: Reduction, columns: ForOp) -> bool:
    """Return whether neighbouring rows of results have vectors of an operand in common, such as the weights of some
    channels: then all rows come before the next columns, and these vectors stay in registers."""
    rows = [loop for loop in reduction.spatial if loop is not columns][-1:]
    return any(uses(access, columns) and not uses(access, row) for access in reduction.reads for row in rows)


def _parts(loop: ForOp, lanes: int) -> list[int]:
    """Return the lengths of vectors, longest first, that together fill a row without a mask."""
    if not isinstance(loop.extent, int):
        return [lanes, 1]
    lengths = [lanes >> i for i in range(lanes.bit_length())]
    return [length for length in lengths if (loop.extent >= length if length == lanes else loop.extent & length)]


def _schedule(schedule: Schedule, reduction: Reduction, loop: ForOp, parts: Sequence[int], as_integers: bool) -> None:
    block, columns = block_named(reduction.block), named(loop)
    outer = [named(other) for other in reduction.spatial if other is not loop]
    terms = list(map(named, reduction.terms))
    if as_integers:
        if not isinstance(reduction.result.owner, AllocBufferOp):
            schedule.cache_write(block, 0)
        schedule.order_as_integers(block)
    keeps_terms = _reuses_vectors(reduction, loop)
    *first, last = parts
    for lanes in first:
        rest, copies = part(schedule, block, columns, lanes)
        _schedule_part(schedule, block, outer, columns, terms, lanes, keeps_terms)
        block, columns = rest, copies[columns]
        outer, terms = ([copies[each] for each in loops] for loops in (outer, terms))
    _schedule_part(schedule, block, outer, columns, terms, last, keeps_terms)


def _schedule_part(
    schedule: Schedule,
    block: Block,
    outer: Sequence[Loop],
    columns: Loop,
    terms: Sequence[Loop],
    lanes: int,
    keeps_terms: bool,
) -> None:
    vector, lane = schedule.split(columns, [None, lanes])
    around = [*outer[:-1], vector, outer[-1]] if keeps_terms else [*outer, vector]
    schedule.reorder(*around, *terms, lane)
    consumer = move_consumer(schedule, block, around[-1])
    schedule.compact_buffer(block, 0)
    init = schedule.decompose_reduction(block, terms[0])
    for term in terms:
        schedule.unroll(term)
    for user in (init, block, consumer):
        inner = schedule.get_loops(user)[-1]
        schedule.vectorize(inner) if lanes > 1 else schedule.unroll(inner)
