"""Elementwise operators: their formulas, on scalar expressions."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

from relex.dialects.relex import BinaryFunction, EwiseFMAOp, Formula, UnaryFunction, WhereOp
from relex.lowering.legalizations.broadcasting import elementwise
from relex.lowering.legalizations.legalization_table import legalizes
from relex.lowering.te import Tensor, bitcast, call, cast, compare, look_up, select

_FUNCTIONS = {"abs": abs, "negative": operator.neg, **{f.__name__: f for f in (bitcast, cast, look_up, select)}}
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


class ScalarFunctions:
    """The functions of formulas: the functions of `relex.lowering.te`, by their names."""

    def __getattr__(self, name: str) -> Any:
        return _FUNCTIONS.get(name) or partial(compare if name in _COMPARISONS else call, name)


def _computed(op: Formula, *operands: Tensor) -> Tensor:
    name = op.name.rpartition(".")[2]
    return elementwise(name, lambda *e: op.formula(ScalarFunctions(), *e), *operands)


@legalizes(UnaryFunction)
def unary(op: UnaryFunction, x: Tensor) -> Tensor:
    """Legalize a function of one number to its formula."""
    return _computed(op, x)


@legalizes(BinaryFunction)
def binary(op: BinaryFunction, a: Tensor, b: Tensor) -> Tensor:
    """Legalize a function of two numbers to its formula."""
    return _computed(op, a, b)


@legalizes(EwiseFMAOp)
def ewise_fma(op: EwiseFMAOp, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """Legalize to `x * y + z`, as two ops."""
    return _computed(op, x, y, z)


@legalizes(WhereOp)
def where(op: WhereOp, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Legalize to a select; both values are read."""
    return _computed(op, condition, x, y)
