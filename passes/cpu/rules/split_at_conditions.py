"""Blocks that do one thing for some iterations of a loop and another for the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import gcd

from xdsl.dialects import arith

from relex.dialects.errors import fail
from relex.dialects.index.expr import Index, constant_of, terms_of
from relex.dialects.target.processors import Processor
from relex.dialects.tir import BlockOp, ForOp
from relex.dialects.tir.accesses import in_loops
from relex.dialects.walks import walk_of
from relex.passes.analysis.loop_tree import label_of, name_of_block
from relex.passes.cpu import cost
from relex.passes.cpu.reduction_nest import check_at_least, count, named, spatial_loops
from relex.passes.cpu.rule import Plan
from relex.passes.schedule import Loop, Schedule


def split_at_conditions(block: BlockOp, processor: Processor) -> Plan:
    """Split a loop where conditions on its variable change, as in a concatenation: in each piece, which has its own
    code, LLVM knows what holds. Short rows become a vector each.

    ```mlir
    tir.for %i, %j in (96, 28) {
      ... // y[i, j] = i < 32 ? a[i, j] : b[i - 32, j]
    }
    // split_at_conditions
    tir.for unrolled %i0, %i1, %j in (3, 32, 28) {
      ... // y[32 i0 + i1, j] = 32 i0 + i1 < 32 ? a[32 i0 + i1, j] : b[32 i0 + i1 - 32, j]
    }
    ```
    """
    loops = spatial_loops(block)
    check_at_least(block, cost.MIN_ELEMENTS_IN_PIECES, count(loops), "elements")
    forms = _compared(block)
    for loop in loops:
        changes = sorted(set(_changes(forms, loop)))
        if changes and isinstance(loop.extent, int):
            size = gcd(loop.extent, *changes)
            return _plan(block, loops, loop, size, loop.extent // size)
    fail(block, f"expected a loop along which {name_of_block(block)} does different things")


def _compared(block: BlockOp) -> list[Index]:
    """Return what conditions compare with 0."""
    conditions = [op for op in walk_of(block, arith.CmpiOp) if op.predicate.value.data in _ORDERS]
    sides = in_loops(side for condition in conditions for side in condition.operands)
    return [left - right for left, right in zip(sides[::2], sides[1::2], strict=True)]


def _changes(forms: Iterable[Index], loop: ForOp) -> Iterator[int]:
    """Yield the iterations of a loop at which a condition on its variable alone changes."""
    for form in forms:
        change = -constant_of(form)
        if terms_of(form) == {loop.variable: 1} and 0 < change < count([loop]):
            yield change


_ORDERS = {arith.CMPI_COMPARISON_OPERATIONS.index(name) for name in ("slt", "sge", "ult", "uge")}
"""The predicates that change at the number on their right."""


def _plan(block: BlockOp, loops: list[ForOp], loop: ForOp, size: int, number: int) -> Plan:
    elements = count(loops[loops.index(loop) :]) // number
    if size < cost.MIN_SIDE:
        fail(block, f"expected pieces of {cost.MIN_SIDE} iterations of {label_of(loop)} or more, found {size}")
    if number > cost.MAX_COPIES or elements < cost.MIN_ELEMENTS_OF_A_PIECE:
        most, least = cost.MAX_COPIES, cost.MIN_ELEMENTS_OF_A_PIECE
        fail(block, f"expected {most} pieces or less of {least} elements or more, found {number} of {elements}")
    summary = f"{number} of {size} iterations of {label_of(loop)}"
    last = loops[-1]
    is_short = last is not loop and isinstance(last.extent, int) and 1 < last.extent <= cost.MAX_ROW_AS_A_VECTOR
    return Plan(summary, lambda schedule: _schedule(schedule, named(loop), size, named(last) if is_short else None))


def _schedule(schedule: Schedule, loop: Loop, size: int, row: Loop | None) -> None:
    piece, _ = schedule.split(loop, [None, size])
    schedule.unroll(piece)
    if row is not None:
        schedule.vectorize(row)
