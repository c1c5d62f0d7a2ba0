"""`expand-math`: its coefficients, and how exact the functions are."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import factorial
from typing import Any

import minimax
import numpy as np
import pytest
from minimax import PI, erf, fit, series, tanh
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, FloatAttr, ModuleOp, f32
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.utils.hints import isa

from relex.dialects import make_context, parse_module
from relex.dialects.element_types import ElementType
from relex.dialects.target.target_attribute import Target
from relex.lowering import ExpandMathPass
from relex.lowering.math_approximations import coefficients
from relex.lowering.math_approximations.number_operators import F32, F64
from relex.passes.driver.base import RelexPass
from relex.reference import check_pass
from relex.reference.equivalence.check import Checker
from relex.runtime import build

Array = np.ndarray[Any, np.dtype[Any]]

LN2 = Decimal(2).ln()
ROOT = Decimal(2).sqrt()
TINY = Decimal("1e-12")


def exp_rest(r: Decimal) -> Decimal:
    return series(lambda k: r**k / factorial(k + 2))


def log_rest(z: Decimal) -> Decimal:
    return series(lambda k: 2 * z**k / (2 * k + 3))


def erf_ratio(z: Decimal) -> Decimal:
    return erf(z.sqrt()) / z.sqrt()


def tanh_ratio(z: Decimal) -> Decimal:
    return tanh(z.sqrt()) / z.sqrt()


def sin_rest(z: Decimal) -> Decimal:
    return series(lambda k: (-1) ** (k + 1) * z**k / factorial(2 * k + 3))


def cos_rest(z: Decimal) -> Decimal:
    return series(lambda k: (-1) ** (k + 1) * z**k / factorial(2 * k + 2))


def exp2_ratio(r: Decimal) -> Decimal:
    return series(lambda k: LN2 ** (k + 1) * r**k / factorial(k + 1))


def log2_ratio(z: Decimal) -> Decimal:
    return 2 / LN2 * series(lambda k: z**k / (2 * k + 1))


QUARTER = (PI / 4 * Decimal("1.0001")) ** 2

FITS: dict[str, tuple[minimax.Function, minimax.Function, Decimal, Decimal]] = {
    "EXP": (exp_rest, lambda r: abs(r), -LN2 / 2 * Decimal("1.0001"), LN2 / 2 * Decimal("1.0001")),
    "LOG": (log_rest, lambda z: z / 2 + TINY, Decimal(0), ((ROOT - 1) / (ROOT + 1)) ** 2),
    "LOG2": (log2_ratio, lambda z: 1 / log2_ratio(z), Decimal(0), ((ROOT - 1) / (ROOT + 1)) ** 2),
    "EXP2": (exp2_ratio, lambda r: abs(r) / (r * LN2).exp(), Decimal("-0.50001"), Decimal("0.50001")),
    "TANH": (lambda z: (tanh_ratio(z) - 1) / z, lambda z: z / tanh_ratio(z), TINY, Decimal("0.36")),
    "ERF": (lambda z: erf_ratio(z) - 1, lambda z: 1 / erf_ratio(z), TINY, Decimal(1)),
    "SIN": (sin_rest, lambda z: (z + TINY) / (1 + z * sin_rest(z)), Decimal(0), QUARTER),
    "COS": (cos_rest, lambda z: (z + TINY) / (1 + z * cos_rest(z)), Decimal(0), QUARTER),
    "ERFC": (lambda u: 1 - erf(u + Decimal("2.5")), lambda u: Decimal(1), Decimal("-1.5"), Decimal("1.5")),
}
"""What each polynomial is to be, the weight of its error, and for which numbers."""


def lists_of(name: str) -> dict[ElementType, Sequence[float]]:
    found: dict[ElementType, Sequence[float]] | Sequence[float] = getattr(coefficients, name)
    return found if isinstance(found, dict) else {F32: found}


@pytest.mark.parametrize("name", FITS)
def test_coefficients_are_those_of_the_best_polynomial(name: str) -> None:
    for fmt, given in lists_of(name).items():
        best = np.array([float(c) for c in fit(*FITS[name], len(given))], fmt.dtype)
        np.testing.assert_array_equal(np.array(given, fmt.dtype), best)


@pytest.mark.parametrize("fmt", [F32, F64])
def test_the_parts_of_log_2(fmt: ElementType) -> None:
    high, low = coefficients.LN2[fmt]
    spare = {F32: 8, F64: 11}[fmt]
    assert math.frexp(high)[0] * 2 ** (fmt.fraction_bits + 1 - spare) % 1 == 0
    assert np.array(low, fmt.dtype) == np.array(float(LN2 - Decimal(high)), fmt.dtype)


def test_the_parts_of_a_turn() -> None:
    """Products of all but the last with an f32 are exact in f64."""
    parts = [*coefficients.TURNS, coefficients.REST_OF_TURNS]
    assert all(math.frexp(part)[0] * 2**29 % 1 == 0 for part in coefficients.TURNS)
    assert abs(sum(map(Decimal, parts)) - 1 / (2 * PI)) < Decimal(10) ** -57


def program(function: str, dtype: str) -> str:
    t = f"tensor<?x{dtype}>"
    return f"func.func @main(%x: {t}) -> {t} {{ %y = relex.{function} %x : ({t}) -> {t} func.return %y : {t} }}"


TARGETS: dict[str, Target | None] = {"this machine": None}
if platform.machine() == "x86_64":
    TARGETS["no FMA"] = Target(Target.host().triple, "x86-64")

EXACT: dict[str, Callable[[Array], Array]] = {
    "cos": np.cos,
    "sin": np.sin,
    "tan": np.tan,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "tanh": np.tanh,
}

CASES = [
    ("cos", "f32"),
    ("sin", "f32"),
    ("tan", "f32"),
    ("erf", "f32"),
    ("exp", "f32"),
    ("exp2", "f32"),
    ("log2", "f32"),
    ("log10", "f32"),
    ("expm1", "f32"),
    ("log", "f32"),
    ("log1p", "f32"),
    ("tanh", "f32"),
    ("exp", "f64"),
    ("expm1", "f64"),
    ("log", "f64"),
    ("log1p", "f64"),
    ("tanh", "f64"),
]

TRIGONOMETRY = ("cos", "sin", "tan")
IN_F64 = (*TRIGONOMETRY, "exp2", "log2", "log10")


def worst(function: str) -> float:
    """Units in the last place. The docstring of the pass says it for each function."""
    return 0.502 if function in IN_F64 else 1.5


def all_kinds_of(fmt: ElementType, count: int) -> Array:
    """Numbers from all over a type, NaN, infinities and subnormal ones among them, and many of ordinary size."""
    width = fmt.bits
    step = (2**width // count) | 1
    patterns = np.arange(count, dtype=f"u{width // 8}") * np.asarray(step, f"u{width // 8}")
    rng = np.random.default_rng(0)
    ordinary = [rng.uniform(-size, size, count // 8).astype(fmt.dtype) for size in (0.1, 1, 4, 20, 90, 110, 760)]
    return np.concatenate([patterns.view(fmt.dtype), *ordinary])


def ulps(found: Array, exact: Array, fmt: ElementType) -> Array:
    """The error in units in the last place of the exact result, where that is a number."""
    lowest = np.finfo(fmt.dtype).minexp - fmt.fraction_bits
    unit = np.ldexp(np.ones_like(exact), np.maximum(np.frexp(exact)[1] - 1 - fmt.fraction_bits, lowest))
    return np.abs(found.astype(exact.dtype) - exact) / unit


@pytest.mark.sampled
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "dtype"), CASES)
def test_every_kind_of_number(function: str, dtype: str, target: str) -> None:
    fmt = {"f32": F32, "f64": F64}[dtype]
    x = all_kinds_of(fmt, 200_000)
    found = build(program(function, dtype), target=TARGETS[target])["main"](x)
    with np.errstate(all="ignore"):
        exact = EXACT[function](x.astype(wider(function, fmt)))
        rounded = exact.astype(fmt.dtype)
    is_number = np.isfinite(rounded)
    np.testing.assert_array_equal(np.where(is_number, 0, found), np.where(is_number, 0, rounded))
    np.testing.assert_array_equal(np.signbit(found[is_number]), np.signbit(rounded[is_number]))
    assert np.max(ulps(found[is_number], exact[is_number], fmt)) < worst(function)


def wider(function: str, fmt: ElementType) -> type[np.floating[Any]]:
    """The type in which a function is exact enough; angles lose digits next to multiples of a right one."""
    return np.float64 if fmt is F32 and function not in TRIGONOMETRY else np.longdouble


def near_limits(fmt: ElementType) -> Array:
    """Where formulas change, and what stands next to it, with both signs."""
    info = np.finfo(fmt.dtype)
    limits = [
        0.0,
        0.6,
        1.0,
        4.0,
        10.0,
        20.0,
        0.5**0.5,
        2**0.5,
        math.log(2) / 2,
        88.72284,
        103.28,
        104.0,
        176.0,
        709.782713,
        745.1333,
        746.0,
        1418.0,
    ]
    # Multiples of a right angle, and the f32 that is next to one, relative to its size.
    limits += [math.pi / 4, math.pi / 2, math.pi, 22.0, 355.0, 2.0**24, 16367173 * 2.0**72, 2.0**120]
    values = np.array([*limits, info.tiny, info.smallest_subnormal, info.max, np.inf], fmt.dtype)
    with np.errstate(over="ignore"):
        around = [values, *(np.nextafter(values, np.array(end, fmt.dtype)) for end in (0, np.inf))]
    return np.concatenate([*around, *(-part for part in around), np.array([np.nan, -np.nan], fmt.dtype)])


@pytest.mark.parametrize(("function", "dtype"), CASES)
def test_where_formulas_change(function: str, dtype: str) -> None:
    fmt = {"f32": F32, "f64": F64}[dtype]
    x = near_limits(fmt)
    found = build(program(function, dtype))["main"](x)
    with np.errstate(all="ignore"):
        exact = EXACT[function](x.astype(wider(function, fmt)))
        rounded = exact.astype(fmt.dtype)
    is_number = np.isfinite(rounded)
    np.testing.assert_array_equal(found[~is_number], rounded[~is_number])
    np.testing.assert_array_equal(np.signbit(found[is_number]), np.signbit(rounded[is_number]))
    assert np.max(ulps(found[is_number], exact[is_number], fmt)) < worst(function)


@pytest.mark.parametrize("shape", ["", "1x", "3x", "16x"])
@pytest.mark.parametrize(("function", "dtype"), CASES)
def test_the_interpreter_agrees(function: str, dtype: str, shape: str) -> None:
    v = f"vector<{shape}{dtype}>" if shape else dtype
    text = f"func.func @main(%x: {v}) -> {v} {{ %y = math.{function} %x : {v} func.return %y : {v} }}"
    report = check_pass(ExpandMathPass(), parse_module(text))
    assert report.compared or shape


def test_strict_programs_keep_the_library() -> None:
    x = all_kinds_of(F32, 1000)
    found = build(program("tanh", "f32"), strict=True)["main"](x)
    np.testing.assert_allclose(found, [np.float32(math.tanh(v)) for v in x], rtol=3e-7)
    assert np.any(found != build(program("tanh", "f32"))["main"](x))


@dataclass(frozen=True)
class _ScaleConstants(RelexPass):
    """Wrong: the half in the exponential gets larger by a thousandth."""

    name = "scale-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for constant in op.walk():
            if isinstance(constant, arith.ConstantOp) and isa(constant.value, FloatAttr[Float32Type]):
                if constant.value.value.data == 0.5:
                    constant.properties["value"] = FloatAttr(0.5005, f32)


def test_what_follows_is_checked_where_the_argument_is_a_sum() -> None:
    """Sums may be off by some digits, so nobody knows the bits of their exponentials; how large those are is known."""
    module = parse_module(
        "func.func @main(%x: f32, %y: f32, %z: f32) -> f32 {"
        "  %0 = arith.addf %x, %y fastmath<reassoc> : f32"
        "  %1 = arith.addf %0, %z fastmath<reassoc> : f32"
        "  %2 = math.exp %1 : f32"
        "  func.return %2 : f32"
        "}"
    )
    checker = Checker()
    checker.start(module)
    for p in (ExpandMathPass(), CanonicalizePass()):
        p.apply(make_context(), module)
        assert checker.after(p, module) is None
    wrong = _ScaleConstants()
    wrong.apply(make_context(), module)
    difference = checker.after(wrong, module)
    assert difference is not None
    assert difference.sample is not None
    # Not first with whole numbers, whose sums are exact.
    assert difference.sample.kind == "normal"
