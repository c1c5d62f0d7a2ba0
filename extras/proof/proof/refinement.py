"""
Comparison of terms: a pass may replace a term by one of those that its fast-math flags leave open.

A sum in any order may become any nest of sums of the same terms, a product with `contract` in it may become a part of a
fused operation, a quotient with `arcp` may become a product with the reciprocal, and any flag may go. Everything else
must be the same term.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.utils import FastMathFlag

from relex.reference.domains.symbols import SUM, SymbolHead
from relex.reference.proof.terms import CHAINS, COMMUTATIVE, EXACT_PRODUCT, LEAVES, UNDEFINED, Terms

_ADDITIONS = ("arith.addf", "math.fma")

_FLAGS = frozenset(flag.value for flag in FastMathFlag)


@dataclass(frozen=True)
class SmallestDifference:
    """The smallest terms that differ."""

    before: int
    after: int


class Refinement:
    """Decides whether terms after a pass are among those that the terms before it allow."""

    def __init__(self, terms: Terms):
        self.terms = terms
        self._known: dict[tuple[int, int], bool] = {}

    def holds(self, before: int, after: int) -> bool:
        """Return whether `before` may become `after`."""
        before, after = self.terms.settle(before), self.terms.settle(after)
        # What was never written may become anything.
        if before in (after, UNDEFINED):
            return True
        key = (before, after)
        if key not in self._known:
            self._known[key] = False
            self._known[key] = self._refines(before, after)
        return self._known[key]

    def difference(self, before: int, after: int) -> SmallestDifference:
        """Return the smallest terms that differ in two that do."""
        terms = self.terms
        before, after = terms.settle(before), terms.settle(after)
        while True:
            old, new = terms.arguments[before], terms.arguments[after]
            heads = terms.heads[before], terms.heads[after]
            if heads[0].name in LEAVES or heads[0] != heads[1] or len(old) != len(new):
                return SmallestDifference(before, after)
            if heads[0].name in (SUM, *CHAINS, *COMMUTATIVE):
                lost, gained = Counter(old) - Counter(new), Counter(new) - Counter(old)
                unequal = list(zip(lost.elements(), gained.elements(), strict=True))
                # Of several, nobody knows which became which.
                unequal = unequal if len(unequal) == 1 else []
            else:
                unequal = [(a, b) for a, b in zip(old, new, strict=True) if not self.holds(a, b)]
            if not unequal:
                return SmallestDifference(before, after)
            inner = min(unequal, key=lambda pair: terms.size(pair[0]) + terms.size(pair[1]))
            before, after = map(terms.settle, inner)

    def _refines(self, before: int, after: int) -> bool:
        terms = self.terms
        old, new = terms.heads[before], terms.heads[after]
        if old.name == SUM:
            return self._is_sum_of(terms.arguments[before], after)
        if old.name == "arith.divf" and "arcp" in old.properties and self._is_reciprocal_product(before, after):
            return True
        if old.name == "arith.addf" and "contract" in old.properties and new.name == "math.fma":
            return self._is_fused(before, after)
        if old.name in LEAVES or old.dtype != new.dtype:
            return False
        if old.name == "arith.mulf" and new.name == EXACT_PRODUCT:
            return "contract" in old.properties and self._are_same(
                terms.arguments[before], terms.arguments[after], True
            )
        if old.name != new.name or not _loses_flags(old.properties, new.properties):
            return False
        in_any_order = old.name in CHAINS or old.name in COMMUTATIVE or old.name == EXACT_PRODUCT
        return self._are_same(terms.arguments[before], terms.arguments[after], in_any_order)

    def _are_same(self, old: Sequence[int], new: Sequence[int], in_any_order: bool) -> bool:
        if len(old) != len(new):
            return False
        if not in_any_order:
            return all(self.holds(a, b) for a, b in zip(old, new, strict=True))
        return self._match(list(old), list(new))

    def _match(self, old: list[int], new: list[int]) -> bool:
        """Return whether each of some terms becomes another one of as many others."""
        lost, gained = Counter(old) - Counter(new), list((Counter(new) - Counter(old)).elements())
        for a in lost.elements():
            found = next((b for b in gained if self.holds(a, b)), None)
            if found is None:
                return False
            gained.remove(found)
        return not gained

    def _is_sum_of(self, parts: Sequence[int], after: int) -> bool:
        """Return whether a term adds up these terms in some order."""
        left = Counter(parts)
        pending, others = [after], list[int]()
        while pending:
            term = self.terms.settle(pending.pop())
            if left[term] > 0:
                left[term] -= 1
            elif (addition := self._addition_among(left, term)) is not None:
                left[addition] -= 1
            elif (inner := self._addends(term)) is not None:
                pending.extend(inner)
            elif self.terms.value(term) is None or self.terms.value(term) != 0:
                others.append(term)
        return self._match(list(left.elements()), others)

    def _addition_among(self, left: Counter[int], term: int) -> int | None:
        """Return which of the terms that a sum adds up is an addition itself, and became this one."""
        terms = self.terms
        additions = [n for n in left if left[n] > 0 and terms.heads[n].name in _ADDITIONS]
        return next((n for n in additions if self.holds(n, term)), None)

    def _addends(self, term: int) -> Sequence[int] | None:
        terms = self.terms
        name, args = terms.heads[term].name, terms.arguments[term]
        if name in (SUM, "arith.addf"):
            return args
        if name != "math.fma":
            return None
        return terms.apply(SymbolHead(EXACT_PRODUCT, terms.heads[term].dtype), sorted(args[:2])), args[2]

    def _is_reciprocal_product(self, before: int, after: int) -> bool:
        """Return whether a quotient became the product with a reciprocal."""
        terms = self.terms
        dividend, divisor = terms.arguments[before]
        if terms.heads[after].name != "arith.mulf":
            return False
        for factor, inverse in (terms.arguments[after], terms.arguments[after][::-1]):
            inverse = terms.settle(inverse)
            is_inverse = terms.heads[inverse].name == "arith.divf" and _is_one(terms, terms.arguments[inverse][0])
            if is_inverse and self.holds(dividend, factor) and self.holds(divisor, terms.arguments[inverse][1]):
                return True
        return False

    def _is_fused(self, before: int, after: int) -> bool:
        terms = self.terms
        a, b, c = terms.arguments[after]
        left, right = map(terms.settle, terms.arguments[before])
        return any(
            terms.heads[product].name == "arith.mulf"
            and "contract" in terms.heads[product].properties
            and self.holds(addend, c)
            and self._are_same(terms.arguments[product], (a, b), True)
            for product, addend in ((left, right), (right, left))
        )


def _is_one(terms: Terms, term: int) -> bool:
    value = terms.value(term)
    return value is not None and bool(value == 1)


def _loses_flags(old: str, new: str) -> bool:
    """Return whether properties are the same, except for flags that went."""
    if old == new:
        return True
    before, after = ({part.strip() for part in text.split(",")} - {""} for text in (old, new))
    return after <= before and before - after <= _FLAGS
