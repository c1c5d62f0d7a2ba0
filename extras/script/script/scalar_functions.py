"""Scalar functions and operators of loop functions: how scripts spell them, and the ops that they are."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from relex.dialects.index.domains import constant_value
from relex.dialects.index.expr import span_of
from relex.dialects.index.from_ir import index_of
from relex.dialects.table import Table
from relex.dialects.upstream.arith import RemFOp
from relex.lowering.te.scalars import SCALARS, Scalar, build_constant, build_scalar

Emit = Callable[[Operation], SSAValue]
"""Inserts an op and returns its result."""

Build = Callable[[Emit, Sequence[SSAValue]], SSAValue]
"""Emits a function of values that have one type. Raises `ValueError` if the type does not support it."""

ATOM = 14
UNARY = 11
COMPARISON = 4
NOT = 3
AND = 2
OR = 1
"""Precedences of Python's expressions."""


@dataclass(frozen=True)
class NumberFunction:
    """
    A function of numbers of one type: its parameters under TVM's names, and what it computes.

    That is a scalar function, which tensor expressions have under the same name if it is given by name, or a function
    that emits several ops, of which `ops` names those that are printed as this function.
    """

    parameters: tuple[str, ...]
    meaning: str | Scalar | Build
    ops: tuple[type[Operation], ...] = ()
    symbol: str = ""
    """The symbol of an infix operator."""
    precedence: int = ATOM

    @property
    def scalar(self) -> Scalar | None:
        """The ops for each kind of element type, if it is a single op."""
        meaning = SCALARS[self.meaning] if isinstance(self.meaning, str) else self.meaning
        return meaning if isinstance(meaning, Scalar) else None

    @property
    def printed_ops(self) -> Sequence[type[Operation]]:
        """The ops on numbers that this function stands for."""
        builders = (self.scalar.on_float, self.scalar.on_integer) if self.scalar is not None else self.ops
        return [op for op in builders if isinstance(op, type)]

    def build(self, emit: Emit, values: Sequence[SSAValue]) -> SSAValue:
        """Emit the function of values that have one type. Raises `ValueError` if the type does not support it."""
        if self.scalar is None:
            assert callable(self.meaning)
            return self.meaning(emit, values)
        make = self.scalar.for_type(values[-1].type)
        if make is None:
            raise ValueError(f"no such function on {values[-1].type}")
        return emit(make(*values))


def _floor_divide(emit: Emit, values: Sequence[SSAValue]) -> SSAValue:
    lhs, rhs = _integers(values)
    return emit((arith.DivUIOp if _is_unsigned(lhs, rhs) else arith.FloorDivSIOp)(lhs, rhs))


def _floor_remainder(emit: Emit, values: Sequence[SSAValue]) -> SSAValue:
    lhs, rhs = _integers(values)
    if _is_unsigned(lhs, rhs):
        return emit(arith.RemUIOp(lhs, rhs))
    quotient = emit(arith.FloorDivSIOp(lhs, rhs))
    return emit(arith.SubiOp(lhs, emit(arith.MuliOp(quotient, rhs))))


def _integers(values: Sequence[SSAValue]) -> Sequence[SSAValue]:
    type: Attribute = values[0].type
    if not isinstance(type, IntegerType | IndexType) or type == i1:
        raise ValueError("expected integers to divide")
    return values


def _is_unsigned(lhs: SSAValue, rhs: SSAValue) -> bool:
    """Return whether the dividend is an index known to be non-negative here and the divisor is a positive constant."""
    divisor = constant_value(rhs)
    is_natural = isinstance(lhs.type, IndexType) and span_of(index_of(lhs)).low >= 0
    return is_natural and divisor is not None and divisor > 0


def _sigmoid(emit: Emit, values: Sequence[SSAValue]) -> SSAValue:
    """Return `1 / (1 + exp(-x))`, below zero as `exp(x) / (1 + exp(x))`, as `relex.sigmoid` does."""
    (x,) = _floats(values)
    one, zero = (emit(build_constant(number, x.type)) for number in (1, 0))
    power = emit(build_scalar("exp", [emit(build_scalar("negative", [emit(build_scalar("abs", [x]))]))]))
    above = emit(build_scalar("select", [emit(build_scalar("less", [x, zero])), power, one]))
    return emit(build_scalar("divide", [above, emit(build_scalar("add", [one, power]))]))


def _is_nan(emit: Emit, values: Sequence[SSAValue]) -> SSAValue:
    (x,) = _floats(values)
    return emit(build_scalar("not_equal", [x, x]))


def _floats(values: Sequence[SSAValue]) -> Sequence[SSAValue]:
    if not isinstance(values[0].type, AnyFloat):
        raise ValueError("expected floats")
    return values


def _infix(symbol: str, precedence: int, meaning: str | Scalar | Build, *ops: type[Operation]) -> NumberFunction:
    return NumberFunction(("a", "b"), meaning, ops, symbol, precedence)


def _bitwise(symbol: str, precedence: int, scalar: Scalar) -> NumberFunction:
    return NumberFunction(("x", "y"), scalar, (), symbol, precedence)


