"""Semantics of `arith`: IEEE arithmetic with one rounding per op, and integers that wrap around."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.ir import Attribute, Operation

from relex.dialects.dtypes import array_from_dense, converted
from relex.dialects.errors import stop, unsupported
from relex.dialects.tir import Dot2iOp, Dot2Op, Dot4Op, TableLookUpOp
from relex.dialects.upstream.arith import RemFOp
from relex.reference.interpreter.memory import any_of
from relex.reference.interpreter.program import SCALARS, STEPS, Binary, Preparation, Run, Unary
from relex.reference.interpreter.scalars import IntegerValues, choose, constant, dtype_of, integers


@STEPS.rule(arith.ConstantOp)
def interpret_constant(op: arith.ConstantOp, preparation: Preparation) -> None:
    """Preset the number or vector of a constant."""
    number = constant(op, op.value, op.result.type)
    preparation.preset(op.result, preparation.numbers.constant(number, op.result.type))


_operator: Any = operator
"""The same module, untyped: some of its functions have no types."""


def maximum(a: Any, b: Any) -> Any:
    """Return the larger number, NaN if either is NaN."""
    # NumPy does not order zeros; the sum of two zeros is +0 unless both are -0.
    return choose((a == 0) & (b == 0), a + b, np.maximum(a, b))


def minimum(a: Any, b: Any) -> Any:
    """Return the smaller number, NaN if either is NaN."""
    return choose((a == 0) & (b == 0), -(-a - b), np.minimum(a, b))


FLOAT_FUNCTIONS: dict[type[Operation], Run] = {
    arith.AddfOp: operator.add,
    arith.SubfOp: operator.sub,
    arith.MulfOp: operator.mul,
    arith.DivfOp: _operator.truediv,
    RemFOp: np.fmod,
    arith.NegfOp: operator.neg,
    arith.MaximumfOp: maximum,
    arith.MinimumfOp: minimum,
    arith.MaxnumfOp: np.fmax,
    arith.MinnumfOp: np.fmin,
}
"""Functions of floats. Fast-math flags allow other results; these are the results without them."""


@SCALARS.rule(*FLOAT_FUNCTIONS)
def interpret_float_op(op: Operation) -> Run:
    """Apply a function of `FLOAT_FUNCTIONS`."""
    dtype_of(op, op.results[0].type)
    return FLOAT_FUNCTIONS[type(op)]


def _ceildiv(a: Any, b: Any) -> Any:
    quotient = a // b
    return quotient + (quotient * b != a).astype(quotient.dtype)


MODULAR_FUNCTIONS: dict[type[Operation], tuple[Binary, Binary]] = {
    arith.AddiOp: (operator.add, _operator.xor),
    arith.SubiOp: (operator.sub, _operator.xor),
    arith.MuliOp: (operator.mul, _operator.and_),
    arith.AndIOp: (_operator.and_, _operator.and_),
    arith.OrIOp: (_operator.or_, _operator.or_),
    arith.XOrIOp: (_operator.xor, _operator.xor),
}
"""Functions that do not depend on signedness: of integers, which NumPy wraps around, and of booleans."""

SIGNED_FUNCTIONS: dict[type[Operation], Binary] = {
    arith.MaxSIOp: np.maximum,
    arith.MinSIOp: np.minimum,
    arith.ShRSIOp: np.right_shift,
    # Without C's remainder, the division is exact, so that rounding down changes nothing.
    arith.DivSIOp: lambda a, b: (a - np.fmod(a, b)) // b,
    arith.RemSIOp: np.fmod,
    arith.FloorDivSIOp: _operator.floordiv,
    arith.CeilDivSIOp: _ceildiv,
}

UNSIGNED_FUNCTIONS: dict[type[Operation], Binary] = {
    arith.MaxUIOp: np.maximum,
    arith.MinUIOp: np.minimum,
    arith.ShLIOp: np.left_shift,
    arith.ShRUIOp: np.right_shift,
    arith.DivUIOp: _operator.floordiv,
    arith.RemUIOp: operator.mod,
    arith.CeilDivUIOp: _ceildiv,
}

SHIFTS = (arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp)
DIVISIONS = (arith.DivUIOp, arith.RemUIOp, arith.CeilDivUIOp)
SIGNED_DIVISIONS = (arith.DivSIOp, arith.RemSIOp, arith.FloorDivSIOp, arith.CeilDivSIOp)


@SCALARS.rule(*MODULAR_FUNCTIONS, *SIGNED_FUNCTIONS, *UNSIGNED_FUNCTIONS)
def interpret_integer_op(op: Operation) -> Run:
    """Apply a function of integers."""
    return integer_function(op, type(op), op.results[0].type)


@SCALARS.rule(Dot4Op)
def interpret_dot4(op: Dot4Op) -> Run:
    """Multiply bytes, and add up the products of each word."""

    def run(a: Any, b: Any) -> Any:
        products = (_byte(a, n, np.uint8) * _byte(b, n, np.int8) for n in range(4))
        return functools.reduce(operator.add, products)

    return run


@SCALARS.rule(Dot2Op)
def interpret_dot2(op: Dot2Op) -> Binary:
    """Multiply numbers of bf16, which is exact in f32, and add up the products of each word."""

    def run(a: Any, b: Any) -> Any:
        with np.errstate(all="ignore"):
            return bf16_in(a, 1) * bf16_in(b, 1) + bf16_in(a, 0) * bf16_in(b, 0)

    return run


def bf16_in(words: Any, number: int) -> Any:
    """Return the numbers in the low or the high bits of words."""
    bits = np.left_shift(np.right_shift(words, np.int32(16 * number)), np.int32(16))
    return np.asarray(bits).view(np.float32)[()]


@SCALARS.rule(Dot2iOp)
def interpret_dot2i(op: Dot2iOp) -> Run:
    """Multiply integers of 16 bits, and add up the products of each word; the sum wraps around."""

    def run(a: Any, b: Any) -> Any:
        with np.errstate(over="ignore"):
            return _short(a, 0) * _short(b, 0) + _short(a, 1) * _short(b, 1)

    return run


def _short(words: Any, number: int) -> Any:
    return np.right_shift(words, np.int32(16 * number)).astype(np.int16).astype(np.int32)


@SCALARS.rule(TableLookUpOp)
def interpret_look_up(op: TableLookUpOp) -> Unary:
    """Take numbers of a table."""
    table = array_from_dense(op.table)
    return lambda x: table[x.astype(np.int64) & (len(table) - 1)]


def _byte(words: Any, number: int, dtype: Any) -> Any:
    return np.right_shift(words, np.int32(8 * number)).astype(dtype).astype(np.int32)


def integer_function(op: Operation, kind: type[Operation], t: Attribute) -> Run:
    """Return the function of a kind of op on integers of a type; a run stops at `op` where its result is undefined."""
    numbers = integers(op, t)
    if kind in MODULAR_FUNCTIONS:
        return MODULAR_FUNCTIONS[kind][numbers.is_bool]
    is_signed = kind in SIGNED_FUNCTIONS
    read = numbers.signed if is_signed else numbers.unsigned
    function = SIGNED_FUNCTIONS[kind] if is_signed else UNSIGNED_FUNCTIONS[kind]
    may_be_undefined = kind in (*SHIFTS, *DIVISIONS, *SIGNED_DIVISIONS)

    def run(a: Any, b: Any) -> Any:
        a, b = read(a), read(b)
        if may_be_undefined:
            _expect_defined(op, kind, numbers, a, b)
        return numbers.value(function(a, b))

    return run


def _expect_defined(op: Operation, kind: type[Operation], numbers: IntegerValues, a: Any, b: Any) -> None:
    """Stop where a result is undefined. Compiled code may do anything there."""
    least = -(2 ** (numbers.width - 1))
    if kind in SHIFTS and any_of((b < 0) | (b >= numbers.width)):
        stop(op, f"expected to shift by less than {numbers.width} bits, found more")
    if kind in SIGNED_DIVISIONS and any_of((b == -1) & (a == least)):
        stop(op, f"expected a quotient of {numbers.width} bits, found {least} divided by -1")
    if kind in (*DIVISIONS, *SIGNED_DIVISIONS) and any_of(b == 0):
        stop(op, "expected a divisor that is not 0")


_ORDERS: tuple[Binary, ...] = (operator.lt, operator.le, operator.gt, operator.ge)


@SCALARS.rule(arith.CmpiOp)
def interpret_cmpi(op: arith.CmpiOp) -> Binary:
    """Compare integers, signed or unsigned."""
    return integer_comparison(op, op.predicate.value.data)


def integer_comparison(op: Operation, predicate: int) -> Binary:
    """Return the function that compares the integers of an op."""
    kind = integers(op, op.operands[0].type)
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


@SCALARS.rule(arith.CmpfOp)
def interpret_cmpf(op: arith.CmpfOp) -> Run:
    """Compare floats by a predicate of `FLOAT_PREDICATES`."""
    dtype_of(op, op.lhs.type)
    return FLOAT_PREDICATES[op.predicate.value.data]


@SCALARS.rule(arith.SelectOp)
def interpret_select(op: arith.SelectOp) -> Run:
    """Choose between two values, elementwise if the condition is a vector."""
    return choose


@SCALARS.rule(arith.ExtFOp, arith.TruncFOp)
def interpret_float_cast(op: arith.ExtFOp | arith.TruncFOp) -> Unary:
    """Convert floats to another float type."""
    dtype_of(op, op.input.type)
    dtype = dtype_of(op, op.result.type)
    return lambda a: converted(a, dtype)


INTEGER_CASTS = (arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.IndexCastOp)
TO_FLOATS = (arith.SIToFPOp, arith.UIToFPOp)
TO_INTEGERS = (arith.FPToSIOp, arith.FPToUIOp)


@SCALARS.rule(*INTEGER_CASTS, *TO_FLOATS, *TO_INTEGERS)
def interpret_cast(op: Operation) -> Unary:
    """Convert from or to integers."""
    return convert(op, type(op))


def convert(op: Operation, kind: type[Operation]) -> Unary:
    """Return the conversion of a kind of op from the type of an op's operand to the type of its result."""
    source, target = op.operands[0].type, op.results[0].type
    if kind in INTEGER_CASTS:
        numbers, resized = integers(op, source), integers(op, target)
        read = numbers.unsigned if kind is arith.ExtUIOp else numbers.signed
        return lambda a: resized.value(read(a))
    if kind in TO_FLOATS:
        numbers, dtype = integers(op, source), dtype_of(op, target)
        read = numbers.signed if kind is arith.SIToFPOp else numbers.unsigned
        return lambda a: converted(read(a), dtype)
    dtype_of(op, source)
    return _round_towards_zero(integers(op, target), is_signed=kind is arith.FPToSIOp)


