"""Residues of single numbers, in Python's integers: NumPy's functions take ten times as long for one. They are those
that `field` computes for arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from relex.reference.proof.terms import COMMUTATIVE, EXACT_PRODUCT, Head

BITS = 61
P = 2**BITS - 1
"""The prime."""

FIRST, SECOND = 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53
"""Odd factors that mix bits, those of MurmurHash3."""

CONSTANT, SUM = 1 << 61, 1 << 62
"""The bits of a term that say that it is a number, and a sum in any order."""

_WORD = 2**64 - 1


def are_single(*terms: object) -> bool:
    """Return whether all terms are single ones, and none is a number, for which more is known."""
    for term in terms:
        if type(term) is not int or term & CONSTANT:
            return False
    return True


def applied(head: Head, key: int, arguments: Sequence[int]) -> int:
    """Return the residue of an op without further laws."""
    if head.name in COMMUTATIVE or head.name == EXACT_PRODUCT:
        a, b = arguments
        return _mixed(_mixed(a + b & _WORD, key) ^ ((a ^ key) * (b ^ key) & _WORD), key) & P
    result = key
    for word in arguments:
        result = _mixed(result ^ word, key)
    return _mixed(result, key) & P


def added(a: int, b: int) -> int:
    """Return the sum of two terms."""
    return _reduced((a & P) + (b & P)) | SUM


def chained(key: int, a: int, b: int) -> int:
    """Return what an associative and commutative op makes of two terms."""
    return permuted_back(_reduced(permuted(a, key) + permuted(b, key)), key)


def _mixed(word: int, key: int) -> int:
    word = (word ^ key) * FIRST & _WORD
    word = (word ^ (word >> 32)) * SECOND & _WORD
    return word ^ (word >> 31)


def permuted(word: Any, key: Any) -> Any:
    """Permute the numbers of 61 bits. A word that is not that of a chain becomes one first: sums and numbers get
    others. Words may be an array, too."""
    residue = (word ^ ((word >> BITS) * FIRST)) & P
    residue = (residue ^ (residue >> 31)) * key & P
    return (residue ^ (residue >> 31)) * FIRST & P


def permuted_back(residue: Any, key: Any) -> Any:
    """Undo `permuted`."""
    residue = residue * _inverse(FIRST) & P
    residue = (residue ^ (residue >> 31)) * _inverse(int(key)) & P
    return residue ^ (residue >> 31)


@cache
def _inverse(key: int) -> int:
    return pow(key, -1, 1 << BITS)


def _reduced(word: int) -> int:
    word = (word & P) + (word >> BITS)
    return 0 if word == P else word
