"""NumPy, which is imported when it is first used: most programs are only printed and compiled."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from relex.dialects.exceptions import DTypeError, kind_of

if TYPE_CHECKING:
    import numpy as np
else:

    class _NumPy:
        def __getattr__(self, name: str) -> Any:
            found = getattr(import_module("numpy"), name)
            setattr(self, name, found)
            return found

    np = _NumPy()

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


def as_array(value: Any) -> Array:
    """Return an array that shares the memory of a NumPy array or of a tensor with DLPack, or holds the numbers that
    NumPy makes of anything else. Raises `DTypeError`."""
    is_array = isinstance(value, np.ndarray | np.generic)
    if hasattr(value, "__dlpack__") and not is_array:
        try:
            return np.from_dlpack(value)
        except Exception as e:  # Each library has its own.
            raise DTypeError(f"expected a DLPack tensor that NumPy can read, found {kind_of(value)}: {e}") from e
    return np.asarray(cast(Any, value))
