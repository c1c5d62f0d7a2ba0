"""Interpretation of loop nests on whole arrays, where that gives the same bits as iterating.

A nest of loops around one block qualifies if its spatial iterations are independent: each writes its own elements and
reads, of the written buffers, only those. Then the spatial variables become arrays, and each step runs once for all of
them; loops that drive a reduction stay loops, in their order. So each element sees the same operations in the same
order. The written elements are determined during the run, from the indices themselves; if the nest turns out not to
qualify, its buffers are restored and its iterations run one by one.

Bounds of numbers (`equivalence/bounds.py`) are what needs this: they take a hundred times as long one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, TypeGuard, cast

import numpy as np
from xdsl.dialects import arith, memref, scf
from xdsl.ir import Operation, SSAValue

from relex.dialects.arrays import Array
from relex.dialects.errors import ExecutionError
from relex.dialects.index.domains import constant_value, is_same_value
from relex.dialects.tir import BlockOp, ForOp, InitOp, IterKind
from relex.dialects.tir.accesses import accesses, variables_in
from relex.reference.interpreter.budget import ELEMENTS, take
from relex.reference.interpreter.memory import check_bounds, copied, gather, scatter
from relex.reference.interpreter.program import SCALARS, Frame, Preparation, Step
from relex.reference.interpreter.scalars import INDEX, size

FEWEST = 16
"""With fewer spatial iterations, running them one by one is faster; a single one would not be an array."""


class _Dependent(Exception):
    """The spatial iterations turn out to depend on each other."""


@dataclass(frozen=True)
class ArrayNest:
    """Nested loops with scalar ops between them, and a block of scalar ops, accesses, and choices between values in the
    innermost, perhaps under a condition that depends on a reduction."""

    loops: Sequence[ForOp]
    between: Sequence[Operation]
    block: BlockOp
    condition: SSAValue | None

    @classmethod
    def of(cls, loop: ForOp) -> ArrayNest | None:
        """Return the nest with outermost loop `loop`, if it has this form and its extents do not depend on its
        loops."""
        loops: list[ForOp] = []
        between: list[Operation] = []
        scope: Operation | None = loop
        while isinstance(scope, ForOp):
            if isinstance(scope.extent, SSAValue) and loop.is_ancestor(scope.extent.owner):
                return None
            loops.append(scope)
            between.extend(op for op in scope.body.block.ops if op is not scope.body.block.last_op)
            scope = scope.body.block.last_op
        condition = scope.cond if isinstance(scope, scf.IfOp) else None
        block = _guarded(scope) if isinstance(scope, scf.IfOp) else scope
        if not isinstance(block, BlockOp) or not all(map(_is_scalar, between)):
            return None
        nest = cls(loops, between, block, condition)
        inside = (*nest.body, *nest.init)
        return nest if all(_is_simple(op) or isinstance(op, memref.StoreOp) for op in inside) else None

    @property
    def init(self) -> list[Operation]:
        """The ops of the block's init."""
        return list(self.block.init.body.block.ops) if self.block.init is not None else []

    @property
    def body(self) -> list[Operation]:
        """The ops of the block without its init."""
        return [op for op in self.block.body.block.ops if not isinstance(op, InitOp)]

    def reducing(self) -> list[ForOp] | None:
        """Return the loops that drive a reduction. None if no other loop is spatial, or one is of both kinds or
        neither."""
        used: dict[IterKind, set[SSAValue]] = {kind: set() for kind in IterKind}
        for v in self.block.iter_vars:
            used[v.kind] |= variables_in(v.binding, self.loops[0].parent_op() or self.loops[0])
        spatial = [loop for loop in self.loops if loop.variable in used[IterKind.SPATIAL] or loop.extent == 1]
        reducing = [loop for loop in self.loops if loop not in spatial]
        is_mixed = any(loop.variable in used[IterKind.REDUCE] for loop in spatial if loop.extent != 1)
        repeats = any(loop.variable not in used[IterKind.REDUCE] for loop in reducing)
        return None if not spatial or is_mixed or repeats else reducing

    def guarded_loads(self) -> set[SSAValue]:
        """Return what the block loads under a condition: it loads for the iterations for which that holds, again in
        each step of a reduction."""
        ops = self.body if self.condition is not None else ()
        return {inner.res for op in ops for inner in op.walk() if isinstance(inner, memref.LoadOp)}

    def varying(self, start: set[SSAValue]) -> set[SSAValue]:
        """Return the values that depend on `start`, or on memory that the block writes."""
        varying = set(start)
        written = {access.buffer for access in accesses(self.block) if access.is_write}
        for op in (*self.between, None, *self.body):
            if op is None:
                varying.update(v.variable for v in self.block.iter_vars if v.binding in varying)
            elif any(_loads_from(inner, written) or not varying.isdisjoint(inner.operands) for inner in op.walk()):
                varying.update(op.results)
        return varying

    def accesses_fit(self, varying: set[SSAValue]) -> bool:
        """Return whether the block writes, and accesses each written buffer at one index, which no reduction
        changes."""
        index = {access.buffer: access.indices for access in accesses(self.block) if access.is_write}
        return bool(index) and all(
            access.op.parent_op() in (self.block, self.block.init)
            and varying.isdisjoint(access.indices)
            and not any(_is_made_in(self.block.init, i) for i in access.indices)
            and all(map(is_same_value, access.indices, index[access.buffer]))
            for access in accesses(self.block)
            if access.buffer in index
        )


