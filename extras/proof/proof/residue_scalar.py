"""The arithmetic of residues: of arrays, or of single ones in Python's integers, as NumPy's functions take ten times as
long for one."""

from __future__ import annotations

from functools import cache
from typing import Any

from relex.reference.domains.symbols import SymbolHead
from relex.reference.proof.terms import COMMUTATIVE, EXACT_PRODUCT

BITS = 61
P = 2**BITS - 1
"""The prime."""

FIRST, SECOND = 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53
"""Odd factors that mix bits, from MurmurHash3."""

IS_NUMBER, IS_SUM = 1 << 61, 1 << 62
"""The bits of a term that say that it is a number, and a sum in any order."""

_WORD = 2**64 - 1


def are_single(*terms: object) -> bool:
    """Return whether all terms are single ones, and none is a number, for which more is known."""
    for term in terms:
        if type(term) is not int or term & IS_NUMBER:
            return False
    return True


def hashed(head: SymbolHead, key: Any, *words: Any) -> Any:
    """Return the residue of an op without further laws."""
    if head.name in COMMUTATIVE or head.name == EXACT_PRODUCT:
        a, b = words
        return mixed(mixed(_wrapped(a + b), key) ^ _wrapped((a ^ key) * (b ^ key)), key) & P
    result = key
    for word in words:
        result = mixed(result ^ word, key)
    return mixed(result, key) & P


def chained(key: Any, a: Any, b: Any) -> Any:
    """Return what an associative and commutative op makes of two terms."""
    return permuted_back(reduced(permuted(a, key) + permuted(b, key)), key)


def flipped(key: Any, word: Any) -> Any:
    """Return another residue, of which this function returns the first one."""
    return word ^ key


def mixed(word: Any, key: Any) -> Any:
    """Return words that look random for other words."""
    word = _wrapped((word ^ key) * FIRST)
    word = _wrapped((word ^ (word >> 32)) * SECOND)
    return word ^ (word >> 31)


def _wrapped(word: Any) -> Any:
    """Return the low 64 bits of words; elements of arrays have no others."""
    return word & _WORD if type(word) is int else word


def permuted(word: Any, key: Any) -> Any:
    """Permute the numbers of 61 bits. A word that is not the word of a chain becomes one first: sums and numbers get
    others."""
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


def reduced(word: Any) -> Any:
    """Return words modulo P. They are less than 2 P."""
    word = (word & P) + (word >> BITS)
    return word * (word != P)
