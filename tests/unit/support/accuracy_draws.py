"""Numbers at which functions of floats are measured, and errors in units in the last place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from many_digits import Number, mp

from relex.dialects.element_types import ElementType

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Range:
    """The numbers of an element type: powers of two."""

    smallest: int
    """The smallest number above 0."""

    normal: int
    """The smallest normal number."""

    end: int
    """What comes after the largest number."""

    @classmethod
    def of(cls, element: ElementType) -> Range:
        normal = 1 - element.exponent_bias
        return cls(normal - element.fraction_bits, normal, element.exponent_bias + 1)


def critical(element: ElementType) -> list[float]:
    """Numbers above 0 near which functions change: zeros and poles, multiples of a right angle, where exponentials and
    powers leave the range, and where formulas have an end."""
    span = Range.of(element)
    powers = [span.smallest - 1, span.smallest, span.normal, span.end]
    ends = [abs(power) * factor for power in powers for factor in (1.0, math.log(2), 0.5 * math.log(2))]
    roots = [2.0 ** (power / root) for power in powers for root in (2, 3) if abs(power / root) < 1000]
    # erfc and the normal distribution have a square in the exponent.
    tails = [math.sqrt(abs(power) * math.log(2) * factor) for power in powers for factor in (1, 2)]
    # The last three are next to a multiple of a right angle, relative to their size.
    angles = [k * math.pi / 4 for k in (*range(1, 13), 100, 1001, 2**20)] + [22.0, 355.0, 16367173 * 2.0**72]
    angles.append(6381956970095103 * 2.0**797)
    changes = [0.05, 0.1, 0.25, 1 / 3, 0.5, 0.6, 0.5**0.5, 1.0, 2**0.5, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 20.0]
    changes += [24.0, 28.0, 40.0, math.e, math.log(2) / 2, math.log(2)]
    return [*ends, *roots, *tails, *angles, *changes]


@cache
def draw(element: ElementType, fine: float) -> Array:
    """Finite numbers of a type, in their order, and then zeros, infinities and NaN. All numbers of a type of 16 bits if
    `fine` is 0; else about `fine` of each power of two, which may be less than one, and more where functions change."""
    dtype, rng = element.numpy, np.random.default_rng(0)
    if not fine:
        patterns = np.arange(2**16, dtype=np.uint16).view(dtype)
        with np.errstate(invalid="ignore"):  # The dtype of bf16 says so of its NaNs.
            return np.concatenate([patterns[np.isfinite(patterns) & (patterns != 0)], special(element)])
    span = Range.of(element)
    exponents = rng.integers(span.smallest, span.end, int(fine * (span.end - span.smallest)))
    if fine >= 1:
        exponents = np.repeat(np.arange(span.smallest, span.end), int(fine))
    spread = np.ldexp(rng.uniform(1, 2, exponents.size), exponents)
    ordinary = np.exp2(rng.uniform(-element.fraction_bits - 2, 8, int(100 * fine)))
    limit = -span.smallest * math.log(2) * 1.05
    even = rng.uniform(0, limit, int(100 * fine))
    with np.errstate(over="ignore"):
        near = _near(np.array(critical(element)).astype(dtype), element, fine)
        positive = np.concatenate([*(part.astype(dtype) for part in (spread, ordinary, even)), near])
    positive = positive[np.isfinite(positive) & (positive > 0)]
    return np.concatenate([np.unique(np.concatenate([positive, -positive])), special(element)])


def _near(values: Array, element: ElementType, fine: float) -> Array:
    """Numbers on both sides of others, at distances from the next number to a half."""
    values = values[np.isfinite(values)]
    steps = 2 ** np.arange(0, element.fraction_bits, max(1, int(8 / fine)))
    bits = values.view(f"i{element.size}")[:, None]
    around = np.concatenate([bits, bits + steps, bits - steps], axis=1).astype(bits.dtype)
    return around.ravel().view(element.numpy)


def special(element: ElementType) -> Array:
    """Zeros, infinities and NaN, and the ends of the range."""
    span = Range.of(element)
    largest = math.ldexp(2 - 2.0**-element.fraction_bits, span.end - 1)
    ends = [1.0, math.ldexp(1, span.smallest), math.ldexp(1, span.normal), largest]
    return np.array([0.0, -0.0, math.inf, -math.inf, math.nan, *ends, *(-end for end in ends)]).astype(element.numpy)


def draws(element: ElementType, fine: float, operands: int) -> Sequence[Array]:
    """Numbers for each operand of a function."""
    numbers = draw(element, fine)
    if operands == 1:
        return [numbers]
    rng = np.random.default_rng(1)
    some = np.concatenate([numbers, _ordinary(rng, element, int(500 * fine))])
    pairs = np.array(list(product(special(element), repeat=operands)), element.numpy).T
    drawn = [np.concatenate([rng.permutation(some), rng.permutation(some), row]) for row in pairs]
    if operands == 2:
        drawn = [np.concatenate(parts) for parts in zip(drawn, _powers(rng, element, int(500 * fine)), strict=True)]
    return drawn


def _ordinary(rng: np.random.Generator, element: ElementType, count: int) -> Array:
    """Numbers whose products and quotients are in the range; half of them whole."""
    numbers = rng.standard_normal(count) * 10
    return np.concatenate([numbers, np.rint(numbers)]).astype(element.numpy)


def _powers(rng: np.random.Generator, element: ElementType, count: int) -> Sequence[Array]:
    """Bases and exponents whose powers are spread over the whole range, and leave it."""
    span = Range.of(element)
    logarithm = rng.uniform(span.smallest - 3, span.end + 1, count)
    size = np.exp2(rng.uniform(-element.fraction_bits, math.log2(span.end), count))
    base = np.exp2(rng.choice([-1, 1], count) * size)
    with np.errstate(all="ignore"):
        base = np.clip(base, 2.0**span.normal, 2.0 ** (span.end - 1)).astype(element.numpy)
        exponent = (logarithm / np.log2(base.astype(np.float64))).astype(element.numpy)
        whole = np.rint(exponent.astype(np.float64)).astype(element.numpy)
    signed = np.where(rng.random(count) < 0.5, base, -base)
    return [np.concatenate([base, signed]), np.concatenate([exponent, whole])]


@dataclass(frozen=True)
class Results:
    """What a function is, with 100 digits, at some places: `(near + rest) * unit`, where the unit is the unit of the
    last place of the result, and `near` a whole number, an infinity or NaN."""

    element: ElementType
    unit: Array
    """As a power of two."""
    near: Array
    rest: Array
    negative: Array
    """The sign, of zeros and what underflows as well."""

    def errors(self, found: Array) -> Array:
        """Return the errors in units in the last place; infinite for another NaN, infinity or sign of zero."""
        wide, span = found.astype(np.float64), Range.of(self.element)
        with np.errstate(all="ignore"):
            # Infinity is what comes after the largest number, unless the result is infinite itself.
            units = np.ldexp(wide, -self.unit)
            end = np.copysign(np.ldexp(1.0, span.end - self.unit), wide)
            units = np.where(np.isinf(wide) & np.isfinite(self.near), end, units)
            difference = np.abs((units - self.near) - self.rest)
        same = np.where(np.isnan(self.near), np.isnan(wide), wide == self.near)
        errors = np.where(np.isfinite(self.near) & ~np.isnan(units), difference, np.where(same, 0, np.inf))
        wrong_sign = (wide == 0) & (np.signbit(wide) != self.negative) & ~np.isnan(self.near)
        return np.where(wrong_sign, np.inf, errors)


def results(element: ElementType, values: Sequence[Any]) -> Results:
    """Return results for numbers of mpmath, or floats where they are exact."""
    parts = [_in_units(element, value) for value in values]
    unit, near, rest, negative = (np.array(column) for column in zip(*parts, strict=True))
    return Results(element, unit.astype(np.int32), near.astype(np.float64), rest.astype(np.float64), negative)


def _in_units(element: ElementType, value: Any) -> tuple[int, float, float, bool]:
    span = Range.of(element)
    lowest = span.smallest
    if isinstance(value, mp.mpc) or value != value:
        return lowest, math.nan, 0.0, False
    if value == 0:
        return lowest, 0.0, 0.0, math.copysign(1, value) < 0 if isinstance(value, float) else False
    if abs(value) == math.inf:
        return lowest, float(value), 0.0, value < 0
    number = mp.mpf(value)
    exponent = mp.frexp(number)[1] - 1
    unit = min(max(exponent - element.fraction_bits, lowest), span.end - 1 - element.fraction_bits)
    scaled = mp.ldexp(number, -unit)
    limit = 1 << element.fraction_bits + 1
    scaled = min(max(scaled, mp.mpf(-limit)), mp.mpf(limit))
    near = mp.nint(scaled)
    return unit, float(near), float(scaled - near), value < 0


def evaluate(function: Callable[..., Number], in_numpy: Callable[..., Array], operands: Sequence[Array]) -> list[Any]:
    """Return values with 100 digits; for zeros, infinities and NaN the values of NumPy, whose sign zeros have."""
    wide = [operand.astype(np.float64) for operand in operands]
    with np.errstate(all="ignore"):
        given: list[Any] = np.asarray(in_numpy(*wide), np.float64).tolist()
    is_special = np.logical_or.reduce([~np.isfinite(x) | (x == 0) for x in wide])
    rows = zip(*(x.tolist() for x in wide), strict=True)
    values = [
        value if ready else function(*map(mp.mpf, row))
        for value, ready, row in zip(given, is_special.tolist(), rows, strict=True)
    ]
    return [math.copysign(0.0, one) if value == 0 else value for value, one in zip(values, given, strict=True)]
