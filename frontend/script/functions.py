"""Scalar functions and operators of loop functions, by their names in scripts."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from relex.dialects.index.domains import constant_value
from relex.dialects.index.expr import span_of
from relex.dialects.index.from_ir import index_of
from relex.lowering.te.scalars import SCALARS, Scalar, build_constant, build_scalar

Emit = Callable[[Operation], SSAValue]
"""Inserts an op and returns its result."""

Build = Callable[[Emit, Sequence[SSAValue]], SSAValue]
"""Emits a function of values that have one type. Raises `ValueError` if the type does not support it."""


@dataclass(frozen=True)
class Function:
    """A function: its parameters under TVM's names, and how to emit it."""

    parameters: tuple[str, ...]
    build: Build
    fold: Callable[[int, int], int] | None = None
    """The function on two integer constants."""


def _scalar(name: str) -> Build:
    """Return a builder for a function that tensor expressions also have."""
    return lambda emit, values: emit(build_scalar(name, values))


def _op(scalar: Scalar) -> Build:
    def build(emit: Emit, values: Sequence[SSAValue]) -> SSAValue:
        make = scalar.for_type(values[-1].type)
        if make is None:
            raise ValueError(f"no such function on {values[-1].type}")
        return emit(make(*values))

    return build


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
    (x,) = values
    if not isinstance(x.type, AnyFloat):
        raise ValueError(f"no sigmoid on {x.type}")
    one = emit(build_constant(1, x.type))
    power = emit(build_scalar("exp", [emit(build_scalar("negative", [x]))]))
    return emit(build_scalar("divide", [one, emit(build_scalar("add", [one, power]))]))


def _is_nan(emit: Emit, values: Sequence[SSAValue]) -> SSAValue:
    (x,) = values
    if not isinstance(x.type, AnyFloat):
        raise ValueError(f"no NaN in {x.type}")
    return emit(build_scalar("not_equal", [x, x]))


_BITWISE = {
    "and": Function(("x", "y"), _op(Scalar(None, arith.AndIOp, arith.AndIOp))),
    "or": Function(("x", "y"), _op(Scalar(None, arith.OrIOp, arith.OrIOp))),
    "xor": Function(("x", "y"), _op(Scalar(None, arith.XOrIOp, arith.XOrIOp))),
    "shift_left": Function(("x", "y"), _op(Scalar(on_integer=arith.ShLIOp))),
    "shift_right": Function(("x", "y"), _op(Scalar(on_integer=arith.ShRSIOp))),
}

OPERATORS: dict[type[ast.AST], Function] = {
    ast.Add: Function(("a", "b"), _scalar("add"), operator.add),
    ast.Sub: Function(("a", "b"), _scalar("subtract"), operator.sub),
    ast.Mult: Function(("a", "b"), _scalar("multiply"), operator.mul),
    ast.Div: Function(("a", "b"), _scalar("divide")),
    ast.FloorDiv: Function(("a", "b"), _floor_divide, lambda a, b: a // b),
    ast.Mod: Function(("a", "b"), _floor_remainder, operator.mod),
    ast.Pow: Function(("a", "b"), _scalar("power")),
    ast.BitAnd: _BITWISE["and"],
    ast.BitOr: _BITWISE["or"],
    ast.BitXor: _BITWISE["xor"],
    ast.LShift: _BITWISE["shift_left"],
    ast.RShift: _BITWISE["shift_right"],
    ast.Eq: Function(("a", "b"), _scalar("equal")),
    ast.NotEq: Function(("a", "b"), _scalar("not_equal")),
    ast.Lt: Function(("a", "b"), _scalar("less")),
    ast.LtE: Function(("a", "b"), _scalar("less_equal")),
    ast.Gt: Function(("a", "b"), _scalar("greater")),
    ast.GtE: Function(("a", "b"), _scalar("greater_equal")),
}
"""The functions of Python's operators."""

_UNARY: dict[str, Scalar | str] = {
    "abs": Scalar(math.AbsFOp, math.AbsIOp),
    "fabs": "abs",
    "acos": Scalar(math.AcosOp),
    "asin": Scalar(math.AsinOp),
    "atan": Scalar(math.AtanOp),
    "ceil": Scalar(math.CeilOp),
    "cos": Scalar(math.CosOp),
    "cosh": Scalar(math.CoshOp),
    "erf": "erf",
    "exp": "exp",
    "exp2": Scalar(math.Exp2Op),
    "floor": "floor",
    "log": "log",
    "log1p": Scalar(math.Log1pOp),
    "log2": Scalar(math.Log2Op),
    "log10": Scalar(math.Log10Op),
    "nearbyint": Scalar(math.RoundEvenOp),
    "round": Scalar(math.RoundEvenOp),
    "rsqrt": Scalar(math.RsqrtOp),
    "sin": Scalar(math.SinOp),
    "sinh": Scalar(math.SinhOp),
    "sqrt": "sqrt",
    "tan": Scalar(math.TanOp),
    "tanh": "tanh",
    "trunc": Scalar(math.TruncOp),
}

_BINARY: dict[str, Scalar | str] = {
    "atan2": Scalar(math.Atan2Op),
    "copysign": Scalar(math.CopySignOp),
    "max": "maximum",
    "min": "minimum",
    "pow": "power",
    "power": "power",
    "truncdiv": Scalar(on_integer=arith.DivSIOp),
    "truncmod": Scalar(on_integer=arith.RemSIOp),
    "Div": Scalar(on_integer=arith.DivSIOp),
    "Mod": Scalar(on_integer=arith.RemSIOp),
}


def _functions(table: dict[str, Scalar | str], parameters: tuple[str, ...]) -> dict[str, Function]:
    return {
        f"T.{name}": Function(parameters, _scalar(scalar) if isinstance(scalar, str) else _op(scalar))
        for name, scalar in table.items()
    }


FUNCTIONS: dict[str, Function] = {
    **_functions(_UNARY, ("x",)),
    **_functions(_BINARY, ("a", "b")),
    "T.sigmoid": Function(("x",), _sigmoid),
    "T.isnan": Function(("x",), _is_nan),
    "T.And": Function(("a", "b"), _op(Scalar(on_bool=arith.AndIOp))),
    "T.Or": Function(("a", "b"), _op(Scalar(on_bool=arith.OrIOp))),
    "T.floordiv": OPERATORS[ast.FloorDiv],
    "T.floormod": OPERATORS[ast.Mod],
    "T.bitwise_and": _BITWISE["and"],
    "T.bitwise_or": _BITWISE["or"],
    "T.bitwise_xor": _BITWISE["xor"],
    "T.shift_left": _BITWISE["shift_left"],
    "T.shift_right": _BITWISE["shift_right"],
}
"""Functions of numbers of one type; other packages may add theirs."""


def _name_ops() -> Iterator[tuple[type[Operation], str]]:
    for name, entry in {**_UNARY, **_BINARY}.items():
        scalar = SCALARS[entry] if isinstance(entry, str) else entry
        for build in (scalar.on_float, scalar.on_integer):
            if isinstance(build, type):
                yield build, f"T.{name}"


NAMES_OF_OPS: dict[type[Operation], str] = dict(reversed(list(_name_ops())))
"""The function that each op is printed as."""
