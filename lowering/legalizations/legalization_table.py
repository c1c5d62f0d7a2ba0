"""The table of legalizations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation

from relex.dialects.relex import Operator
from relex.dialects.relex.operator import tensor_type
from relex.dialects.relex.types import SizedType
from relex.dialects.sizes import Sizes
from relex.dialects.table import Table
from relex.dialects.tir import PrimFuncOp
from relex.lowering.te import Tensor, rounded, widened

Legalization = Callable[..., Tensor | Sequence[Tensor] | PrimFuncOp]
"""A function from an operator and its operands, as tensors, to its result or results; or to a loop function on buffers
of the same types, with any body."""

LEGALIZATIONS = Table[type[Operation], Legalization]("legalizations")
"""The table, by operator class."""


def lowered_by(op: Operator) -> str:
    """Return the package that made the entry by which an operator is lowered; "" if it has none."""
    modules = (LEGALIZATIONS.entered_by.get(kind, "") for kind in type(op).__mro__ if kind in LEGALIZATIONS)
    return next(modules, "").partition(".")[0]


def result_shape(op: Operator, *operands: Tensor) -> Sizes:
    """Return the shape of an operator's result for these operands, by its type rule."""
    return op.infer([SizedType(t.type, t.shape) for t in operands], op.properties).get_shape()


def apply_legalization(legalize: Legalization, op: Operator, inputs: Sequence[Tensor]) -> Sequence[Tensor] | PrimFuncOp:
    """Return what a legalization makes of an operator on these inputs: its results, with the element types that the op
    says, or a loop function."""
    computed = legalize(op, *(inputs if op.MOVES else map(widened, inputs)))
    if isinstance(computed, PrimFuncOp):
        return computed
    several = [computed] if isinstance(computed, Tensor) else computed
    types = [tensor_type(t).element_type for t in op.result_types]
    return [rounded(*of_one) for of_one in zip(several, types, strict=True)]


legalizes = LEGALIZATIONS.rule
"""Register a function in the table. Its parameter names become the names of the buffers."""
