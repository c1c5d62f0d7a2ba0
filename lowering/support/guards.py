"""Guards of blocks whose conditions become bounds of loops, or are tested before loops that they do not depend on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import isfinite

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from relex.dialects.index.expr import Index, IndexExpr, larger, smaller, span_of, values_in
from relex.dialects.index.to_ir import IndexBuilder
from relex.dialects.index.values import replace_atoms
from relex.dialects.tir import BlockOp, ForOp, LoopKind, loops_around
from relex.dialects.tir.accesses import variables_in
from relex.dialects.walks import reachable
from relex.passes.analysis import loop_tree


@dataclass(frozen=True)
class HoistedConditions:
    """The places that the conditions of guards are moved to."""

    bounds: Mapping[ForOp, tuple[Index, Index]]
    """The remaining iterations of loops: from the first index up to the second, both at least 0."""

    before: Mapping[ForOp, Sequence[SSAValue]]
    """The conditions that are tested before a loop."""

    rest: Mapping[scf.IfOp, Sequence[SSAValue]]
    """The remaining conditions of each guard from which some were moved."""

    unused: AbstractSet[Operation]
    """The ops that compute only conditions that were moved away from guards."""


def hoisted_conditions(blocks: Iterable[BlockOp]) -> HoistedConditions:
    """
    Return where the conditions of guards go: each to the outermost loop that it does not depend on, if the loops from
    there on hold only the block. If it limits a loop that holds only that one, iterations of that loop
    are left out instead. A block with an init keeps its guard.
    """
    bounds: dict[ForOp, tuple[Index, Index]] = {}
    before: dict[ForOp, list[SSAValue]] = defaultdict(list)
    rest: dict[scf.IfOp, list[SSAValue]] = {}
    unused: set[Operation] = set()
    for block in blocks:
        guard = loop_tree.guard_of(block)
        if guard is None or guard.results or guard.false_region.blocks or block.init is not None:
            continue
        kept: list[SSAValue] = []
        for condition in (conditions := loop_tree.conjuncts_of(guard.cond)):
            loop = _place(condition, guard)
            if loop is None:
                kept.append(condition)
            elif not _limit(loop.parent_op(), loop, condition, bounds):
                before[loop].append(condition)
        if len(kept) < len(conditions):
            rest[guard] = kept
            unused |= _unused(guard, kept)
    return HoistedConditions(bounds, before, rest, unused)


def _unused(guard: scf.IfOp, kept: Sequence[SSAValue]) -> set[Operation]:
    """Return the ops in the innermost loop that nothing needs if only some conditions of a guard are kept."""
    found: set[Operation] = set()
    pending: list[SSAValue] = [guard.cond]
    while pending:
        value = pending.pop()
        op, users = value.owner, {use.operation for use in value.uses}
        if isinstance(op, Operation) and op.parent is guard.parent and value not in kept and users <= {guard, *found}:
            found.add(op)
            pending += op.operands
    return found


def _limit(outer: Operation | None, loop: ForOp, condition: SSAValue, bounds: dict[ForOp, tuple[Index, Index]]) -> bool:
    """Leave out the iterations of an outer loop, which holds only a loop, for which a condition does not hold.
    Return False if that is not how it depends on the loop."""
    comparison = loop_tree.comparison_of(condition)
    if not isinstance(outer, ForOp) or outer.kind.data is not LoopKind.SERIAL or loop_tree.only_step(outer) is not loop:
        return False
    if comparison is None:
        return False
    predicate, difference = comparison
    # Where the difference is zero, if its factor of the variable is one; otherwise the variable stays in it.
    end, span = IndexExpr.of(outer.variable) - difference, span_of(difference)
    if predicate not in ("slt", "sge") or any(outer.is_ancestor(value.owner) for value in values_in(end)):
        return False
    if not isfinite(span.low) or not isfinite(span.high):
        return False  # Sums of values of any size may overflow, and differences elsewhere.
    extent = outer.extent if isinstance(outer.extent, int) else IndexExpr.of(outer.extent)
    first, last = bounds.get(outer, (0, extent))
    bounds[outer] = (first, smaller(last, end)) if predicate == "slt" else (larger(first, end), last)
    return True


def _place(condition: SSAValue, guard: scf.IfOp) -> ForOp | None:
    """Return the outermost loop around a guard that a condition may be tested before; None if there is none."""
    if not all(loop_tree.is_scalar(op) and not loop_tree.may_trap(op) for op in _computing(condition, guard)):
        return None
    used = variables_in(condition, loop_tree.function_of(guard))
    found: ForOp | None = None
    for loop in loops_around(guard):
        if (
            loop_tree.only_step(loop) is not (found or guard)
            or loop.variable in used
            or loop.kind.data is LoopKind.PARALLEL
        ):
            break
        found = loop
    return found


def _computing(condition: SSAValue, guard: scf.IfOp) -> Iterable[Operation]:
    """Yield the ops in the loops around a guard that compute a condition."""
    *_, outermost = (guard, *loops_around(guard))

    def sources(value: SSAValue) -> Sequence[SSAValue]:
        owner = value.owner
        return owner.operands if isinstance(owner, Operation) and outermost.is_ancestor(owner) else ()

    owners = (value.owner for value in reachable(condition, sources))
    return (owner for owner in owners if isinstance(owner, Operation) and outermost.is_ancestor(owner))


class IndexEmitter(IndexBuilder):
    """Emits expressions of a loop function in the function that replaces it, given a mapping from old values to new
    ones."""

    def __init__(
        self,
        insert: Callable[[Operation], object],
        constant: Callable[[int], SSAValue],
        value: Callable[[SSAValue], SSAValue],
    ):
        super().__init__()
        self._insert, self._constant, self._value = insert, constant, value

    def insert(self, op: Operation) -> None:
        self._insert(op)

    def constant(self, value: int) -> SSAValue:
        return self._constant(value)

    def emit_new(self, index: Index) -> SSAValue:
        """Return the value of an expression of old values."""
        return self.emit(
            replace_atoms(index, lambda atom: IndexExpr.of(self._value(atom)) if isinstance(atom, SSAValue) else None)
        )
