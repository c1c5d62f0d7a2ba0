"""
Dependences: whether two accesses may reach the same element, at least one of them writing, in two iterations.

Such accesses must keep their order. `may_conflict` answers that, and `Meeting` the part of it that is about indices.
Bounds of the indices decide most cases; the rest goes to the solver, which also knows the conditions around the
accesses. What it cannot decide with little work is assumed to happen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import TypeAlias

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument, Operation, SSAValue

from relex.dialects.errors import fail
from relex.dialects.index.atoms import Atom, Quotient, Remainder
from relex.dialects.index.constraints import System, different, same
from relex.dialects.index.domains import domain_of
from relex.dialects.index.elimination import Contradiction, TooHardError
from relex.dialects.index.expr import Index, IndexExpr, atom_of, constant_of, span_of, span_of_atom, terms_of, values_in
from relex.dialects.index.from_ir import index_of, index_reader
from relex.dialects.index.ranges import Range
from relex.dialects.index.solve import find_point
from relex.dialects.index.values import replace_atoms
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, InitOp, PrimFuncOp
from relex.dialects.tir.accesses import Access, Element, UsedValues, is_access, is_arithmetic
from relex.dialects.walks import holds, walk
from relex.passes.analysis.iteration_systems import Instance
from relex.passes.analysis.kept import once
from relex.passes.analysis.loop_tree import blocks_in, function_of, label_of, name_of_block

MOST_STEPS = 50
"""A limit on the steps of the solver for one question."""


def block_accesses(block: BlockOp, buffer: SSAValue | None = None) -> list[Access]:
    """Return the accesses of a block, of one buffer alone if it is given; fail at ops that use memory in other ways."""
    return [*once((block_accesses, block, buffer), lambda: _accesses_in(block, buffer))]


def _accesses_in(block: BlockOp, buffer: SSAValue | None) -> list[Access]:
    read_binding = index_reader()

    def bound(value: SSAValue) -> Index | None:
        if type(value) is not BlockArgument or value.block is not variables:
            return None
        return read_binding(block.binding_of(value))

    variables, read = block.body.block, index_reader(bound)
    found: list[Access] = []
    for op in walk(block):
        if is_access(op):
            if buffer is None or buffer in op.operands:
                found.append(Access.of(op, read))
        elif type(op) not in _KNOWN and _uses_memory(op):
            fail(op, f"expected only loads and stores in a scheduled block, found '{op.name}'")
    return found


def statement_accesses(statement: Operation) -> Iterator[Access]:
    """Yield the accesses of the blocks in a statement."""
    for block in [statement] if isinstance(statement, BlockOp) else blocks_in(statement):
        yield from block_accesses(block)


_KNOWN = {BlockOp, ForOp, InitOp, AllocBufferOp, memref.DimOp}
"""Ops that use memory in known ways, or not at all."""


def _uses_memory(op: Operation) -> bool:
    # Most ops in blocks are arithmetic, and use none; only a selected value may be a buffer.
    if is_arithmetic(type(op)) and type(op) is not arith.SelectOp:
        return False
    return any(type(value.type) is MemRefType for value in (*op.operands, *op.results))


Pairs: TypeAlias = Sequence[tuple[SSAValue, SSAValue]]
"""Pairs of values, the left ones in one run of a piece of the program, the right ones in another."""


def may_conflict(a: Access, b: Access, scope: Operation | None = None, apart: Pairs | None = None) -> bool:
    """
    Return whether two accesses may reach the same element, at least one of them writing, within one run of `scope`: at
    any time, or where the values of a pair in `apart` differ, such as the variables of the loops around them. Without
    `scope`, that is wherever their blocks are moved.
    """
    if not (a.is_write or b.is_write):
        return False
    if a.buffer is not b.buffer:
        return may_alias(a.buffer, b.buffer, function_of(a.op))
    if scope is None:
        pairs = zip(a.indices, b.indices, strict=True)
        return all(span_of(index_of(i)).overlaps(span_of(index_of(j))) for i, j in pairs)
    return Meeting(a, b, lifetime(a.buffer, scope), apart or ()).may_happen(apart)


def may_alias(a: SSAValue, b: SSAValue, function: PrimFuncOp) -> bool:
    """Return whether two buffers may share memory.

    Local buffers do not alias anything; arguments do not, where the function says `tir.noalias`.
    """
    return a is b or (not function.noalias and a in function.args and b in function.args)


def lifetime(buffer: SSAValue, scope: Operation) -> Operation:
    """Return the largest part of `scope` in which a buffer is one and the same."""
    home = buffer.owner.parent_op()
    return home if home is not None and holds(scope, home) else scope


@dataclass(frozen=True)
class Meeting:
    """A run of an op and one of another, within one run of `scope`, for which the values of two places are equal."""

    a: UsedValues
    b: UsedValues
    scope: Operation
    loops: Pairs = ()
    """Variables of loops around the first and the second place that the question is about."""
    conditions: bool = True
    """Whether to take the conditions around the ops into account."""

    def may_happen(self, apart: Pairs | None = None) -> bool:
        """Return whether the runs may happen, if given with different values in a pair of `apart`. If that is not
        decided with little work, they may."""
        apart = [pair for pair in apart if not self._are_equal(*pair)] if apart is not None else None
        if apart == [] or self._equal is None:
            return False
        left, right = self._forms
        if left == right and (apart is None or any(v not in self._used and w in self._alike for v, w in apart)):
            return True
        one = Instance(self.a.op, conditions=self.conditions)
        two = Instance(self.b.op, one, self.scope, conditions=self.conditions)
        met = System(tuple(same(one.form(v), two.form(w)) for v, w in zip(self.a.indices, self.b.indices, strict=True)))
        if apart is not None:
            met &= different([one.form(v) for v, _ in apart], [two.form(w) for _, w in apart])
        try:
            return find_point(one.system & two.system & met, MOST_STEPS) is not None
        except TooHardError:
            return True

    def _are_equal(self, v: SSAValue, w: SSAValue) -> bool:
        """Return whether two variables certainly have the same value."""
        if _is_shared(v, self.scope) or not domain_of(v).width:
            return True
        is_alike = v is w or (w in self._alike and atom_of(self._alike[w]) is v)
        if is_alike and any(atom_of(i) is v and atom_of(j) is v for i, j in zip(*self._forms, strict=True)):
            return True  # An index is the variable itself: it is that often, and there is nothing to solve.
        return self._equal is not None and v in self._equal and w in self._alike

    @cached_property
    def _alike(self) -> dict[SSAValue, Index]:
        """The variables in `loops` that run through the same values: they count as one, so that their differences
        cancel."""
        return {w: IndexExpr.of(v) for v, w in self.loops if domain_of(v) == domain_of(w)}

    @cached_property
    def _forms(self) -> tuple[Element, Element]:
        if all(v is w for v, w in self.loops):
            return self.a.element, self.b.element
        renamed = (replace_atoms(form, self._renamed) for form in self.b.element)
        return self.a.element, tuple(renamed)

    def _renamed(self, atom: Atom) -> Index | None:
        return self._alike.get(atom) if isinstance(atom, SSAValue) else None

    @cached_property
    def _used(self) -> set[SSAValue]:
        return {value for forms in self._forms for form in forms for value in values_in(form)}

    @cached_property
    def _equal(self) -> set[Atom] | None:
        """The atoms that are certainly equal in both runs; None if there are no such runs."""
        shared = [value for value in self._used if _is_shared(value, self.scope)]
        try:
            return equal_atoms(zip(*self._forms, strict=True), self.scope, shared)
        except Contradiction:
            return None


def _is_shared(value: SSAValue, scope: Operation) -> bool:
    """Return whether a value is the same throughout one run of a scope."""
    home = value.owner.parent_op()
    return home is not None and holds(home, scope)


def dependences(loops: Sequence[ForOp]) -> Iterator[tuple[Access, Access, list[ForOp]]]:
    """Yield the pairs of accesses in a nest that depend on each other, with the loops that carry the dependence."""
    for a, b in combinations_with_replacement(statement_accesses(loops[0]), 2):
        if carried := carrying(loops, a, b):
            yield a, b, carried


def carrying(loops: Sequence[ForOp], a: Access, b: Access, *, conditions: bool = True) -> list[ForOp]:
    """Return the loops of a nest that may be at different iterations when two accesses reach the same element, at
    least one of them writing."""
    if not loops or not (a.is_write or b.is_write):
        return []
    if a.buffer is not b.buffer:
        return list(loops) if may_alias(a.buffer, b.buffer, function_of(loops[0])) else []
    return _differing(loops, a, b, lifetime(a.buffer, _around(loops)), conditions)


def _differing(
    loops: Sequence[ForOp], a: UsedValues, b: UsedValues, scope: Operation, conditions: bool = True
) -> list[ForOp]:
    variables = [(loop.variable, loop.variable) for loop in loops]
    meeting = Meeting(a, b, scope, variables, conditions)
    return [loop for loop, pair in zip(loops, variables, strict=True) if meeting.may_happen([pair])]


def _around(loops: Sequence[ForOp]) -> Operation:
    return loops[0].parent_op() or loops[0]


def check_bindings_differ(block: BlockOp, loops: Sequence[ForOp]) -> None:
    """Fail unless the variables of a block take different values in each iteration of the nest `loops`."""
    bindings = UsedValues(block, tuple(block.bindings))
    for loop in _differing(loops, bindings, bindings, _around(loops)):
        fail(block, f"expected bindings of {name_of_block(block)} that tell the iterations of {label_of(loop)} apart")


def equal_atoms(equations: Iterable[tuple[Index, Index]], scope: Operation, known: Iterable[Atom] = ()) -> set[Atom]:
    """
    Return the atoms that have the same value in two iterations of the loops in `scope` if the equations hold, with the
    left sides evaluated in one iteration and the right sides in the other. Atoms in `known`, and values defined outside
    of `scope`, are the same in both. Raises `Contradiction` if the equations cannot hold.
    """
    pending = list(equations)
    same: set[Atom] = set(known)
    divided: set[Atom] = set()
    count = -1
    while count < len(same):
        count = len(same)
        for left, right in pending:
            same |= _solve(left, right, scope, same)
        for atom in [a for a in same if isinstance(a, Remainder) and a not in divided]:
            # If quotient and remainder are the same, so is the dividend.
            if Quotient(atom.dividend, atom.divisor) in same:
                divided.add(atom)
                pending.append((atom.dividend, atom.dividend))
    return same


def _solve(left: Index, right: Index, scope: Operation, same: set[Atom]) -> set[Atom]:
    """Return the atoms that must have the same value where `left` in one iteration equals `right` in another."""
    unknown: list[tuple[int, float, Atom]] = []
    rest = Range(constant_of(left) - constant_of(right), constant_of(left) - constant_of(right))
    ours, theirs = terms_of(left), terms_of(right)
    for atom in {**ours, **theirs}:
        a, b, span = ours.get(atom, 0), theirs.get(atom, 0), span_of_atom(atom)
        if atom in same or not span.width or _is_fixed(atom, scope, same):
            rest += span.scaled(a - b) if a != b else Range(0, 0)
        elif a == b:
            unknown.append((abs(a), span.width, atom))
        else:
            rest += span.scaled(a) + span.scaled(-b)
    most = sum(factor * width for factor, width, _ in unknown)
    if rest.low > most or rest.high < -most:
        raise Contradiction
    found: set[Atom] = set()
    unknown.sort(key=lambda term: term[0])
    reach = max(abs(rest.low), abs(rest.high))
    reaches = [reach]
    for factor, width, _ in unknown:
        reach += factor * width
        reaches.append(reach)
    # If the smaller terms together cannot make up for one step of the largest, its atom is the same. Then the next one.
    for i, (factor, _, atom) in reversed(list(enumerate(unknown))):
        if factor <= reaches[i]:
            break
        found.add(atom)
    return found


def _is_fixed(atom: Atom, scope: Operation, same: set[Atom]) -> bool:
    values = (atom,) if isinstance(atom, SSAValue) else values_in(IndexExpr.of(atom))
    return all(value in same or not holds(scope, value.owner) for value in values)
