"""
Residues in place of terms: a fingerprint of each term in a prime field, computed for whole arrays.

Terms cost time and memory one by one. Here a term is only its residue modulo P: the residue of an element of an
argument is drawn at random, and an op without further laws hashes the residues of its arguments, which makes it a new
random residue. So equal terms have equal residues, and two terms that differ have equal ones with a probability of 1 /
P. A sum in any order is the sum of the residues of its terms in the field: a polynomial of degree 1, whose coefficients
say how often each term occurs. Two sums of other terms are other polynomials, which agree at random points with a
probability of 1 / P (Schwartz-Zippel). Sums that must keep their order are hashed, as any op, so that no other order
gives their residue. Products are hashed, too: nothing allows a pass to distribute them over a sum.

The other associative and commutative ops are sums after a change of variables: max(a, b) is L^-1(L(a) + L(b)), where L
permutes the residues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np

from relex.dialects.arrays import Array
from relex.dialects.dtypes import is_float_dtype
from relex.reference.domains.domain import Domain
from relex.reference.domains.symbols import SUM, SymbolHead
from relex.reference.equivalence.bounded import where
from relex.reference.interpreter.budget import ELEMENTS, take
from relex.reference.proof.residue_scalar import (
    BITS,
    IS_NUMBER,
    IS_SUM,
    P,
    are_single,
    chained,
    flipped,
    hashed,
    mixed,
    reduced,
)
from relex.reference.proof.terms import CHAINS, CONSTANT, ELEMENT, EXACT_PRODUCT, Terms


class Residues(Terms):
    """Terms that are known by their residues. `before` are the residues of the side before the pass, if that ran
    already; the ops of this side may be as free as those. `after` are the residues of the side after it: the ops of
    this side must not be more free."""

    def __init__(self, seed: int, *, before: Residues | None = None, after: Residues | None = None):
        self._seed = seed
        self._keys: dict[object, np.uint64] = {}
        self._numbers_of: dict[int, Any] = {}
        self._numbers_known: dict[tuple[str, bytes], Array] = {}
        self._before, self._after = before, after
        self.seen: dict[tuple[str, str, frozenset[str]], SymbolHead] = {}
        """The ops that were made, by name, dtype and flags."""
        self.given: dict[tuple[str, str, frozenset[str]], SymbolHead] = {}
        """The ops of the program, with the flags that they have there."""
        self.count = 0
        """The number of residues that were drawn."""
        super().__init__()
        self.undefined = int(self._key("undefined") & P)
        self.true, self.false = (self.constant(np.bool_(value)) for value in (True, False))

    @property
    def doubt(self) -> float:
        """The probability that two different terms of a proof have one residue: each pair of those that were drawn has
        with a probability of 1 / P."""
        count = self.count + (self._before.count if self._before is not None else 0)
        return count**2 / 2 / P

    def detach(self) -> None:
        """Forget the side before the pass."""
        self._before = None

    # Terms of arguments and numbers

    def constant(self, value: Any) -> int:
        return int(self.constants(np.asarray(value)))

    def constants(self, array: Array) -> Array:
        if array.ndim == 0:
            key = (array.dtype.str, array.tobytes())
            if (known := self._numbers_known.get(key)) is None:
                known = self._numbers_known[key] = self._constants(array)
            return known
        return self._constants(array)

    def _constants(self, array: Array) -> Array:
        if is_float_dtype(array.dtype):
            array = where(array == array, array, array.dtype.type(np.nan))
        bits = np.ascontiguousarray(array).reshape(-1)
        words = bits.view(f"u{array.itemsize}").astype(np.uint64)
        key = self._key((CONSTANT, array.dtype.str))
        terms = (mixed(words, key) & P | IS_NUMBER).view(np.int64)
        known, first = np.unique(terms, return_index=True)
        self._numbers_of.update(zip(known.tolist(), bits[first], strict=True))
        self.count += len(known)
        return terms.reshape(array.shape)

    def elements(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        count = int(np.prod(shape, dtype=np.int64))
        self.count += count
        key = self._key((ELEMENT, dtype.str, name))
        return (mixed(np.arange(count, dtype=np.uint64), key) & P).view(np.int64).reshape(shape)

    def value(self, term: int) -> Any:
        return self._numbers_of.get(int(term))

    def values(self, cells: Array) -> Array | None:
        words = _words(cells)
        if not np.all(words & IS_NUMBER):
            return None
        known, places = np.unique(np.asarray(cells), return_inverse=True)
        found = [self._numbers_of[term] for term in known.tolist()]
        return np.array(found, found[0].dtype if found else np.bool_)[places].reshape(np.shape(cells))

    def are_of(self, terms: Array, dtype: np.dtype[Any]) -> Any:
        return True  # Residues of other types are others.

    def is_of(self, term: int, dtype: np.dtype[Any]) -> bool:
        return True

    def settle(self, term: Any) -> Any:
        return term

    # Ops

    def make(self, head: SymbolHead) -> Callable[..., Any]:
        self.given[_key_of(head)] = head
        head = self._wider(self._narrower(head))
        if head.name == "math.fma" and (parts := self._parts_of_fused(head)) is not None:
            total, product = parts
            return partial(_added_product, total, product)
        self.seen[_key_of(head)] = head
        if head.name == SUM:
            return partial(self._sum, head)
        if head.name in CHAINS:
            return partial(self._chained, head)
        if head.name == "arith.negf":
            return partial(self._negative, head)
        return lambda *arguments: self.apply(head, arguments)

    def join(self, head: SymbolHead, a: Any, b: Any) -> Any:
        return (self._sum if head.name == SUM else self._chained)(head, a, b)

    def apply(self, head: SymbolHead, arguments: Sequence[Any]) -> Any:
        return self._with_constants(
            head, arguments, self._drawn(partial(hashed, head), self._key_of_head(head), arguments)
        )

    def map(self, make: Callable[..., Any], arrays: Sequence[Any]) -> Array:
        found = np.asarray(make(*arrays))
        take(1 + found.size // ELEMENTS)
        return found

    def fold(self, head: SymbolHead, begin: Sequence[Any], rows: Array) -> Array:
        make: Any = self.make(head)
        take(1 + rows.size // ELEMENTS)
        if rows.shape[-1] and isinstance(make, partial) and make.func == self._sum:
            return self._sum_of(make.args[0], np.moveaxis(rows, -1, 0))
        return Domain.fold(self, head, begin, rows)

    def repeated(self, make: Any, begin: Array, rows: Array) -> Array:
        if getattr(make, "func", None) == self._sum:
            return self._sum(make.args[0], begin, self._sum_of(make.args[0], rows))
        return super().repeated(make, begin, rows)

    def at_once(self, count: int, size: int) -> int:
        return Domain.at_once(self, count, size)

    def scan(self, head: SymbolHead, rows: Array) -> Array:
        return Domain.scan(self, head, rows)

    def ordered(self, a: Any, b: Any) -> tuple[Any, Any]:
        if are_single(a, b):
            return (a, b) if a < b else (b, a)
        return np.minimum(a, b), np.maximum(a, b)

    def compare(self, usual: SymbolHead, of_same: SymbolHead, a: Any, b: Any) -> Any:
        result = self.apply(usual, (a, b))
        return result if usual == of_same else where(a == b, self.apply(of_same, (a, b)), result)

    def choose(self, head: SymbolHead, condition: Any, a: Any, b: Any) -> Any:
        is_true, is_false = np.equal(condition, self.true), np.equal(condition, self.false)
        if np.all(is_true | is_false):
            return where(is_true, a, b)
        result = where(np.equal(a, b), a, self.apply(head, (condition, a, b)))
        return where(is_true, a, where(is_false, b, result))

    # How ops are computed

    def _key(self, what: object) -> np.uint64:
        """Return a random word for something, the same in each run with one seed."""
        if what not in self._keys:
            digest = blake2b(f"{self._seed} {what}".encode(), digest_size=8).digest()
            self._keys[what] = np.uint64(int.from_bytes(digest, "little") | 1)
        return self._keys[what]

    def _key_of_head(self, head: SymbolHead) -> np.uint64:
        if (key := self._keys.get(head)) is None:
            key = self._keys[head] = self._key((head.name, head.dtype.str, head.properties))
        return key

    def _drawn(self, function: Callable[..., Any], key: np.uint64, arguments: Sequence[Any]) -> Any:
        """Return new residues, which a function makes of a key and the words of arguments."""
        if are_single(*arguments):
            self.count += 1
            return function(int(key), *arguments)
        result = function(key, *map(_words, arguments)).view(np.int64)
        self.count += np.size(result)
        return result

    def _with_constants(self, head: SymbolHead, arguments: Sequence[Any], result: Any) -> Any:
        """Return the result of an op where arguments are numbers: a number, or what identities say."""
        if are_single(*arguments):
            return result
        flagged = [_words(a) & IS_NUMBER for a in arguments]
        if not any(flag.any() for flag in flagged):
            return result
        for place, number, keeps in self._neutral(head):
            neutral = self.constant(np.array(number).astype(head.dtype)[()])
            result = where(np.equal(arguments[place], neutral), arguments[keeps], result)
        every = np.broadcast_to(np.logical_and.reduce(np.broadcast_arrays(*flagged)), np.shape(result))
        if np.any(every) and (folded := self._fold(head, arguments, every)) is not None:
            is_folded, numbers = folded
            result = np.array(result)
            result[is_folded] = numbers
        return result

    def _neutral(self, head: SymbolHead) -> Iterator[tuple[int, Any, int]]:
        """Yield where an argument may be a number that changes nothing, which, and the argument that remains."""
        for (name, place), (number, keeps) in _NEUTRAL.items():
            if name == head.name:
                yield place, number, keeps
        if head.name in CHAINS and (neutral := CHAINS[head.name].neutral) is not None:
            yield from ((place, neutral(head.dtype), 1 - place) for place in (1, 0))

    def _fold(self, head: SymbolHead, arguments: Sequence[Any], mask: Array) -> tuple[Array, Array] | None:
        """Return where an op on numbers is a number, and which."""
        if head.function is None and head.name != EXACT_PRODUCT:
            return None
        values = [self.values(np.broadcast_to(a, mask.shape)[mask]) for a in arguments]
        if head.name == EXACT_PRODUCT or (head.name == "arith.mulf" and "contract" in head.properties):
            a, b = (np.asarray(v, np.longdouble) for v in values)
            numbers = (a * b).astype(head.dtype)
            # Only products that are not rounded: in a sum, others keep their digits.
            is_exact = (a * b == numbers) & ((head.dtype.itemsize < 8) | (a == 0) | (b == 0))
            places = np.array(mask)
            places[mask] = is_exact
            return places, self.constants(numbers[is_exact])
        numbers = np.asarray(head.function(*values)) if head.function is not None else np.zeros(0)
        return mask, self.constants(numbers.astype(head.dtype, copy=False))

    def _addends(self, head: SymbolHead, words: Any) -> Any:
        """Return the residues of the terms of a sum; residues of zeros are 0."""
        residues = words & P
        if (words & IS_NUMBER).any():
            for zero in (0.0, -0.0):
                term = np.uint64(self.constant(head.dtype.type(zero)))
                residues = where(words == term, np.uint64(0), residues)
        return residues

    def _sum(self, head: SymbolHead, a: Any, b: Any) -> Any:
        if are_single(a, b):
            return reduced((a & P) + (b & P)) | IS_SUM
        a, b = _words(a), _words(b)
        total = reduced(self._addends(head, a) + self._addends(head, b))
        result = (total | IS_SUM).view(np.int64)
        if (a & b & IS_NUMBER).any():
            # A sum of zeros is one.
            zero = self.constant(head.dtype.type(0))
            result = where((a & b & IS_NUMBER != 0) & (total == 0), zero, result)
        return result

    def _sum_of(self, head: SymbolHead, rows: Array) -> Array:
        """Return the sums of rows."""
        words = _words(rows)
        total = _total(self._addends(head, words))
        result = (total | IS_SUM).view(np.int64)
        are_zero = (total == 0) & (np.bitwise_and.reduce(words & IS_NUMBER) != 0)
        return where(are_zero, self.constant(head.dtype.type(0)), result) if are_zero.any() else result

    def _chained(self, head: SymbolHead, a: Any, b: Any) -> Any:
        chain = CHAINS[head.name]
        result = self._drawn(chained, self._key((head.name, head.dtype.str)), (a, b))
        if are_single(a, b):
            return a if a == b and chain.is_idempotent else result
        if chain.is_idempotent:
            result = where(np.equal(a, b), a, result)
        return self._with_constants(head, (a, b), result)

    def _negative(self, head: SymbolHead, a: Any) -> Any:
        """Return the negative: the negative of a negative is the number again."""
        result = self._drawn(flipped, self._key((head.name, head.dtype.str)) & P, (a,))
        return self._with_constants(head, (a,), result)

    # What flags allow

    def _narrower(self, head: SymbolHead) -> SymbolHead:
        """Return an op with fewer flags, if those that it has do not occur after the pass: without a flag, fewer
        results are right."""
        name, dtype, flags = _key_of(head)
        if self._after is None or (name, dtype, flags) in self._after.given or head.name in (SUM, EXACT_PRODUCT):
            return head
        narrower = [
            other
            for (other_name, other_dtype, other_flags), other in self._after.given.items()
            if (other_name, other_dtype) == (name, dtype) and other_flags < flags
        ]
        return max(narrower, key=lambda other: len(other.properties), default=head)

    def _wider(self, head: SymbolHead) -> SymbolHead:
        """Return an op with the flags that those before the pass have, if the pass gave them up: with a flag, more
        results are right."""
        name, dtype, flags = _key_of(head)
        if self._before is None or (name, dtype, flags) in self._before.seen:
            return head
        wider = [
            other
            for (other_name, other_dtype, other_flags), other in self._before.seen.items()
            if (other_name, other_dtype) == (name, dtype)
            and (flags < other_flags or _IS_EXACT in flags)
            and _IS_EXACT not in other_flags
            and (_IS_EXACT not in flags or "contract" in other_flags)
        ]
        return max(wider, key=lambda other: other.name == SUM, default=head)

    def _parts_of_fused(self, head: SymbolHead) -> tuple[Callable[..., Any], Callable[..., Any]] | None:
        """Return the sum and the product of a fused op that may be a part of a sum of the other side; None if it is an
        op by itself."""
        if self._before is None or _key_of(head) in self._before.seen:
            return None
        dtype = head.dtype
        sums = [other for other in self._before.seen.values() if other.dtype == dtype and other.name == SUM]
        if sums:
            return self.make(sums[0]), self.make(SymbolHead(EXACT_PRODUCT, dtype))
        known = [head for head in self._before.seen.values() if head.dtype == dtype and "contract" in head.properties]
        addition, product = (next((h for h in known if h.name == f"arith.{name}f"), None) for name in ("add", "mul"))
        return (self.make(addition), self.make(product)) if addition and product else None


_IS_EXACT = "exact"

_NEUTRAL = {
    ("arith.mulf", 0): (1, 1),
    ("arith.mulf", 1): (1, 0),
    (EXACT_PRODUCT, 0): (1, 1),
    (EXACT_PRODUCT, 1): (1, 0),
    ("arith.divf", 1): (1, 0),
    ("arith.addf", 0): (-0.0, 1),
    ("arith.addf", 1): (-0.0, 0),
}
"""For an op and the place of an argument: the number that changes nothing there, and the argument that remains."""


def _added_product(total: Callable[..., Any], product: Callable[..., Any], a: Any, b: Any, c: Any) -> Any:
    return total(c, product(a, b))


def _key_of(head: SymbolHead) -> tuple[str, str, frozenset[str]]:
    """Return the name, dtype and flags of a head: a sum in any order is an addition with a flag."""
    flags = frozenset(part.strip() for part in head.properties.split(",")) - {""}
    if head.name == SUM:
        return "arith.addf", head.dtype.str, flags | {"reassoc"}
    if head.name == EXACT_PRODUCT:
        return "arith.mulf", head.dtype.str, flags | {_IS_EXACT}
    return head.name, head.dtype.str, flags


def _words(terms: Any) -> Any:
    return np.asarray(terms, np.int64).view(np.uint64)


def _total(residues: Any) -> Any:
    """Return the sums of residues along the first dimension, which has less than 2^31 of them."""
    low, high = (residues & (1 << 32) - 1).sum(axis=0), (residues >> 32).sum(axis=0)
    # high * 2^32 modulo P: 2^61 is 1.
    rest = BITS - 32
    high = (high >> rest) + ((high & (1 << rest) - 1) << 32)
    return reduced(reduced(high) + reduced(low))