def _round_towards_zero(target: IntegerValues, *, is_signed: bool) -> Unary:
    """Convert floats to integers. Any result is correct for a number out of range."""
    if is_signed and not target.is_bool:
        return lambda a: a.astype(target.dtype)
    number = np.uint8 if target.is_bool else np.dtype(f"u{target.dtype.itemsize}")
    return lambda a: target.value(np.abs(a).astype(number))


@SCALARS.rule(arith.BitcastOp)
def interpret_bitcast(op: arith.BitcastOp) -> Unary:
    """Reinterpret the bits of a number as the bits of another type of the same width."""
    source, target = dtype_of(op, op.input.type), dtype_of(op, op.result.type)
    if source.itemsize != target.itemsize or np.bool_ in (source, target):
        unsupported(op, f"expected types of one width, found {op.input.type} and {op.result.type}")
    return lambda a: a.view(target)


@SCALARS.rule(arith.AddUIExtendedOp)
def interpret_addui_extended(op: arith.AddUIExtendedOp) -> Run:
    """Add unsigned integers; the second result is the carry."""
    kind = integers(op, op.sum.type)

    def run(a: Any, b: Any) -> Any:
        total = kind.value(kind.unsigned(a) + kind.unsigned(b))
        return total, kind.unsigned(total) < kind.unsigned(a)

    return run


@SCALARS.rule(arith.MulSIExtendedOp, arith.MulUIExtendedOp)
def interpret_mul_extended(op: arith.MulSIExtendedOp | arith.MulUIExtendedOp) -> Binary:
    """Multiply signed or unsigned integers; the results are the low and the high half of the product."""
    kind = integers(op, op.lhs.type)
    read = kind.signed if isinstance(op, arith.MulSIExtendedOp) else kind.unsigned
    low = kind.lifted(lambda a, b: a * b, read)
    high = kind.lifted(lambda a, b: (a * b) >> kind.width, read)
    return lambda a, b: (low(a, b), high(a, b))
