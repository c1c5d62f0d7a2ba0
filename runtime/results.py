"""The result arrays of a call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import numpy as np

from relex.dialects.exceptions import ArityError, DTypeError, OverlapError, RelexError, ShapeError
from relex.dialects.signature import Signature
from relex.runtime.descriptors import Shape

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array

OUT = "out"
"""The keyword for the arrays to fill, in functions without an argument of that name."""


def takes_out(signature: Signature) -> bool:
    """Return whether the keyword stands for results: no argument has its name."""
    return all(spec.name != OUT for spec in signature.inputs)


def split_out(signature: Signature, named: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Split the named arguments of a call into the arguments of the function and the value of `out`, which is None if
    absent."""
    if OUT not in named or not takes_out(signature):
        return named, None
    return {name: value for name, value in named.items() if name != OUT}, named[OUT]


class ResultArrays:
    """Allocates the result arrays of a call, or checks those that the caller passes.

    Arrays are passed singly or as a tuple, have exactly the dtypes and shapes of the results, are writable, aligned and
    row-major, and overlap neither each other nor arguments. Raises `ArityError`, `DTypeError`, `ShapeError` and
    `OverlapError`, which name the result.
    """

    def __init__(self, signature: Signature):
        self._function = signature.name
        self._specs = signature.outputs
        self._late = signature.late
        self._names = [spec.name for spec in signature.outputs]
        self._dtypes = [spec.dtype for i, spec in enumerate(signature.outputs) if i not in self._late]

    def fresh(self, shapes: Sequence[Shape]) -> list[Array]:
        """Allocate arrays of these shapes, for all but late results."""
        return [np.empty(shape, dtype) for shape, dtype in zip(shapes, self._dtypes, strict=True)]

    def returned(self, arrays: Sequence[Array], late: Mapping[int, Array] | None = None) -> Any:
        """Return what the caller gets: scalars as numbers, and results as `as_returned` combines them. Late results are
        given by number; raises `RelexError` for one that is not."""
        early, late = iter(arrays), late or {}
        if missing := [i for i in self._late if i not in late]:
            name = self._names[missing[0]]
            raise RelexError(f"{self._function}() expected the call to find out the size of {name}, found none")
        pairs = [(late[i] if i in self._late else next(early), spec) for i, spec in enumerate(self._specs)]
        return as_returned([array[()] if spec.is_scalar else array for array, spec in pairs])

    def given(self, out: Any, shapes: Sequence[Shape], inputs: Iterable[Array]) -> list[Array]:
        """Check and return the arrays that the caller passes as `out`."""
        if self._late:
            name = self._names[self._late[0]]
            raise ShapeError(f"{self._function}() expected no '{OUT}', as only the call finds out the size of {name}")
        arrays: list[Any] = list(cast(Any, out)) if isinstance(out, tuple | list) else [out]
        if len(arrays) != len(self._names):
            raise ArityError(f"{self._function}() expected {len(self._names)} arrays as '{OUT}', found {len(arrays)}")
        for name, array, shape, dtype in zip(self._names, arrays, shapes, self._dtypes, strict=True):
            _check(f"{self._function}() {OUT} for {name}", array, shape, dtype)
        pairs = [*combinations(arrays, 2), *((array, other) for other in inputs for array in arrays)]
        # All of them are contiguous, so comparing the bounds of their memory is exact.
        if any(np.may_share_memory(a, b) for a, b in pairs):
            raise OverlapError(f"{self._function}() expected arrays that do not share memory as '{OUT}'")
        return arrays


def _is_array(value: Any) -> TypeGuard[Array]:
    return isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray)


def _check(where: str, array: Any, shape: Shape, dtype: np.dtype[Any]) -> None:
    if not _is_array(array):
        raise DTypeError(f"{where}: expected a NumPy array, found {type(array).__name__}")
    if array.dtype != dtype:
        raise DTypeError(f"{where}: expected dtype {dtype.name}, found {array.dtype}")
    if array.shape != shape:
        raise ShapeError(f"{where}: expected shape {shape}, found {array.shape}")
    flags = array.flags
    if not (flags.writeable and flags.aligned and flags.c_contiguous):
        raise DTypeError(f"{where}: expected an array that can be written, aligned and row-major, found another one")


def as_returned(values: Sequence[Any]) -> Any:
    """Return the only result, a tuple of several, or None."""
    return values[0] if len(values) == 1 else tuple(values) or None
