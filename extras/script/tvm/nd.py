"""`tvm.nd`: arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from relex.dialects.errors import DTypeError
from relex.frontend.graph_expressions import array_of
from relex.frontend.tvm.devices import Device, as_device, cpu
from relex.runtime.library import LibraryInput

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array


class NDArray(LibraryInput):
    """A NumPy array with the methods of TVM's arrays. It exports its memory by DLPack, without a copy."""

    def numpy(self) -> Array:
        """Return a copy as a plain NumPy array."""
        return np.array(self)

    asnumpy = numpy

    def copyfrom(self, source: Any) -> NDArray:
        """Overwrite the elements with the elements of another array of the same shape, and return this array."""
        np.copyto(self, source, casting="same_kind")
        return self

    def __repr__(self) -> str:
        return f"<NDArray shape={self.shape}, {cpu()}>\n{np.asarray(self)!r}"


def array(data: Any, device: Device | None = None) -> NDArray:
    """Return a copy of anything that NumPy converts to an array of numbers. Raises `DTypeError`."""
    as_device(device)
    try:
        return array_of(data).view(NDArray)
    except (TypeError, ValueError) as e:
        raise DTypeError(f"expected an array of numbers: {e}") from e


def empty(shape: Sequence[int], dtype: str = "float32", device: Device | None = None) -> NDArray:
    """Return an uninitialized array."""
    as_device(device)
    return np.empty(shape, dtype).view(NDArray)


def as_nd(value: Any) -> Any:
    """Return a result of a function, or several, with arrays as `NDArray`."""
    if isinstance(value, tuple):
        return tuple(map(as_nd, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return value.view(NDArray) if isinstance(value, np.ndarray) else value
