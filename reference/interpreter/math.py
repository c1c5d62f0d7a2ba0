"""Semantics of `math`: each function is rounded to the element type once."""

from __future__ import annotations

import math as python_math
from fractions import Fraction
from typing import Any

import numpy as np
from xdsl.dialects import math, vector
from xdsl.ir import Operation

from relex.reference.interpreter.program import SCALARS, Binary, Run, Unary
from relex.reference.interpreter.scalars import choose, dtype_of, integers


def _elementwise(function: Run) -> Run:
    """Lift a function of Python numbers to NumPy's, with results of the type of the arguments."""

    def run(*args: Any) -> Any:
        dtype = args[0].dtype
        results = np.frompyfunc(function, len(args), 1)(*[arg.astype(object) for arg in args])
        return np.asarray(results).astype(dtype)[()]

    return run


def _exact_fma(a: float, b: float, c: float) -> float:
    """Return `a * b + c` in f64, rounded once."""
    if not python_math.isfinite(c) and python_math.isfinite(a) and python_math.isfinite(b):
        return c  # Even if the product is too large for a float.
    if not all(map(python_math.isfinite, (a, b, c))):
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c  # A zero has the sign of the sum.
    try:
        return float(exact)
    except OverflowError:
        return python_math.inf if exact > 0 else -python_math.inf


def fma(a: Any, b: Any, c: Any) -> Any:
    """Return `a * b + c`, rounded once."""
    if a.dtype == np.float64:
        return _elementwise(_exact_fma)(a, b, c)
    # f64 holds the product exactly. The sum is rounded to odd, by its error: a number with an odd last bit is not
    # halfway between two narrower ones, so that rounding a second time does no harm.
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + addend
    part = total - product
    error = (product - (total - part)) + (addend - part)
    inexact = np.isfinite(total) & (error != 0) & (total.view(np.int64) & 1 == 0)
    towards = choose(error > 0, np.inf, -np.inf)
    return choose(inexact, np.nextafter(total, towards), total).astype(a.dtype)


def _round(a: Any) -> Any:
    """Round to the nearest integer, halves away from zero."""
    whole: Any = np.trunc(a)
    return choose(np.abs(a - whole) >= 0.5, whole + np.copysign(a.dtype.type(1), a), whole)


def _power(a: Any, b: Any) -> Any:
    """Raise to a power elementwise: NumPy has other rules for a single exponent, such as for the square root of
    -inf."""
    bases, exponents = (np.repeat(part, 2) for part in np.broadcast_arrays(a, b))
    return np.power(bases, exponents)[::2].reshape(np.broadcast_shapes(a.shape, b.shape))[()]


def _widened(function: Unary) -> Unary:
    """Compute `function` in f64, so that the result is, in effect, rounded to the element type once."""
    return lambda a: function(a.astype(np.float64)).astype(a.dtype)


FUNCTIONS: dict[type[Operation], Run] = {
    math.AbsFOp: np.abs,
    math.AcosOp: np.arccos,
    math.AcoshOp: np.arccosh,
    math.AsinOp: np.arcsin,
    math.AsinhOp: np.arcsinh,
    math.Atan2Op: np.arctan2,
    math.AtanOp: np.arctan,
    math.AtanhOp: np.arctanh,
    math.CbrtOp: _widened(np.cbrt),
    math.CeilOp: np.ceil,
    math.CopySignOp: np.copysign,
    math.CosOp: np.cos,
    math.CoshOp: np.cosh,
    math.ErfOp: _elementwise(python_math.erf),
    math.Exp2Op: np.exp2,
    math.ExpM1Op: np.expm1,
    math.ExpOp: np.exp,
    math.FloorOp: np.floor,
    math.FmaOp: fma,
    vector.FMAOp: fma,
    math.Log10Op: np.log10,
    math.Log1pOp: np.log1p,
    math.Log2Op: np.log2,
    math.LogOp: np.log,
    math.PowFOp: _power,
    math.RoundEvenOp: np.rint,
    math.RoundOp: _round,
    math.RsqrtOp: _widened(lambda a: 1 / np.sqrt(a)),
    math.SinOp: np.sin,
    math.SinhOp: np.sinh,
    math.SqrtOp: np.sqrt,
    math.TanOp: np.tan,
    math.TanhOp: np.tanh,
    math.TruncOp: np.trunc,
}


@SCALARS.rule(*FUNCTIONS)
def interpret_function(op: Operation) -> Run:
    """Apply a function of `FUNCTIONS`."""
    dtype_of(op, op.results[0].type)
    return FUNCTIONS[type(op)]


@SCALARS.rule(math.FPowIOp)
def interpret_fpowi(op: math.FPowIOp) -> Binary:
    """Raise floats to integer powers, in f64."""
    dtype = dtype_of(op, op.result.type)
    return lambda a, n: np.power(a.astype(np.float64), n.astype(np.float64)).astype(dtype)


@SCALARS.rule(math.AbsIOp)
def interpret_absi(op: math.AbsIOp) -> Unary:
    """Return absolute values, with the smallest integer wrapped around."""
    kind = integers(op, op.result.type)
    return lambda a: kind.value(np.abs(kind.signed(a)))


@SCALARS.rule(math.IPowIOp)
def interpret_ipowi(op: math.IPowIOp) -> Run:
    """Raise integers to integer powers, modulo the range of the type."""
    kind = integers(op, op.result.type)
    modulus: int = 2**kind.width

    def power(a: int, n: int) -> int:
        if n >= 0:
            return pow(a, n, modulus)
        # The reciprocal of a number, rounded towards zero.
        return (a**-n) % modulus if abs(a) == 1 else 0

    return kind.lifted(power, kind.signed)


@SCALARS.rule(math.CtPopOp, math.CountLeadingZerosOp, math.CountTrailingZerosOp)
def interpret_bit_count(op: math.CtPopOp | math.CountLeadingZerosOp | math.CountTrailingZerosOp) -> Run:
    """Count bits: those set, or the leading or trailing zeros."""
    kind = integers(op, op.result.type)
    width = kind.width
    match op:
        case math.CtPopOp():
            return kind.lifted(int.bit_count, kind.unsigned)
        case math.CountLeadingZerosOp():
            return kind.lifted(lambda bits: width - bits.bit_length(), kind.unsigned)
        case _:
            return kind.lifted(lambda bits: (bits & -bits).bit_length() - 1 if bits else width, kind.unsigned)
