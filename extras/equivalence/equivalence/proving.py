"""What a check asks of a proof, and what comes of it. Proofs are an extra: see `relex.extras`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from relex.extras import find_part
from relex.reference.equivalence.execution import Runner, Shapes
from relex.reference.equivalence.interface import Interface, NotComparable

Rewrite = Callable[[Sequence[Any]], tuple[list[Any], list[Any]]]
"""Maps arguments to those before and after a pass."""


@dataclass(frozen=True)
class Side:
    """A function before or after a pass."""

    runner: Runner
    name: str
    interface: Interface


@dataclass(frozen=True)
class Proof:
    """A proof that two functions compute the same."""

    doubt: float = 0.0
    """The probability that it is wrong."""
    rows: str = ""
    """The rows of a batch that it is about, if these stand for all."""


class ShownDifference(Protocol):
    """The first difference of two terms, whose text a message shows."""

    @property
    def is_whole(self) -> bool:
        """Whether the terms are shown in full."""
        ...


@dataclass(frozen=True)
class TermDifference:
    """An element for which the two sides have different terms."""

    place: str
    first: ShownDifference
    in_full: tuple[str, ...]
    """The lines of a text that has both terms."""
    elements: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Elements of arguments in the smallest terms, by name and index."""
    numbers: tuple[Any, ...] = ()
    """Numbers in the smallest terms."""

    def __str__(self) -> str:
        return f"{self.place} {self.first}"


class DifferentTerms(NotComparable):
    """The two sides have different terms."""

    def __init__(self, difference: TermDifference):
        super().__init__(f"its terms differ: {difference}")
        self.difference = difference


def prove(before: Side, after: Side, arguments: Sequence[Any], shapes: Shapes | None, rewrite: Rewrite | None) -> Proof:
    """Prove that two functions compute the same for all arguments of the sizes of these. `shapes` are the shapes of
    the results. Raises `NotComparable` with the reason if nothing is proved: `DifferentTerms` if they may not compute
    the same."""
    return find_part("prove")(before, after, arguments, shapes, rewrite)
