"""Graph programs on numbers as formulas of z3: floats are IEEE floats, integers wrap around."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerType, ModuleOp, TensorType, f16, f32, f64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from relex.dialects.relex import AstypeOp, ConstantOp, array_of

z3: Any = import_module("z3")

MOST_STEPS = 20_000_000
"""What z3 may spend on a rule, in its own measure: some seconds, and the same on any machine."""


class Unsupported(Exception):
    """An op that has no formula."""


def proves(before: ModuleOp, after: ModuleOp) -> bool:
    """Return whether z3 shows that two functions of numbers are equal for all arguments; False if it does not answer.
    Raises `AssertionError` for a counterexample."""
    try:
        (old, arguments), (new, others) = _formula(before), _formula(after)
    except Unsupported:
        return False
    solver: Any = z3.Solver()
    solver.set("rlimit", MOST_STEPS)
    solver.add(*[a == b for a, b in zip(arguments, others, strict=True)])
    # For floats this is equality of terms: NaN equals itself, and zeros have signs.
    solver.add(old != new)
    answer = solver.check()
    assert answer != z3.sat, solver.model()
    return bool(answer == z3.unsat)


def _formula(module: ModuleOp) -> tuple[Any, list[Any]]:
    (main,) = module.ops
    assert isinstance(main, func.FuncOp)
    values: dict[SSAValue, Any] = {}
    arguments = [_variable(f"x{i}", _element(a)) for i, a in enumerate(main.body.block.args)]
    values.update(zip(main.body.block.args, arguments, strict=True))
    for op in main.body.block.ops:
        if isinstance(op, func.ReturnOp):
            return values[op.operands[0]], arguments
        values[op.results[0]] = _apply(op, [values[v] for v in op.operands])
    raise Unsupported


def _element(value: SSAValue) -> Attribute:
    assert isa(value.type, TensorType)
    return value.type.element_type


def _sort(t: Attribute) -> Any:
    sorts: dict[Attribute, Callable[[], Any]] = {f16: z3.Float16, f32: z3.Float32, f64: z3.Float64}
    if t in sorts:
        return sorts[t]()
    if not isa(t, IntegerType):
        raise Unsupported
    return z3.BoolSort() if t.width.data == 1 else z3.BitVecSort(t.width.data)


def _variable(name: str, t: Attribute) -> Any:
    return z3.Const(name, _sort(t))


def _apply(op: Operation, operands: list[Any]) -> Any:
    if isinstance(op, ConstantOp):
        array = array_of(op.result)
        assert array is not None
        number = array.reshape(-1)[0].item()
        sort = _sort(_element(op.result))
        if sort.kind() == z3.Z3_FLOATING_POINT_SORT:
            return z3.fpMinusZero(sort) if str(number) == "-0.0" else z3.FPVal(number, sort)
        return z3.BoolVal(number) if sort.kind() == z3.Z3_BOOL_SORT else z3.BitVecVal(number, sort)
    sort = _sort(_element(op.operands[-1]))
    kind = {z3.Z3_FLOATING_POINT_SORT: "float", z3.Z3_BOOL_SORT: "bool"}.get(sort.kind(), "integer")
    name = op.name.removeprefix("relex.")
    if isinstance(op, AstypeOp):
        return _convert(operands[0], sort, _sort(_element(op.result)))
    if name == "clip" and not op.properties:
        return operands[0]
    if name == "where":
        return z3.If(*operands)
    function = _FUNCTIONS.get((name, kind))
    if function is None:
        raise Unsupported
    return function(*operands)


def _convert(x: Any, source: Any, target: Any) -> Any:
    if source == target:
        return x
    kinds = source.kind(), target.kind()
    if kinds == (z3.Z3_FLOATING_POINT_SORT,) * 2:
        return z3.fpFPToFP(z3.RNE(), x, target)
    if kinds == (z3.Z3_BV_SORT,) * 2:
        more = target.size() - source.size()
        return z3.SignExt(more, x) if more > 0 else z3.Extract(target.size() - 1, 0, x)
    if kinds == (z3.Z3_BV_SORT, z3.Z3_FLOATING_POINT_SORT):
        return z3.fpSignedToFP(z3.RNE(), x, target)
    raise Unsupported


def _extreme(is_max: bool, a: Any, b: Any) -> Any:
    first = z3.fpGT(a, b) if is_max else z3.fpLT(a, b)
    zeros = z3.If(z3.fpIsNegative(a) if is_max else z3.fpIsPositive(a), b, a)
    chosen = z3.If(first, a, z3.If(z3.fpEQ(a, b), zeros, b))
    return z3.If(z3.fpIsNaN(a), a, z3.If(z3.fpIsNaN(b), b, chosen))


def _larger(a: Any, b: Any) -> Any:
    return z3.If(a > b, a, b)


def _smaller(a: Any, b: Any) -> Any:
    return z3.If(a < b, a, b)


def _absolute(a: Any) -> Any:
    return z3.If(a < 0, -a, a)


def _positive(a: Any) -> Any:
    return z3.If(a < 0, z3.BitVecVal(0, a.sort()), a)


def _relu(a: Any) -> Any:
    return _extreme(True, a, z3.fpPlusZero(a.sort()))


def _product_and_sum(a: Any, b: Any, c: Any) -> Any:
    nearest = z3.RNE()
    return z3.fpAdd(nearest, z3.fpMul(nearest, a, b), c)


def _integer_product_and_sum(a: Any, b: Any, c: Any) -> Any:
    return a * b + c


def _rounded(function: str, a: Any, b: Any) -> Any:
    return getattr(z3, function)(z3.RNE(), a, b)


def _whole(mode: str, a: Any) -> Any:
    return z3.fpRoundToIntegral(getattr(z3, mode)(), a)


_untyped: Any = operator

_FUNCTIONS: dict[tuple[str, str], Callable[..., Any]] = {
    ("add", "float"): partial(_rounded, "fpAdd"),
    ("subtract", "float"): partial(_rounded, "fpSub"),
    ("multiply", "float"): partial(_rounded, "fpMul"),
    ("divide", "float"): partial(_rounded, "fpDiv"),
    ("ewise_fma", "float"): _product_and_sum,
    ("negative", "float"): z3.fpNeg,
    ("abs", "float"): z3.fpAbs,
    ("relu", "float"): _relu,
    ("maximum", "float"): partial(_extreme, True),
    ("minimum", "float"): partial(_extreme, False),
    ("floor", "float"): partial(_whole, "RTN"),
    ("ceil", "float"): partial(_whole, "RTP"),
    ("trunc", "float"): partial(_whole, "RTZ"),
    ("round", "float"): partial(_whole, "RNE"),
    ("add", "integer"): operator.add,
    ("subtract", "integer"): operator.sub,
    ("multiply", "integer"): operator.mul,
    ("ewise_fma", "integer"): _integer_product_and_sum,
    ("negative", "integer"): operator.neg,
    ("abs", "integer"): _absolute,
    ("relu", "integer"): _positive,
    ("maximum", "integer"): _larger,
    ("minimum", "integer"): _smaller,
    ("bitwise_and", "integer"): _untyped.and_,
    ("bitwise_or", "integer"): _untyped.or_,
    ("left_shift", "integer"): _untyped.lshift,
    ("right_shift", "integer"): _untyped.rshift,
    ("trunc_divide", "integer"): _untyped.truediv,
}
"""The formulas of operators, on floats and on integers. Rounding is to the nearest number, ties to even."""
