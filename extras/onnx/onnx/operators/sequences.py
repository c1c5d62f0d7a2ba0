"""Sequences and optional values, whose lengths are known at import."""

from __future__ import annotations

import numpy as np

from relex.frontend import op
from relex.frontend.compositions.indexing import pieces
from relex.frontend.onnx import Known, OnnxNode, Operand, Tensor, imports, refuse
from relex.frontend.onnx.values import AnyValue, Empty, Items


@imports("SequenceConstruct", "SequenceEmpty")
def construct(node: OnnxNode, *tensors: Tensor) -> Items:
    """A sequence of the inputs, without elements if there are none."""
    return Items(tensors)


@imports("SequenceLength")
def length(node: OnnxNode, items: Items) -> Known:
    """The number of elements."""
    return Known(np.array(len(items.values), np.int64))


def _place(node: OnnxNode, items: Items, position: Tensor, end: int) -> int:
    place = int(node.known_number(position, "a position"))
    if not -len(items.values) <= place < end:
        refuse(f"expected a position in a sequence of {len(items.values)}, found {place}")
    return place + len(items.values) if place < 0 else place


@imports("SequenceAt")
def at(node: OnnxNode, items: Items, position: Tensor) -> Tensor:
    """An element."""
    return items.values[_place(node, items, position, len(items.values))]


@imports("SequenceInsert")
def insert(node: OnnxNode, items: Items, tensor: Tensor, position: Tensor | None = None) -> Items:
    """The sequence with one more element."""
    count = len(items.values)
    place = count if position is None else _place(node, items, position, count + 1)
    return Items([*items.values[:place], tensor, *items.values[place:]])


@imports("SequenceErase")
def erase(node: OnnxNode, items: Items, position: Tensor | None = None) -> Items:
    """The sequence without an element."""
    place = len(items.values) - 1 if position is None else _place(node, items, position, len(items.values))
    return Items([*items.values[:place], *items.values[place + 1 :]])


@imports("SplitToSequence")
def split(node: OnnxNode, x: Tensor, lengths: Tensor | None = None) -> Items:
    """Parts of a tensor along a dimension."""
    axis = node.axis(x)
    size = node.static_shape(x)[axis]
    if lengths is None:
        parts = pieces(x, [1] * size, axis)
        return Items([node.tensor(p if node.integer("keepdims", 1) else op.squeeze(p, axis)) for p in parts])
    known = node.known(lengths, "lengths")
    if known.ndim:
        return Items([node.tensor(part) for part in pieces(x, known.tolist(), axis)])
    step = int(known)
    if step < 1:
        refuse(f"expected a length of 1 or more, found {step}")
    counts = [min(step, size - start) for start in range(0, size, step)]
    return Items([node.tensor(part) for part in pieces(x, counts, axis)])


@imports("ConcatFromSequence")
def concat(node: OnnxNode, items: Items) -> Operand:
    """The elements one after another."""
    axis = node.integer("axis")
    parts: list[Operand] = list(items.values)
    if not parts:
        refuse("expected elements to concatenate, found none")
    if node.integer("new_axis"):
        axis += node.rank(parts[0]) + 1 if axis < 0 else 0
        parts = [op.expand_dims(x, axis) for x in parts]
    return op.concat(*parts, axis=axis) if len(parts) > 1 else parts[0]


@imports("Optional")
def optional(node: OnnxNode, x: AnyValue | None = None) -> AnyValue:
    """The value, or none."""
    return Empty() if x is None else x


@imports("OptionalGetElement")
def get(node: OnnxNode, x: AnyValue) -> AnyValue:
    """The value, which must be there."""
    if isinstance(x, Empty):
        refuse("expected a value, found none")
    return x
