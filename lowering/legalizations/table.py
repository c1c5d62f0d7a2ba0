"""The table of legalizations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation

from relex.dialects.relex import Operator
from relex.dialects.relex.types import SizedType
from relex.dialects.sizes import Sizes
from relex.dialects.table import Table
from relex.dialects.tir import PrimFuncOp
from relex.lowering.te import Tensor

Legalization = Callable[..., Tensor | Sequence[Tensor] | PrimFuncOp]
"""A function from an operator and its operands, as tensors, to its result or results; or to a loop function on buffers
of the same types, with any body."""

LEGALIZATIONS = Table[type[Operation], Legalization]("legalizations")
"""The table, by operator class."""


def result_shape(op: Operator, *operands: Tensor) -> Sizes:
    """Return the shape of an operator's result for these operands, by its type rule."""
    return op.infer([SizedType(t.type, t.shape) for t in operands], op.properties).get_shape()


legalizes = LEGALIZATIONS.rule
"""Register a function in the table. Its parameter names become the names of the buffers."""
