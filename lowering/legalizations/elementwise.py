"""Elementwise operators: their formulas, on scalar expressions."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

from relex.dialects.relex import BinaryFunction, EwiseFMAOp, Formula, UnaryFunction, WhereOp
from relex.lowering import te
from relex.lowering.legalizations.broadcasting import elementwise
from relex.lowering.legalizations.legalization_table import legalizes

_FUNCTIONS = {
    "abs": abs,
    "negative": operator.neg,
    **{f.__name__: f for f in (te.bitcast, te.cast, te.look_up, te.select)},
}
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


class ScalarFunctions:
    """The functions of formulas: the functions of `relex.lowering.te`, by their names."""

    def __getattr__(self, name: str) -> Any:
        return _FUNCTIONS.get(name) or partial(te.compare if name in _COMPARISONS else te.call, name)


def _computed(op: Formula, *operands: te.Tensor) -> te.Tensor:
    name = op.name.rpartition(".")[2]
    return elementwise(name, lambda *e: op.formula(ScalarFunctions(), *e), *operands)


@legalizes(UnaryFunction)
def unary(op: UnaryFunction, x: te.Tensor) -> te.Tensor:
    """Legalize a function of one number to its formula."""
    return _computed(op, x)


@legalizes(BinaryFunction)
def binary(op: BinaryFunction, a: te.Tensor, b: te.Tensor) -> te.Tensor:
    """Legalize a function of two numbers to its formula."""
    return _computed(op, a, b)


@legalizes(EwiseFMAOp)
def ewise_fma(op: EwiseFMAOp, x: te.Tensor, y: te.Tensor, z: te.Tensor) -> te.Tensor:
    """Legalize to `x * y + z`, as two ops."""
    return _computed(op, x, y, z)


@legalizes(WhereOp)
def where(op: WhereOp, condition: te.Tensor, x: te.Tensor, y: te.Tensor) -> te.Tensor:
    """Legalize to a select; both values are read."""
    return _computed(op, condition, x, y)
