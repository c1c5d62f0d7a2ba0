"""Interpretation of loop nests on whole arrays, where that gives the same bits as iterating.

A nest of loops around one block qualifies if its spatial iterations are independent: each writes its own elements and
reads, of the written buffers, only those. Then the spatial variables become arrays, and each step runs once for all of
them; loops that drive a reduction stay loops, in their order. Where a block only combines its element with a term, such
as a product, the terms of many iterations are computed at once, and combined in their order. So each element sees the
same operations in the same order. The written elements are determined during the run, from the indices themselves; if
the nest turns out not to qualify, its buffers are restored and its iterations run one by one.

Bounds of numbers (`equivalence/bounds.py`) and proofs need this: they take a hundred times as long one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, TypeGuard, cast

import numpy as np
from xdsl.dialects import memref, scf
from xdsl.ir import Operation, SSAValue

from relex.dialects.arrays import Array
from relex.dialects.errors import ExecutionError
from relex.dialects.tir import ForOp
from relex.dialects.tir.accesses import accesses
from relex.reference.interpreter.budget import NUMBERS, take
from relex.reference.interpreter.memory import check_bounds, copied, gather, scatter
from relex.reference.interpreter.nests import ArrayNest
from relex.reference.interpreter.program import SCALARS, Frame, Preparation, Step
from relex.reference.interpreter.scalars import INDEX, size

FEWEST = 16
"""With fewer iterations at once, running them one by one is faster."""

AT_ONCE = 2**16
"""The number of terms that are computed at once."""


class _Dependent(Exception):
    """The spatial iterations turn out to depend on each other."""


def whole_arrays(loop: ForOp, preparation: Preparation) -> Callable[[Frame], bool] | None:
    """Return a function that runs the nest of `loop` on whole arrays, and returns whether it did; None if it never
    would. If that would not be exact, it leaves all buffers as they were."""
    nest = ArrayNest.of(loop)
    reducing = nest.reducing() if nest is not None else None
    if nest is None or reducing is None:
        return None
    if len(reducing) == len(nest.loops) and nest.update() is None:
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
        self._written = {slot(buffer): preparation.slots(index) for buffer, index in nest.written().items()}
        self._buffers = preparation.slots(dict.fromkeys(access.buffer for access in accesses(nest.block)))
        self._init = list(filter(None, (_step(op, preparation) for op in nest.init)))
        update = nest.update() if reducing else None
        self._sums = None if update is None else _Sums(nest, update, preparation)

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
        counts = [extent(frame) for extent in self._reducing.values()]
        at_once = prod(extents) * (prod(counts) if self._sums is not None else 1)
        if at_once < FEWEST or self._share_memory(frame):
            return False
        before = {slot: copied(frame[slot].array) for slot in self._written}
        try:
            self._run(frame, extents, counts)
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

    def _run(self, frame: Frame, extents: Sequence[int], counts: Sequence[int]) -> None:
        spatial = np.indices(extents).reshape(len(extents), prod(extents))
        for slot, values in zip(self._spatial, spatial, strict=True):
            frame[slot] = values
        for step in self._once:
            step(frame)
        for buffer, index in self._written.items():
            _expect_distinct([frame[slot] for slot in index], frame[buffer].array.shape, prod(extents))
        for step in self._init:
            step(frame)
        if self._sums is not None:
            reducing = dict(zip(self._reducing, counts, strict=True))
            self._sums.run(frame, dict(zip(self._spatial, spatial, strict=True)), reducing)
            return
        again = len(self._before) + len(self._again)
        take((len(self._once) + prod(counts) * again) * (1 + prod(extents) // NUMBERS))
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


class _Sums:
    """A reduction that combines the element of each spatial iteration with a term in each of its steps."""

    def __init__(self, nest: ArrayNest, update: Operation, preparation: Preparation):
        (store,) = (op for op in nest.body if isinstance(op, memref.StoreOp))
        (load,) = (op for op in nest.body if isinstance(op, memref.LoadOp) and op.memref is store.memref)
        place = update.operands[:].index(load.res)
        self._buffer, self._index = preparation.slot(store.memref), preparation.slots(store.indices)
        self._term = preparation.slot(update.operands[1 - place])
        between = [_step(op, preparation) for op in nest.between]
        bind = [_bind(preparation.slot(v.variable), preparation.slot(v.binding)) for v in nest.block.iter_vars]
        body = [_step(op, preparation) for op in nest.body if op not in (load, update, store)]
        self._steps = [step for step in (*between, *bind, *body) if step is not None]
        self._combine = preparation.numbers.repeated(update, SCALARS[type(update)](update), place)

    def run(self, frame: Frame, spatial: Mapping[int, Array], counts: Mapping[int, int]) -> None:
        """Run all steps, given the spatial iterations and the extents of the loops that drive the reduction, by slot
        of their variables."""
        width, steps = len(next(iter(spatial.values()), (0,))), prod(counts.values())
        index = np.broadcast_arrays(np.zeros(width, np.int64), *(frame[slot] for slot in self._index))
        array = frame[self._buffer].array[np.newaxis]
        result = gather(array, tuple(index))
        height = max(1, AT_ONCE // max(width, 1))
        for begin in range(0, steps, height):
            part = np.arange(begin, min(begin + height, steps))
            take(len(part) + len(self._steps) * (1 + len(part) * width // NUMBERS))
            for slot, values in zip(counts, np.unravel_index(part, tuple(counts.values())), strict=True):
                frame[slot] = np.repeat(values, width)
            for slot, values in spatial.items():
                frame[slot] = np.tile(values, len(part))
            for step in self._steps:
                step(frame)
            terms = np.broadcast_to(frame[self._term], (len(part) * width,))
            result = self._combine(result, terms.reshape(len(part), width))
        scatter(array, tuple(index), result)


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
