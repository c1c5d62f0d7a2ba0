"""Destinations of branches and loops: the memory that their tensors are written to.

A branch writes a tensor to memory that is allocated before it. A loop has two places for each tensor that it carries: a
trip reads one and writes the other, and then they change places, so that no trip allocates anything.

Where the sizes of a tensor follow from the branch that ran, or each trip changes them, the branch or the trip allocates
its memory and passes it on; `free_passed_on` says who frees it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import func, scf
from xdsl.dialects.bufferization import MaterializeInDestinationOp
from xdsl.dialects.builtin import ModuleOp, TensorType, UnitAttr
from xdsl.dialects.tensor import FromElementsOp, InsertSliceOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.function_arguments import RESULT_ATTR
from relex.dialects.op_edits import terminator_of, with_types
from relex.dialects.relex import AllocTensorOp, CallDpsPackedOp, CallOp, CallTirOp
from relex.dialects.upstream.hints import isa
from relex.dialects.walks import walk_of
from relex.passes.rewriting.size_values import SizesOfResults

BRANCHES = (scf.IfOp, scf.IndexSwitchOp)
LOOPS = (scf.ForOp, scf.WhileOp)

MOVED_ATTR = "relex.moved"
"""Marks an allocation whose memory a branch or a loop passes on, so that its block does not free it."""

_CALLS = (CallTirOp, CallDpsPackedOp, CallOp, func.CallOp)
_NEW = (*_CALLS, AllocTensorOp, FromElementsOp, InsertSliceOp, scf.ForOp, scf.WhileOp)
"""Ops whose results are in memory that nothing else refers to."""


def give_destinations(module: ModuleOp, sizes: SizesOfResults) -> None:
    """Let branches on tensors write to tensors allocated before them, and loops alternate between two for each one that
    they carry. `bufferization.materialize_in_destination` says what is written where.

    ```mlir
    %r = scf.for %i = %lb to %ub step %s iter_args(%a = %x) -> (tensor<8xf32>) {
      %b = relex.call_tir @f(%a) : (tensor<8xf32>) -> tensor<8xf32>
      scf.yield %b : tensor<8xf32>
    }
    // becomes
    %x1 = relex.alloc_tensor : tensor<8xf32>
    %x2 = bufferization.materialize_in_destination %x in %x1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %y = relex.alloc_tensor : tensor<8xf32>
    %r:2 = scf.for %i = %lb to %ub step %s iter_args(%a = %x2, %next = %y) -> (tensor<8xf32>, tensor<8xf32>) {
      %b = relex.call_tir @f(%a) : (tensor<8xf32>) -> tensor<8xf32>
      %c = bufferization.materialize_in_destination %b in %next : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      scf.yield %c, %a : tensor<8xf32>, tensor<8xf32>
    }
    ```
    """
    for op in walk_of(module, *BRANCHES, *LOOPS):
        if isinstance(op, scf.IfOp | scf.IndexSwitchOp) and any(map(is_tensor, op.results)):
            _Rewriting(op, sizes).branches(op)
        elif isinstance(op, scf.ForOp) and any(map(is_tensor, op.results)):
            _Rewriting(op, sizes).counted(op)
        elif isinstance(op, scf.WhileOp) and any(map(is_tensor, (*op.arguments, *op.results))):
            _Rewriting(op, sizes).conditional(op)


def is_tensor(value: SSAValue) -> bool:
    """Return whether a value is a tensor."""
    return isinstance(value.type, TensorType)


def destination_of(result: SSAValue) -> SSAValue | None:
    """Return the tensor that a result is written to at the end of its block, if there is one."""
    for use in result.uses:
        op = use.operation
        if isinstance(op, MaterializeInDestinationOp) and op.source is result and op.parent is result.owner.parent:
            # An argument of a function is read until the end. One that is allocated in the same block is written to
            # after it has been allocated.
            place = op.dest.owner
            around = place.parent_op() if isinstance(place, Block) else None
            if not isinstance(around, func.FuncOp) and (isinstance(place, Block) or place.parent is not op.parent):
                return op.dest
            if isinstance(place, Block) or not {RESULT_ATTR, MOVED_ATTR} & place.attributes.keys():
                continue
            if isinstance(result, OpResult) and place.is_before_in_block(result.op):
                return op.dest
    return None


def _returning(result: OpResult) -> MaterializeInDestinationOp | None:
    """Return the op that writes what a branch gives to the memory of a result of the function."""
    for op in (use.operation for use in result.uses):
        if isinstance(op, MaterializeInDestinationOp) and op.source is result and op.parent is result.op.parent:
            place = op.dest.owner
            if isinstance(place, AllocTensorOp) and RESULT_ATTR in place.attributes and op.dest.has_one_use():
                return op if not any(value.uses for value in op.results) else None
    return None


class _Rewriting:
    """The rewriting of one op."""

    def __init__(self, op: Operation, sizes: SizesOfResults):
        self._op = op
        self._sizes = sizes
        self._own: set[SSAValue] = set()
        """Tensors whose sizes the op finds out, each in memory that is passed on to it."""
        self._marks: dict[SSAValue, dict[str, Attribute]] = {}
        """What marks that memory, if it is not passed on further: it may be memory of a result."""

    def branches(self, op: scf.IfOp | scf.IndexSwitchOp) -> None:
        """Let each region write its tensors to a common place, or pass on memory that it allocates."""
        self._note_own(op.results)
        self._return_own(op.results)
        placed = [i for i, result in enumerate(op.results) if is_tensor(result) and result not in self._own]
        places = {i: self._allocate(op.results[i]) for i in placed}
        for region in op.regions:
            end = terminator_of(region.block)
            for i, place in places.items():
                self._write(end.operands[i], place, end)
            self._pass_on(end, 0, op.results)
            end.operands = [value for i, value in enumerate(end.operands) if i not in places]
        new = self._replaced(op.operands, [result for i, result in enumerate(op.results) if i not in places])
        given = iter(new.results)
        self._finish(new, [places[i] if i in places else next(given) for i in range(len(op.results))])

    def counted(self, op: scf.ForOp) -> None:
        """Give each tensor that an `scf.for` carries two places."""
        block, end = op.body.block, terminator_of(op.body.block)
        _, *carried = block.args
        self._note_own((*carried, *op.results))
        self._pass_on(end, 0, carried)
        operands = [*op.operands[:3]]
        yielded: list[SSAValue] = []
        firsts: list[int] = []
        for argument, first, result, value in zip(carried, op.iter_args, op.results, [*end.operands], strict=True):
            firsts.append(len(yielded))
            if not is_tensor(result) or result in self._own:
                operands.append(self._moved(first, self._op) if result in self._own else first)
                yielded.append(value)
                continue
            operands += [self._first_place(first, result), self._allocate(result)]
            following = self._second(argument)
            yielded += self._exchanged(value, argument, following, end)
        end.operands = yielded
        new = self._replaced(operands, operands[3:])
        self._finish(new, [new.results[i] for i in firsts])

    def conditional(self, op: scf.WhileOp) -> None:
        """Give each tensor that an `scf.while` carries two places, and further ones to what its condition passes on."""
        before, after = op.before_region.block, op.after_region.block
        test, end = terminator_of(before), terminator_of(after)
        self._note_own((*before.args, *after.args, *op.results))
        self._pass_on(test, 1, after.args)
        self._pass_on(end, 0, before.args)
        operands: list[SSAValue] = []
        for value, argument in zip([*op.operands], before.args, strict=True):
            if argument in self._own:
                operands.append(self._moved(value, self._op))
            else:
                operands += [self._first_place(value, value), self._allocate(value)] if is_tensor(value) else [value]
        placed = [argument for argument in before.args if is_tensor(argument) and argument not in self._own]
        yielded = [end.operands[argument.index] for argument in placed]
        pairs = {argument: self._second(argument) for argument in placed}
        homes: list[SSAValue] = []
        """For each value that the condition passes on, the place where it is: one of those kept, or outside."""
        numbers: list[SSAValue] = []
        for argument, value, result in zip(after.args, test.operands[1:], op.results, strict=True):
            if not is_tensor(value) or argument in self._own:
                homes.append(value)
                numbers.append(value)
            else:
                homes.append(self._home(value, argument, result, homes, pairs, yielded))
        passed = [*pairs, *pairs.values(), *numbers]
        counterparts = self._take_in(after, test, passed, homes)
        following: list[SSAValue] = []
        arguments = (argument for argument in before.args if argument not in pairs.values())
        for argument, value in zip(arguments, [*end.operands], strict=True):
            if argument in pairs:
                places = counterparts[argument], counterparts[pairs[argument]]
                following += places if value is places[0] else self._exchanged(value, *places, end)
            else:
                following.append(value)
        end.operands = following
        new = self._replaced(operands, passed)
        results = dict[SSAValue, SSAValue](zip(passed, new.results, strict=True))
        self._finish(new, [results.get(home, home) for home in homes])

    def _take_in(
        self, after: Block, test: Operation, passed: Sequence[SSAValue], homes: Sequence[SSAValue]
    ) -> dict[SSAValue, SSAValue]:
        """Let a condition pass on other values, and the block after it use the places that its tensors are in. Returns
        the arguments of the block for these values."""
        for old in [*after.args]:
            old.name_hint = old.name_hint or test.operands[1 + old.index].name_hint
        inner = [after.insert_arg(value.type, len(after.args)) for value in passed]
        counterparts = dict[SSAValue, SSAValue](zip(passed, inner, strict=True))
        for outer, new in counterparts.items():
            self._sizes.take_over(new, outer)
        for old, home in zip(after.args[: len(homes)], homes, strict=True):
            inner_home = counterparts.get(home, home)
            inner_home.name_hint = inner_home.name_hint or old.name_hint
            self._keep_sizes(inner_home, old)
            old.replace_all_uses_with(inner_home)
        for old in reversed(after.args[: len(homes)]):
            after.erase_arg(old)
        test.operands = [test.operands[0], *passed]
        return counterparts

    def _home(
        self,
        value: SSAValue,
        argument: BlockArgument,
        result: OpResult,
        homes: Sequence[SSAValue],
        pairs: dict[BlockArgument, BlockArgument],
        yielded: Sequence[SSAValue],
    ) -> SSAValue:
        """Return the place of a tensor that the condition of a loop passes on: where it is, or where the next trip
        expects it, if it is passed on to that; otherwise a separate one."""
        if value in pairs:
            return value
        free = [second for second, given in zip(pairs.values(), yielded, strict=True) if given is argument]
        home = next((second for second in free if second not in homes), None) or self._allocate(result)
        test = argument.owner.parent_op()
        assert isinstance(test, scf.WhileOp)
        self._write(value, home, terminator_of(test.before_region.block))
        return home

    def _note_own(self, values: Sequence[SSAValue]) -> None:
        self._own |= {value for value in values if is_tensor(value) and self._sizes.has_late([value])}

    def _pass_on(self, end: Operation, first: int, takers: Sequence[SSAValue]) -> None:
        """Let the end of a region pass tensors on in memory that belongs to whoever takes them: memory that the region
        was given itself, or a new allocation."""
        passed = [*end.operands[:first]]
        for value, taker in zip([*end.operands[first:]], takers, strict=True):
            is_given = value in self._own and value.owner is end.parent and value not in passed
            is_moved = taker in self._own and not is_given
            passed.append(self._moved(value, end, self._marks.get(taker)) if is_moved else value)
        end.operands = passed

    def _return_own(self, results: Sequence[OpResult]) -> None:
        """Let a branch allocate the memory of what the function returns of it."""
        for result in results:
            write = _returning(result) if result in self._own else None
            if write is not None:
                alloc = write.dest.owner
                assert isinstance(alloc, Operation)
                self._marks[result] = {RESULT_ATTR: alloc.attributes[RESULT_ATTR]}
                Rewriter.erase_op(write)
                Rewriter.erase_op(alloc)

    def _moved(self, value: SSAValue, before: Operation, marks: Mapping[str, Attribute] | None = None) -> SSAValue:
        """Write a tensor to memory that is allocated for it, as early as that may be, and passed on."""
        assert isa(value.type, TensorType)
        alloc = AllocTensorOp(value.type, self._sizes.of(value))
        alloc.attributes |= marks or {MOVED_ATTR: UnitAttr()}
        alloc.result.name_hint = value.name_hint
        self._sizes.take_over(alloc.result, value)
        owner, at = value.owner, before
        # Ops of this block that read the tensor do so before its end, if it is passed on there.
        is_last = before.next_op is None or len([*value.uses]) == 1
        if is_last and isinstance(owner, Operation) and owner.parent is before.parent:
            at = before if self._sizes.has_late([value]) else owner
        return self._write(value, self._insert(alloc, at).results[0], before)

    def _keep_sizes(self, new: SSAValue, old: SSAValue) -> None:
        """Let late sizes that a value has come from the one that replaces it."""
        if old in self._own:
            self._sizes.take_over(new, old)
            self._sizes.move([old], [new])

    def _first_place(self, value: SSAValue, like: SSAValue) -> SSAValue:
        """Return the first of two places, with the first value of a tensor in it: the tensor itself, if it may change
        as nothing else reads it."""
        uses = [
            use for use in value.uses if not isinstance(use.operation, MaterializeInDestinationOp) or use.index != 1
        ]
        if isinstance(value.owner, _NEW) and value.owner.parent is self._op.parent and len(uses) == 1:
            return value
        return self._write(value, self._allocate(like), self._op)

    def _allocate(self, like: SSAValue) -> SSAValue:
        """Allocate a tensor like another one before the op."""
        assert isa(like.type, TensorType)
        alloc = AllocTensorOp(like.type, self._sizes.of(like))
        alloc.result.name_hint = like.name_hint
        self._sizes.take_over(alloc.result, like)
        return self._insert(alloc, self._op).results[0]

    def _write(self, value: SSAValue, place: SSAValue, before: Operation) -> SSAValue:
        """Write a tensor to a place; return it there."""
        write = MaterializeInDestinationOp.create(operands=[value, place], result_types=[value.type])
        self._sizes.take_over(write.results[0], value)
        return self._insert(write, before).results[0]

    def _insert(self, op: Operation, before: Operation) -> Operation:
        op.location = self._op.location
        Rewriter.insert_op(op, InsertPoint.before(before))
        return op

    def _second(self, argument: BlockArgument) -> BlockArgument:
        """Add the argument for the second of two places."""
        new = argument.block.insert_arg(argument.type, argument.index + 1)
        new.name_hint = argument.name_hint
        self._sizes.take_over(new, argument)
        return new

    def _exchanged(
        self, value: SSAValue, current: SSAValue, following: SSAValue, end: Operation
    ) -> tuple[SSAValue, SSAValue]:
        """Write what a trip computes to the second place, and return both places as the next trip takes them."""
        return self._write(value, following, end), current

    def _replaced(self, operands: Sequence[SSAValue], results: Sequence[SSAValue]) -> Operation:
        return self._insert(with_types(self._op, operands, [value.type for value in results]), self._op)

    def _finish(self, new: Operation, values: Sequence[SSAValue]) -> None:
        for old, value in zip(self._op.results, values, strict=True):
            value.name_hint = value.name_hint or old.name_hint
            self._sizes.take_over(value, old)
            self._keep_sizes(value, old)
        Rewriter.replace_op(self._op, [], values)
