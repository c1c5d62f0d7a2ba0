"""Tensors made from numbers and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64

from relex.dialects.dtypes import INTEGERS, numpy_dtype
from relex.dialects.sizes import IndexExpr, Size, larger
from relex.frontend import op
from relex.frontend.compositions.indexing import diagonal_mask, numbers_below
from relex.frontend.importing.values import sizes_of
from relex.frontend.torch import Known, Operand, Tensor, TorchNode, imports, refuse
from relex.frontend.torch.node import Value

FILLED = "full full_like new_full zeros zeros_like new_zeros ones ones_like new_ones"
UNSPECIFIED = "empty empty_like new_empty empty_strided new_empty_strided empty_permuted"


@imports(*(f"aten.{name}" for name in f"{FILLED} {UNSPECIFIED}".split()))
def filled(node: TorchNode, *arguments: Any) -> Operand:
    """A tensor with equal elements, of given sizes or the sizes of another tensor. One whose elements are not specified
    has zeros."""
    lists = [i for i, given in enumerate(arguments) if isinstance(given, Sequence)]
    sizes = sizes_of(arguments[lists[0]]) if lists else node.shape(arguments[0])
    value = arguments[lists[0] + 1 if lists else 1] if "full" in node.name else int("ones" in node.name)
    return node.broadcast_to(node.typed(value), sizes)


@imports("aten.scalar_tensor")
def scalar(node: TorchNode, value: Value, *options: Any) -> Operand:
    """A tensor of rank 0."""
    return node.typed(value)


@imports("aten.arange.default", "aten.arange.start", "aten.arange.start_step")
def arange(node: TorchNode, *arguments: Any) -> Operand:
    """The numbers from 0 on, or from one to another, which may be in steps. Floats become integers before numbers are
    computed of them; the length, except for i64, is what it is for floats."""
    overload = node.fx.target._overloadname
    start, end = (0, arguments[0]) if overload == "default" else arguments[:2]
    step = arguments[2] if overload == "start_step" else 1
    if not any(isinstance(number, IndexExpr) for number in (start, end, step)):
        if node.result_type == i64:
            start, end, step = int(start), int(end), int(step)
            length = max(-((start - end) // step), 0)
        else:
            length = max(ceil((end - start) / step), 0)
        if node.result_type in INTEGERS:
            start, step = int(start), int(step)
        if length <= 1 << 16:
            return node.like_result(start + np.arange(length) * step)
    elif not isinstance(step, int) or step < 1 or isinstance(start, float):
        refuse(f"numbers from {start} to {end} by {step}; fix dynamic sizes with `shapes=`")
    else:
        length = larger((end - start + step - 1) // step, 0)
    places = numbers_below(length)
    if node.result_type != i64 or isinstance(start, float) or isinstance(step, float):
        return op.add(op.multiply(node.typed(places), node.typed(step)), node.typed(start))
    scaled = places if step == 1 else op.multiply(places, step)
    return scaled if start == 0 else op.add(scaled, node.typed(start))


@imports("aten.eye")
def identity(node: TorchNode, rows: Size, *options: Any) -> Operand:
    """Ones on the diagonal of a matrix."""
    columns = options[0] if "m" in node.fx.target._overloadname and isinstance(options[0], int | IndexExpr) else rows
    if isinstance(rows, IndexExpr) or isinstance(columns, IndexExpr):
        return node.typed(diagonal_mask(rows, columns, Known(0), op.equal))
    return Known(np.eye(rows, columns, dtype=numpy_dtype(node.result_type)))


@imports("aten.linspace")
def linspace(node: TorchNode, start: Operand | float, end: Operand | float, steps: Size, *options: Any) -> Operand:
    """Numbers at equal distances."""
    first, last = (limit.array.item() if isinstance(limit, Known) else limit for limit in (start, end))
    if not (isinstance(first, int | float) and isinstance(last, int | float) and isinstance(steps, int)):
        refuse("numbers between limits that are only known when the program runs")
    return node.like_result(np.linspace(first, last, steps))


@imports("aten.tril", "aten.triu")
def triangle(node: TorchNode, x: Tensor, diagonal: Size = 0) -> Operand:
    """The lower or upper triangle of matrices, and zeros."""
    compare = op.less_equal if "tril" in node.fx.target.__name__ else op.greater_equal
    rows, columns = node.shape(x)[-2:]
    return op.where(diagonal_mask(rows, columns, Known(diagonal), compare), x, node.typed(0))
