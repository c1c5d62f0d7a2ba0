"""Evaluation of a graph: what is known about each of its values, from what is known about its arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from relex.dialects.arrays import Array
from relex.dialects.dtypes import array_from_dense, element_type_of, numpy_dtype
from relex.dialects.relex import ConstantOp, Operator
from relex.dialects.relex.operator import Exactness, tensor_type
from relex.reference.domains.operators import evaluate
from relex.reference.interpreter.memory import signless
from relex.reference.intervals.domain import Intervals
from relex.reference.intervals.numbers import IntegerIntervals, Reals, Value, cells_of, known_of, value_of, wrapped

NARROW = 1 / 16
"""The width of what is known, relative to the number, below which an element is decided."""


def known_results(op: Operator, operands: Sequence[Value | None]) -> list[Value | None]:
    """Return what is known about the results of an operator, by its own definition in place of numbers; None for what
    has no meaning on intervals."""
    found = None
    if len(known := [x for x in operands if x is not None]) == len(operands):
        cells = [_cells_of(x, v) for x, v in zip(known, op.operands, strict=True)]
        with np.errstate(all="ignore"):
            found = evaluate(op, Intervals(), cells)
    if found is None:
        return [None] * len(op.results)
    return [_known_of(cells, v) for (cells, _), v in zip(found, op.results, strict=True)]


def _cells_of(x: Value, value: SSAValue) -> Array:
    dtype = signless(numpy_dtype(tensor_type(value.type).element_type))
    return cells_of(wrapped(element_type_of(dtype), x.value, x.known) if isinstance(x, IntegerIntervals) else x, dtype)


def _known_of(cells: Array, value: SSAValue) -> Value:
    t = tensor_type(value.type).element_type
    found = known_of(cells, signless(numpy_dtype(t)))
    return wrapped(t, found.value, found.known) if isinstance(found, IntegerIntervals) else found


def known_array(value: SSAValue, array: Array) -> Value | None:
    """Return an array as known numbers of the type of a value."""
    return value_of(tensor_type(value.type).element_type, array)


def follow(function: FuncOp, arguments: Sequence[Array]) -> dict[SSAValue, Value | None]:
    """Return what is known about each value of a graph."""
    known: dict[SSAValue, Value | None] = {v: known_array(v, a) for v, a in zip(function.args, arguments, strict=True)}
    for op in function.body.block.ops:
        if isinstance(op, ConstantOp):
            known[op.result] = known_array(op.result, array_from_dense(op.value))
        elif isinstance(op, Operator):
            found = known_results(op, [known[v] for v in op.operands])
            known.update(zip(op.results, found, strict=True))
    return known


@dataclass(frozen=True)
class Agreement:
    """The agreement of an array with what is known about it."""

    decided: int
    elements: int
    wrong: str | None
    """The first element that cannot be, and what it should be."""


def judge(known: Value | None, array: Array, *, signs: bool = False) -> Agreement:
    """Compare an array with what is known about it; with `signs`, zeros of which that is known must have their sign."""
    if known is None:
        return Agreement(0, array.size, None)
    if known.shape != array.shape:
        return Agreement(0, array.size, f"expected the shape {known.shape}, found {array.shape}")
    with np.errstate(all="ignore"):
        if isinstance(known, Reals):
            agrees, decided = _judge_reals(known, array, signs)
        else:
            agrees, decided = (
                known.value == array.astype(np.int64 if array.dtype == np.bool_ else array.dtype),
                known.known,
            )
    wrong = np.asarray(known.known & ~np.asarray(agrees, np.bool_))
    return Agreement(int(np.sum(decided)), array.size, _described(known, array, wrong) if np.any(wrong) else None)


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


def steps(function: FuncOp, arrays: Mapping[SSAValue, Array]) -> Iterator[tuple[Operator, Agreement]]:
    """Yield each operator of a graph with how its results agree with what is known from its own operands."""
    for op in function.body.block.ops:
        if isinstance(op, Operator):
            operands = [known_array(v, arrays[v]) for v in op.operands]
            found = known_results(op, operands)
            for known, value in zip(found, op.results, strict=True):
                yield op, judge(known, arrays[value], signs=op.EXACTNESS is not Exactness.ROUNDED)
