"""
The identities by which terms are simplified: all that a proof knows about arithmetic, apart from `terms.CHAINS` and
`terms.COMMUTATIVE`.

Each holds for every number of every type that it is for, NaN, infinities and zeros of both signs included; all NaNs are
equal. `extras/proof/tests/test_proof_identities.py` shows it for all numbers of 8 and 16 bits.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np

from relex.dialects.dtypes import is_float_dtype
from relex.reference.domains.symbols import SymbolHead, head_of
from relex.reference.proof.terms import CHAINS, Terms

FLOATS = """
negf(negf(x)) = x
mulf(x, 1) = x
mulf(x, -1) = negf(x)
divf(x, 1) = x
divf(x, -1) = negf(x)
addf(x, -0.0) = x
subf(x, 0) = x
subf(x, y) = addf(x, negf(y))
mulf(negf(x), negf(y)) = mulf(x, y)
mulf(negf(x), y) = negf(mulf(x, y))
divf(negf(x), y) = negf(divf(x, y))
divf(x, negf(y)) = negf(divf(x, y))
absf(negf(x)) = absf(x)
absf(absf(x)) = absf(x)
floor(floor(x)) = floor(x)
ceil(ceil(x)) = ceil(x)
trunc(trunc(x)) = trunc(x)
roundeven(roundeven(x)) = roundeven(x)
"""
"""Of floats. `1` is a number of the type, whichever that is."""

INTEGERS = """
subi(x, 0) = x
subi(x, x) = 0
subi(x, y) = addi(x, muli(y, -1))
divsi(x, 1) = x
divui(x, 1) = x
floordivsi(x, 1) = x
"""

ANY = """
select(c, x, x) = x
select(xori(1, c), x, y) = select(c, y, x)
"""
"""Of any type; `c` is a boolean."""

OF_MATH = {"absf", "floor", "ceil", "trunc", "roundeven"}
"""The functions that belong to `math`; the others do to `arith`."""


@dataclass(frozen=True)
class AnyTerm:
    """Stands for any term; for the same one wherever it occurs."""

    name: str


@dataclass(frozen=True)
class TermApplication:
    """An op applied to patterns."""

    name: str
    arguments: tuple[Pattern, ...]


Pattern = AnyTerm | TermApplication | float


@dataclass(frozen=True)
class Identity:
    """An equation of two patterns; terms that match the left side become the right one."""

    text: str
    kind: str
    """`float`, `integer` or `any`: the types that it holds for."""

    @cached_property
    def sides(self) -> tuple[TermApplication, Pattern]:
        """The two sides."""
        left, right = (_pattern(ast.parse(side.strip(), mode="eval").body) for side in self.text.split(" = "))
        assert isinstance(left, TermApplication)
        return left, right

    @property
    def name(self) -> str:
        """The op on the left side."""
        return self.sides[0].name

    @cached_property
    def variables(self) -> list[str]:
        """The names of variables, in order."""
        # Names that are not called.
        return sorted(set(re.findall(r"\b[a-z]+\b(?!\()", self.text)))

    def apply(self, terms: Terms, head: SymbolHead, arguments: Sequence[int]) -> int | None:
        """Return the right side for a term that matches the left one; None for others. Terms with
        fast-math flags match if nothing of the op is left."""
        if not self._may_match(terms, arguments):
            return None
        left, right = self.sides
        # A term that disappears takes its flags along; others would have to pass them on.
        if (head.properties and not isinstance(right, AnyTerm)) or not self._holds_for(head.dtype):
            return None
        orders = [arguments]
        if head.name in _SWAPPED and len(arguments) == 2 and len(set(map(type, left.arguments))) > 1:
            orders.append(arguments[::-1])
        for order in orders:
            found: dict[str, int] = {}
            if all(_match(terms, p, a, head, found) for p, a in zip(left.arguments, order, strict=True)):
                return _build(terms, right, head, found)
        return None

    @cached_property
    def _needed(self) -> tuple[tuple[str, ...], bool]:
        """The ops that arguments of the left side must be, and whether one must be a number."""
        left, _ = self.sides
        names = [p.name for p in left.arguments if isinstance(p, TermApplication)]
        return tuple(names), any(isinstance(p, int | float) for p in left.arguments)

    def _may_match(self, terms: Terms, arguments: Sequence[int]) -> bool:
        """Return whether arguments have what the left side needs: most terms do not."""
        names, needs_number = self._needed
        if needs_number and not any([terms.value(a) is not None for a in arguments]):
            return False
        return not names or set(names) <= {terms.heads[a].name for a in arguments}

    def _holds_for(self, dtype: np.dtype[Any]) -> bool:
        return self.kind == "any" or is_float_dtype(dtype) == (self.kind == "float")


_SWAPPED = frozenset({"arith.addf", "arith.mulf"})


def _pattern(node: ast.expr) -> Pattern:
    match node:
        case ast.Name(id=name):
            return AnyTerm(name)
        case ast.Call(func=ast.Name(id=name), args=args):
            return TermApplication(f"{'math' if name in OF_MATH else 'arith'}.{name}", tuple(map(_pattern, args)))
        case _:
            return float(ast.literal_eval(node))


def _match(terms: Terms, pattern: Pattern, term: int, head: SymbolHead, found: dict[str, int]) -> bool:
    match pattern:
        case AnyTerm(name=name):
            return found.setdefault(name, term) == term
        case TermApplication():
            inner = terms.heads[term]
            if inner.name != pattern.name or inner.properties or len(pattern.arguments) != len(terms.arguments[term]):
                return False
            pairs = zip(pattern.arguments, terms.arguments[term], strict=True)
            return all(_match(terms, p, a, inner, found) for p, a in pairs)
        case _:
            value = terms.value(term)
            return bool(value is not None and value == pattern and np.signbit(float(value)) == np.signbit(pattern))


def _build(terms: Terms, pattern: Pattern, head: SymbolHead, found: dict[str, int]) -> int:
    match pattern:
        case AnyTerm(name=name):
            return found[name]
        case TermApplication():
            arguments = [_build(terms, p, head, found) for p in pattern.arguments]
            built = head_of(pattern.name, head.dtype)
            return (
                reduce(partial(terms.join, built), arguments)
                if pattern.name in CHAINS
                else terms.apply(built, arguments)
            )
        case _:
            return terms.constant(np.array(pattern).astype(head.dtype)[()])


def identities() -> list[Identity]:
    """Return all identities."""
    return [
        Identity(line, kind)
        for kind, text in (("float", FLOATS), ("integer", INTEGERS), ("any", ANY))
        for line in text.strip().splitlines()
    ]
