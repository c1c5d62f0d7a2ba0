"""Evaluation of a graph: what is known about each of its values, from what is known about its arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from relex.dialects import relex
from relex.dialects.arrays import Array
from relex.dialects.dtypes import array_from_dense
from relex.dialects.relex import ConstantOp, Operator
from relex.dialects.relex.operator import Exactness, tensor_type

# Each of these enters the formulas of a family of operators.
from relex.reference.intervals import elementwise as elementwise
from relex.reference.intervals import movement as movement
from relex.reference.intervals import reductions as reductions
from relex.reference.intervals import windows as windows
from relex.reference.intervals import winograd as winograd
from relex.reference.intervals.formulas import FORMULAS
from relex.reference.intervals.numbers import Reals, Value, computed_in, format_of, value_of

SHAPED = (relex.ReshapeOp, relex.ExpandDimsOp, relex.SqueezeOp, relex.BroadcastToOp, relex.IotaOp)
"""Operators whose formulas are told the shape of the result."""

NARROW = 1 / 16
"""The width of what is known, relative to the number, below which an element is decided."""


def known_results(
    op: Operator, operands: Sequence[Value | None], shapes: Sequence[tuple[int, ...]]
) -> list[Value | None]:
    """Return what is known about the results of an operator, of these shapes; None for what has no formula."""
    formula = FORMULAS.find(op)
    if formula is None or any(x is None for x in operands):
        return [None] * len(shapes)
    types = [tensor_type(v.type).element_type for v in op.operands]
    taken = [x.rounded_to(computed_in(t)) if isinstance(x, Reals) else x for x, t in zip(operands, types, strict=True)]
    with np.errstate(all="ignore"):
        found: Any = formula(op, *taken, shape=shapes[0]) if isinstance(op, SHAPED) else formula(op, *taken)
        results = cast("tuple[Any, ...]", found) if isinstance(found, tuple) else (found,)
        return [_rounded(x, v) for x, v in zip(results, op.results, strict=True)]


def _rounded(x: Value | None, value: SSAValue) -> Value | None:
    return x.rounded_to(format_of(tensor_type(value.type).element_type)) if isinstance(x, Reals) else x


def known_array(value: SSAValue, array: Array) -> Value | None:
    """Return an array as known numbers of the type of a value."""
    return value_of(tensor_type(value.type).element_type, array)


def follow(
    function: FuncOp, arguments: Sequence[Array], shapes: Mapping[SSAValue, tuple[int, ...]]
) -> dict[SSAValue, Value | None]:
    """Return what is known about each value of a graph."""
    known: dict[SSAValue, Value | None] = {v: known_array(v, a) for v, a in zip(function.args, arguments, strict=True)}
    for op in function.body.block.ops:
        if isinstance(op, ConstantOp):
            known[op.result] = known_array(op.result, array_from_dense(op.value))
        elif isinstance(op, Operator):
            found = known_results(op, [known[v] for v in op.operands], [shapes[v] for v in op.results])
            known.update(zip(op.results, found, strict=True))
    return known


@dataclass(frozen=True)
class Verdict:
    """The agreement of an array with what is known about it."""

    decided: int
    elements: int
    wrong: str | None
    """The first element that cannot be, and what it should be."""


def judge(known: Value | None, array: Array, *, signs: bool = False) -> Verdict:
    """Compare an array with what is known about it; with `signs`, zeros of which that is known must have their sign."""
    if known is None:
        return Verdict(0, array.size, None)
    if known.shape != array.shape:
        return Verdict(0, array.size, f"expected the shape {known.shape}, found {array.shape}")
    with np.errstate(all="ignore"):
        if isinstance(known, Reals):
            agrees, decided = _judge_reals(known, array, signs)
        else:
            agrees, decided = (
                known.value == array.astype(np.int64 if array.dtype == np.bool_ else array.dtype),
                known.known,
            )
    wrong = np.asarray(known.known & ~np.asarray(agrees, np.bool_))
    return Verdict(int(np.sum(decided)), array.size, _described(known, array, wrong) if np.any(wrong) else None)


def _judge_reals(known: Reals, array: Array, signs: bool) -> tuple[Any, Any]:
    found = array.astype(known.low.dtype)
    low, high = known.low, known.high
    agrees = ((low <= found) & (found <= high)) | (np.isnan(low) & np.isnan(found))
    if signs:
        agrees &= ~known.is_point | (low != 0) | (np.signbit(low) == np.signbit(found))
    narrow = (high - low <= NARROW * np.maximum(np.abs(low), np.abs(high))) | (low == high) | np.isnan(low)
    return agrees, known.known & narrow


def _described(known: Value, array: Array, wrong: Array) -> str:
    at = tuple(int(n) for n in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
    place = f"[{', '.join(map(str, at))}]" if at else ""
    if isinstance(known, Reals):
        low, high = known.low[at], known.high[at]
        expected = f"{low!s}" if low == high or np.isnan(low) else f"a number from {low!s} to {high!s}"
    else:
        expected = str(known.value[at])
    return f"expected {expected} for result{place}, found {array[at]!s}"


def steps(function: FuncOp, arrays: Mapping[SSAValue, Array]) -> Iterator[tuple[Operator, Verdict]]:
    """Yield each operator of a graph with how its results agree with what is known from its own operands."""
    for op in function.body.block.ops:
        if isinstance(op, Operator):
            operands = [known_array(v, arrays[v]) for v in op.operands]
            found = known_results(op, operands, [arrays[v].shape for v in op.results])
            for known, value in zip(found, op.results, strict=True):
                yield op, judge(known, arrays[value], signs=op.EXACTNESS is not Exactness.ROUNDED)
