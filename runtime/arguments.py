"""From what a caller passes to arrays that compiled code can read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from relex.dialects.exceptions import ArityError, DTypeError, OverlapError, ShapeError
from relex.runtime.signature import Signature, TensorSpec, shape_text

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array


def bind_arguments(signature: Signature, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """Positional and named arguments in the order of the signature. Raises `ArityError`."""
    names = [spec.name for spec in signature.inputs]
    expected = f"{signature.name}() expected {len(names)} arguments ({', '.join(names)})"
    if len(args) > len(names):
        raise ArityError(f"{expected}, found {len(args)}")
    values = dict(zip(names, args, strict=False))
    for name, value in named.items():
        if names.count(name) != 1:
            raise ArityError(f"{expected}, found one named '{name}'")
        if name in values:
            raise ArityError(f"{expected}, found two values for '{name}'")
        values[name] = value
    bound = list(args) + [values[name] for name in names[len(args) :] if name in values]
    if len(bound) != len(names):
        missing = [name for name in names[len(args) :] if name not in values]
        raise ArityError(f"{expected}, found none for {', '.join(missing)}")
    return bound


def expect_in_place(signature: Signature, arrays: Sequence[Array], given: Sequence[Any]) -> None:
    """Check that a function that writes its arguments gets memory of the caller, apart from that of other arguments."""
    for spec, array, value in zip(signature.inputs, arrays, given, strict=True):
        if array is not value or not array.flags.writeable:
            raise DTypeError(
                f"{signature.name}() argument '{spec.name}': expected a NumPy array that can be written in place, "
                "aligned and row-major, found another one"
            )
    if any(np.may_share_memory(a, b) for a, b in combinations(arrays, 2)):
        raise OverlapError(f"{signature.name}() expected arrays with memory of their own")


class ArgumentReader:
    """Makes of what a caller passes for one argument an array that compiled code can read.

    Takes NumPy arrays and scalars, and anything with DLPack in CPU memory, of exactly the type of the argument and of
    its shape, as far as that is the same in every call: nothing is cast. What is strided is copied. Raises `DTypeError`
    and `ShapeError`, which name the argument.
    """

    def __init__(self, spec: TensorSpec, function: str):
        self._spec = spec
        self._shape = spec.shape if spec.is_static else None
        self._dtype = spec.dtype
        self._is_bool = self._dtype == np.bool_
        self._where = f"{function}() argument '{spec.name}'"

    def __call__(self, value: Any) -> Array:
        if type(value) is np.ndarray and value.dtype is self._dtype and self._fits(value.shape):
            flags = value.flags
            if flags.c_contiguous and flags.aligned and not self._is_bool:
                return value
        return self._read(value)

    def _fits(self, shape: tuple[int, ...]) -> bool:
        return shape == self._shape if self._shape is not None else self._spec.fits(shape)

    def _read(self, value: Any) -> Array:
        array = _as_ndarray(value, self._where)
        if array.dtype.newbyteorder("=") != self._dtype:
            raise DTypeError(f"{self._where}: expected dtype {self._dtype.name}, found {array.dtype.name}")
        if not self._fits(array.shape):
            raise ShapeError(f"{self._where}: expected shape {shape_text(self._spec.shape)}, found {array.shape}")
        array = np.require(array, self._dtype, ["C", "A"])
        return _as_zeros_and_ones(array) if self._is_bool else array


def _as_zeros_and_ones(array: Array) -> Array:
    """Booleans as compiled code knows them. A view of other memory may hold any byte; for NumPy all but 0 are true."""
    numbers = array.view(np.uint8)
    return array if numbers.max(initial=0) <= 1 else numbers != 0


def _as_ndarray(value: Any, where: str) -> Array:
    if isinstance(value, np.ma.MaskedArray):
        raise DTypeError(f"{where}: expected an array without a mask, found a MaskedArray; fill it first")
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(cast(Any, value))
    if not hasattr(value, "__dlpack__"):
        raise DTypeError(f"{where}: expected a NumPy array or a DLPack tensor, found {type(value).__name__}")
    try:
        return np.from_dlpack(value)
    except Exception as e:
        raise DTypeError(
            f"{where}: expected a DLPack tensor that NumPy can read, found {type(value).__name__}: {e}"
        ) from e
