"""
Maxima and minima of floats that are computed on integers of the same order, as `order_as_integers` schedules them.

The integer of a float is its bits with all but the sign inverted if the sign is set, shifted so that NaNs of both signs
come last: after all others for a maximum, before them for a minimum. `extras/proof/tests/test_proof_identities.py`
shows for all floats of 16 bits that this is the order of `arith.maximumf` and `arith.minimumf`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np

from relex.dialects.arrays import Array
from relex.dialects.dtypes import element_type_of, is_float_dtype, record_of
from relex.reference.domains.symbols import SymbolHead, head_of
from relex.reference.proof.terms import Terms


@dataclass(frozen=True)
class Order:
    """The integers of the floats of a dtype."""

    dtype: np.dtype[Any]
    shift: int
    """The number added to the bits: negative for maxima."""

    @classmethod
    def of(cls, dtype: np.dtype[Any], extreme: str) -> Order:
        """Return the order in which `arith.maxsi` or `arith.minsi` finds the extreme of floats."""
        nans = 2 ** record_of(element_type_of(dtype)).fraction_bits - 1
        return cls(dtype, -nans if extreme == "arith.maxsi" else nans)

    @property
    def integer(self) -> np.dtype[Any]:
        """The type of the integers."""
        return np.dtype(f"i{self.dtype.itemsize}")

    def integers(self, floats: Array) -> Array:
        """Return the integers of floats."""
        with np.errstate(over="ignore"):
            return self._turned(floats.view(self.integer)) + self.integer.type(self.shift)

    def floats(self, integers: Any) -> Array:
        """Return the floats of integers."""
        with np.errstate(over="ignore"):
            bits = self._turned(np.asarray(integers) - self.integer.type(self.shift))
        return bits.view(self.dtype)

    def _turned(self, bits: Any) -> Any:
        all_but_sign = self.integer.type(np.iinfo(self.integer).max)
        return bits ^ (bits >> (8 * self.dtype.itemsize - 1) & all_but_sign)


class ExtremeOfIntegers:
    """The float of the largest or smallest of the integers of floats is the largest or smallest of these."""

    name = "arith.bitcast"

    def apply(self, terms: Terms, head: SymbolHead, arguments: Sequence[int]) -> int | None:
        """Return the extreme of floats for one that was found on integers; None for other terms."""
        if not is_float_dtype(head.dtype) or (shifted := _turned(terms, head.dtype, arguments[0])) is None:
            return None
        for integers, floats in (("arith.maxsi", "arith.maximumf"), ("arith.minsi", "arith.minimumf")):
            order = Order.of(head.dtype, integers)
            best = _added(terms, shifted, -order.shift)
            if best is None:
                continue
            parts = terms.arguments[best] if terms.heads[best].name == integers else (best,)
            found = [_float_of(terms, order, part) for part in parts]
            if None not in found:
                return reduce(partial(terms.join, head_of(floats, head.dtype)), [n for n in found if n is not None])
        return None


def _turned(terms: Terms, dtype: np.dtype[Any], term: int) -> int | None:
    """Return the term whose bits but the sign are inverted if the sign is set."""
    bits = 8 * dtype.itemsize
    for n, mask in _pairs(terms, term, "arith.xori"):
        for sign, constant in _pairs(terms, mask, "arith.andi"):
            is_sign = terms.heads[sign].name == "arith.shrsi" and terms.settle(terms.arguments[sign][0]) == n
            is_sign = is_sign and terms.integer(terms.arguments[sign][1]) == bits - 1
            if is_sign and terms.integer(constant) == 2 ** (bits - 1) - 1:
                return n
    return None


def _added(terms: Terms, term: int, number: int) -> int | None:
    """Return the term to which a number is added."""
    return next((n for n, other in _pairs(terms, term, "arith.addi") if terms.integer(other) == number), None)


def _float_of(terms: Terms, order: Order, term: int) -> int | None:
    """Return the term of a float, given the term of its integer."""
    value = terms.value(term)
    if value is not None:
        number = order.floats(value)
        return terms.constant(number[()]) if order.integers(number) == value else None
    shifted = _added(terms, term, order.shift)
    bits = _turned(terms, order.dtype, shifted) if shifted is not None else None
    if bits is None or terms.heads[bits].name != "arith.bitcast":
        return None
    found = int(terms.arguments[bits][0])
    return found if terms.heads[found].dtype == order.dtype else None


def _pairs(terms: Terms, term: int, name: str) -> list[tuple[int, int]]:
    """Return the two arguments of a term of an op, in both orders; nothing for others."""
    term = terms.settle(term)
    if terms.heads[term].name != name or len(terms.arguments[term]) != 2:
        return []
    a, b = map(terms.settle, terms.arguments[term])
    return [(a, b), (b, a)]
