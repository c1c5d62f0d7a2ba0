"""A node of a graph of ATen operators, as imports see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import f32, f64, i1, i32, i64
from xdsl.ir import Attribute

from relex.dialects.dtypes import DTYPES, FLOATS, is_emulated, numpy_dtype
from relex.dialects.sizes import IndexExpr
from relex.frontend import op
from relex.frontend.graph_expressions import Expr, Operand
from relex.frontend.importing.builder import Builder
from relex.frontend.importing.import_node import ImportedNode
from relex.frontend.importing.values import Known, Tensor
from relex.frontend.torch.library import torch
from relex.frontend.torch.places import module_path
from relex.frontend.torch.tensors import element_type_for

FLOAT8 = DTYPES["float8_e4m3fn"]
FLOAT8_LIMIT = 448.0
"""The largest number of the only type to which torch converts larger ones, infinity included, as this number."""

CUT = {DTYPES[name] for name in ("int8", "int16", "int32", "int64", "uint8", "uint16")}
"""Integers of which torch determines what floats become that are out of their range."""

Value = Operand | IndexExpr
"""An operand of arithmetic: a tensor, a number or a size."""


class TorchNode(ImportedNode):
    """A node while it is imported: what torch knows of its operands and its results."""

    def __init__(self, fx: Any, builder: Builder):
        super().__init__(builder)
        self.fx = fx
        """The node of `torch.fx`."""

    @property
    def title(self) -> str:
        path = module_path(self.fx)
        return f"{path}: 'aten.{self.name}'" if path else f"'aten.{self.name}'"

    @property
    def name(self) -> str:
        """The name of the operator, without the name of its overload: `view`."""
        return self.fx.target.__name__.partition(".")[0]

    @property
    def results(self) -> list[Any]:
        """The results as torch knows them: tensors without elements."""
        found = self.fx.meta["val"]
        return list(cast("list[Any]", found)) if isinstance(found, tuple | list) else [found]

    @property
    def result_type(self) -> Attribute:
        """The element type of the first result."""
        return element_type_for(self.results[0].dtype)

    @property
    def common_type(self) -> Attribute:
        """The element type to which torch converts the operands."""
        given = [argument.meta["val"] if isinstance(argument, torch.fx.Node) else argument for argument in self.fx.args]
        given = [True if isinstance(value, torch.SymBool) else value for value in given]
        dtypes = [value for value in given if isinstance(value, torch.Tensor | int | float | bool | torch.SymInt)]
        return element_type_for(torch.result_type(*dtypes[:2]) if len(dtypes) > 1 else dtypes[0].dtype)

    def typed(self, x: Value, element_type: Attribute | None = None) -> Tensor:
        """Return an operand with elements of a type, by default the type of the result."""
        element_type = element_type or self.result_type
        if isinstance(x, IndexExpr):
            x = Known(x)
        if not isinstance(x, Expr):
            return Known(np.array(x).astype(numpy_dtype(element_type)))
        tensor = self.tensor(x)
        if tensor.element_type == element_type:
            return tensor
        if isinstance(tensor, Known) and tensor.array.size == 1 and not tensor.is_symbolic:
            return Known(tensor.array.astype(numpy_dtype(element_type)))
        narrow = tensor
        if element_type == FLOAT8:
            narrow = op.clip(self.typed(tensor, f32), -FLOAT8_LIMIT, FLOAT8_LIMIT)
        elif tensor.element_type in FLOATS and element_type in CUT:
            narrow = self._cut(tensor, element_type)
        return self.tensor(op.astype(narrow, element_type))

    def _cut(self, x: Tensor, element_type: Attribute) -> Operand:
        """Return floats as integers of which a type takes the low bits. Where they are out of the range of these, the
        smallest one stands for them, as on the processors that torch mostly runs on."""
        y = self.typed(x, f32) if is_emulated(x.element_type) else x
        wide = i64 if element_type == i64 or (element_type, y.element_type) == (DTYPES["uint8"], f64) else i32
        limit = 2.0 ** (wide.width.data - 1)
        is_inside = op.logical_and(op.greater_equal(y, -limit), op.less(y, limit))
        return op.where(is_inside, op.astype(y, wide), Known(np.array(-limit).astype(numpy_dtype(wide))))

    def widened(self, x: Value) -> Tensor:
        """Return an operand with elements of the type of the result, or of f32 if that is smaller: in this type torch
        computes what takes several steps."""
        return self.typed(x, f32 if is_emulated(self.result_type) else self.result_type)

    def typed_results(self, *values: Value) -> list[Operand]:
        """Return several results with elements of their types."""
        return [self.typed(x, element_type_for(r.dtype)) for x, r in zip(values, self.results, strict=True)]

    def like_result(self, array: Any) -> Known:
        """Return an array with the element type of the result."""
        return Known(np.asarray(array).astype(numpy_dtype(self.result_type)))

    def dimensions(self, axes: int | Sequence[int] | None, x: Operand) -> list[int]:
        """Return dimensions of a tensor counted from the front, all of them for None or none."""
        rank = self.rank(x)
        if axes is None or axes == []:
            return list(range(rank))
        given = [axes] if isinstance(axes, int) else axes
        return [axis % rank if rank else 0 for axis in given] if rank else []

    def dimension(self, axis: int, x: Operand) -> int:
        """Return a dimension of a tensor counted from the front."""
        return axis % max(self.rank(x), 1)


def in_result_type(node: TorchNode, function: Callable[..., Operand], *operands: Value) -> Operand:
    """Apply a function to operands that are converted to the type of the result."""
    return function(*map(node.typed, operands))


def in_common_type(node: TorchNode, function: Callable[..., Operand], *operands: Value) -> Operand:
    """Apply a function to operands that are converted to the type that has the numbers of all."""
    return function(*(node.typed(x, node.common_type) for x in operands))


def of_truth(node: TorchNode, function: Callable[..., Operand], *operands: Value) -> Operand:
    """Apply a function of conditions: numbers other than zero are true."""
    return function(*(node.typed(x, i1) for x in operands))


def in_steps(node: TorchNode, function: Callable[..., Operand], *operands: Any) -> Operand:
    """Apply a function of tensors and numbers that takes several steps: floats that are smaller than f32 are rounded
    after the last one."""
    return node.typed(function(*(node.widened(x) if isinstance(x, Expr | IndexExpr) else x for x in operands)))


def numbers(given: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """Return a number for each dimension, from one for all of them, or one for each."""
    listed = (given,) if isinstance(given, int) else tuple(given)
    return listed * rank if len(listed) == 1 else listed
