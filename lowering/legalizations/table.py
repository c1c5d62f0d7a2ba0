"""The table of legalizations."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from relex.dialects.relex import Operator
from relex.dialects.relex.types import SizedType
from relex.dialects.sizes import Sizes
from relex.dialects.tir import PrimFuncOp
from relex.lowering.te import Tensor

Legalization = Callable[..., Tensor | PrimFuncOp]
"""From an operator and its operands, as inputs of a tensor expression, to its result; or to a loop function that takes
and fills buffers of their types, whatever is in it."""

LEGALIZATIONS: dict[type[Operation], Legalization] = {}
"""The table, by operator class."""


def result_shape(op: Operator, *operands: Tensor) -> Sizes:
    """The shape of an operator's result for these operands, by its type rule."""
    return op.infer([SizedType(t.type, t.shape) for t in operands], op.properties).get_shape()


def legalizes(*operators: type[Operation]) -> Callable[[Legalization], Legalization]:
    """Enter a function into the table. Its parameter names become the names of the buffers."""

    def enter(function: Legalization) -> Legalization:
        for operator in operators:
            LEGALIZATIONS[operator] = function
        return function

    return enter
