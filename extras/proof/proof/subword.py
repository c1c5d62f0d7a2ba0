"""
Parts of words, such as the bytes that `tir.dot4` multiplies: each has one term, however it is cut out.

The term of bits `start` up to `start + n` is `trunci(shrui(word, start))`. For all integers of 16 bits,
`extras/proof/tests/test_proof_identities.py` shows that what is simplified to it has the same value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from xdsl.dialects import arith

from relex.dialects.arrays import Array
from relex.dialects.tir import Dot4Op
from relex.reference.domains.symbols import SymbolHead, head_of
from relex.reference.proof.rules import TERMS, Make
from relex.reference.proof.terms import Terms

INT8, INT32 = np.dtype(np.int8), np.dtype(np.int32)

_EXTENSIONS = {arith.ShRUIOp.name: arith.ExtUIOp.name, arith.ShRSIOp.name: arith.ExtSIOp.name}
"""The extension that produces the upper bits of a word for each kind of right shift."""


def truncation(source: np.dtype[Any], target: np.dtype[Any]) -> SymbolHead:
    """Return the head for the low bits of an integer."""

    def truncate(value: Any) -> Any:
        return np.asarray(value).astype(target)

    return SymbolHead(arith.TruncIOp.name, target, source.name, truncate)


def extension(name: str, source: np.dtype[Any], target: np.dtype[Any]) -> SymbolHead:
    """Return the head for an integer of more bits: of `arith.extui` or `arith.extsi`."""
    read = np.dtype(f"u{source.itemsize}") if name == arith.ExtUIOp.name else source

    def extend(value: Any) -> Any:
        return np.asarray(value).view(read).astype(target)

    return SymbolHead(name, target, source.name, extend)


def part_of(terms: Terms, word: Any, start: int, source: np.dtype[Any], target: np.dtype[Any]) -> Any:
    """Return the term of the bits from `start` on."""
    shifted = word
    if start:
        shift = terms.constant(source.type(start))
        shifted = terms.apply(head_of(arith.ShRUIOp.name, source), (word, shift))
    return terms.apply(truncation(source, target), (shifted,))


@dataclass(frozen=True)
class ShiftedPart:
    """Bits that are shifted to the left end of a word, and from there to the right one: `shrui` and `shrsi`."""

    name: str

    def apply(self, terms: Terms, head: SymbolHead, arguments: Sequence[int]) -> int | None:
        """Return the extension of a part of a word; None for other terms."""
        inner, right = arguments[0], terms.integer(arguments[1])
        if head.properties or terms.heads[inner].name != arith.ShLIOp.name or terms.heads[inner].dtype != head.dtype:
            return None
        word, shift = terms.arguments[inner]
        left = terms.integer(shift)
        if not right or left is None or not 0 <= left <= right:
            return None
        kept = 8 * head.dtype.itemsize - right
        if kept not in (8, 16, 32):
            return None
        part = np.dtype(f"i{kept // 8}")
        found = part_of(terms, terms.settle(word), right - left, head.dtype, part)
        return terms.apply(extension(_EXTENSIONS[self.name], part, head.dtype), (found,))


class TruncatedShift:
    """The low bits of a word shifted to the right, none of which is a copy of its sign."""

    name = arith.TruncIOp.name

    def apply(self, terms: Terms, head: SymbolHead, arguments: Sequence[int]) -> int | None:
        """Return the truncation of an unsigned shift for the truncation of a signed one; None for other terms."""
        inner = terms.heads[arguments[0]]
        if inner.name != arith.ShRSIOp.name or inner.properties or head.properties != inner.dtype.name:
            return None
        word, shift = map(terms.settle, terms.arguments[arguments[0]])
        right = terms.integer(shift)
        if right is None or not 0 <= right <= 8 * (inner.dtype.itemsize - head.dtype.itemsize):
            return None
        return part_of(terms, word, right, inner.dtype, head.dtype)


def simplifications() -> list[ShiftedPart | TruncatedShift]:
    """Return the rules for parts of words."""
    return [*map(ShiftedPart, _EXTENSIONS), TruncatedShift()]


@TERMS.rule(Dot4Op)
def make_dot4(op: Dot4Op, terms: Terms, function: Callable[..., Any]) -> Make:
    """Multiply the bytes of words, and add up the products."""

    def make(a: int, b: int) -> int:
        parts = [[part_of(terms, x, start, INT32, INT8) for start in (0, 8, 16, 24)] for x in (a, b)]
        return reduce(terms.make(head_of(arith.AddiOp.name, INT32)), map(byte_product(terms), *parts))

    return make


def byte_product(terms: Terms) -> Callable[[Any, Any], Any]:
    """Return the function from terms of an unsigned and a signed byte to the term of their product."""
    unsigned, signed = (terms.make(extension(kind.name, INT8, INT32)) for kind in (arith.ExtUIOp, arith.ExtSIOp))
    product = terms.make(head_of(arith.MuliOp.name, INT32))
    return lambda a, b: product(unsigned(a), signed(b))


def mixed_bytes(terms: Terms, total: Array, a: Array, b: Array) -> Array:
    """Return the terms of totals, to each of which four products of an unsigned and a signed byte are added."""
    products = terms.map(byte_product(terms), [x.reshape(-1, 4) for x in (a, b)])
    addition = terms.make(head_of(arith.AddiOp.name, INT32))
    return reduce(lambda x, y: terms.map(addition, [x, y]), np.moveaxis(products, 1, 0), total)


def split(terms: Terms, words: Array, source: np.dtype[Any], target: np.dtype[Any]) -> Array:
    """Return the terms of the parts of words, from the lowest bits on."""
    starts = range(0, 8 * source.itemsize, 8 * target.itemsize)

    def part(start: int) -> Array:
        def make(word: Any) -> Any:
            return part_of(terms, word, start, source, target)

        return terms.map(make, [words])

    return np.stack(list(map(part, starts)), -1).reshape(*words.shape[:-1], -1)
