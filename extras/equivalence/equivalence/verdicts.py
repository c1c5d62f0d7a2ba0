"""Verdicts of checks on a function after a pass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Certainty(StrEnum):
    """The degree of certainty that a function computes the same, from certain to unknown."""

    UNCHANGED = "unchanged"
    """It is the same text."""
    PROVED = "proved"
    """Its terms are the same: for all values of its arguments, at the sizes that the verdict states."""
    CHECKED = "checked"
    """It gives the same results for samples."""
    OPEN = "open"
    """It could not be run."""


@dataclass(frozen=True)
class Verdict:
    """The degree of certainty about a function after a pass, with the reason and the scope."""

    kind: Certainty
    why: str = ""
    """Why it is not proved; empty if it is."""
    sizes: tuple[str, ...] = ()
    """The dynamic sizes for which it is proved; empty if it has none."""
    rows: str = ""
    """The rows of a batch for which it is proved, if these stand for all; empty if it is proved for each row."""
    indices: bool = False
    """Whether indices are right for all sizes: accesses are in bounds, iterations do not conflict, and all outputs are
    written."""
    doubt: float = 0.0
    """The probability that the proof is wrong: 0 for a proof on terms."""

    def __str__(self) -> str:
        sizes = f" for {' and for '.join(self.sizes)}" if self.sizes else ""
        sizes += f" for {self.rows}" if self.rows else ""
        sizes += ", its indices for all sizes" if self.indices else ""
        doubt = f", but for a probability of {self.doubt:.0e}" if self.doubt else ""
        return f"{self.kind}{sizes}{doubt}" + (f": {self.why}" if self.why else "")


@dataclass(frozen=True)
class FunctionVerdict:
    """The verdict on a function after a pass."""

    pass_name: str
    function: str
    verdict: Verdict

    def with_indices(self, are_right: bool) -> FunctionVerdict:
        """Return this with what is known about indices for all sizes, if there is more than one."""
        indices = are_right and bool(self.verdict.sizes)
        return replace(self, verdict=replace(self.verdict, indices=indices))
