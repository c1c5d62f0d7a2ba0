"""Polynomials with the smallest largest error, by Remez' algorithm in decimal numbers of many digits.

At the best polynomial of n coefficients the error is equally large, with alternating signs, at n + 1 places. From
some places come a polynomial with equal errors there, from this the places where its error is largest, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, getcontext

getcontext().prec = 60

Function = Callable[[Decimal], Decimal]

PLACES = 600
"""How densely the error is looked at."""

EPSILON = Decimal(10) ** -58


def fit(function: Function, weight: Function, low: Decimal, high: Decimal, count: int) -> list[Decimal]:
    """The `count` coefficients, lower powers first, of the polynomial for which the largest error times `weight` is
    smallest."""
    middle, radius = (low + high) / 2, (high - low) / 2
    # Denser at the ends, where errors are largest.
    grid = [middle - radius * _cosine(PI * (2 * i + 1) / (2 * PLACES)) for i in range(PLACES)]
    values, weights = [function(x) for x in grid], [weight(x) for x in grid]
    chosen = [int((i + 0.5) * PLACES / (count + 1)) for i in range(count + 1)]
    while True:
        rows = [
            [*(grid[i] ** k for k in range(count)), (-1) ** turn / weights[i], values[i]]
            for turn, i in enumerate(chosen)
        ]
        coefficients = _solve(rows)[:count]
        errors = [(v - value_at(coefficients, x)) * w for x, v, w in zip(grid, values, weights, strict=True)]
        extremes = _extremes(errors, count + 1)
        if extremes == chosen:
            return coefficients
        chosen = extremes


def _extremes(errors: Sequence[Decimal], count: int) -> list[int]:
    """Where the error is largest between two changes of its sign, for the `count` largest side by side."""
    found: list[int] = []
    for i, error in enumerate(errors):
        if not found or (errors[found[-1]] > 0) != (error > 0):
            found.append(i)
        elif abs(error) > abs(errors[found[-1]]):
            found[-1] = i
    while len(found) > count:
        found.pop(0 if abs(errors[found[0]]) < abs(errors[found[-1]]) else -1)
    return found


def value_at(coefficients: Sequence[Decimal], x: Decimal) -> Decimal:
    """The value of a polynomial."""
    result = Decimal(0)
    for coefficient in reversed(coefficients):
        result = result * x + coefficient
    return result


def _solve(rows: list[list[Decimal]]) -> list[Decimal]:
    """The solution of linear equations, each given by its factors and its right side."""
    for i in range(len(rows)):
        pivot = max(range(i, len(rows)), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r, row in enumerate(rows):
            if r != i:
                factor = row[i] / rows[i][i]
                rows[r] = [a - factor * b for a, b in zip(row, rows[i], strict=True)]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


def series(term: Callable[[int], Decimal]) -> Decimal:
    """The sum of terms that get smaller."""
    total, k = Decimal(0), 0
    while abs(part := term(k)) > EPSILON:
        total, k = total + part, k + 1
    return total


def arctangent(x: Decimal) -> Decimal:
    return series(lambda k: (-1) ** k * x ** (2 * k + 1) / (2 * k + 1))


PI = 16 * arctangent(1 / Decimal(5)) - 4 * arctangent(1 / Decimal(239))


def _cosine(x: Decimal) -> Decimal:
    total = part = Decimal(1)
    k = 0
    while abs(part) > EPSILON:
        k += 2
        part *= -x * x / (k * (k - 1))
        total += part
    return total


def tanh(x: Decimal) -> Decimal:
    power = (2 * x).exp()
    return (power - 1) / (power + 1)


def erf(x: Decimal) -> Decimal:
    total = part = x
    k = 0
    while abs(part) > EPSILON:
        k += 1
        part *= 2 * x * x / (2 * k + 1)
        total += part
    return 2 / PI.sqrt() * (-x * x).exp() * total
