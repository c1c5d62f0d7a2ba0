"""The operators by name."""

from __future__ import annotations

from relex.dialects.relex.dialect import Relex
from relex.dialects.relex.operator import Operator

OPERATORS = {kind.name.partition(".")[2]: kind for kind in Relex.operations if issubclass(kind, Operator)}
"""The operators by the last part of their names: `OPERATORS["dense"]`."""
