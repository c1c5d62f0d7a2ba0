"""Conversion of what a caller passes to arrays that compiled code can read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from relex.dialects.exceptions import ArityError, DTypeError, OverlapError, RangeError, ShapeError
from relex.dialects.signature import Signature, TensorSpec, shape_text
from relex.runtime.descriptors import writable

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array


def bind_arguments(signature: Signature, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """Return positional and named arguments in the order of the signature. Raises `ArityError`."""
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
    """Check that a function that writes its arguments gets writable arrays of the caller that do not overlap. Raises
    `DTypeError` and `OverlapError`."""
    for spec, array, value in zip(signature.inputs, arrays, given, strict=True):
        if array is not value or not array.flags.writeable:
            raise DTypeError(
                f"{signature.name}() argument '{spec.name}': expected a NumPy array that can be written in place, "
                "aligned and row-major, found another one"
            )
    if any(np.may_share_memory(a, b) for a, b in combinations(arrays, 2)):
        raise OverlapError(f"{signature.name}() expected arrays that do not share memory")


def expect_apart(signature: Signature, arrays: Sequence[Array]) -> None:
    """Check that arguments that a call changes share no memory with others. Raises `OverlapError`."""
    for i, (spec, array) in enumerate(zip(signature.inputs, arrays, strict=True)):
        for j, other in enumerate(arrays) if spec.is_inout else ():
            # All of them are contiguous, so comparing the bounds of their memory is exact.
            if i != j and np.may_share_memory(array, other):
                where = f"{signature.name}() argument '{spec.name}'"
                name = signature.inputs[j].name
                raise OverlapError(f"{where}: a call changes it, so it must not share memory with '{name}'")


def argument_reader(spec: TensorSpec, function: str) -> Callable[[Any], Array]:
    """Return the reader for the values of an argument."""
    if spec.is_inout:
        return InoutReader(spec, function)
    return ScalarReader(spec, function) if spec.is_scalar else ArgumentReader(spec, function)


class ArgumentReader:
    """Converts the value of one argument to an array that compiled code can read.

    Takes NumPy arrays and scalars, and objects with DLPack in CPU memory or with the buffer protocol, of exactly the
    type and the static sizes of the argument: nothing is cast. Strided arrays are copied. Takes lists of numbers of the
    kind of the argument, or of integers. Raises `DTypeError`, `ShapeError` and `RangeError`, which name the argument.
    """

    def __init__(self, spec: TensorSpec, function: str):
        self._spec = replace(spec, shape=()) if spec.is_scalar else spec
        self._shape = self._spec.shape if self._spec.is_static else None
        self._dtype = spec.dtype
        self._is_bool = self._dtype == np.bool_
        self._where = f"{function}() argument '{spec.name}'"
        self._accepted = "a NumPy array, a DLPack tensor, a buffer or a list"

    def __call__(self, value: Any) -> Array:
        if type(value) is np.ndarray and value.dtype is self._dtype and self._fits(value.shape):
            flags = value.flags
            if flags.c_contiguous and flags.aligned and not self._is_bool:
                return value
        return self._read(value)

    def _fits(self, shape: tuple[int, ...]) -> bool:
        return shape == self._shape if self._shape is not None else self._spec.fits(shape)

    def _read(self, value: Any) -> Array:
        array = np.require(self._fitting(self._of_list(value)), self._dtype, ["C", "A"])
        return _as_zeros_and_ones(array) if self._is_bool else array

    def _fitting(self, value: Any) -> Array:
        array = _as_ndarray(value, self._where, self._accepted)
        if array.dtype == f"V{self._dtype.itemsize}" and self._dtype.kind == "V":
            array = array.view(self._dtype)  # Files of arrays do not name dtypes that are not NumPy's own.
        if not np.can_cast(array.dtype, self._dtype, "equiv"):
            found = f"{array.dtype.name}{self._advice(array.dtype)}"
            raise DTypeError(f"{self._where}: expected dtype {self._dtype.name}, found {found}")
        if not self._fits(array.shape):
            raise ShapeError(f"{self._where}: expected shape {shape_text(self._spec.shape)}, found {array.shape}")
        return array

    def _of_list(self, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        try:
            array: Array = np.asarray(cast(Any, value))
            if self._dtype.kind in "iu" and (integers := _integers_of(value, array)) is not None:
                return self._integers(integers)
            # NumPy takes an empty list for floats.
            fits = array.size == 0 or np.can_cast(array.dtype, self._dtype, "same_kind")
            with np.errstate(over="raise"):
                return np.asarray(cast(Any, value), self._dtype) if fits else array
        except (OverflowError, FloatingPointError) as e:
            raise RangeError(f"{self._where}: expected numbers of {self._dtype.name}: {e}") from e
        except ValueError as e:
            raise ShapeError(f"{self._where}: expected rows of equal length: {e}") from e

    def _integers(self, array: Array) -> Array:
        """Convert the integers of a list, some of which NumPy would let wrap around. Raises `OverflowError`."""
        limits = np.iinfo(self._dtype)
        wrong = array[(array < limits.min) | (array > limits.max)]
        if wrong.size:
            raise OverflowError(f"found {wrong[0]}")
        return array.astype(self._dtype)

    def _advice(self, found: np.dtype[Any]) -> str:
        """Return how an array of another dtype is converted, if only digits are lost."""
        is_safe = found.kind in "biuf" and self._dtype.kind in "iuf" and np.can_cast(found, self._dtype, "same_kind")
        return f"; {self._spec.name}.astype(np.{self._dtype.name}) converts it" if is_safe else ""


class InoutReader(ArgumentReader):
    """Returns an array over the memory of an argument that a call changes.

    Takes NumPy arrays, and objects with DLPack in CPU memory or with the buffer protocol, of exactly the type and the
    static sizes of the argument, that can be written, are aligned and row-major: nothing is copied. Raises `DTypeError`
    and `ShapeError`, which name the argument.
    """

    def __init__(self, spec: TensorSpec, function: str):
        super().__init__(spec, function)
        self._accepted = "a NumPy array, a DLPack tensor or a buffer"

    def __call__(self, value: Any) -> Array:
        array = self._fitting(value)
        if isinstance(value, np.generic) or array.dtype != self._dtype:
            found = f"{'a number' if isinstance(value, np.generic) else 'one'} of {array.dtype}"
        elif not (array.flags.c_contiguous and array.flags.aligned):
            found = f"one with strides {array.strides}"
        elif not (array.flags.writeable or _is_unversioned(value)):
            found = "one that is read-only"
        else:
            array = array if array.flags.writeable else writable(array)
            if self._is_bool:
                array[...] = _as_zeros_and_ones(array)
            return array
        expected = "an aligned, row-major array that can be written, as a call changes it"
        raise DTypeError(f"{self._where}: expected {expected}, found {found}")


class ScalarReader(ArgumentReader):
    """Converts the value of a scalar argument to an array of rank 0.

    Takes a Python `float` for floats, an `int` for integers and a `bool` for booleans, rounded as NumPy does, and
    everything that converts to an array of rank 0 of exactly the dtype. Raises `RangeError` for a number that the type
    cannot represent, `DTypeError` and `ShapeError`, all of which name the argument.
    """

    def __init__(self, spec: TensorSpec, function: str):
        super().__init__(spec, function)
        self._kind = {"f": float, "i": int, "b": bool}[self._dtype.kind]
        self._accepted = f"{'an' if self._kind is int else 'a'} {self._kind.__name__} or a NumPy scalar"

    def __call__(self, value: Any) -> Array:
        return self._convert(value) if type(value) is self._kind else self._read(value)

    def _of_list(self, value: Any) -> Any:
        return value

    def _advice(self, found: np.dtype[Any]) -> str:
        return ""

    def _convert(self, value: Any) -> Array:
        with np.errstate(over="ignore"):
            try:
                array = np.array(value, self._dtype)
            except OverflowError as e:
                shown = value if value.bit_length() <= 128 else f"one of {value.bit_length()} bits"
                raise RangeError(f"{self._where}: expected a number of {self._dtype.name}, found {shown}") from e
        if self._kind is float and np.isinf(array) and not np.isinf(value):
            raise RangeError(f"{self._where}: expected a number of {self._dtype.name}, found {value}")
        return array


def _as_zeros_and_ones(array: Array) -> Array:
    """Return booleans as bytes of 0 and 1. A view of other memory may hold any byte; NumPy takes all but 0 as true."""
    numbers = array.view(np.uint8)
    return array if numbers.max(initial=0) <= 1 else numbers != 0


def _is_unversioned(value: Any) -> bool:
    """Return whether a tensor comes by the first version of DLPack, which does not say whether memory is read-only."""
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack__"):
        return False
    from relex.dialects.dlpack import is_versioned

    return not is_versioned(value)


def _as_ndarray(value: Any, where: str, accepted: str) -> Array:
    if isinstance(value, np.ma.MaskedArray):
        raise DTypeError(f"{where}: expected an array without a mask, found a MaskedArray; fill it first")
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(cast(Any, value))
    # Imported for the programs that are called with tensors.
    from relex.dialects.dlpack import from_dlpack

    is_tensor = hasattr(value, "__dlpack__")
    try:
        return from_dlpack(value) if is_tensor else np.asarray(memoryview(value))
    except Exception as e:
        kind = type(value).__name__
        if is_tensor:
            raise DTypeError(f"{where}: expected a DLPack tensor that NumPy can read, found {kind}: {e}") from e
        raise DTypeError(f"{where}: expected {accepted}, found {kind}") from e


def _integers_of(value: Any, array: Array) -> Array | None:
    """Return the integers of a list, of which NumPy has made an array: one of floats if some are for signed and others
    for unsigned types, and one of objects if one is for none. None if there are other elements."""
    if array.dtype.kind in "iu":
        return array
    objects: Array = np.asarray(value, object)
    is_integer = array.dtype.kind in "fO" and array.size and all(isinstance(x, int | np.integer) for x in objects.flat)
    return objects if is_integer else None