OPERATORS: dict[type[ast.AST], NumberFunction] = {
    ast.Add: _infix("+", 9, "add"),
    ast.Sub: _infix("-", 9, "subtract"),
    ast.Mult: _infix("*", 10, "multiply"),
    ast.Div: _infix("/", 10, "divide"),
    ast.FloorDiv: _infix("//", 10, _floor_divide, arith.FloorDivSIOp, arith.DivUIOp),
    ast.Mod: _infix("%", 10, _floor_remainder, arith.RemUIOp),
    ast.Pow: _infix("**", 12, "power"),
    ast.LShift: _bitwise("<<", 8, Scalar(on_integer=arith.ShLIOp)),
    ast.RShift: _bitwise(">>", 8, Scalar(on_integer=arith.ShRSIOp)),
    ast.BitAnd: _bitwise("&", 7, Scalar(None, arith.AndIOp, arith.AndIOp)),
    ast.BitXor: _bitwise("^", 6, Scalar(None, arith.XOrIOp, arith.XOrIOp)),
    ast.BitOr: _bitwise("|", 5, Scalar(None, arith.OrIOp, arith.OrIOp)),
    ast.Eq: _infix("==", COMPARISON, "equal"),
    ast.NotEq: _infix("!=", COMPARISON, "not_equal"),
    ast.Lt: _infix("<", COMPARISON, "less"),
    ast.LtE: _infix("<=", COMPARISON, "less_equal"),
    ast.Gt: _infix(">", COMPARISON, "greater"),
    ast.GtE: _infix(">=", COMPARISON, "greater_equal"),
}
"""The functions of Python's operators."""

_MATH = {op.name.removeprefix("math."): Scalar(op) for op in math.Math.operations}

_SAME_NAMES = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp", "exp2", "expm1"),
    *("floor", "log", "log1p", "log2", "log10"),
    *("rsqrt", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
)
"""Functions that the math dialect and scripts call the same."""

_UNARY: dict[str, str | Scalar | Build] = {
    **{name: name if name in SCALARS else _MATH[name] for name in _SAME_NAMES},
    "abs": Scalar(math.AbsFOp, math.AbsIOp),
    "fabs": "abs",
    "isnan": _is_nan,
    "nearbyint": Scalar(math.RoundEvenOp),
    "round": Scalar(math.RoundEvenOp),
    "sigmoid": _sigmoid,
}

_BINARY: dict[str, str | Scalar | Build] = {
    "atan2": Scalar(math.Atan2Op),
    "dot2": "dot2",
    "dot2i": "dot2i",
    "dot4": "dot4",
    "copysign": Scalar(math.CopySignOp),
    "fmod": Scalar(RemFOp),
    "max": "maximum",
    "min": "minimum",
    "pow": "power",
    "power": "power",
    "truncdiv": Scalar(on_integer=arith.DivSIOp),
    "truncmod": Scalar(on_integer=arith.RemSIOp),
    "Div": Scalar(on_integer=arith.DivSIOp),
    "Mod": Scalar(on_integer=arith.RemSIOp),
    "And": Scalar(on_bool=arith.AndIOp),
    "Or": Scalar(on_bool=arith.OrIOp),
}

FUNCTIONS = Table[str, NumberFunction]("scalar functions of scripts")
"""Functions of numbers of one type; other packages may add theirs."""

FUNCTIONS.update(
    {
        **{f"T.{name}": NumberFunction(("x",), meaning) for name, meaning in _UNARY.items()},
        **{f"T.{name}": NumberFunction(("a", "b"), meaning) for name, meaning in _BINARY.items()},
        "T.floordiv": OPERATORS[ast.FloorDiv],
        "T.floormod": OPERATORS[ast.Mod],
        "T.bitwise_and": OPERATORS[ast.BitAnd],
        "T.bitwise_or": OPERATORS[ast.BitOr],
        "T.bitwise_xor": OPERATORS[ast.BitXor],
        "T.shift_left": OPERATORS[ast.LShift],
        "T.shift_right": OPERATORS[ast.RShift],
    }
)

NAMES_OF_OPS = {op: name for name, f in reversed([*FUNCTIONS.items()]) if not f.symbol for op in f.printed_ops}
"""The function that each op is printed as: the first one in the table."""

INFIX_OF_OPS = {op: f for f in OPERATORS.values() for op in f.printed_ops if op not in NAMES_OF_OPS}
"""The operator that each op is printed as."""


def operator_of(op: arith.CmpfOp | arith.CmpiOp) -> NumberFunction | None:
    """Return the operator of Python that compares as an op does, or None."""
    predicates = arith.CMPF_COMPARISON_OPERATIONS if isinstance(op, arith.CmpfOp) else arith.CMPI_COMPARISON_OPERATIONS
    for function in OPERATORS.values():
        compare = function.scalar.for_type(op.lhs.type) if function.scalar is not None else None
        if isinstance(compare, partial) and compare.keywords["arg"] == predicates[op.predicate.value.data]:
            return function
    return None
