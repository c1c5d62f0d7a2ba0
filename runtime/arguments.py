"""From what a caller passes to arrays that compiled code can read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from relex.dialects.dtypes import numpy_dtype
from relex.dialects.errors import ArityError, DTypeError, ShapeError
from relex.runtime.signature import Signature, TensorSpec

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


def to_array(value: Any, spec: TensorSpec, function: str) -> Array:
    """A row-major array of exactly the type and shape of an argument: `value` itself, or a copy where it is strided.

    Takes NumPy arrays and scalars, and anything with DLPack in CPU memory. Nothing is cast. Raises `DTypeError` and
    `ShapeError`, which name the argument.
    """
    where = f"{function}() argument '{spec.name}'"
    array = _as_ndarray(value, where)
    dtype = numpy_dtype(spec.element_type)
    if array.dtype.newbyteorder("=") != dtype:
        raise DTypeError(f"{where}: expected dtype {dtype.name}, found {array.dtype.name}")
    if array.shape != spec.shape:
        raise ShapeError(f"{where}: expected shape {spec.shape}, found {array.shape}")
    return np.require(array, dtype, ["C", "A"])


def _as_ndarray(value: Any, where: str) -> Array:
    if isinstance(value, np.ma.MaskedArray):
        raise DTypeError(f"{where}: expected an array without a mask, found a MaskedArray; fill it first")
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value)
    if not hasattr(value, "__dlpack__"):
        raise DTypeError(f"{where}: expected a NumPy array or a DLPack tensor, found {type(value).__name__}")
    try:
        return np.from_dlpack(value)
    except Exception as e:
        raise DTypeError(f"{where}: expected a DLPack tensor that NumPy can read, found {type(value).__name__}: {e}") from e
