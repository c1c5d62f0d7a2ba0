"""`mpmath`, computing with 100 digits. It has no types."""

from __future__ import annotations

from importlib import import_module
from typing import Any

Number = Any
"""A number of many digits, which is complex where a function has no real value."""

mp: Any = import_module("mpmath").mp
mp.dps = 100
