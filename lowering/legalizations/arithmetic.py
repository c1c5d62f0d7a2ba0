"""Elementwise operators: their formulas, on scalar expressions."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

from relex.dialects.relex import BinaryFunction, Comparison, EwiseFMAOp, Formula, UnaryFunction, WhereOp
from relex.lowering.legalizations.broadcasting import elementwise
from relex.lowering.legalizations.table import legalizes
from relex.lowering.te import Tensor, bitcast, call, cast, compare, equal, not_equal, select


class _ScalarFunctions:
    """The functions of formulas: those of `relex.lowering.te`, by their names."""

    abs = staticmethod(abs)
    bitcast = staticmethod(bitcast)
    cast = staticmethod(cast)
    equal = staticmethod(equal)
    negative = staticmethod(operator.neg)
    not_equal = staticmethod(not_equal)
    select = staticmethod(select)

    def __getattr__(self, name: str) -> Any:
        return partial(call, name)


def _computed(op: Formula, *operands: Tensor) -> Tensor:
    name = op.name.rpartition(".")[2]
    return elementwise(name, lambda *e: op.formula(_ScalarFunctions(), *e), *operands)


@legalizes(UnaryFunction)
def unary(op: UnaryFunction, x: Tensor) -> Tensor:
    """Legalize a function of one number to its formula."""
    return _computed(op, x)


@legalizes(BinaryFunction)
def binary(op: BinaryFunction, a: Tensor, b: Tensor) -> Tensor:
    """Legalize a function of two numbers to its formula."""
    return _computed(op, a, b)


@legalizes(Comparison)
def comparison(op: Comparison, a: Tensor, b: Tensor) -> Tensor:
    """Legalize a comparison to the scalar comparison of the same name."""
    name = op.name.rpartition(".")[2]
    return elementwise(name, lambda *e: compare(name, *e), a, b)


@legalizes(EwiseFMAOp)
def ewise_fma(op: EwiseFMAOp, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """Legalize to `x * y + z`, as two ops."""
    return _computed(op, x, y, z)


@legalizes(WhereOp)
def where(op: WhereOp, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Legalize to a select; both values are read."""
    return _computed(op, condition, x, y)
