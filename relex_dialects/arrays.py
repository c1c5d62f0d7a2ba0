"""NumPy, which is imported when it is first used: most programs are only printed and compiled."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

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
