"""The interface of the rules of the default schedule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from relex.dialects.target.processors import Processor
from relex.dialects.tir import BlockOp
from relex.passes.schedule import Schedule


@dataclass(frozen=True)
class Plan:
    """The steps that a rule proposes for a block."""

    summary: str
    """A one-line description for users."""

    steps: Callable[[Schedule], object] | None
    """Applies the plan to a copy of the function, in which blocks and loops are found by name. Fails if a step does not
    apply. None if the block is to stay as it is."""


Match: TypeAlias = Callable[[BlockOp, Processor], Plan]
"""Map a block, all of whose loops are labelled, to a plan. Fails with the reason if the rule does not apply to the
block. Does not change the block."""
