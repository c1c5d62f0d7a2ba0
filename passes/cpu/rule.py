"""What a rule of the default schedule is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from relex.dialects.tir import BlockOp
from relex.passes.cpu.tiles import VectorUnit
from relex.passes.schedule import Schedule


@dataclass(frozen=True)
class Plan:
    """What a rule would do to a block."""

    summary: str
    """The same in a line, for people."""

    steps: Callable[[Schedule], None] | None
    """Does it, on a copy of the function: what a schedule has of it are names. Fails where a step does not apply. None
    if the block is to stay as it is."""


Match: TypeAlias = Callable[[BlockOp, VectorUnit], Plan]
"""From a block, all of whose loops have labels, to what would be done. Fails, and says why, if a rule does not suit it;
changes nothing."""
