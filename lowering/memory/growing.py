"""Buffers with room to spare: what loops carry and each trip appends to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from xdsl.builder import Builder
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, i8
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.op_edits import before_end, index_constant, terminator_of, with_types
from relex.dialects.upstream.hints import isa
from relex.lowering.memory.append_steps import VIEWS, AppendStep, Loop, TripPart, carried_by, growth_of
from relex.lowering.support.emitted_sizes import bytes_of
from relex.lowering.support.result_buffers import ALIGNMENT
from relex.lowering.support.row_rules import KEPT_ATTR

OpT = TypeVar("OpT", bound=Operation)

_POOL = MemRefType(i8, [DYNAMIC_INDEX])


def grow_in_place(function: func.FuncOp) -> None:
    """Let what a loop carries, and each trip appends to, be in memory that is larger than it is. Rows are copied only
    where they exceed it: it is at least twice as large then.

    ```mlir
    %r = scf.for %i = %lb to %ub step %s iter_args(%a = %0) -> (memref<?xf32>) {
      %b = memref.alloc(%n) {relex.moved} : memref<?xf32>
      %c = memref.subview %b[%c0] [%size] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
      memref.copy %a, %c {relex.kept} : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
      ... // Rows of %b behind these are written.
      scf.yield %b : memref<?xf32>
    }
    // becomes
    %r, %size_of_r = scf.for %i = %lb to %ub step %s iter_args(%p = %0, %size = %n0) -> (memref<?xi8>, index) {
      %bytes = arith.muli %n, %c4 : index
      %fits = arith.cmpi ule, %bytes, %room : index
      %q = scf.if %fits -> (memref<?xi8>) {
        scf.yield %p : memref<?xi8>
      } else {
        %larger = memref.alloc(%most) : memref<?xi8>
        ... // Rows are copied.
        memref.dealloc %p : memref<?xi8>
        scf.yield %larger : memref<?xi8>
      }
      %b = memref.view %q[%c0][%n] : memref<?xi8> to memref<?xf32>
      ...
      scf.yield %q, %n : memref<?xi8>, index
    }
    memref.dealloc %r : memref<?xi8>
    ```
    """
    copies = [op for op in function.walk() if isinstance(op, memref.CopyOp) and KEPT_ATTR in op.attributes]
    if not copies:
        return
    for loop in [op for op in function.walk(region_first=True) if isinstance(op, Loop)]:
        for number in reversed(range(len(carried_by(loop)))):
            if (growth := growth_of(loop, number)) is not None:
                loop = _Rewriting(loop, number, growth).run()
    for copy in copies:
        copy.attributes.pop(KEPT_ATTR, None)


@dataclass(frozen=True)
class _State:
    """A buffer at the start of memory that may be larger."""

    pool: SSAValue
    sizes: Sequence[SSAValue]
    """Its dynamic sizes."""
    view: SSAValue

    @property
    def carried(self) -> Sequence[SSAValue]:
        """What a loop carries, or a branch gives, in place of the buffer."""
        return [self.pool, *self.sizes]


class _Rewriting:
    """The rewriting of a loop for one of the buffers that it carries."""

    def __init__(self, loop: Loop, number: int, parts: Sequence[TripPart]):
        self._loop = loop
        self._number = number
        self._parts = parts

    def run(self) -> Loop:
        """Let the loop carry memory, and the sizes of the buffer in it, in place of the buffer. Returns it."""
        loop, place = self._loop, self._number if isinstance(self._loop, scf.ForOp) else self._parts[0].place - 1
        kind = loop.results[place].type
        first = self._allocate(carried_by(loop)[self._number])
        for part in self._parts:
            self._rewrite(part)
        shift = len(loop.operands) - len(carried_by(loop)) + self._number
        operands = [*loop.operands[:shift], *first, *loop.operands[shift + 1 :]]
        new, last = self._replaced(loop, operands, place)
        assert isinstance(new, Loop)
        assert isinstance(new.parent, Block)
        self._add(before_end(new.parent), memref.DeallocOp.get(last.pool))
        assert last.view.type == kind
        return new

    def _allocate(self, buffer: SSAValue) -> Sequence[SSAValue]:
        """Let the memory of a buffer be an allocation of bytes."""
        alloc = buffer.owner
        assert isinstance(alloc, memref.AllocOp)
        builder, sizes = Builder(InsertPoint.before(alloc)), [*alloc.dynamic_sizes]
        size = bytes_of(alloc.memref.type, sizes, builder)
        state = self._view(builder, self._new_pool(builder, size), sizes, alloc.memref.type)
        Rewriter.replace_op(alloc, [], [state.view])
        return state.carried

    def _rewrite(self, part: TripPart) -> None:
        block, at, kind = part.start.block, part.start.index, part.start.type
        assert isa(kind, MemRefType)
        sizes = [block.insert_arg(IndexType(), at) for size in kind.get_shape() if size == DYNAMIC_INDEX][::-1]
        pool = block.insert_arg(_POOL, at)
        pool.name_hint = part.start.name_hint
        start = self._view(Builder(InsertPoint.at_start(block)), pool, sizes, kind)
        part.start.replace_all_uses_with(start.view)
        block.erase_arg(part.start)
        state = self._take(part.steps, start, [])
        _pass_on(part.end, part.place, state)

    def _take(self, steps: Sequence[AppendStep], state: _State, known: Sequence[_State]) -> _State:
        """Rewrite the steps in a block, and return where the last buffer is."""
        known = [*known, state]
        for step in steps:
            if step.copy is None:
                state = self._branch(step, state, known)
            else:
                state = self._copied(step, step.copy, state)
            if step.may_move:
                known = [self._found_again(old, state) for old in known]
            known.append(state)
        return state

    def _copied(self, step: AppendStep, copy: memref.CopyOp, state: _State) -> _State:
        alloc = step.at
        assert isinstance(alloc, memref.AllocOp)
        builder, sizes = Builder(InsertPoint.before(alloc)), [*alloc.dynamic_sizes]
        pool = self._grown(builder, alloc.memref.type, sizes, state) if step.appends else state.pool
        pool.name_hint = pool.name_hint or alloc.memref.name_hint
        new = self._view(builder, pool, sizes, alloc.memref.type)
        for dealloc in [use.operation for use in alloc.memref.uses if isinstance(use.operation, memref.DeallocOp)]:
            Rewriter.erase_op(dealloc)
        Rewriter.erase_op(copy)
        Rewriter.replace_op(alloc, [], [new.view])
        return new

    def _grown(self, builder: Builder, kind: MemRefType, sizes: Sequence[SSAValue], state: _State) -> SSAValue:
        """Return memory that has room for a buffer, and begins with the one that it grows from."""
        size, zero = bytes_of(kind, sizes, builder), self._add(builder, index_constant(0)).result
        room = self._add(builder, memref.DimOp(state.pool, zero)).result
        fits = self._add(builder, arith.CmpiOp(size, room, "ule")).result
        stays, moves = Block([scf.YieldOp(state.pool)]), Block()
        inner = Builder(InsertPoint.at_end(moves))
        twice = self._add(inner, arith.AddiOp(room, room)).result
        larger = self._new_pool(inner, self._add(inner, arith.MaxUIOp(size, twice)).result)
        assert isa(state.view.type, MemRefType)
        place = self._view(inner, larger, state.sizes, state.view.type).view
        self._add(inner, memref.CopyOp(state.view, place))
        self._add(inner, memref.DeallocOp.get(state.pool))
        self._add(inner, scf.YieldOp(larger))
        return self._add(builder, scf.IfOp(fits, [_POOL], Region(stays), Region(moves))).results[0]

    def _branch(self, step: AppendStep, state: _State, known: Sequence[_State]) -> _State:
        assert isinstance(step.value, OpResult)
        place = step.value.index
        for region, steps in zip(step.at.regions, step.branches, strict=True):
            _pass_on(terminator_of(region.block), place, self._take(steps, state, known))
        _, new = self._replaced(step.at, step.at.operands, place)
        return new

    def _replaced(self, op: Operation, operands: Sequence[SSAValue], place: int) -> tuple[Operation, _State]:
        """Replace an op by one that gives memory and sizes in place of a result."""
        kind = op.results[place].type
        assert isa(kind, MemRefType)
        count = 1 + kind.get_shape().count(DYNAMIC_INDEX)
        types = [result.type for result in op.results]
        builder = Builder(InsertPoint.before(op))
        new = with_types(op, operands, [*types[:place], _POOL, *[IndexType()] * (count - 1), *types[place + 1 :]])
        pool, *sizes = builder.insert(new).results[place : place + count]
        state = self._view(builder, pool, sizes, kind)
        pool.name_hint = op.results[place].name_hint
        Rewriter.replace_op(op, [], [*new.results[:place], state.view, *new.results[place + count :]])
        return new, state

    def _found_again(self, old: _State, new: _State) -> _State:
        """Let all that uses a buffer after it may have moved find it where it is now."""
        assert isa(old.view.type, MemRefType)
        assert isinstance(new.view.owner, Operation)
        found = self._view(Builder(InsertPoint.after(new.view.owner)), new.pool, old.sizes, old.view.type)
        self._use(old.view, found.view)
        return found

    def _use(self, old: SSAValue, new: SSAValue) -> None:
        """Let ops after a new value, and views that these use, use it in place of an old one."""
        assert isinstance(new.owner, Operation)
        for use in [*old.uses]:
            if _is_after(use.operation, new.owner):
                use.operation.operands[use.index] = new
            elif isinstance(use.operation, VIEWS) and _is_used_after(use.operation, new.owner):
                view = use.operation.clone()
                view.operands[use.index] = new
                Rewriter.insert_op(view, InsertPoint.after(new.owner))
                self._use(use.operation.results[0], view.results[0])

    def _view(self, builder: Builder, pool: SSAValue, sizes: Sequence[SSAValue], kind: MemRefType) -> _State:
        zero = self._add(builder, index_constant(0)).result
        return _State(pool, sizes, self._add(builder, memref.ViewOp(pool, zero, sizes, kind)).result)

    def _new_pool(self, builder: Builder, size: SSAValue) -> SSAValue:
        return self._add(builder, memref.AllocOp.get(i8, ALIGNMENT, [DYNAMIC_INDEX], [size])).memref

    def _add(self, builder: Builder, op: OpT) -> OpT:
        op.location = self._loop.location
        return builder.insert(op)


def _pass_on(end: Operation, place: int, state: _State) -> None:
    end.operands = [*end.operands[:place], *state.carried, *end.operands[place + 1 :]]


def _is_used_after(view: Operation, at: Operation) -> bool:
    users = [use.operation for use in view.results[0].uses]
    return any(_is_after(user, at) or (isinstance(user, VIEWS) and _is_used_after(user, at)) for user in users)


def _is_after(op: Operation, at: Operation) -> bool:
    """Return whether an op runs after another one, in the same block or in a region in it."""
    around = at.parent_block()
    ancestor = None if around is None else around.find_ancestor_op_in_block(op)
    return ancestor is not None and at.is_before_in_block(ancestor)
