"""Semantics of `arith`: IEEE arithmetic with one rounding per op, and integers that wrap around."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.ir import Operation

from relex.dialects.errors import stop, unsupported
from relex.reference.interpreter.program import STEPS, Preparation
from relex.reference.interpreter.scalars import (
    Binary,
    Function,
    Integers,
    Unary,
    any_of,
    choose,
    constant,
    dtype_of,
    integers,
    scalar_rule,
)


@STEPS.rule(arith.ConstantOp)
def interpret_constant(op: arith.ConstantOp, preparation: Preparation) -> None:
    """Preset the number or vector of a constant."""
    number = constant(op, op.value, op.result.type)
    preparation.preset(op.result, preparation.numbers.constant(number, op.result.type))


_operator: Any = operator
"""The same module, untyped: some of its functions have no types."""

FLOAT_FUNCTIONS: dict[type[Operation], Function] = {
    arith.AddfOp: operator.add,
    arith.SubfOp: operator.sub,
    arith.MulfOp: operator.mul,
    arith.DivfOp: _operator.truediv,
    arith.NegfOp: operator.neg,
    arith.MaxnumfOp: np.fmax,
    arith.MinnumfOp: np.fmin,
}
"""Functions of floats. Fast-math flags allow other results; these are the results without them."""


@scalar_rule(*FLOAT_FUNCTIONS)
def interpret_float_op(op: Operation) -> Function:
    """Apply a function of `FLOAT_FUNCTIONS`."""
    dtype_of(op, op.results[0].type)
    return FLOAT_FUNCTIONS[type(op)]


def maximum(a: Any, b: Any) -> Any:
    """Return the larger number, NaN if either is NaN."""
    # NumPy does not order zeros; the sum of two zeros is +0 unless both are -0.
    return choose((a == 0) & (b == 0), a + b, np.maximum(a, b))


def minimum(a: Any, b: Any) -> Any:
    """Return the smaller number, NaN if either is NaN."""
    return choose((a == 0) & (b == 0), -(-a - b), np.minimum(a, b))


@scalar_rule(arith.MaximumfOp)
def interpret_maximumf(op: arith.MaximumfOp) -> Binary:
    """Return the larger number, NaN if either is NaN."""
    return maximum


@scalar_rule(arith.MinimumfOp)
def interpret_minimumf(op: arith.MinimumfOp) -> Binary:
    """Return the smaller number, NaN if either is NaN."""
    return minimum


MODULAR_FUNCTIONS: dict[type[arith.SignlessIntegerBinaryOperation], tuple[Binary, Binary]] = {
    arith.AddiOp: (operator.add, _operator.xor),
    arith.SubiOp: (operator.sub, _operator.xor),
    arith.MuliOp: (operator.mul, _operator.and_),
    arith.AndIOp: (_operator.and_, _operator.and_),
    arith.OrIOp: (_operator.or_, _operator.or_),
    arith.XOrIOp: (_operator.xor, _operator.xor),
}
"""Functions that do not depend on signedness: of integers, which NumPy wraps around, and of booleans."""


@scalar_rule(*MODULAR_FUNCTIONS)
def interpret_modular_op(op: arith.SignlessIntegerBinaryOperation) -> Function:
    """Apply a function of `MODULAR_FUNCTIONS`, to integers or booleans."""
    on_numbers, on_booleans = MODULAR_FUNCTIONS[type(op)]
    return on_booleans if integers(op, op.result.type).is_bool else on_numbers


def _ceildiv(a: Any, b: Any) -> Any:
    quotient = a // b
    return quotient + (quotient * b != a).astype(quotient.dtype)


SIGNED_FUNCTIONS: dict[type[arith.SignlessIntegerBinaryOperation], Binary] = {
    arith.MaxSIOp: np.maximum,
    arith.MinSIOp: np.minimum,
    arith.ShRSIOp: np.right_shift,
    # Without C's remainder, the division is exact, so that rounding down changes nothing.
    arith.DivSIOp: lambda a, b: (a - np.fmod(a, b)) // b,
    arith.RemSIOp: np.fmod,
    arith.FloorDivSIOp: _operator.floordiv,
    arith.CeilDivSIOp: _ceildiv,
}

UNSIGNED_FUNCTIONS: dict[type[arith.SignlessIntegerBinaryOperation], Binary] = {
    arith.MaxUIOp: np.maximum,
    arith.MinUIOp: np.minimum,
    arith.ShLIOp: np.left_shift,
    arith.ShRUIOp: np.right_shift,
    arith.DivUIOp: _operator.floordiv,
    arith.RemUIOp: operator.mod,
    arith.CeilDivUIOp: _ceildiv,
}


@scalar_rule(*SIGNED_FUNCTIONS)
def interpret_signed_op(op: arith.SignlessIntegerBinaryOperation) -> Binary:
    """Apply a function of `SIGNED_FUNCTIONS`, where its result is defined."""
    kind = integers(op, op.result.type)
    function = _where_defined(op, kind, SIGNED_FUNCTIONS[type(op)])
    if not kind.is_bool:
        return function
    return lambda a, b: kind.value(function(kind.signed(a), kind.signed(b)))


@scalar_rule(*UNSIGNED_FUNCTIONS)
def interpret_unsigned_op(op: arith.SignlessIntegerBinaryOperation) -> Binary:
    """Apply a function of `UNSIGNED_FUNCTIONS`, where its result is defined."""
    kind = integers(op, op.result.type)
    function = _where_defined(op, kind, UNSIGNED_FUNCTIONS[type(op)])
    return lambda a, b: kind.value(function(kind.unsigned(a), kind.unsigned(b)))


def _where_defined(op: Operation, kind: Integers, function: Binary) -> Binary:
    """Make `function` stop where its result is undefined. Compiled code may do anything there."""

    def shift(a: Any, b: Any) -> Any:
        if any_of((b < 0) | (b >= kind.width)):
            stop(op, f"expected to shift by less than {kind.width} bits, found more")
        return function(a, b)

    def divide(a: Any, b: Any) -> Any:
        if any_of(b == 0):
            stop(op, "expected a divisor that is not 0")
        return function(a, b)

    def divide_signed(a: Any, b: Any) -> Any:
        if any_of(b == -1) and any_of((a == least) & (b == -1)):
            stop(op, f"expected a quotient of {kind.width} bits, found {least} divided by -1")
        return divide(a, b)

    least = -(2 ** (kind.width - 1))
    match op:
        case arith.ShLIOp() | arith.ShRSIOp() | arith.ShRUIOp():
            return shift
        case arith.DivUIOp() | arith.RemUIOp() | arith.CeilDivUIOp():
            return divide
        case arith.DivSIOp() | arith.RemSIOp() | arith.FloorDivSIOp() | arith.CeilDivSIOp():
            return divide_signed
        case _:
            return function


_ORDERS: tuple[Binary, ...] = (operator.lt, operator.le, operator.gt, operator.ge)


@scalar_rule(arith.CmpiOp)
def interpret_cmpi(op: arith.CmpiOp) -> Binary:
    """Compare integers, signed or unsigned."""
    kind, predicate = integers(op, op.lhs.type), op.predicate.value.data
    if predicate < 2:
        return (operator.eq, operator.ne)[predicate]
    if predicate < 6 and not kind.is_bool:
        return _ORDERS[predicate - 2]
    compare = _ORDERS[(predicate - 2) % 4]
    read = kind.signed if predicate < 6 else kind.unsigned
    return lambda a, b: compare(read(a), read(b))


def _unordered(a: Any, b: Any) -> Any:
    return (a != a) | (b != b)


FLOAT_PREDICATES: tuple[Binary, ...] = (
    lambda a, b: (a == a) & False,
    operator.eq,
    operator.gt,
    operator.ge,
    operator.lt,
    operator.le,
    lambda a, b: (a < b) | (a > b),
    lambda a, b: ~_unordered(a, b),
    lambda a, b: ~((a < b) | (a > b)),
    lambda a, b: ~(a <= b),
    lambda a, b: ~(a < b),
    lambda a, b: ~(a >= b),
    lambda a, b: ~(a > b),
    operator.ne,
    _unordered,
    lambda a, b: (a == a) | True,
)
"""Indexed by predicate: false, the ordered ones, `ord`, the unordered ones, `uno`, true."""


@scalar_rule(arith.CmpfOp)
def interpret_cmpf(op: arith.CmpfOp) -> Binary:
    """Compare floats by a predicate of `FLOAT_PREDICATES`."""
    dtype_of(op, op.lhs.type)
    return FLOAT_PREDICATES[op.predicate.value.data]


@scalar_rule(arith.SelectOp)
def interpret_select(op: arith.SelectOp) -> Function:
    """Choose between two values, elementwise if the condition is a vector."""
    return choose


@scalar_rule(arith.ExtFOp, arith.TruncFOp)
def interpret_float_cast(op: arith.ExtFOp | arith.TruncFOp) -> Unary:
    """Convert floats to another float type."""
    dtype_of(op, op.input.type)
    dtype = dtype_of(op, op.result.type)
    return lambda a: a.astype(dtype)


@scalar_rule(arith.SIToFPOp, arith.UIToFPOp)
def interpret_integer_to_float(op: arith.SIToFPOp | arith.UIToFPOp) -> Unary:
    """Convert signed or unsigned integers to floats."""
    kind, dtype = integers(op, op.input.type), dtype_of(op, op.result.type)
    read = kind.signed if isinstance(op, arith.SIToFPOp) else kind.unsigned
    return lambda a: read(a).astype(dtype)


@scalar_rule(arith.FPToSIOp, arith.FPToUIOp)
def interpret_float_to_integer(op: arith.FPToSIOp | arith.FPToUIOp) -> Unary:
    """Convert floats to signed or unsigned integers, rounding towards zero."""
    dtype_of(op, op.input.type)
    kind = integers(op, op.result.type)
    if isinstance(op, arith.FPToSIOp) and not kind.is_bool:
        return lambda a: a.astype(kind.dtype)
    number = np.uint8 if kind.is_bool else np.dtype(f"u{kind.dtype.itemsize}")
    # Any result is correct for a number out of range.
    return lambda a: kind.value(np.abs(a).astype(number))


@scalar_rule(arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.IndexCastOp)
def interpret_integer_cast(op: arith.ExtSIOp | arith.ExtUIOp | arith.TruncIOp | arith.IndexCastOp) -> Unary:
    """Extend or truncate integers."""
    source, target = integers(op, op.input.type), integers(op, op.result.type)
    read = source.unsigned if isinstance(op, arith.ExtUIOp) else source.signed
    return lambda a: target.value(read(a))


@scalar_rule(arith.BitcastOp)
def interpret_bitcast(op: arith.BitcastOp) -> Unary:
    """Reinterpret the bits of a number as those of another type of the same width."""
    source, target = dtype_of(op, op.input.type), dtype_of(op, op.result.type)
    if source.itemsize != target.itemsize or np.bool_ in (source, target):
        unsupported(op, f"expected types of one width, found {op.input.type} and {op.result.type}")
    return lambda a: a.view(target)


@scalar_rule(arith.AddUIExtendedOp)
def interpret_addui_extended(op: arith.AddUIExtendedOp) -> Function:
    """Add unsigned integers; the second result is the carry."""
    kind = integers(op, op.sum.type)

    def run(a: Any, b: Any) -> Any:
        total = kind.value(kind.unsigned(a) + kind.unsigned(b))
        return total, kind.unsigned(total) < kind.unsigned(a)

    return run


@scalar_rule(arith.MulSIExtendedOp, arith.MulUIExtendedOp)
def interpret_mul_extended(op: arith.MulSIExtendedOp | arith.MulUIExtendedOp) -> Function:
    """Multiply signed or unsigned integers; the results are the low and the high half of the product."""
    kind = integers(op, op.lhs.type)
    read = kind.signed if isinstance(op, arith.MulSIExtendedOp) else kind.unsigned
    mask = 2**kind.width - 1

    def halves(a: int, b: int) -> tuple[int, int]:
        return a * b & mask, (a * b) >> kind.width & mask

    def run(a: Any, b: Any) -> Any:
        # Python integers hold any product.
        low, high = np.frompyfunc(halves, 2, 2)(read(a).astype(object), read(b).astype(object))
        return tuple(kind.value(np.asarray(half).astype(np.uint64)[()]) for half in (low, high))

    return run
