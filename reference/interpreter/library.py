"""Calls of library functions, on tensors and on buffers alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar

import numpy as np
from xdsl.ir import Operation

from relex.dialects.arrays import Array
from relex.dialects.errors import stop
from relex.reference.interpreter.memory import PATTERN
from relex.reference.interpreter.program import Preparation, guarded
from relex.runtime.library import LIBRARY, LibraryInput, not_registered

SURE = 4
"""If this many bytes in a row all hold the pattern of fresh memory, they were certainly not written."""


CALLS: ContextVar[list[tuple[str, tuple[Array, ...]]] | None] = ContextVar("library calls", default=None)
"""The library calls of a run with their arguments, where someone wants to know."""


def library_call(
    op: Operation, name: str, preparation: Preparation
) -> Callable[[Sequence[Array], Sequence[Array]], None]:
    """Return a function that calls the library function registered at that time on inputs and outputs. In a checked
    run, it must write all of its outputs."""
    numbers, checked = preparation.numbers, preparation.checked

    def call(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        if name not in LIBRARY:
            stop(op, not_registered(name))
        function, count = guarded(op, LIBRARY[name]), len(inputs)
        if (calls := CALLS.get()) is not None:
            calls.append((name, tuple(map(np.array, inputs))))

        def run(*arrays: Array) -> None:
            results = arrays[count:]
            if checked:
                for result in results:
                    _bytes_of(result)[...] = PATTERN
            function(*map(LibraryInput.of, arrays[:count]), *results)
            if checked:
                _expect_written(op, name, results)

        numbers.in_place(op, run, len(outputs))(*inputs, *outputs)

    return call


def _expect_written(op: Operation, name: str, results: Sequence[Array]) -> None:
    for i, result in enumerate(results):
        untouched = _untouched(result)
        if untouched.any():
            place = [int(index[0]) for index in untouched.nonzero()]
            stop(op, f'expected "{name}" to fill its results, found element {place} of result {i} not written')


def _untouched(result: Array) -> Array:
    """Return a mask of the elements that were certainly not written. Small ones may hold the pattern by chance: they
    only count if all do."""
    same = (_bytes_of(result) == PATTERN).all(axis=-1)
    is_sure = result.itemsize >= SURE or result.dtype == np.bool_
    return same if is_sure or (same.all() and result.nbytes >= SURE) else np.zeros_like(same)


def _bytes_of(result: Array) -> Array:
    """Return the bytes of each element, along one more dimension."""
    return result.reshape(-1).view(np.uint8).reshape(*result.shape, result.itemsize)
