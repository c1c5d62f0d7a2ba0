"""Short rows that follow one another in memory."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType

from relex.dialects.errors import fail, name_of
from relex.dialects.index.expr import terms_of, values_in
from relex.dialects.target.processors import Processor
from relex.dialects.tir import BlockOp, ForOp
from relex.dialects.tir.accesses import Access, in_loops, is_access
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.loop_tree import label_of, name_of_block
from relex.passes.cpu.reduction_nest import named, position_of, spatial_loops
from relex.passes.cpu.rule import Plan
from relex.passes.cpu.rules.short_rows import check_alone


def joined_rows(block: BlockOp, processor: Processor) -> Plan:
    """Compute rows that follow one another in memory in one loop. LLVM makes vectors of it whatever the length of a
    row, and has one loop to look at. Indices become quotients and remainders, which add up to the place in memory.

    ```mlir
    tir.for %c, %i, %j in (64, 7, 7) {
      ... // y[c, i, j] = a[c, i, j] + b[c]
    }
    // joined-rows
    tir.for %c, %p in (64, 49) {
      ... // y[c, p // 7, p % 7] = a[c, p // 7, p % 7] + b[c]
    }
    ```
    """
    check_alone(block)
    loops = spatial_loops(block)
    joined = rows_to_join(block, loops)
    if len(joined) == 1:
        rows = f"rows along {label_of(loops[-1])}"
        fail(block, f"expected {name_of_block(block)} to access {rows} that follow one another")
    names = [named(loop) for loop in joined]
    return Plan(f"one loop of {', '.join(map(label_of, joined))}", lambda schedule: schedule.fuse(*names))


def rows_to_join(block: BlockOp, loops: Sequence[ForOp]) -> Sequence[ForOp]:
    """Return the innermost loops that can be one loop, at least the last one; fail if the block uses their variables
    for anything but accesses."""
    joined = _joined(loops, [_steps(access, loops) for access in block_accesses(block)])
    _check_accesses_alone(block, joined)
    return joined


def _steps(access: Access, loops: Sequence[ForOp]) -> list[int]:
    """Return how many elements an access moves in memory from one iteration of each loop to the next."""
    place, variables = position_of(access), [loop.variable for loop in loops]
    if place is None or not terms_of(place).keys() <= {*variables}:
        fail(access.op, f"expected a place in {name_of(access.buffer)} that depends on loops alone")
    return [terms_of(place).get(variable, 0) for variable in variables]


def _joined(loops: Sequence[ForOp], steps: Sequence[Sequence[int]]) -> Sequence[ForOp]:
    """Return the innermost loops along which each access goes from element to element, or stays where it is."""
    first = len(loops) - 1
    if any(along[first] not in (0, 1) for along in steps):
        return loops[first:]
    while first > 0:
        extent = loops[first].extent
        if not isinstance(extent, int) or any(along[first - 1] != along[first] * extent for along in steps):
            break
        first -= 1
    return loops[first:]


def _check_accesses_alone(block: BlockOp, loops: Sequence[ForOp]) -> None:
    """Fail if a block uses variables of loops for anything but accesses, such as conditions."""
    variables = {loop.variable for loop in loops}
    for op in block.walk():
        is_arithmetic = op.results and all(isinstance(result.type, IndexType) for result in op.results)
        if op is block or is_access(op) or is_arithmetic:
            continue
        used = [value for value in op.operands if isinstance(value.type, IndexType)]
        if any(variables & {*values_in(form)} for form in in_loops(used)):
            fail(op, f"expected only accesses to depend on {' and '.join(map(label_of, loops))}")
