"""Loop-carried dependences.

Two accesses of one element, at least one of them a write, must keep their order. Assuming that they access the same
element, some loops are proved to be at the same iteration in both; the others carry a dependence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TypeAlias

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument, Operation, SSAValue

from relex.dialects.errors import fail
from relex.dialects.index.expr import (
    Atom,
    Index,
    IndexExpr,
    Quotient,
    Remainder,
    constant_of,
    span_of_atom,
    terms_of,
    values_in,
)
from relex.dialects.index.from_ir import Lookup, index_of
from relex.dialects.index.span import Span
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, InitOp
from relex.dialects.tir.accesses import Access
from relex.passes.analysis.alias import may_alias
from relex.passes.analysis.loop_tree import blocks_in, function_of, label_of, name_of_block

Element: TypeAlias = tuple[Index, ...]


@dataclass(frozen=True)
class BlockAccess:
    """An access in a block, with its indices expressed in the loops around the block."""

    block: BlockOp
    access: Access
    element: Element

    @property
    def buffer(self) -> SSAValue:
        """The buffer that is accessed."""
        return self.access.buffer

    @property
    def is_write(self) -> bool:
        """Whether the access is a store."""
        return self.access.is_write

    @property
    def in_init(self) -> bool:
        """Whether the access is in the init of the block."""
        init = self.block.init
        return init is not None and init.is_ancestor(self.access.op)


def bound_variables(block: BlockOp) -> Lookup:
    """Return the lookup that maps the variables of a block to index expressions of the loops around it."""
    forms = {v.variable: index_of(v.binding) for v in block.iter_vars}
    return lambda value: forms.get(value) if isinstance(value, BlockArgument) else None


def block_accesses(block: BlockOp) -> list[BlockAccess]:
    """Return the accesses of a block; fail at ops that use memory in other ways."""
    variables = bound_variables(block)
    found: list[BlockAccess] = []
    for op in block.walk():
        if isinstance(op, memref.LoadOp | memref.StoreOp):
            access = Access(op)
            found.append(BlockAccess(block, access, tuple(index_of(index, variables) for index in access.indices)))
        elif _uses_memory(op):
            fail(op, f"expected only loads and stores in a scheduled block, found '{op.name}'")
    return found


def _uses_memory(op: Operation) -> bool:
    if isinstance(op, BlockOp | ForOp | InitOp | AllocBufferOp | memref.DimOp):
        return False
    return any(isinstance(value.type, MemRefType) for value in (*op.operands, *op.results))


def conflicts(scope: Operation) -> Iterator[tuple[BlockAccess, BlockAccess]]:
    """Yield the pairs of accesses in `scope` that may access the same element, at least one of them a write."""
    function = function_of(scope)
    found = [access for block in blocks_in(scope) for access in block_accesses(block)]
    for a, b in combinations_with_replacement(found, 2):
        if (a.is_write or b.is_write) and may_alias(a.buffer, b.buffer, function):
            yield a, b


def carrying(loops: Sequence[ForOp], a: BlockAccess, b: BlockAccess) -> list[ForOp]:
    """Return the loops of a nest that may be at different iterations when two accesses reach the same element."""
    if a.buffer is not b.buffer:
        return list(loops)
    outermost = loops[0]
    private = {loop.variable for loop in loops if loop.is_ancestor(a.buffer.owner)}
    same = equal_atoms(list(zip(a.element, b.element, strict=True)), outermost, private)
    return [loop for loop in loops if loop.variable not in same and loop.extent != 1]


def check_bindings_differ(block: BlockOp, loops: Sequence[ForOp]) -> None:
    """Fail unless the variables of a block take different values in each iteration of the nest `loops`."""
    bindings = [index_of(binding) for binding in block.bindings]
    same = equal_atoms([(binding, binding) for binding in bindings], loops[0])
    for loop in loops:
        if loop.variable not in same and loop.extent != 1:
            fail(block, f"expected bindings of {name_of_block(block)} that tell the iterations of {label_of(loop)} "
                        "apart")  # fmt: skip


def equal_atoms(equations: Iterable[tuple[Index, Index]], scope: Operation, known: Iterable[Atom] = ()) -> set[Atom]:
    """
    Return the atoms that have the same value in two iterations of the loops in `scope` if the equations hold, with the
    left sides evaluated in one iteration and the right sides in the other. Atoms in `known`, and values defined outside
    of `scope`, are the same in both.
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
    unknown: list[tuple[int, Atom]] = []
    rest = Span(constant_of(left) - constant_of(right), constant_of(left) - constant_of(right))
    for atom in {**terms_of(left), **terms_of(right)}:
        a, b = terms_of(left).get(atom, 0), terms_of(right).get(atom, 0)
        if atom in same or _is_outside(atom, scope) or not span_of_atom(atom).width:
            rest += span_of_atom(atom).scaled(a - b) if a != b else Span(0, 0)
        elif a == b:
            unknown.append((abs(a), atom))
        else:
            rest += span_of_atom(atom).scaled(a) + span_of_atom(atom).scaled(-b)
    found: set[Atom] = set()
    unknown.sort(key=lambda term: term[0])
    reach = max(abs(rest.low), abs(rest.high))
    reaches = [reach]
    for factor, atom in unknown:
        reach += factor * span_of_atom(atom).width
        reaches.append(reach)
    # If the smaller terms together cannot make up for one step of the largest, its atom is the same. Then the next one.
    for i, (factor, atom) in reversed(list(enumerate(unknown))):
        if factor <= reaches[i]:
            break
        found.add(atom)
    return found


def _is_outside(atom: Atom, scope: Operation) -> bool:
    return not any(scope.is_ancestor(value.owner) for value in values_in(IndexExpr.of(atom)))
