"""Interpretation of loop nests on whole arrays, where that gives the same bits as iterating.

A nest of loops around one block qualifies if its spatial iterations are independent: each writes its own elements and
reads, of the written buffers, only those. Then the spatial variables become arrays, and each step runs once for all of
them; loops that drive a reduction stay loops, in their order. So each element sees the same operations in the same
order. The written elements are determined during the run, from the indices themselves; if the nest turns out not to
qualify, its buffers are restored and its iterations run one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue

from relex.dialects.errors import ExecutionError
from relex.dialects.tir import BlockOp, ForOp
from relex.dialects.tir.accesses import accesses
from relex.reference.interpreter.memory import check_bounds
from relex.reference.interpreter.nests import Kinds, Nest, accesses_fit
from relex.reference.interpreter.program import Frame, Preparation, Step
from relex.reference.interpreter.scalars import INDEX

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array

FEWEST = 16
"""With fewer spatial iterations, running them one by one is faster; a single one would not be an array."""

CHUNK = 1 << 16
"""The maximum number of spatial iterations that run at once."""


class _Dependent(Exception):
    """The spatial iterations turn out to depend on each other."""


def whole_array_step(
    loop: ForOp, preparation: Preparation, reduction_loop: Callable[[BlockOp], ForOp | None], walk: Step
) -> Step | None:
    """Return a step that runs the nest of `loop` on whole arrays, or `walk` if that would not be exact; None if it
    never is."""
    nest = Nest.around_block(loop)
    if nest is None or (nest.block.init is not None and reduction_loop(nest.block) not in nest.loops):
        return None
    kinds = Kinds.of(nest)
    if kinds is None or not accesses_fit(nest, kinds.varying):
        return None
    run = WholeArrays(nest, kinds, preparation)

    def step(frame: Frame) -> None:
        if not run.try_run(frame):
            walk(frame)

    return step


class WholeArrays:
    """The steps of a nest on arrays."""

    def __init__(self, nest: Nest, kinds: Kinds, preparation: Preparation):
        self._preparation = preparation
        self._spatial = preparation.slots(loop.variable for loop in kinds.spatial)
        self._reducing = preparation.slots(loop.variable for loop in kinds.reducing)
        self._spatial_extents = [self._extent(loop) for loop in kinds.spatial]
        self._reducing_extents = [self._extent(loop) for loop in kinds.reducing]
        stores = [op for op in (*nest.body, *nest.init) if isinstance(op, memref.StoreOp)]
        self._written = {preparation.slot(op.memref): preparation.slots(op.indices) for op in stores}
        self._buffers = preparation.slots(dict.fromkeys(access.buffer for access in accesses(nest.block)))
        self._init = self._steps(nest.init)
        ordered = [*nest.between, None, *nest.body]
        varies = [op is not None and self._varies(op, kinds.varying) for op in ordered]
        bind = [(v.variable, v.binding) for v in nest.block.iter_vars]
        once = [pair for pair in bind if pair[0] not in kinds.varying]
        again = [pair for pair in bind if pair[0] in kinds.varying]
        self._once = self._in_order(ordered, [not v for v in varies], once)
        self._again = self._in_order(ordered, varies, again)

    def _extent(self, loop: ForOp) -> Callable[[Frame], int]:
        extent = loop.extent
        if isinstance(extent, int):
            return lambda frame: extent
        slot = self._preparation.slot(extent)
        return lambda frame: int(frame[slot])

    def _varies(self, op: Operation, varying: set[SSAValue]) -> bool:
        return isinstance(op, memref.StoreOp) or not varying.isdisjoint(op.results)

    def _in_order(
        self, ops: Sequence[Operation | None], chosen: Sequence[bool], bind: Sequence[tuple[SSAValue, SSAValue]]
    ) -> tuple[Step, ...]:
        """Return the steps of the chosen ops. None marks the point where the block's variables are bound."""
        before = [op for op, is_chosen in zip(ops[: ops.index(None)], chosen, strict=False) if is_chosen and op]
        after = [op for op, is_chosen in zip(ops, chosen, strict=True) if is_chosen and op and op not in before]
        pairs = [(self._preparation.slot(a), self._preparation.slot(b)) for a, b in bind]

        def bind_variables(frame: Frame) -> None:
            for variable, binding in pairs:
                frame[variable] = frame[binding]

        return (*self._steps(before), bind_variables, *self._steps(after))

    def _steps(self, ops: Sequence[Operation]) -> tuple[Step, ...]:
        made = (_access_step(op, self._preparation) or self._preparation.step(op) for op in ops)
        return tuple(step for step in made if step is not None)

    def try_run(self, frame: Frame) -> bool:
        """Run the nest and return True; if that would not be exact, restore all buffers and return False."""
        extents = [extent(frame) for extent in self._spatial_extents]
        if prod(extents) < FEWEST or self._share_memory(frame):
            return False
        before = {slot: frame[slot].array.copy() for slot in self._written}
        try:
            self._run(frame, extents)
        except (_Dependent, ExecutionError):
            # Errors are reported by the walk, in the right order.
            for slot, array in before.items():
                np.copyto(frame[slot].array, array)
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
        claims = [_Claims(frame[buffer].array, index) for buffer, index in self._written.items()]
        reducing = [range(extent(frame)) for extent in self._reducing_extents]
        for places in _chunks(extents):
            for slot, values in zip(self._spatial, places, strict=True):
                frame[slot] = values
            count = len(places[0])
            for step in self._once:
                step(frame)
            for claim in claims:
                claim.take(frame, count)
            for step in self._init:
                step(frame)
            for values in product(*(map(INDEX.type, values) for values in reducing)):
                for slot, value in zip(self._reducing, values, strict=True):
                    frame[slot] = value
                for step in self._again:
                    step(frame)


