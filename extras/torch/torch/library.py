"""The package torch, which is optional. Its types are too loose for a type checker to be of use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

torch: Any = import_module("torch")
tree: Any = import_module("torch.utils._pytree")
"""Nested lists, tuples and dictionaries."""