def _guarded(guard: scf.IfOp) -> BlockOp | None:
    """Return the block that is all that a guard holds, if it has no init, whose steps would be other ones."""
    ops = [op for op in guard.true_region.block.ops if not isinstance(op, scf.YieldOp)]
    is_alone = len(ops) == 1 and not guard.results and not guard.false_region.blocks
    return ops[0] if is_alone and isinstance(ops[0], BlockOp) and ops[0].init is None else None


def _is_simple(op: Operation) -> bool:
    """Return whether an op computes numbers, loads one, or chooses between such."""
    if isinstance(op, scf.IfOp):
        inside = (inner for region in op.regions for block in region.blocks for inner in block.ops)
        return bool(op.results) and all(isinstance(inner, scf.YieldOp) or _is_simple(inner) for inner in inside)
    return _is_scalar(op) or isinstance(op, memref.LoadOp)


def _loads_from(op: Operation, buffers: Container[SSAValue]) -> bool:
    return isinstance(op, memref.LoadOp) and op.memref in buffers


def _is_scalar(op: Operation) -> bool:
    return SCALARS.find(op) is not None or isinstance(op, arith.ConstantOp)


def _is_made_in(init: InitOp | None, index: SSAValue) -> bool:
    """Return whether an init computes an index, which is then unknown before it runs."""
    return init is not None and constant_value(index) is None and init.is_ancestor(index.owner)


def whole_arrays(loop: ForOp, preparation: Preparation) -> Callable[[Frame], bool] | None:
    """Return a function that runs the nest of `loop` on whole arrays, and returns whether it did; None if it never
    would. If that would not be exact, it leaves all buffers as they were."""
    nest = ArrayNest.of(loop)
    reducing = nest.reducing() if nest is not None else None
    if nest is None or reducing is None:
        return None
    varying = nest.varying({loop.variable for loop in reducing} | nest.guarded_loads())
    if nest.condition is not None and nest.condition not in varying:
        return None  # It keeps elements in bounds that are written.
    return WholeArrays(nest, reducing, varying, preparation).try_run if nest.accesses_fit(varying) else None


