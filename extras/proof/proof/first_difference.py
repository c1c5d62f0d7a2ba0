"""The first difference between two terms, as messages show it: two short terms, and the ops that they are parts of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from relex.reference.domains.symbols import SUM
from relex.reference.proof.refinement import Refinement
from relex.reference.proof.terms import CHAINS, COMMUTATIVE, LEAVES, Terms

LENGTH = 80
"""The number of characters of a term that is short enough for a message."""

AROUND = 3
"""The number of ops around a difference that a message names."""

LINES = 1000
"""The number of lines of two terms in full."""


@dataclass(frozen=True)
class FirstDifference:
    """Two parts of terms, short, that differ."""

    before: str
    after: str
    around: tuple[str, ...]
    """The names of the ops that have these parts, from the outermost one inwards."""

    @property
    def is_whole(self) -> bool:
        """Whether the terms are shown in full."""
        return not self.around and _is_whole(self.before + self.after)

    def __str__(self) -> str:
        if not self.around:
            return f"is {self.before} before and {self.after} after"
        deep = len(self.around) > AROUND
        names = (self.around[0], "...", *self.around[-AROUND + 1 :]) if deep else self.around
        return f"differs first in {' > '.join(names)}: {self.before} before, {self.after} after"


def first_difference(refinement: Refinement, before: int, after: int) -> FirstDifference:
    """Return the outermost parts of two terms that differ and are short, or the smallest ones if none are. Where
    several operands differ that may be in any order, nobody knows which became which: the first are compared."""
    terms = refinement.terms
    around = list[str]()
    while True:
        before, after = terms.settle(before), terms.settle(after)
        lost, gained = _unequal_operands(refinement, before, after)
        texts = short_text(terms, before, lost), short_text(terms, after, gained)
        are_short = texts[0] != texts[1] and _is_whole("".join(texts))
        if are_short or not lost or len(lost) != len(gained):
            return FirstDifference(*_told_apart(terms, before, after, *texts), tuple(around))
        around.append(terms.heads[before].name)
        before, after = lost[0], _most_similar(terms, lost[0], gained)


def _is_whole(text: str) -> bool:
    return "..." not in text and " more)" not in text


def _unequal_operands(refinement: Refinement, before: int, after: int) -> tuple[list[int], list[int]]:
    """Return the operands that differ if two terms are of the same op: the first ones if they have an order, else all
    that the other term lacks, first those that may not become each other."""
    terms = refinement.terms
    head, old, new = terms.heads[before], terms.arguments[before], terms.arguments[after]
    if head != terms.heads[after] or head.name in LEAVES:
        return [], []
    if head.name not in (SUM, *CHAINS, *COMMUTATIVE):
        pairs = zip(old, new, strict=True) if len(old) == len(new) else ()
        unequal = [(a, b) for a, b in pairs if not refinement.holds(a, b)]
        return [a for a, _ in unequal[:1]], [b for _, b in unequal[:1]]
    lost, gained = list((Counter(old) - Counter(new)).elements()), list((Counter(new) - Counter(old)).elements())
    a = next((a for a in lost if not any(refinement.holds(a, b) for b in gained)), None)
    b = next((b for b in gained if not any(refinement.holds(a, b) for a in lost)), None)
    return _moved_to_front(lost, a), _moved_to_front(gained, b)


def _moved_to_front(terms: list[int], first: int | None) -> list[int]:
    if first is None:
        return terms
    place = terms.index(first)
    return [first, *terms[:place], *terms[place + 1 :]]


def _most_similar(terms: Terms, term: int, others: list[int]) -> int:
    """Return the first of other terms that is of the same op as a term; the first one if none is."""
    head = terms.heads[terms.settle(term)]
    return next((other for other in others if terms.heads[terms.settle(other)] == head), others[0])


def short_text(terms: Terms, term: int, first: Sequence[int] = ()) -> str:
    """Format a term in `LENGTH` characters or little more. The operands in `first` come first."""
    texts = (terms.text(term, depth, shown, first) for depth, shown in ((4, 4), (3, 4), (2, 4), (2, 2)))
    return next((text for text in texts if len(text) <= LENGTH), terms.text(term, 1, 2, first))


def _told_apart(terms: Terms, before: int, after: int, old: str, new: str) -> tuple[str, str]:
    """Return the texts of two terms, with their element types or numbers of operands if they are the same."""
    if old != new:
        return old, new
    heads = terms.heads[before], terms.heads[after]
    if heads[0].dtype != heads[1].dtype:
        return f"{old} of {heads[0].dtype}", f"{new} of {heads[1].dtype}"
    counts = len(terms.arguments[before]), len(terms.arguments[after])
    if counts[0] != counts[1]:
        return f"{old} of {counts[0]} operands", f"{new} of {counts[1]} operands"
    return old, new


def in_full(terms: Terms, before: int, after: int) -> tuple[str, ...]:
    """Format two terms in full, one line an op. Parts that occur several times stand once, under a name."""
    names = dict[int, str]()
    lines = list[str]()
    for title, term in (("before", before), ("after", after)):
        for part in _by_use(terms, term):
            if part in names:
                continue
            if terms.heads[part].name in LEAVES or not terms.arguments[part]:
                names[part] = terms.text(part)
                continue
            operands = ", ".join(names[terms.settle(a)] for a in terms.arguments[part])
            names[part] = f"t{len(lines)}"
            lines.append(f"{names[part]} = {terms.heads[part]}({operands})")
            if len(lines) == LINES:
                return (*lines, f"and more: only {LINES} lines are shown")
        lines.append(f"{title}: {names[terms.settle(term)]}")
    return tuple(lines)


def _by_use(terms: Terms, term: int) -> list[int]:
    """Return the parts of a term, each once and after its own parts."""
    found, seen = list[int](), set[int]()
    pending = [(terms.settle(term), False)]
    while pending:
        part, is_done = pending.pop()
        if is_done:
            found.append(part)
        elif part not in seen:
            seen.add(part)
            pending.append((part, True))
            if terms.heads[part].name not in LEAVES:
                pending += [(terms.settle(a), False) for a in reversed(terms.arguments[part])]
    return found
