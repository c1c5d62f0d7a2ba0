"""Sizes that are known at run time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relex.dialects.index.upper_terms import upper_terms, without_maxima
from relex.dialects.sizes import (
    MAX_SIZE,
    Requirement,
    Size,
    at_most,
    equal,
    evaluate,
    gathering,
    larger,
    name_of_size,
    named,
    names_in,
    never_negative,
    parse_index,
    parse_requirement,
    smaller,
    substitute,
)
from relex.dialects.sizes.requirements import Solver

n, m = named("n"), named("m")

SIZES = st.recursive(
    st.sampled_from([n, m]) | st.integers(-4, 9),
    lambda inner: (
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1])
        | st.tuples(inner, inner).map(lambda pair: pair[0] - pair[1])
        | st.tuples(inner, inner).map(lambda pair: pair[0] * pair[1])
        | st.tuples(inner, st.integers(1, 5)).map(lambda pair: pair[0] // pair[1])
        | st.tuples(inner, st.sampled_from([2, 3, 4])).map(lambda pair: pair[0] % pair[1])
        | st.tuples(inner, inner).map(lambda pair: smaller(*pair))
        | st.tuples(inner, inner).map(lambda pair: larger(*pair))
    ),
    max_leaves=6,
)

VALUES = st.fixed_dictionaries({"n": st.integers(0, 9), "m": st.integers(0, 9)})


@given(SIZES, SIZES, VALUES, st.integers(1, 5))
def test_arithmetic_on_sizes_is_that_on_numbers(a: Size, b: Size, values: dict[str, int], divisor: int) -> None:
    x, y = evaluate(a, values), evaluate(b, values)
    assert evaluate(a + b, values) == x + y
    assert evaluate(a - b, values) == x - y
    assert evaluate(a * b, values) == x * y
    assert evaluate(a // divisor, values) == x // divisor
    assert evaluate(a % divisor, values) == x % divisor
    assert evaluate(smaller(a, b), values) == min(x, y)
    assert evaluate(larger(a, b), values) == max(x, y)
    assert substitute(a, dict(values)) == x
    assert not never_negative(a) or x >= 0
    assert evaluate(parse_index(str(a)), values) == x


@given(SIZES)
def test_sizes_as_text(size: Size) -> None:
    assert parse_index(str(size)) == size


def test_texts_of_sizes_that_nest_deeply() -> None:
    size: Size = n
    for _ in range(250):
        size = (size + m) // 2
    assert str(size) == "(" * 250 + "m + n) // 2" + " + m) // 2" * 249
    for _ in range(250):
        size = size // 2  # Numbers stay within 64 bits.
    assert f" // {2**31}) // {2**31}" in str(size)


def test_what_is_known_of_extremes_and_quotients() -> None:
    assert never_negative(larger(n, m) + 3 - n)
    assert never_negative(n + m - larger(n, m))
    assert never_negative(n - smaller(n, m))
    assert not never_negative(smaller(n, m) - n)
    assert larger(larger(n, m) + 3, n + 1) == larger(n, m) + 3
    assert never_negative(4096 * n - 64 * ((4000 * n + 63) // 64))
    assert not never_negative(4096 * n - 64 * ((4000 * n + 64) // 64))


@given(SIZES, VALUES)
def test_bounds_without_maxima(size: Size, values: dict[str, int]) -> None:
    assert evaluate(without_maxima(size), values) >= evaluate(size, values)
    assert without_maxima(256 * larger(n + 2 * m, 3 * n) + 1) == 768 * n + 512 * m + 1


def test_one_form() -> None:
    assert n + m == m + n
    assert n * m * 4 == 2 * (m + m) * n
    assert n - n == 0
    assert (n * 12) // 4 == n * 3
    assert (n * 12) // 24 == n // 2
    assert (4 * n + 6) // 4 == n + 1
    assert smaller(n, n + 1) == n
    assert larger(n, 0) == n
    assert smaller(m, n) == smaller(n, m)
    assert (n - 3) // 2 + 1 == (n - 1) // 2
    assert (2 * n + 1) // 4 == n // 2
    assert (n // 4) * 4 + n % 4 == n
    assert (n // 2 + 1) // 3 == (n + 2) // 6 != (n // 2) // 3
    assert ((((n + 1) // 2 + 1) // 2 + 1) // 2) == (n + 7) // 8
    assert ((n - 1) // 2 * 6 + 3) // 6 == (n - 1) // 2
    assert (n // 2 + 1) // 3 * 3 + (n // 2 + 1) % 3 == n // 2 + 1
    assert (3 * n) // 2 == n + n // 2
    assert (n + (7 - n % 7) % 7) % 7 == (n + 6 * (n % 7)) % 7 == (n - n % 14) % 7 == 0
    assert str((n - 3) // 2 * 4 + n * m - 1) == "m * n + 4 * ((n + 1) // 2) - 9"
    assert str(3 * (n * m % 4)) == "3 * ((m * n) % 4)"
    assert name_of_size(n) == "n"
    assert name_of_size(n + 1) is name_of_size(2 * n) is name_of_size(3) is None
    assert names_in(smaller(n // 2, m) + n) == ["m", "n"]


def test_no_truth_value() -> None:
    with pytest.raises(TypeError, match="no truth value: n"):
        bool(n)


def test_upper_terms() -> None:
    assert str(upper_terms((n - 2) // 2 + 1 - m)) == str(upper_terms(n // 2))
    assert upper_terms(smaller(n, 4)) == upper_terms(4)
    assert upper_terms(larger(n, 4)) == upper_terms(n + 4)


@pytest.mark.parametrize(
    "text", ["", "n +", "n / 2", "n // m", "n // 0", "n % 0", "f(n)", "min(n)", "True", "1.5", "n == m"]
)
def test_texts_that_are_no_sizes(text: str) -> None:
    with pytest.raises(ValueError, match="expected a size"):
        parse_index(text)


@pytest.mark.parametrize("text", ["n", "n < m", "n == m == 3"])
def test_texts_that_are_no_requirements(text: str) -> None:
    with pytest.raises(ValueError, match="expected a comparison by '==' or '<='"):
        parse_requirement(text)


def test_what_depends_on_the_run_is_gathered() -> None:
    with gathering() as found:
        assert equal(3, 3)
        assert not equal(3, 4)
        assert equal(n, n)
        assert not equal(n, n + 1)
        assert at_most(n, n + m)
        assert not at_most(n + 1, n)
        assert not found
        assert equal(2 * n, 2 * m)
        assert at_most(4, 4 * n)
    assert [str(r) for r in found] == ["n == m", "1 <= n"]
    assert [parse_requirement(str(r)) for r in found] == found
    assert equal(n, m)  # Nobody gathers.


def test_requirements() -> None:
    requirement = Requirement(n, "<=", m)
    assert requirement.holds is None
    assert requirement.substitute({"m": n + 1}).holds
    assert requirement.substitute({"m": 1, "n": 2}).holds is False
    assert str(Requirement(2 * n + 4 * m + 3, "==", 5 * n + 1).reduced()) == "4 * m + 2 == 3 * n"
    assert str(Requirement(-n, "<=", m - 3).reduced()) == "3 <= m + n"
    assert str(Requirement(n - m, "==", 2).reduced()) == "n == m + 2"
    assert str(Requirement(n, "==", m - 2).reduced()) == "n == m - 2"
    assert str(Requirement(3, "<=", 2 * n).reduced()) == "2 <= n"
    assert str(Requirement(2 * n, "<=", 3).reduced()) == "n <= 1"
    assert Requirement(2 * ((n - 3) // 2) + 3, "<=", n).holds
    assert Requirement(0, "<=", n).holds
    assert Requirement(n + 5, "<=", 3).holds is False
    assert Requirement(3 * n, "==", 4).holds is False
    assert Requirement(3 * n, "==", 6).holds is None
    assert Requirement(n, "<=", MAX_SIZE).holds is None


def test_all_earlier_requirements_must_hold() -> None:
    """A size that becomes known makes requirements true or false."""
    solver = Solver()
    x, y = solver.name("x"), solver.name("y")
    assert solver.require(Requirement(x, "<=", 3))
    assert solver.require(Requirement(y, "<=", 3))
    assert solver.require(Requirement(y, "==", 2))
    assert solver.left == [Requirement(x, "<=", 3)]
    assert solver.require(Requirement(2, "<=", x))
    assert not solver.require(Requirement(x, "==", 7))
