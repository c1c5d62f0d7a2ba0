"""Library functions that `relex.call_dps_packed` calls."""

from __future__ import annotations

from collections.abc import Callable

LIBRARY: dict[str, Callable[..., None]] = {}
"""Functions on NumPy arrays by name: arguments first, then the results to fill."""
