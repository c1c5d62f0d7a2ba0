"""`expand-math`: powers of f32."""

from __future__ import annotations

import math
import platform
from itertools import product
from typing import Any

import numpy as np
import pytest

from relex.dialects import parse_module
from relex.dialects.target.target_attribute import Target
from relex.lowering import ExpandMathPass
from relex.reference import check_pass
from relex.runtime import build

Array = np.ndarray[Any, np.dtype[Any]]

T = "tensor<?xf32>"
PROGRAM = f"""
func.func @main(%x: {T}, %y: {T}) -> {T} {{
  %z = relex.power %x, %y : ({T}, {T}) -> {T}
  func.return %z : {T}
}}"""

TARGETS: dict[str, Target | None] = {"this machine": None}
if platform.machine() == "x86_64":
    TARGETS["no FMA"] = Target(Target.host().triple, "x86-64")
    TARGETS["4 lanes"] = Target(Target.host().triple, "x86-64-v3")

SIZES = (
    *(0, 0.1, 0.25, 0.5, 1, 1.5, 2, 2.5, 3, 4, 10, 38, 126, 127, 128, 148, 149, 150, 151, 1e10, math.inf, math.nan),
    *(1 - 2.0**-24, 1 + 2.0**-23, 2.0**23 - 0.5, 2.0**23, 2.0**23 + 1, 2.0**24 - 1, 2.0**24, 2.0**24 + 2, 2.0**127),
    *(2.0**-126, 2.0**-127, 2.0**-149, 3.4028235e38),
)


def expected(x: Array, y: Array) -> Array:
    """Powers to more digits than f32 has."""
    with np.errstate(all="ignore"):
        return np.power(x.astype(np.float64), y.astype(np.float64))


def check(x: Array, y: Array, target: Target | None = None) -> None:
    exact = expected(x, y)
    with np.errstate(all="ignore"):
        rounded = exact.astype(np.float32)
    found = build(PROGRAM, target=target)["main"](x, y)
    is_number = np.isfinite(rounded)
    np.testing.assert_array_equal(found[~is_number], rounded[~is_number])
    np.testing.assert_array_equal(np.signbit(found[is_number]), np.signbit(rounded[is_number]))
    unit = np.ldexp(1.0, np.maximum(np.frexp(exact[is_number])[1] - 24, -149))
    assert np.max(np.abs(found[is_number] - exact[is_number]) / unit, initial=0) < 0.502


def pairs(seed: int, count: int) -> list[tuple[Array, Array]]:
    """Numbers of all kinds, and such that powers are neither 0 nor infinite."""
    rng = np.random.default_rng(seed)
    of_bits = rng.integers(0, 2**32, (2, count), dtype=np.uint32).view(np.float32)
    sizes = rng.uniform(0, 2, count)
    with np.errstate(all="ignore"):
        found = [
            (of_bits[0], of_bits[1]),
            (np.exp(rng.uniform(-100, 88, count)), rng.uniform(-2, 2, count)),
            (1 + rng.normal(0, 0.001, count), rng.normal(0, 30000, count)),
            (rng.uniform(-10, 10, count), rng.integers(-40, 40, count)),
            (sizes, rng.uniform(-152, 129, count) / np.log2(sizes)),
        ]
        return [(x.astype(np.float32), y.astype(np.float32)) for x, y in found]


@pytest.mark.parametrize("target", TARGETS)
def test_powers_of_every_kind_of_number(target: str) -> None:
    for x, y in pairs(0, 50_000):
        check(x, y, TARGETS[target])


@pytest.mark.parametrize("target", TARGETS)
def test_powers_that_are_special(target: str) -> None:
    numbers = [*SIZES, *(-size for size in SIZES)]
    x, y = np.array(list(product(numbers, numbers)), np.float32).T.copy()
    check(x, y, TARGETS[target])


def test_representable_powers_are_exact() -> None:
    power = build(PROGRAM)["main"]
    x = np.concatenate([values[0] for values in pairs(1, 2000)])
    np.testing.assert_array_equal(power(x, np.ones_like(x)), x)
    whole = np.arange(-200, 200, dtype=np.float32)
    for exponent in (0.0, 2.0, 3.0):
        np.testing.assert_array_equal(power(whole, np.full_like(whole, exponent)), whole**exponent)


@pytest.mark.parametrize("size", [0, 1, 3, 17, 1000])
def test_lengths_that_fill_no_vector(size: int) -> None:
    x, y = (part[:size] for part in pairs(2, 1000)[1])
    check(x, y)


@pytest.mark.parametrize("shape", ["", "1x", "3x", "16x"])
def test_the_interpreter_agrees_on_powers(shape: str) -> None:
    v = f"vector<{shape}f32>" if shape else "f32"
    text = f"func.func @main(%x: {v}, %y: {v}) -> {v} {{ %z = math.powf %x, %y : {v} func.return %z : {v} }}"
    report = check_pass(ExpandMathPass(), parse_module(text))
    assert report.compared or shape
