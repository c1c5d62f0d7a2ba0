"""Reductions along dimensions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from relex.dialects.dtypes import FLOATS, INTEGERS, numpy_dtype
from relex.dialects.sizes import count
from relex.frontend import op
from relex.frontend.compositions.conversions import by_floats
from relex.frontend.compositions.softmax import log_sum_exp
from relex.frontend.onnx import OnnxNode, Operand, Tensor
from relex.frontend.onnx.import_table import IMPORTS, row

Reduce = Callable[[Operand, list[int], bool], Operand]


REDUCTIONS: dict[str, Reduce] = {
    "ReduceSum": op.sum,
    "ReduceMean": op.mean,
    "ReduceMax": op.max,
    "ReduceMin": op.min,
    "ReduceProd": op.prod,
    "ReduceL1": lambda x, axis, keepdims: op.sum(op.abs(x), axis, keepdims),
    "ReduceL2": lambda x, axis, keepdims: op.sqrt(op.sum(op.multiply(x, x), axis, keepdims)),
    "ReduceLogSum": lambda x, axis, keepdims: op.log(op.sum(x, axis, keepdims)),
    "ReduceLogSumExp": log_sum_exp,
    "ReduceSumSquare": lambda x, axis, keepdims: op.sum(op.multiply(x, x), axis, keepdims),
}

OVER_NONE: dict[str, float] = {"ReduceMax": -np.inf, "ReduceMin": np.inf, "ReduceLogSumExp": -np.inf}
"""The results over no elements, where the operator of relex has none."""


def _by(name: str, reduce: Reduce) -> Callable[..., Operand]:
    def reduced(node: OnnxNode, x: Operand, axes: list[int], keepdims: bool) -> Operand:
        def along(x: Operand) -> Operand:
            return reduce(x, axes, keepdims)

        return by_floats(node, along, x) if name in _OF_FLOATS else along(x)

    def imported(node: OnnxNode, x: Tensor, axes: Tensor | None = None) -> Operand:
        chosen = _axes(node, x, axes)
        if chosen is None:
            return x if name in _UNCHANGED else reduced(node, op.expand_dims(x, 0), [0], False)
        shape = node.shape(x)
        if name in OVER_NONE and count([shape[axis] for axis in chosen]) == 0:
            return _empty(node, x, chosen, OVER_NONE[name])
        return reduced(node, x, chosen, node.flag("keepdims"))

    return imported


_OF_FLOATS = ("ReduceMean", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp")
_UNCHANGED = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd")


def _axes(node: OnnxNode, x: Tensor, axes: Tensor | None) -> list[int] | None:
    """Return the dimensions to reduce, None for none."""
    given = node.given(axes, "axes")
    chosen = [] if given is None else node.known_integers(given, "axes")
    if chosen:
        return list(node.axes(chosen, x))
    return None if node.integer("noop_with_empty_axes") else list(range(node.rank(x)))


def _empty(node: OnnxNode, x: Tensor, axes: list[int], value: float) -> Operand:
    kept = [1 if axis in axes else size for axis, size in enumerate(node.shape(x))]
    sizes = kept if node.flag("keepdims") else [size for axis, size in enumerate(node.shape(x)) if axis not in axes]
    if x.element_type in INTEGERS:
        limits = np.iinfo(numpy_dtype(x.element_type))
        value = limits.min if value < 0 else limits.max
    elif x.element_type not in FLOATS:
        value = value > 0
    return node.full(sizes, value, x.element_type)


for _name, _reduce in REDUCTIONS.items():
    IMPORTS.add(_by(_name, _reduce), ("", _name, 1))


def _index_of(node: OnnxNode, search: Callable[..., Operand], x: Tensor) -> Operand:
    """Return the index of the first extreme element along a dimension, or of the last one."""
    return search(x, node.axis(x), node.flag("keepdims"), node.flag("select_last_index"))


row("ArgMax", op.argmax, _index_of)
row("ArgMin", op.argmin, _index_of)
