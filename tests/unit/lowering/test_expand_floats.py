"""Narrow floats natively: conversions of every number, with and without instructions for them, and arithmetic."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from programs import Array, interpreted

from relex.dialects import parse_module
from relex.dialects.element_types import ELEMENTS
from relex.dialects.errors import CompileError
from relex.dialects.target.machine import Target
from relex.lowering import RelexPipelinePass
from relex.reference import interpret
from relex.runtime import build

pytest.importorskip("ml_dtypes")

OLD = Target(Target.host().triple, "x86-64", "")
"""A processor without instructions for f16."""

needs_x86 = pytest.mark.skipif(not OLD.triple.startswith("x86_64"), reason="runs code for old x86-64 processors")

TARGETS = [pytest.param(None, id="host"), pytest.param(OLD, id="old", marks=needs_x86)]
NARROW = ("f16", "bf16", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ")


def program(old: str, new: str) -> str:
    return f"""
    func.func @main(%x: tensor<?x{old}>) -> tensor<?x{new}> {{
      %y = relex.astype %x dtype = {new} : (tensor<?x{old}>) -> tensor<?x{new}>
      func.return %y : tensor<?x{new}>
    }}"""


@cache
def conversion(old: str, new: str, target: Target | None):
    return build(program(old, new), target=target)["main"]


def all_numbers(name: str) -> Array:
    element = ELEMENTS[name]
    return np.arange(2**element.bits, dtype=f"u{element.size}").view(element.numpy)


def expect_same(found: Array, wanted: Array) -> None:
    """Equal in every bit, except that a NaN equals any other."""
    bits = f"u{wanted.itemsize}"
    nan = np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(found), nan)
    np.testing.assert_array_equal(found.view(bits)[~nan], wanted.view(bits)[~nan])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("wide", ["f32", "f64"])
@pytest.mark.parametrize("name", NARROW)
def test_every_number_widens_exactly(name: str, wide: str, target: Target | None) -> None:
    x = all_numbers(name)
    with np.errstate(invalid="ignore"):
        wanted = x.astype(ELEMENTS[wide].numpy)
    expect_same(conversion(name, wide, target)(x), wanted)


def near_ties(name: str) -> Array:
    """Each number, halfway to the next one, and the f64 next to both on either side."""
    x = all_numbers(name).astype(np.float64)
    x = np.sort(x[np.isfinite(x)])
    x = np.concatenate([x, (x[:-1] + x[1:]) / 2, [65520.0, 1e300, np.inf, np.nan, 1e-300]])
    return np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf), -x])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", NARROW)
def test_numbers_are_rounded_to_even(name: str, target: Target | None) -> None:
    with np.errstate(all="ignore"):
        wide = near_ties(name)
        x = wide.astype(np.float32)
        x = np.concatenate([x, np.nextafter(x, np.float32(np.inf)), np.nextafter(x, np.float32(-np.inf))])
        expect_same(conversion("f32", name, target)(x), x.astype(ELEMENTS[name].numpy))
        # f64 is rounded once to f16, and to others by way of f32.
        single = wide if name == "f16" else wide.astype(np.float32)
        expect_same(conversion("f64", name, target)(wide), single.astype(ELEMENTS[name].numpy))


@pytest.mark.parametrize(("wide", "name"), [("i64", "bf16"), ("ui32", "bf16"), *(("f64", name) for name in NARROW[1:])])
def test_wide_numbers_are_rounded_by_way_of_f32(wide: str, name: str) -> None:
    """The interpreter does so, too, at each level, whatever the extension does."""
    text = program(wide, name)
    with np.errstate(all="ignore"):
        if wide == "f64":
            x = near_ties(name)
        else:
            # Halfway to the next number of bf16, and a little more or less, which is lost on the way.
            x = np.array([(1 << n) + (1 << n - 8) + d for n in range(26, 31) for d in (-1, 0, 1)], ELEMENTS[wide].numpy)
        wanted = x.astype(np.float32).astype(ELEMENTS[name].numpy)
        expect_same(conversion(wide, name, None)(x), wanted)
        expect_same(interpret(parse_module(text))["main"](x), wanted)
        some = slice(None, None, 1 + len(x) // 500)
        expect_same(interpreted(text, "core")["main"](x[some]), wanted[some])


ARITHMETIC = """
func.func @main(%x: memref<?x{t}>, %y: memref<?x{t}>, %out: memref<?x{t}>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %half = arith.constant 0.5 : {t}
  %n = memref.dim %x, %c0 : memref<?x{t}>
  scf.for %i = %c0 to %n step %c1 {{
    %a = memref.load %x[%i] : memref<?x{t}>
    %b = memref.load %y[%i] : memref<?x{t}>
    %p = arith.mulf %a, %half : {t}
    %s = arith.addf %p, %b : {t}
    %c = arith.cmpf olt, %s, %b : {t}
    %r = math.sqrt %b : {t}
    %z = arith.select %c, %s, %r : {t}
    memref.store %z, %out[%i] : memref<?x{t}>
  }}
  func.return
}}"""


@pytest.mark.sampled
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", NARROW)
def test_each_op_of_loops_is_rounded(name: str, target: Target | None) -> None:
    rng, text = np.random.default_rng(0), ARITHMETIC.format(t=name)
    dtype = ELEMENTS[name].numpy
    x, y = (rng.standard_normal(1000).astype(dtype) for _ in range(2))
    wanted, found = np.empty_like(x), np.empty_like(x)
    interpreted(text, "core")["main"](x, y, wanted)
    build(text, target=target)["main"](x, y, found)
    expect_same(found, wanted)
    s = x * dtype.type(0.5) + y
    with np.errstate(invalid="ignore"):
        expect_same(wanted, np.where(s < y, s, np.sqrt(y)))


def test_a_fused_multiply_add_is_not_rounded_twice() -> None:
    text = """
    func.func @main(%x: bf16) -> bf16 {
      %y = math.fma %x, %x, %x : bf16
      func.return %y : bf16
    }"""
    with pytest.raises(CompileError, match=r"'math\.fma' op expected f16, f32 or f64, found bf16"):
        RelexPipelinePass("llvm")(parse_module(text))
