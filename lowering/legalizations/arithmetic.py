"""Elementwise operators, comparisons and conversions."""

from __future__ import annotations

from math import sqrt

from xdsl.dialects.builtin import AnyFloat, i1
from xdsl.ir import Operation

from relex.dialects.relex import (
    AbsOp,
    AddOp,
    AstypeOp,
    ClipOp,
    DivideOp,
    EqualOp,
    ErfOp,
    EwiseFMAOp,
    ExpOp,
    FloorOp,
    GeluOp,
    GreaterEqualOp,
    GreaterOp,
    LessEqualOp,
    LessOp,
    LogOp,
    MaximumOp,
    MinimumOp,
    MultiplyOp,
    NegativeOp,
    NotEqualOp,
    PowerOp,
    ReluOp,
    RsqrtOp,
    SigmoidOp,
    SiluOp,
    SqrtOp,
    SubtractOp,
    TanhOp,
    WhereOp,
)
from relex.dialects.relex.properties import number
from relex.lowering.legalizations.broadcasting import elementwise
from relex.lowering.legalizations.table import legalizes
from relex.lowering.te import Expr, Tensor, call, cast, compare, maximum, minimum, select


@legalizes(AddOp, SubtractOp, MultiplyOp, DivideOp, MaximumOp, MinimumOp, PowerOp)
def binary(op: Operation, a: Tensor, b: Tensor) -> Tensor:
    """Legalize a binary operator to the scalar function of the same name."""
    function = op.name.removeprefix("relex.")
    return elementwise(function, lambda *e: call(function, *e), a, b)


@legalizes(ReluOp)
def relu(op: ReluOp, x: Tensor) -> Tensor:
    """Legalize to the maximum with 0."""
    return elementwise("relu", lambda *e: maximum(e[0], 0), x)


@legalizes(EwiseFMAOp)
def ewise_fma(op: EwiseFMAOp, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """Legalize to `x * y + z`, as two ops."""
    return elementwise("ewise_fma", lambda *e: e[0] * e[1] + e[2], x, y, z)


@legalizes(EqualOp, NotEqualOp, LessOp, LessEqualOp, GreaterOp, GreaterEqualOp)
def comparison(op: Operation, a: Tensor, b: Tensor) -> Tensor:
    """Legalize a comparison to the scalar comparison of the same name."""
    function = op.name.removeprefix("relex.")
    return elementwise(function, lambda *e: compare(function, *e), a, b)


@legalizes(WhereOp)
def where(op: WhereOp, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Legalize to a select; both values are read."""
    return elementwise("where", lambda *e: select(*e), condition, x, y)


@legalizes(ExpOp, LogOp, SqrtOp, TanhOp, ErfOp, FloorOp)
def unary(op: Operation, x: Tensor) -> Tensor:
    """Legalize a unary operator to the scalar function of the same name."""
    function = op.name.removeprefix("relex.")
    return elementwise(function, lambda *e: call(function, *e), x)


@legalizes(NegativeOp)
def negative(op: NegativeOp, x: Tensor) -> Tensor:
    """Legalize to a negation on floats, and to `0 - x` on integers."""
    is_float = isinstance(x.type, AnyFloat)
    return elementwise("negative", lambda *e: call("negative", e[0]) if is_float else 0 - e[0], x)


@legalizes(AbsOp)
def absolute(op: AbsOp, x: Tensor) -> Tensor:
    """Legalize to `abs` on floats, and to `max(x, -x)` on integers; an i1 stays as it is."""

    def element(*e: Expr) -> Expr:
        if x.type == i1:
            return e[0]
        return call("abs", e[0]) if isinstance(x.type, AnyFloat) else maximum(e[0], 0 - e[0])

    return elementwise("abs", element, x)


@legalizes(RsqrtOp)
def rsqrt(op: RsqrtOp, x: Tensor) -> Tensor:
    """Legalize to `1 / sqrt(x)`."""
    return elementwise("rsqrt", lambda *e: 1 / call("sqrt", e[0]), x)


@legalizes(SigmoidOp)
def sigmoid(op: SigmoidOp, x: Tensor) -> Tensor:
    """Legalize to `1 / (1 + exp(-x))`."""
    return elementwise("sigmoid", lambda *e: 1 / (1 + call("exp", call("negative", e[0]))), x)


@legalizes(SiluOp)
def silu(op: SiluOp, x: Tensor) -> Tensor:
    """Legalize to `x / (1 + exp(-x))`."""
    return elementwise("silu", lambda *e: e[0] / (1 + call("exp", call("negative", e[0]))), x)


@legalizes(GeluOp)
def gelu(op: GeluOp, x: Tensor) -> Tensor:
    """Legalize to `x / 2 * (1 + erf(x / sqrt(2)))`."""
    return elementwise("gelu", lambda *e: e[0] * 0.5 * (1 + call("erf", e[0] * sqrt(0.5))), x)


@legalizes(AstypeOp)
def astype(op: AstypeOp, x: Tensor) -> Tensor:
    """Legalize to a conversion of each element; see `te.cast`."""
    return elementwise("astype", lambda *e: cast(e[0], op.dtype), x)


@legalizes(ClipOp)
def clip(op: ClipOp, x: Tensor) -> Tensor:
    """Legalize to a maximum with the lower bound and a minimum with the upper one, as far as they are given."""

    def element(*e: Expr) -> Expr:
        (value,) = e
        if op.min is not None:
            value = maximum(value, number(op.min))
        return minimum(value, number(op.max)) if op.max is not None else value

    return elementwise("clip", element, x)
