"""
Terms: what a function computes, as expressions of the elements of its arguments.

Terms are hash-consed: equal terms have the same number. A term is a head, such as `arith.mulf` of f32, and the terms
that it is applied to; constants and elements of arguments have no arguments. Constants are folded by the function of
the interpreter, and terms are simplified by the identities of `identities`.

Repeated application of an associative and commutative op is one term, a multiset: sums of floats only where they carry
`reassoc`. Partial results stay pairs until something other than a further step of the same chain uses them, so that a
sum of K terms costs K steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import accumulate, islice
from math import prod
from typing import Any, Protocol

import numpy as np

from relex.dialects.arrays import Array
from relex.dialects.dtypes import is_float_dtype
from relex.reference.domains.domain import Domain, Make
from relex.reference.domains.symbols import SUM, SymbolHead, head_of
from relex.reference.interpreter.budget import take

UNDEFINED, TRUE, FALSE = 0, 1, 2
"""The numbers of some terms: memory that was not written, and booleans."""

CONSTANT, ELEMENT = "constant", "element"

LEAVES = (CONSTANT, ELEMENT)
"""The heads of terms without parts."""

EXACT_PRODUCT = "exact product"
"""The head of products inside sums that are not rounded."""


@dataclass(frozen=True)
class Chain:
    """The properties of an associative and commutative op by which it joins terms."""

    neutral: Callable[[np.dtype[Any]], Any] | None = None
    """The number that changes nothing, and is left out."""
    is_idempotent: bool = False
    cancels: bool = False
    """Whether two equal terms cancel each other."""


def _smallest(dtype: np.dtype[Any]) -> Any:
    return np.iinfo(dtype).min if dtype.kind == "i" else dtype.kind != "b"


def _largest(dtype: np.dtype[Any]) -> Any:
    return np.iinfo(dtype).max if dtype.kind == "i" else 0


CHAINS = {
    "arith.maximumf": Chain(lambda dtype: -np.inf, is_idempotent=True),
    "arith.minimumf": Chain(lambda dtype: np.inf, is_idempotent=True),
    "arith.maxsi": Chain(_smallest, is_idempotent=True),
    "arith.minsi": Chain(_largest, is_idempotent=True),
    "arith.maxui": Chain(lambda dtype: 0, is_idempotent=True),
    "arith.minui": Chain(lambda dtype: -1 if dtype.kind == "i" else 1, is_idempotent=True),
    "arith.andi": Chain(lambda dtype: -1 if dtype.kind == "i" else 1, is_idempotent=True),
    "arith.ori": Chain(lambda dtype: 0, is_idempotent=True),
    "arith.xori": Chain(lambda dtype: 0, cancels=True),
    "arith.addi": Chain(lambda dtype: 0),
    "arith.muli": Chain(lambda dtype: 1),
}
"""The ops that may be applied to the same terms in any order. Maxima and minima of floats order zeros, and are NaN if a
term is."""

COMMUTATIVE = frozenset({"arith.addf", "arith.mulf", "arith.maxnumf", "arith.minnumf", "arith.cmpi eq"})
"""Further ops whose two arguments may be swapped. All NaNs are equal."""


_FLIPPED = {2: 4, 3: 5, 9: 11, 10: 12}
"""Predicates of `arith.cmpf` that become others when operands are swapped: greater to less."""

_FLIPPED_INTEGERS = {4: 2, 5: 3, 8: 6, 9: 7}
_SYMMETRIC = (1, 6, 7, 8, 13, 14)
_OF_SAME = {7: 1, 14: 13}
"""Predicates that say the same as others about a number and itself: whether it is NaN."""


class Simplification(Protocol):
    """A rule for terms of one op."""

    @property
    def name(self) -> str:
        """The op."""
        ...

    def apply(self, terms: Terms, head: SymbolHead, arguments: Sequence[int]) -> int | None:
        """Return a simpler term; None if there is none."""


class Terms(Domain):
    """All terms of a proof."""

    def __init__(self, simplifications: Sequence[Simplification] = ()):
        self.heads: list[SymbolHead] = []
        self.arguments: list[tuple[Any, ...]] = []
        self._numbers: dict[tuple[SymbolHead, tuple[Any, ...]], int] = {}
        self._values: dict[int, Any] = {}
        self._settled: dict[int, int] = {}
        self._pairs: set[int] = set()
        self._rules: dict[str, list[Simplification]] = {}
        for rule in simplifications:
            self._rules.setdefault(rule.name, []).append(rule)
        self.undefined, self.true, self.false = UNDEFINED, TRUE, FALSE
        boolean = np.dtype(np.bool_)
        self._term(SymbolHead("memory that was not written", boolean), ())
        self.constant(np.True_)
        self.constant(np.False_)

    def __len__(self) -> int:
        return len(self.heads)

    def _term(self, head: SymbolHead, arguments: tuple[Any, ...]) -> int:
        key = (head, arguments)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.heads)
            self.heads.append(head)
            self.arguments.append(arguments)
        return number

    def constant(self, value: Any) -> int:
        """Return the term of a number of NumPy. All NaNs are one."""
        dtype = value.dtype
        if is_float_dtype(dtype) and value != value:
            value = dtype.type(np.nan)
        term = self._term(SymbolHead(CONSTANT, dtype), (value.tobytes(),))
        self._values.setdefault(term, value)
        return term

    def constants(self, array: Array) -> Array:
        """Return the terms of an array of numbers."""
        if array.ndim == 0:
            return np.array(self.constant(array[()]), np.int64)
        bits = np.ascontiguousarray(array).reshape(-1)
        _, first, places = np.unique(bits.view(f"V{array.itemsize}"), return_index=True, return_inverse=True)
        found = np.array([self.constant(bits[i]) for i in first.tolist()], np.int64)
        return found[places].reshape(array.shape)

    def elements(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Return the terms of the elements of an argument."""
        head = SymbolHead(ELEMENT, dtype)
        terms = [self._term(head, (name, *index)) for index in np.ndindex(shape)]
        return np.array(terms, np.int64).reshape(shape)

    def value(self, term: int) -> Any:
        """Return the number that a term is; None if it depends on arguments."""
        return self._values.get(term)

    def integer(self, term: int) -> int | None:
        """Return the integer that a term is; None if it depends on arguments."""
        value = self.value(self.settle(term))
        return None if value is None else int(value)

    def values(self, cells: Array) -> Array | None:
        """Return the numbers that cells are; None if one depends on arguments."""
        found = [self.value(self.settle(term)) for term in cells.reshape(-1).tolist()]
        if any(value is None for value in found):
            return None
        return np.array(found, found[0].dtype if found else np.bool_).reshape(cells.shape)

    def are_of(self, terms: Array, dtype: np.dtype[Any]) -> Any:
        """Return which terms are of a dtype, as far as that is known."""
        found = [self.is_of(int(term), dtype) for term in terms.ravel()]
        return np.array(found, np.bool_).reshape(terms.shape)

    def is_of(self, term: int, dtype: np.dtype[Any]) -> bool:
        """Return whether a term is of a dtype, as far as that is known."""
        return self.heads[abs(term)].dtype == dtype

    def map(self, make: Make, arrays: Sequence[Any]) -> Array:
        shape = np.broadcast_shapes(*(np.shape(t) for t in arrays))
        lists = [np.broadcast_to(t, shape).reshape(-1).tolist() for t in arrays]
        take(len(lists[0]) if lists else 1)
        return np.array(list(map(make, *lists)), np.int64).reshape(shape)

    def fold(self, head: SymbolHead, begin: Sequence[Any], rows: Array) -> Array:
        make, begin = self.make(head), [int(term) for term in begin]
        take(rows.size)
        if not rows.size:
            return np.full(rows.shape[:-1], reduce(make, begin) if prod(rows.shape[:-1]) else 0)
        found = [reduce(make, (*begin, *row)) for row in rows.reshape(-1, rows.shape[-1]).tolist()]
        return np.array(found, np.int64).reshape(rows.shape[:-1])

    def at_once(self, count: int, size: int) -> int:
        return max(size, 1)

    def scan(self, head: SymbolHead, rows: Array) -> Array:
        make = self.make(head)
        found = [list(accumulate(row, make)) for row in rows.reshape(-1, rows.shape[-1]).tolist()]
        return np.array(found, np.int64).reshape(rows.shape)

    def ordered(self, a: int, b: int) -> tuple[int, int]:
        """Return two terms in an order that does not depend on which comes first."""
        a, b = self.settle(a), self.settle(b)
        return (a, b) if a <= b else (b, a)

    def compare(self, usual: SymbolHead, of_same: SymbolHead, a: int, b: int) -> int:
        """Return the term of a comparison; of `of_same`, if a term is compared with itself."""
        a, b = self.settle(a), self.settle(b)
        return self.apply(of_same if a == b else usual, (a, b))

    def comparison(
        self, dtype: np.dtype[Any], predicate: int, function: Callable[..., Any], properties: str = ""
    ) -> Callable[..., Any]:
        """Compare only by less, where one number is greater; the operands of symmetric comparisons are in order."""
        is_float = is_float_dtype(dtype)
        flipped = (_FLIPPED if is_float else _FLIPPED_INTEGERS).get(predicate)
        is_symmetric = predicate in (_SYMMETRIC if is_float else (0, 1))

        def swapped(a: Any, b: Any) -> Any:
            return function(b, a)

        def head(number: int) -> SymbolHead:
            name = f"{'arith.cmpf' if is_float else 'arith.cmpi'} {number}"
            run = function if flipped is None else swapped
            return SymbolHead(name, np.dtype(np.bool_), ", ".join(filter(None, (dtype.name, properties))), run)

        usual = head(predicate if flipped is None else flipped)
        of_same = head(_OF_SAME[predicate]) if is_float and predicate in _OF_SAME else usual

        def make(a: int, b: int) -> int:
            if is_symmetric:
                a, b = self.ordered(a, b)
            elif flipped is not None:
                a, b = b, a
            return self.compare(usual, of_same, a, b)

        return make

    def choice(self, dtype: np.dtype[Any]) -> Callable[..., Any]:
        head = head_of("arith.select", dtype)

        def choose(*operands: int) -> int:
            return self.choose(head, *operands[:3])

        return choose

    def choose(self, head: SymbolHead, condition: int, a: int, b: int) -> int:
        """Return the term of a choice."""
        condition = self.settle(condition)
        if condition in (TRUE, FALSE):
            return a if condition == TRUE else b
        if UNDEFINED in (condition, a, b):
            return UNDEFINED
        return self.apply(head, (condition, a, b))

    def apply(self, head: SymbolHead, arguments: Sequence[int]) -> int:
        """Return the term of an op with these arguments, simplified."""
        args = tuple([self.settle(a) for a in arguments]) if self._pairs else tuple(arguments)
        if UNDEFINED in args:
            return UNDEFINED
        if (folded := self._folded(head, args)) is not None:
            return folded
        if (rules := self._rules.get(head.name)) is not None:
            for rule in rules:
                if (found := rule.apply(self, head, args)) is not None:
                    return found
        if head.name in COMMUTATIVE and args[0] > args[1]:
            args = (args[1], args[0])
        return self._term(head, args)

    def _folded(self, head: SymbolHead, args: tuple[int, ...]) -> int | None:
        if head.function is None or not args or not all([a in self._values for a in args]):
            return None
        values = [self._values[a] for a in args]
        with np.errstate(all="ignore"):
            result = np.asarray(head.function(*values))
        return self.constant(result.astype(head.dtype, copy=False)[()])

    def make(self, head: SymbolHead) -> Callable[..., int]:
        """Return the function from the terms of arguments to the term of a head: the next step of a chain, if it is
        one."""
        if head.name == SUM or head.name in CHAINS:
            return partial(self.join, head)
        return lambda *arguments: self.apply(head, arguments)

    def join(self, head: SymbolHead, a: int, b: int) -> int:
        """Return the term of one more step of a chain: of `CHAINS`, or a sum of floats in any order."""
        if UNDEFINED in (a, b):
            return UNDEFINED
        if a not in self._pairs and b not in self._pairs and (folded := self._folded(head, (a, b))) is not None:
            return folded
        term = self._term(SymbolHead(f"{head.name} pair", head.dtype, head.properties, head.function), (a, b))
        self._pairs.add(term)
        return term

    def settle(self, term: int) -> int:
        """Return the final form of a term: the final form of a chain is a multiset."""
        if term not in self._pairs:
            return term
        if term not in self._settled:
            pair = self.heads[term]
            head = SymbolHead(pair.name.removesuffix(" pair"), pair.dtype, pair.properties, pair.function)
            self._settled[term] = self._joined(head, list(self._leaves(term, head.name)))
        return self._settled[term]

    def _leaves(self, term: int, name: str) -> Iterator[int]:
        """Yield the terms that a chain joins."""
        pending = [term]
        while pending:
            current = pending.pop()
            if current in self._pairs and self.heads[current].name != f"{name} pair":
                current = self.settle(current)
            if self.heads[current].name in (name, f"{name} pair"):
                pending.extend(self.arguments[current])
            else:
                yield current

    def _joined(self, head: SymbolHead, leaves: list[int]) -> int:
        if head.name == SUM:
            # The sign of a zero is not specified in a sum in any order.
            kept = [leaf for leaf in leaves if (value := self._values.get(leaf)) is None or value != 0]
            return self._term(head, tuple(sorted(kept))) if kept else self.constant(head.dtype.type(0))
        chain, constants = CHAINS[head.name], [leaf for leaf in leaves if leaf in self._values]
        others = Counter(leaf for leaf in leaves if leaf not in self._values)
        if chain.is_idempotent:
            others = Counter(dict.fromkeys(others, 1))
        if chain.cancels:
            others = Counter({leaf: n % 2 for leaf, n in others.items()})
        neutral = self.constant(np.array(chain.neutral(head.dtype)).astype(head.dtype)[()]) if chain.neutral else None
        total = neutral
        for constant in constants:
            total = constant if total is None else self._folded(head, (total, constant))
            assert total is not None
        terms = sorted(others.elements())
        if total is not None and (total != neutral or not terms):
            terms.insert(0, total)
        return terms[0] if len(terms) == 1 else self._term(head, tuple(terms))

    def size(self, term: int, limit: int = 1000) -> int:
        """Count the ops of a term, up to a limit."""
        count, pending = 0, [term]
        while pending and count < limit:
            current = pending.pop()
            count += 1
            if self.heads[current].name not in LEAVES:
                pending.extend(self.arguments[current])
        return count

    def names(self, term: int) -> set[str]:
        """Return the names of all ops in a term."""
        return {self.heads[part].name for part in self._parts(term)}

    def leaves(self, *terms: int, limit: int = 1000) -> Iterator[int]:
        """Yield the elements and numbers in terms, each once; of large ones, only the first `limit` parts."""
        return (part for part in islice(self._parts(*terms), limit) if self.heads[part].name in LEAVES)

    def _parts(self, *terms: int) -> Iterator[int]:
        """Yield terms and all terms in them, each once."""
        pending, seen = list(terms), set[int]()
        while pending:
            term = self.settle(pending.pop())
            if term not in seen:
                seen.add(term)
                yield term
                pending.extend(() if self.heads[term].name in LEAVES else self.arguments[term])

    def text(self, term: int, depth: int = 4, shown: int = 4, first: Sequence[int] = ()) -> str:
        """Format a term: what lies deeper than `depth` is left out, and arguments from the number `shown` on. The
        arguments in `first`, of an op whose arguments have no order, come first."""
        term = self.settle(term)
        head, args = self.heads[term], self.arguments[term]
        if head.name == CONSTANT:
            return str(self._values[term])
        if head.name == ELEMENT:
            name, *index = args
            return f"%{name}[{', '.join(map(str, index))}]" if index else f"%{name}"
        if not args:
            return str(head)
        if depth == 0:
            return "..."
        if first:
            args = (*first, *(Counter(args) - Counter(first)).elements())
        texts = [self.text(a, depth - 1, shown) for a in args[:shown]]
        texts += [f"{len(args) - shown} more"] if len(args) > shown else []
        return f"{head}({', '.join(texts)})"