def _chunks(extents: Sequence[int]) -> Iterator[Sequence[Array]]:
    """Yield the indices of an iteration space in order, in chunks: an array for each dimension."""
    count = prod(extents)
    for start in range(0, count, CHUNK):
        yield np.unravel_index(np.arange(start, min(start + CHUNK, count)), tuple(extents))


class _Claims:
    """The elements of a buffer that spatial iterations have claimed as theirs."""

    def __init__(self, array: Array, index: tuple[int, ...]):
        self._shape = array.shape
        self._index = index
        self._taken = np.zeros(array.size, np.bool_)
        self._count = 0

    def take(self, frame: Frame, count: int) -> None:
        """Claim an element for each iteration of a chunk. Raises `_Dependent` if one is claimed already."""
        places = np.broadcast_arrays(np.empty(count), *(frame[slot] for slot in self._index))[1:]
        if not places:
            raise _Dependent
        try:
            offsets = np.ravel_multi_index(places, self._shape)
        except ValueError as e:
            raise _Dependent from e
        self._taken[offsets] = True
        self._count += count
        if np.count_nonzero(self._taken) != self._count:
            raise _Dependent


def _access_step(op: Operation, preparation: Preparation) -> Step | None:
    """Return the step of a load or store of many elements; None for other ops."""
    if not isinstance(op, memref.LoadOp | memref.StoreOp):
        return None
    buffer, indices = preparation.slot(op.memref), preparation.slots(op.indices)
    value = preparation.slot(op.res if isinstance(op, memref.LoadOp) else op.value)

    def load(frame: Frame) -> None:
        array: Any = frame[buffer].array
        index = tuple([frame[slot] for slot in indices])
        check_bounds(op, op.memref, array, index)
        frame[value] = array[index]

    def store(frame: Frame) -> None:
        # In bounds: elements were claimed by this index.
        frame[buffer].array[tuple([frame[slot] for slot in indices])] = frame[value]

    return load if isinstance(op, memref.LoadOp) else store
