"""What native calls with the same shapes have in common."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import prod
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from relex.runtime.descriptors import address_of, descriptor

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array

KEPT = 16
"""How many plans of a function native code looks through."""

MAX_WORDS = 2048
"""The largest frame that native code puts on the stack."""

Shape = tuple[int, ...]


class Plan:
    """What all calls with the same shapes have in common.

    `shapes` are those of the arrays, arguments first. A frame is the words of their descriptors; `places` says where in
    it each begins. `template` is one in which the addresses are missing.
    """

    def __init__(self, shapes: Sequence[Shape]):
        descriptors = [descriptor(shape) for shape in shapes]
        self.shapes = shapes
        self.places = [0, *accumulate(map(len, descriptors))][: len(shapes)]
        words = [word for d in descriptors for word in d]
        self._new = ctypes.c_int64 * len(words)
        self.template = self._new(*words)

    def frame(self, addresses: Iterable[int]) -> ctypes.Array[ctypes.c_int64]:
        """A frame for arrays at these addresses."""
        frame = self._new.from_buffer_copy(self.template)
        for place, address in zip(self.places, addresses, strict=True):
            frame[place] = frame[place + 1] = address
        return frame


class NativePlans:
    """The plans of a function, the newest first, as `entry.ll` reads them.

    They are read by calls of the function while they are changed: what it points to is always there.
    """

    def __init__(self, code: int, inputs: Sequence[np.dtype[Any]], outputs: Sequence[np.dtype[Any]]):
        self._code = code
        self._counts = len(inputs), len(outputs)
        self._dtypes = [*inputs, *outputs]
        self._kept: dict[Plan, Array] = {}
        self._lock = Lock()

    def offer(self, plan: Plan, function: Any) -> None:
        """Let the function look at a plan before all others, unless it has it, or it is none for native code."""
        if plan in self._kept or len(plan.template) > MAX_WORDS:
            return
        with self._lock:
            kept = self._kept if len(self._kept) < KEPT else {}
            first = next(reversed(kept.values()), None)
            words = self._words(plan, 0 if first is None else address_of(first))
            function._plans = address_of(words)
            self._kept = {**kept, plan: words}

    def _words(self, plan: Plan, following: int) -> Array:
        head = [following, self._code, *self._counts, len(plan.template)]
        arrays = [_array(*of_one) for of_one in zip(self._dtypes, plan.shapes, plan.places, strict=True)]
        return np.array([*head, *(word for array in arrays for word in array), *plan.template], np.int64)


def _array(dtype: np.dtype[Any], shape: Shape, place: int) -> list[int]:
    truths = prod(shape) if dtype == np.bool_ else 0
    return [id(dtype), dtype.num, len(shape), place, truths]
