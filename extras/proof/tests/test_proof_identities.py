"""What proofs know about arithmetic holds: for all numbers of 8 and 16 bits, and for special pairs of the latter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rule_proofs import same, samples_of, values_of
from xdsl.dialects.builtin import f16, i1, i8

from relex.reference.domains.symbols import head_of
from relex.reference.proof.float_order import Order
from relex.reference.proof.identities import AnyTerm, Identity, Pattern, TermApplication, identities
from relex.reference.proof.subword import simplifications, truncation
from relex.reference.proof.terms import CHAINS, COMMUTATIVE, ELEMENT, Terms

Array = Any


def evaluate(pattern: Pattern, values: dict[str, Array], dtype: np.dtype[Any]) -> Array:
    """Return the value of one side of an identity, by the functions of the interpreter."""
    match pattern:
        case AnyTerm(name=name):
            return values[name]
        case TermApplication():
            # The only op on booleans in identities of other types.
            kind = np.dtype(np.bool_) if pattern.name == "arith.xori" else dtype
            arguments = [evaluate(a, values, kind) for a in pattern.arguments]
            function = head_of(pattern.name, dtype if kind == dtype else kind).function
            assert function is not None
            return np.asarray(function(*arguments))
        case _:
            return np.array(pattern).astype(dtype)


def pool(dtype: np.dtype[Any], count: int) -> Array:
    """Return all numbers of a type for one variable, some for each of several."""
    if dtype == np.bool_:
        return values_of(i1)
    if dtype == np.int8:
        return values_of(i8) if count < 3 else samples_of(i8)[-40:]
    return values_of(f16) if count == 1 else samples_of(f16)[-300 if count == 2 else -30 :]


def grid(names: list[str], dtype: np.dtype[Any]) -> dict[str, Array]:
    """Return values of variables, in all combinations; `c` is a boolean."""
    kinds = [np.dtype(np.bool_) if name == "c" else dtype for name in names]
    count = sum(name != "c" for name in names)
    columns = np.meshgrid(*(pool(kind, count) for kind in kinds), indexing="ij")
    return {name: np.ascontiguousarray(c).reshape(-1) for name, c in zip(names, columns, strict=True)}


TYPES = {"float": [np.float16], "integer": [np.int8], "any": [np.float16, np.int8]}
DIVISIONS = ("divsi", "divui", "floordivsi")


@pytest.mark.parametrize("identity", identities(), ids=lambda identity: identity.text)
def test_identities(identity: Identity):
    for kind in TYPES[identity.kind]:
        dtype = np.dtype(kind)
        left, right = identity.sides
        if any(name in identity.text for name in DIVISIONS):
            # By 1, which no signedness changes.
            x = values_of(i8)
            assert np.array_equal(x // np.int8(1), x)
            continue
        values = grid(identity.variables, dtype)
        with np.errstate(all="ignore"):
            assert same(*np.broadcast_arrays(evaluate(left, values, dtype), evaluate(right, values, dtype)))


@pytest.mark.parametrize("name", CHAINS)
def test_chains(name: str):
    """A chain is associative and commutative; what it drops changes nothing."""
    chain, dtype = CHAINS[name], np.dtype(np.float16 if name.endswith("f") else np.int8)
    function: Any = {"arith.maxui": np.maximum, "arith.minui": np.minimum}.get(name) or head_of(name, dtype).function
    assert function is not None
    values = grid(["x", "y", "z"], dtype)
    x, y, z = (v.view(np.uint8) if name.endswith("ui") else v for v in values.values())
    with np.errstate(all="ignore"):
        assert same(function(x, y), function(y, x))
        assert same(function(function(x, y), z), function(x, function(y, z)))
        if chain.neutral is not None:
            assert same(function(x, np.array(chain.neutral(dtype)).astype(dtype).view(x.dtype)), x)
        if chain.is_idempotent:
            assert same(function(x, x), x)
        if chain.cancels:
            assert same(function(function(x, y), y), x)


@pytest.mark.parametrize("name", [name for name in sorted(COMMUTATIVE) if "cmpi" not in name])
def test_commutative(name: str):
    x, y = grid(["x", "y"], np.dtype(np.float16)).values()
    function = head_of(name, np.dtype(np.float16)).function
    assert function is not None
    with np.errstate(all="ignore"):
        expected, found = function(x, y), function(y, x)
    # Which of two zeros `maxnumf` and `minnumf` return is not specified.
    zeros = (x == 0) & (y == 0) if "num" in name else np.zeros(x.shape, np.bool_)
    assert same(np.where(zeros, np.float16(0), expected), np.where(zeros, np.float16(0), found))


@pytest.mark.parametrize(("integers", "floats"), [("arith.maxsi", "arith.maximumf"), ("arith.minsi", "arith.minimumf")])
def test_order_of_integers(integers: str, floats: str):
    """In the order of their integers, each float is the extreme of itself and those before it, and NaNs are last."""
    dtype = np.dtype(np.float16)
    order, extreme = Order.of(dtype, integers), head_of(floats, dtype).function
    assert extreme is not None
    values = values_of(f16)
    numbers = order.integers(values)
    assert len(np.unique(numbers)) == len(values)
    assert same(order.floats(numbers), values)
    ordered = values[np.argsort(numbers if integers == "arith.maxsi" else -1 - numbers)]
    with np.errstate(all="ignore"):
        assert same(extreme(ordered[:-1], ordered[1:]), ordered[1:])
    assert np.isnan(ordered[-1])


@pytest.mark.parametrize("name", ["arith.shrui", "arith.shrsi"])
def test_parts_of_words(name: str):
    """Bits that are shifted to the left and back, and the low ones of what is shifted to the right, for all integers of
    16 bits: what they are simplified to has the same value."""
    words, narrow = np.arange(-(2**15), 2**15).astype(np.int16), np.dtype(np.int8)
    terms, dtype = Terms(simplifications()), words.dtype
    (word,) = terms.elements("x", (1,), dtype).tolist()
    simplified = 0
    for left in range(16):
        shifted = terms.apply(head_of("arith.shli", dtype), (word, terms.constant(dtype.type(left))))
        for right in range(16):
            number = terms.constant(dtype.type(right))
            back = terms.apply(head_of(name, dtype), (shifted, number))
            low = terms.apply(truncation(dtype, narrow), (terms.apply(head_of(name, dtype), (word, number)),))
            is_simple = terms.heads[back].name.startswith("arith.ext")
            assert is_simple == (right == 8 and left <= 8)
            if 0 < right <= 8:
                assert terms.heads[int(terms.arguments[low][0])].name == "arith.shrui"
            simplified += is_simple
            moved = np.left_shift(words, np.int16(left))
            assert np.array_equal(value_of(terms, back, words), shifted_right(name, moved, right))
            assert np.array_equal(value_of(terms, low, words), shifted_right(name, words, right).astype(np.int8))
    assert simplified == 9


def shifted_right(name: str, words: Array, count: int) -> Array:
    if name == "arith.shrsi":
        return np.right_shift(words, np.int16(count))
    return np.right_shift(words.view(np.uint16), np.uint16(count)).view(np.int16)


def value_of(terms: Terms, term: int, words: Array) -> Array:
    """Return the values of a term of one argument, for each number that this may be."""
    if (value := terms.value(term)) is not None:
        return value
    head = terms.heads[term]
    if head.name == ELEMENT:
        return words
    assert head.function is not None
    return np.asarray(head.function(*(value_of(terms, a, words) for a in terms.arguments[term]))).astype(head.dtype)
