"""Rules for operators that arrange elements anew, and for those that make tensors of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import helper
from schema_draws import Draw, tensor
from schema_rules import output_types, rule


@rule("Transpose")
def permutations(draw: Draw) -> None:
    """Any order."""
    shape = draw.shape()
    draw.data("data", shape)
    if shape and draw.chance(0.8):
        draw.attributes["perm"] = draw.random.sample(range(len(shape)), len(shape))


@rule("Reshape")
def reshapes(draw: Draw) -> None:
    """The sizes in another order, some joined, with a 0 or a -1 now and then."""
    shape = draw.shape()
    new = list(shape)
    draw.random.shuffle(new)
    if len(new) > 1 and draw.chance(0.5):
        new = [new[0] * new[1], *new[2:]]
    new = [0 if i < len(shape) and size == shape[i] and draw.chance(0.5) else size for i, size in enumerate(new)]
    if new and draw.chance(0.5):
        new[draw.between(0, len(new) - 1)] = -1
    if draw.chance(0.2):
        new.insert(0, 1)
        new = [size if size else 1 for size in new]
    draw.data("data", shape)
    draw.fixed("shape", np.array(new, np.int64))


@rule("Flatten")
def flattened(draw: Draw) -> None:
    """From a dimension on, or from behind the last one."""
    shape = draw.shape()
    draw.data("input", shape)
    if shape and draw.chance(0.7):
        draw.attributes["axis"] = draw.between(-len(shape) if draw.signed_axes else 0, len(shape))
    elif not shape:
        draw.attributes["axis"] = 0


@rule("Squeeze")
def squeezed(draw: Draw) -> None:
    """Some of the dimensions of size 1, or all."""
    shape = draw.shape(sizes=(1, 1, 2, 3))
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    chosen = draw.random.sample(ones, draw.between(0, len(ones)))
    draw.data("data", shape)
    if chosen and draw.chance(0.7):
        signed = [a - len(shape) if draw.signed_axes and draw.chance(0.4) else a for a in chosen]
        draw.fixed("axes", np.array(signed, np.int64))


@rule("Unsqueeze")
def unsqueezed(draw: Draw) -> None:
    """New dimensions."""
    shape = draw.shape(0, 3)
    count = draw.between(1, 2)
    draw.data("data", shape)
    draw.fixed("axes", np.array(draw.axes(len(shape) + count, count), np.int64))


@rule("Expand")
def expanded(draw: Draw) -> None:
    """A shape that the input broadcasts with, in either direction."""
    shape = draw.shape()
    draw.data("input", draw.narrowed(shape))
    draw.fixed("shape", np.array(draw.narrowed(shape), np.int64))


@rule("Tile")
def tiled(draw: Draw) -> None:
    """Each dimension some times, or not at all."""
    shape = draw.shape(sizes=(0, 1, 2, 3))
    draw.data("input", shape)
    draw.fixed("repeats", np.array([draw.pick(0, 1, 1, 2, 3) for _ in shape], np.int64))


@rule("Concat")
def joined(draw: Draw) -> None:
    """Tensors that are equal but for one dimension."""
    shape = list(draw.shape(1))
    axis = draw.axis(len(shape))
    for _ in range(draw.between(1, 4)):
        shape[axis] = draw.pick(0, 1, 2, 3)
        draw.data("inputs", shape)


@rule("Split")
def parts(draw: Draw) -> None:
    """Parts of given lengths, or of equal ones."""
    shape = list(draw.shape(1))
    axis = draw.axis(len(shape), default=0)
    name = draw.schema.inputs[0].name
    lengths = [draw.pick(0, 1, 2, 3) for _ in range(draw.between(1, 3))]
    if draw.chance(0.6):
        shape[axis] = sum(lengths)
        draw.fixed("split", np.array(lengths, np.int64))
    else:
        each = draw.pick(1, 2, 3)
        shape[axis] = each * len(lengths)
        if draw.has("num_outputs"):
            shape[axis] -= draw.between(0, each - 1)
            draw.attributes["num_outputs"] = len(lengths)
    draw.data(name, shape)
    draw.outputs = len(lengths)


@rule("Pad")
def padded(draw: Draw) -> None:
    """Elements around, also less than none."""
    shape = draw.shape(sizes=(1, 2, 3, 5))
    mode = draw.choose("mode", *(["constant", "constant", "reflect", "edge"] + ["wrap"] * (draw.operator.since >= 19)))
    axes = list(range(len(shape)))
    if draw.takes("axes") and draw.chance(0.4):
        axes = draw.axes(len(shape))
        draw.fixed("axes", np.array(axes))
    most = [shape[a] - 1 if mode == "reflect" else 2 for a in axes]
    low = -1 if mode == "constant" and draw.chance(0.3) else 0
    pads = [
        draw.between(low if shape[a] > 2 else 0, min(n, 3)) for _ in (0, 1) for a, n in zip(axes, most, strict=True)
    ]
    draw.data("data", shape)
    draw.fixed("pads", np.array(pads, np.int64))
    draw.optional("constant_value", ()) if mode == "constant" else None
    draw.choose("value", 0.0, 1.5)


@rule("Slice")
def sliced(draw: Draw) -> None:
    """Positions from either end and beyond, forwards and backwards."""
    shape = draw.shape(1)
    axes = draw.axes(len(shape), draw.between(1, len(shape)))
    far = 2**31 if draw.takes("starts") and draw.dtype("starts").itemsize == 8 else 2**31 - 1
    ends = [-far, far, *range(-6, 7)]
    starts, stops, steps = (draw.random.choices(c, k=len(axes)) for c in (range(-6, 7), ends, (1, 1, 2, 3, -1, -2)))
    if draw.chance(0.3) or not draw.takes("starts"):
        axes = list(range(len(axes)))
    draw.data("data", shape)
    draw.fixed("starts", np.array(starts, np.int64))
    draw.fixed("ends", np.array(stops, np.int64))
    if axes != list(range(len(axes))) or draw.chance(0.7):
        draw.fixed("axes", np.array(axes, np.int64))
        if draw.takes("steps") and draw.chance(0.7):
            draw.fixed("steps", np.array(steps, np.int64))


@rule("ConstantOfShape")
def constants(draw: Draw) -> None:
    """A value of any type that is allowed."""
    types = [helper.tensor_dtype_to_np_dtype(t) for t in output_types(draw)]
    draw.fixed("input", np.array(draw.shape(), np.int64))
    if draw.chance(0.8):
        draw.attributes["value"] = tensor("value", draw.array((1,), types[draw.number % len(types)]))


@rule("Constant")
def constant(draw: Draw) -> None:
    """A tensor, or a list of numbers."""
    types = [helper.tensor_dtype_to_np_dtype(t) for t in output_types(draw)]
    names = [n for n in ("value", "value_int", "value_ints", "value_float", "value_floats") if draw.has(n)]
    name = names[draw.number // 2 % len(names)] if draw.number % 2 else "value"
    values: dict[str, Any] = {"value_int": 3, "value_ints": [1, -2], "value_float": 0.5, "value_floats": [0.5, 1.5]}
    value = tensor("value", draw.array(draw.shape(), types[draw.number // 2 % len(types)]))
    draw.attributes[name] = values.get(name, value)


@rule("Range")
def ranges(draw: Draw) -> None:
    """Few numbers, in either direction."""
    dtype = draw.dtype("start")
    step = draw.pick(1, 2, -1, 3)
    start, limit = draw.between(-4, 4), draw.between(-4, 9)
    half = 0.5 if dtype.kind == "f" else 0
    for name, number in (("start", start + half), ("limit", limit), ("delta", step + half * (step > 0))):
        draw.fixed(name, number)


@rule("EyeLike")
def diagonal(draw: Draw) -> None:
    """Matrices."""
    draw.data("input", draw.shape(2, 2))
    draw.choose("k", -1, 1, 2)


@rule("Trilu")
def triangles(draw: Draw) -> None:
    """Matrices, and a diagonal."""
    draw.data("input", draw.shape(2))
    if draw.chance(0.6):
        draw.fixed("k", draw.between(-4, 4))


@rule("DepthToSpace", "SpaceToDepth")
def blocks(draw: Draw) -> None:
    """Blocks of pixels."""
    size = draw.attributes["blocksize"] = draw.pick(1, 2, 3)
    n, c, h, w = (draw.pick(1, 2, 3) for _ in range(4))
    to_space = draw.operator.name == "DepthToSpace"
    draw.data("input", (n, c * size * size, h, w) if to_space else (n, c, h * size, w * size))
    draw.choose("mode", "DCR", "CRD")


@rule("Shape")
def some_sizes(draw: Draw) -> None:
    """Some of the sizes."""
    draw.data("data", draw.shape())
    draw.choose("start", -3, -1, 0, 1, 5)
    draw.choose("end", -3, -1, 0, 1, 5)


@rule("CenterCropPad")
def centred(draw: Draw) -> None:
    """Other sizes around the same centre."""
    shape = draw.shape(1, 4, (1, 2, 3, 5))
    axes = draw.axes(len(shape), draw.between(1, len(shape))) if draw.chance(0.5) else list(range(len(shape)))
    if axes != list(range(len(shape))):
        draw.attributes["axes"] = axes
    draw.data("input_data", shape)
    draw.fixed("shape", np.array([draw.pick(1, 2, 3, 5) for _ in axes]))


@rule("Dropout")
def dropped(draw: Draw) -> None:
    """Not in training."""
    draw.data("data", draw.shape())
    if draw.takes("ratio") and draw.chance(0.5):
        draw.fixed("ratio", 0.5)
        draw.fixed("training_mode", False)