class WholeArrays:
    """The steps of a nest on arrays."""

    def __init__(self, nest: ArrayNest, reducing: Sequence[ForOp], varying: set[SSAValue], preparation: Preparation):
        slot = preparation.slot
        spatial = [loop for loop in nest.loops if loop not in reducing]
        self._spatial = {slot(loop.variable): size(loop.extent, preparation) for loop in spatial}
        self._reducing = {slot(loop.variable): size(loop.extent, preparation) for loop in reducing}
        stores = [op for op in (*nest.body, *nest.init) if isinstance(op, memref.StoreOp)]
        self._written = {slot(op.memref): preparation.slots(op.indices) for op in stores}
        self._buffers = preparation.slots(dict.fromkeys(access.buffer for access in accesses(nest.block)))
        self._init = list(filter(None, (_step(op, preparation) for op in nest.init)))

        def varies(op: Operation) -> bool:
            return isinstance(op, memref.StoreOp) or not varying.isdisjoint(op.results)

        def steps(ops: Sequence[Operation]) -> list[tuple[bool, Step | None]]:
            """Return the steps of ops, and whether each has to run again for each step of the reduction."""
            return [(varies(op), _step(op, preparation)) for op in ops]

        bind = [(v.variable in varying, _bind(slot(v.variable), slot(v.binding))) for v in nest.block.iter_vars]
        before, inside = [*steps(nest.between), *bind], steps(nest.body)
        self._once = [step for again, step in (*before, *inside) if step is not None and not again]
        self._before = [step for again, step in before if step is not None and again]
        self._again = [step for again, step in inside if step is not None and again]
        self._condition = slot(nest.condition) if nest.condition is not None else None
        self._decided = preparation.numbers.decided
        again = [inner for op in nest.body if varies(op) for inner in op.walk()]
        made = {result for op in again for result in op.results}
        values = dict.fromkeys(operand for op in again for operand in op.operands if operand not in made)
        self._used = preparation.slots(values)

    def try_run(self, frame: Frame) -> bool:
        """Run the nest and return True; if that would not be exact, restore all buffers and return False."""
        extents = [extent(frame) for extent in self._spatial.values()]
        if prod(extents) < FEWEST or self._share_memory(frame):
            return False
        before = {slot: copied(frame[slot].array) for slot in self._written}
        try:
            self._run(frame, extents)
        except (_Dependent, ExecutionError):
            # Errors are reported by the walk, in the right order.
            for slot, array in before.items():
                frame[slot].array[...] = array
            return False
        return True

    def _share_memory(self, frame: Frame) -> bool:
        arrays = {slot: frame[slot].array for slot in self._buffers}
        return any(
            not arrays[written].flags.writeable
            or any(np.may_share_memory(arrays[written], arrays[slot]) for slot in self._buffers if slot != written)
            for written in self._written
        )

    def _run(self, frame: Frame, extents: Sequence[int]) -> None:
        for slot, values in zip(self._spatial, np.indices(extents).reshape(len(extents), -1), strict=True):
            frame[slot] = values
        for step in self._once:
            step(frame)
        for buffer, index in self._written.items():
            _expect_distinct([frame[slot] for slot in index], frame[buffer].array.shape, prod(extents))
        for step in self._init:
            step(frame)
        counts = [extent(frame) for extent in self._reducing.values()]
        again = len(self._before) + len(self._again)
        take((len(self._once) + prod(counts) * again) * (1 + prod(extents) // ELEMENTS))
        for values in product(*(map(INDEX.type, range(count)) for count in counts)):
            for slot, value in zip(self._reducing, values, strict=True):
                frame[slot] = value
            self._run_again(frame)

    def _run_again(self, frame: Frame) -> None:
        """Run a step of the reduction for the spatial iterations whose condition holds."""
        for step in self._before:
            step(frame)
        if self._condition is not None:
            self._run_where(np.asarray(self._decided(frame[self._condition])), frame)
            return
        for step in self._again:
            step(frame)

    def _run_where(self, holds: Array, frame: Frame) -> None:
        """Run a step of the reduction for those spatial iterations, or for all or none if there is one answer."""
        if not holds.any():
            return
        saved = {} if holds.all() else {slot: frame[slot] for slot in self._used}
        places = np.flatnonzero(holds)
        for slot, value in saved.items():
            frame[slot] = gather(value, (places,)) if _is_array(value) and len(value) == holds.size else value
        for step in self._again:
            step(frame)
        for slot, value in saved.items():
            frame[slot] = value


def _expect_distinct(index: Sequence[Any], shape: tuple[int, ...], count: int) -> None:
    """Raise `_Dependent` unless `count` spatial iterations have an element each."""
    try:
        places = np.broadcast_arrays(np.empty(count), *index)[1:]
        offsets = np.ravel_multi_index(tuple(places), shape) if places else np.zeros(count)
    except ValueError as e:
        raise _Dependent from e
    if len(np.unique(offsets)) < count:
        raise _Dependent


def _bind(variable: int, binding: int) -> Step:
    def step(frame: Frame) -> None:
        frame[variable] = frame[binding]

    return step


def _step(op: Operation, preparation: Preparation) -> Step | None:
    """Return the step of an op on arrays: a load or store accesses many elements."""
    if isinstance(op, scf.IfOp):
        return _choice(op, preparation)
    if not isinstance(op, memref.LoadOp | memref.StoreOp):
        return preparation.step(op)
    buffer, indices = preparation.slot(op.memref), preparation.slots(op.indices)
    value = preparation.slot(op.res if isinstance(op, memref.LoadOp) else op.value)

    def load(frame: Frame) -> None:
        array: Any = frame[buffer].array
        index = tuple([frame[slot] for slot in indices])
        check_bounds(op, op.memref, array, index)
        frame[value] = gather(array, index)

    def store(frame: Frame) -> None:
        # In bounds: elements are distinct.
        scatter(frame[buffer].array, tuple([frame[slot] for slot in indices]), frame[value])

    return load if isinstance(op, memref.LoadOp) else store


def _choice(op: scf.IfOp, preparation: Preparation) -> Step:
    """Return the step that runs each region for the iterations that choose it."""
    decided, condition = preparation.numbers.decided, preparation.slot(op.cond)
    inside = [inner for region in op.regions for inner in region.walk()]
    made = {result for inner in inside for result in inner.results}
    used = preparation.slots(dict.fromkeys(v for inner in inside for v in inner.operands if v not in made))
    results = preparation.slots(op.results)
    regions: list[tuple[list[Step], tuple[int, ...]]] = []
    for region in op.regions:
        *ops, end = region.block.ops
        regions.append(
            (list(filter(None, (_step(inner, preparation) for inner in ops))), preparation.slots(end.operands))
        )

    def run(frame: Frame, number: int) -> list[Any]:
        steps, yielded = regions[number]
        for step in steps:
            step(frame)
        return [frame[slot] for slot in yielded]

    def step(frame: Frame) -> None:
        chosen = np.asarray(decided(frame[condition]))
        if not chosen.ndim:
            values = run(frame, 0 if chosen else 1)
        else:
            values = _merged(chosen, {slot: frame[slot] for slot in used}, frame, run)
        for slot, value in zip(results, values, strict=True):
            frame[slot] = value

    return step


def _is_array(value: Any) -> TypeGuard[Array]:
    return isinstance(value, np.ndarray) and cast(Array, value).ndim == 1


def _merged(chosen: Array, outer: Mapping[int, Any], frame: Frame, run: Callable[[Frame, int], list[Any]]) -> list[Any]:
    """Run both regions, each with the values of the iterations that choose it, and return the values of all."""
    found: list[tuple[Array, list[Any]]] = []
    for number, places in enumerate((np.flatnonzero(chosen), np.flatnonzero(~chosen))):
        if not places.size:
            continue
        for slot, value in outer.items():
            frame[slot] = gather(value, (places,)) if _is_array(value) and len(value) == len(chosen) else value
        found.append((places, run(frame, number)))
    for slot, value in outer.items():
        frame[slot] = value
    results: list[Any] = []
    for values in zip(*(values for _, values in found), strict=True):
        if len({value.dtype for value in values}) > 1:
            raise _Dependent
        result = np.zeros(chosen.shape, values[0].dtype)
        for (places, _), value in zip(found, values, strict=True):
            scatter(result, (places,), value)
        results.append(result)
    return results
