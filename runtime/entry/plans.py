"""Call plans: what native calls with the same shapes have in common."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from math import prod
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from relex.dialects.signature import Signature
from relex.runtime.callbacks import failure
from relex.runtime.descriptors import ALIGNED, Shape, address_of, descriptor
from relex.runtime.results import takes_out

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array

KEPT = 16
"""The maximum number of plans of a function that native code searches."""

MAX_WORDS = 2048
"""The largest frame, in words, that native code puts on the stack."""


class CallPlan:
    """The data that all calls of a function with the same shapes have in common.

    `shapes` are the shapes of what the signature has `framed`. A frame has a descriptor for each of them, or one word
    for a scalar, in the order of `Signature.frame_order`; the number of a failure and an index follow if calls may
    fail.
    `places` are their offsets in the frame, in words. `template` is a frame without addresses and scalars.
    """

    def __init__(self, signature: Signature, shapes: Sequence[Shape]):
        count = len(signature.inputs)
        self.shapes = shapes
        self.is_scalar = [spec.is_scalar for spec in signature.framed]
        self._returned = [i for i, is_scalar in enumerate(self.is_scalar) if is_scalar and i >= count]
        order = signature.frame_order
        pieces = [[0] if self.is_scalar[i] else descriptor(shapes[i]) for i in order]
        places = dict(zip(order, accumulate(map(len, pieces), initial=0), strict=False))
        self.places = [places[i] for i in range(len(shapes))]
        self._failures = signature.failures
        words = [word for piece in pieces for word in piece] + [0, 0] * bool(self._failures)
        self._new = ctypes.c_int64 * len(words)
        self.template = self._new(*words)

    def run(self, enter: Callable[[Any], None], arrays: Sequence[Array]) -> None:
        """Call code with a frame for these arrays, arguments first. A scalar is an array of rank 0.

        Raises the error of an assertion that fails.
        """
        # Each call has its own frame, so that threads share nothing.
        frame = self._new.from_buffer_copy(self.template)
        for i, (place, array) in enumerate(zip(self.places, arrays, strict=True)):
            if self.is_scalar[i]:
                self._number(frame, i, array)[...] = array
            else:
                frame[place] = frame[place + ALIGNED] = address_of(array)
        self._enter(enter, frame)
        for i in self._returned:
            arrays[i][...] = self._number(frame, i, arrays[i])[0]

    def _enter(self, enter: Callable[[Any], None], frame: Any) -> None:
        enter(frame)
        if self._failures:
            number, index = map(int, frame[-2:])
            if number:
                raise failure(self._failures[number - 1], index)

    def by_address(self, enter: Callable[[Any], None], fixed: Mapping[int, int]) -> Callable[[Iterable[int]], None]:
        """Return a call of code on buffers at addresses, about which nothing is checked: the addresses of all
        arguments and results, in this order, but for the `fixed` ones. No argument is a scalar."""
        template = self._new.from_buffer_copy(self.template)
        for i, address in fixed.items():
            template[self.places[i]] = template[self.places[i] + ALIGNED] = address
        places = [(place, place + ALIGNED) for i, place in enumerate(self.places) if i not in fixed]
        copy = self._new.from_buffer_copy

        def call(addresses: Iterable[int]) -> None:
            frame = copy(template)
            for (allocated, aligned), address in zip(places, addresses, strict=True):
                frame[allocated] = frame[aligned] = address
            self._enter(enter, frame)

        return call

    def _number(self, frame: ctypes.Array[ctypes.c_int64], i: int, array: Array) -> Array:
        """Return the part of a frame that holds a scalar."""
        return np.frombuffer(memoryview(frame), array.dtype, 1, 8 * self.places[i])


class NativePlans:
    """The plans of a function, newest first, in the layout of `entry.ll`.

    Calls of the function read them while they change: everything that the list points to stays valid.
    """

    def __init__(self, code: int, signature: Signature):
        self._code = code
        self._counts = len(signature.inputs), len(signature.outputs)
        self._dtypes = [spec.dtype for spec in (*signature.inputs, *signature.outputs)]
        self._takes_out = takes_out(signature)
        self._may_fail = bool(signature.failures)
        self._changes = [spec.is_inout for spec in (*signature.inputs, *signature.outputs)]
        self._kept: dict[CallPlan, Array] = {}
        self._lock = Lock()

    def offer(self, plan: CallPlan, function: Any) -> None:
        """Put a plan at the head of the function's list, unless it is there already or does not fit native code."""
        if len(plan.template) > MAX_WORDS or any(plan.is_scalar):
            return
        with self._lock:
            # Another thread may have just added it. Adding it twice would free words that the list still points to.
            if plan in self._kept:
                return
            kept = self._kept if len(self._kept) < KEPT else {}
            first = next(reversed(kept.values()), None)
            words = self._words(plan, 0 if first is None else address_of(first))
            function._plans = address_of(words)
            self._kept = {**kept, plan: words}

    def _words(self, plan: CallPlan, following: int) -> Array:
        does = (self._takes_out, self._may_fail, any(self._changes))
        head = [following, self._code, *self._counts, len(plan.template), *does]
        arrays = map(_array, self._dtypes, plan.shapes, plan.places, self._changes)
        return np.array([*head, *(word for array in arrays for word in array), *plan.template], np.int64)


def _array(dtype: np.dtype[Any], shape: Shape, place: int, changes: bool) -> list[int]:
    count = prod(shape)
    return [id(dtype), dtype.num, len(shape), place, count if dtype == np.bool_ else 0, count * dtype.itemsize, changes]
