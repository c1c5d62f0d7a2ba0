"""Shapes: their computation, and tensors with the same elements in another arrangement."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import AnyFloat, f32, f64, i1, i32, i64

from relex.dialects.relex.data_sizes import arange_length
from relex.dialects.relex.types import broadcast
from relex.dialects.sizes import IndexExpr, Size, count
from relex.frontend import op
from relex.frontend.compositions.indexing import diagonal_mask, numbers_below, part_at, pieces, range_length
from relex.frontend.compositions.reshaping import is_number, without_minus_one
from relex.frontend.importing.size_arithmetic import Ratio
from relex.frontend.onnx import Known, OnnxNode, Operand, Tensor, imports, refuse
from relex.frontend.onnx.import_table import row
from relex.frontend.onnx.tensors import array_of, dtype_of
from relex.frontend.onnx.values import Empty, element_type_of

MOST = 1 << 24
"""The elements at most of an array that a node makes from numbers alone."""


@imports("Shape")
def shape(node: OnnxNode, x: Tensor) -> Operand:
    """The sizes, or some of them."""
    return Known(np.array(node.shape(x)[slice(node.integer("start"), node.attribute("end"))], object))


@imports("Size")
def size(node: OnnxNode, x: Tensor) -> Operand:
    """The number of elements."""
    return Known(count(node.shape(x)))


@imports("Reshape", since=5)
def reshape(node: OnnxNode, x: Tensor, shape: Tensor) -> Operand:
    """Another shape, in which 0 stands for the size of the input, and -1 for what is left."""
    if not isinstance(shape, Known):
        return _reshaped_to(node, x, shape)
    old, sizes = node.shape(x), node.known_sizes(shape, "a shape")
    if not node.integer("allowzero"):
        sizes = [old[i] if is_number(size, 0) else size for i, size in enumerate(sizes)]
    if any(isinstance(size, int) and size < -1 for size in sizes) or sizes.count(-1) > 1:
        refuse(f"expected a shape with one -1 at most, found {sizes}")
    return node.reshape(x, without_minus_one(old, sizes))


def _reshaped_to(node: OnnxNode, x: Tensor, shape: Tensor) -> Operand:
    """Return a tensor with a shape that the program computes."""
    old, (length,) = node.shape(x), node.static_shape(shape, "sizes of a shape")
    numbers: Operand = op.astype(shape, i64)
    if not node.integer("allowzero") and old:
        kept = np.array([*old, *[0] * length][:length], object)
        numbers = op.where(op.equal(numbers, 0), Known(kept), numbers)
    # What does not fit is an error of the reshape.
    others = node.tensor(op.prod(op.where(op.equal(numbers, -1), 1, numbers)))
    quotient = op.trunc_divide(Known(np.array(count(old), object)), op.maximum(others, 1))
    rest = op.where(op.equal(others, 0), -1, quotient)
    return node.reshape(x, node.sizes(op.where(op.equal(numbers, -1), rest, numbers), "a shape"))


@imports("Flatten")
def flatten(node: OnnxNode, x: Tensor) -> Operand:
    """Two dimensions: the product of those before `axis`, and of the others."""
    sizes, axis = node.shape(x), node.integer("axis", 1)
    axis += len(sizes) if axis < 0 else 0
    return node.reshape(x, [count(sizes[:axis]), count(sizes[axis:])])


row("Transpose", op.permute_dims, axes="perm")
row("Concat", op.concat, since=4, axis="axis")


@imports("Squeeze")
def squeeze(node: OnnxNode, x: Tensor, axes: Tensor | None = None) -> Operand:
    """The tensor without dimensions of size 1."""
    axes = node.given(axes, "axes")
    if axes is None:
        sizes = node.shape(x)
        for size in dict.fromkeys(size for size in sizes if isinstance(size, IndexExpr)):
            # A dimension of size 1 would have to go, but how many there are is not for the program to decide.
            node.expect(op.not_equal(Known(size), 1), f"expected {size} not to be 1, as no axes are given to squeeze")
        chosen = [axis for axis, size in enumerate(sizes) if is_number(size, 1)]
    else:
        chosen = node.known_integers(axes, "axes")
    return op.squeeze(x, chosen) if chosen else x


@imports("Unsqueeze")
def unsqueeze(node: OnnxNode, x: Tensor, axes: Tensor | None = None) -> Operand:
    """The tensor with new dimensions of size 1."""
    chosen = node.known_integers(node.given(axes, "axes"), "axes")
    return op.expand_dims(x, chosen) if chosen else x


@imports("Expand")
def expand(node: OnnxNode, x: Tensor, shape: Tensor) -> Operand:
    """The tensor repeated along dimensions of size 1."""
    old, new = list(node.shape(x)), node.sizes(shape, "a shape")
    if any(isinstance(size, int) and size < 0 for size in new):
        refuse(f"expected sizes that are not negative, found {new}")
    if not isinstance(shape, Known):
        for place, size in enumerate(old[-len(new) :] if new else [], max(len(new) - len(old), 0)):
            if size != 1:
                _expect_fits(node, part_at(shape, 0, place), size)
                new[place] = size
    return node.broadcast_to(x, broadcast(old, new))


def _expect_fits(node: OnnxNode, number: Operand, size: Size) -> None:
    """Let the program stop unless a number is 1 or a size."""
    fits = op.logical_or(op.equal(number, 1), op.equal(number, op.astype(Known(size), node.element_type(number))))
    node.expect(fits, f"expected {size} or 1 as a size", number)


@imports("Tile", since=6)
def tile(node: OnnxNode, x: Tensor, repeats: Tensor) -> Operand:
    """The tensor repeated along each dimension."""
    times, sizes = node.sizes(repeats, "repeats"), node.shape(x)
    if len(times) != len(sizes):
        refuse(f"expected {len(sizes)} repeats, found {len(times)}")
    repeated = [size for pair in zip(times, sizes, strict=True) for size in pair]
    parts = op.expand_dims(x, list(range(0, 2 * len(sizes), 2))) if sizes else x
    joined = [size * n for size, n in zip(sizes, times, strict=True)]
    return node.reshape(node.broadcast_to(parts, repeated), joined)


@imports("Split")
def split(node: OnnxNode, x: Tensor, sizes: Tensor | None = None) -> list[Operand]:
    """Parts of a tensor along a dimension."""
    axis = node.axis(x)
    whole = node.shape(x)[axis]
    lengths = node.given(sizes, "split")
    if lengths is not None:
        return pieces(x, _lengths(node, lengths, whole), axis)
    parts = node.integer("num_outputs") or len(node.proto.output)
    length = whole // parts if node.version < 18 else -(-whole // parts)
    last = whole - (parts - 1) * length
    message = f"expected a size that can be split into {parts} equal parts, found {whole}"
    if node.version < 18:
        node.expect_at_least(length, last, message)
    elif parts > 2:
        node.expect_at_least(last, 0, f"{message}; only the last one may be shorter")
    return pieces(x, [*[length] * (parts - 1), last], axis)


def _lengths(node: OnnxNode, lengths: Tensor, whole: Size) -> list[Size]:
    """Return the lengths of all parts of a dimension, which may be numbers that the program computes."""
    found = node.sizes(lengths, "sizes")
    for length in found:
        node.expect_at_least(length, 0, f"expected lengths that are not negative, found {length}")
    total: Size = sum(found)
    message = f"expected parts that have {whole} elements together"
    computed = None if isinstance(lengths, Known) else op.sum(op.astype(lengths, i64))
    node.expect_at_least(whole, total, message, computed)
    node.expect_at_least(total, whole, message, computed)
    return found


@imports("ConstantOfShape")
def constant_of_shape(node: OnnxNode, shape: Tensor) -> Operand:
    """A tensor with equal elements."""
    value = node.array("value")
    value = np.zeros(1, np.float32) if value is None else value
    return node.broadcast_to(Known(value.reshape(())), node.sizes(shape, "a shape"))


@imports("Constant")
def constant(node: OnnxNode) -> Operand:
    """An array in an attribute."""
    for kind, dtype in (("int", np.int64), ("float", np.float32)):
        for name in (f"value_{kind}", f"value_{kind}s"):
            if node.has(name):
                return Known(np.array(node.attribute(name), dtype))
    value = node.attribute("value") or node.attribute("sparse_value")
    if value is None:
        refuse("a constant that is a string")
    return Known(array_of(value, None), node.proto.output[0])


@imports("Range")
def numbers(node: OnnxNode, start: Tensor, limit: Tensor, delta: Tensor) -> Operand:
    """Numbers with equal distances."""
    if not all(isinstance(x, Known) for x in (start, limit, delta)):
        ends = [node.reshape(x, []) for x in (start, limit, delta)]
        if start.element_type in (f32, f64, i32, i64):
            return op.arange(*ends)
        wider = (
            i64 if not isinstance(start.element_type, AnyFloat) else f64 if node.integer("stash_type", 1) == 11 else f32
        )
        return op.astype(op.arange(*(op.astype(x, wider) for x in ends)), start.element_type)
    given = ((start, "a start"), (limit, "a limit"), (delta, "a step"))
    first, end, step = (node.known_size(x, what) for x, what in given)
    if any(isinstance(number, IndexExpr | Ratio) for number in (first, end, step)):
        return _open_range(node, start, range_length(first, end, step), delta)
    length = arange_length(first, end, step)
    if length is None or length > MOST:
        refuse(f"expected a range of {MOST} numbers at most, found one from {first} to {end} by {step}")
    return Known((first + np.arange(length) * step).astype(start.dtype))


def _open_range(node: OnnxNode, start: Tensor, length: Size, delta: Tensor) -> Operand:
    """Return as many numbers as a size."""
    count = op.astype(numbers_below(length), start.element_type)
    return op.add(op.multiply(count, op.reshape(delta, [])), op.reshape(start, []))


@imports("EyeLike")
def eye_like(node: OnnxNode, x: Tensor) -> Operand:
    """Ones on a diagonal."""
    rows, columns = node.shape(x)
    dtype = node.attribute("dtype")
    element_type = x.element_type if dtype is None else element_type_of(dtype_of(dtype))
    return op.astype(diagonal_mask(rows, columns, Known(node.integer("k")), op.equal), element_type)


@imports("Trilu")
def triangle(node: OnnxNode, x: Tensor, k: Tensor | None = None) -> Operand:
    """The upper or lower triangle of matrices, and zeros."""
    rows, columns = node.shape(x)[-2:]
    shift: Operand = Known(0) if k is None else op.reshape(k, [])
    mask = diagonal_mask(rows, columns, shift, op.greater_equal if node.integer("upper", 1) else op.less_equal)
    if x.element_type == i1:
        return op.multiply(mask, x)
    return op.where(mask, x, 0)


def _is_depth_first(node: OnnxNode) -> bool:
    """Return whether the rows and columns of a block are counted before the channels: `DCR`."""
    return node.text("mode", "DCR") == "DCR"


@imports("DepthToSpace")
def depth_to_space(node: OnnxNode, x: Tensor) -> Operand:
    """Blocks of channels become blocks of pixels."""
    n, c, h, w = node.shape(x)
    b = node.integer("blocksize")
    blocks, order = [b, b, c // (b * b)], [0, 3, 4, 1, 5, 2]
    if not _is_depth_first(node):
        blocks, order = [c // (b * b), b, b], [0, 1, 4, 2, 5, 3]
    moved = op.permute_dims(node.reshape(x, [n, *blocks, h, w]), order)
    return node.reshape(moved, [n, c // (b * b), h * b, w * b])


@imports("SpaceToDepth")
def space_to_depth(node: OnnxNode, x: Tensor) -> Operand:
    """Blocks of pixels become blocks of channels."""
    n, c, h, w = node.shape(x)
    b = node.integer("blocksize")
    parts = node.reshape(x, [n, c, h // b, b, w // b, b])
    order = [0, 3, 5, 1, 2, 4] if _is_depth_first(node) else [0, 1, 3, 5, 2, 4]
    return node.reshape(op.permute_dims(parts, order), [n, c * b * b, h // b, w // b])


@imports("Dropout")
def dropout(node: OnnxNode, x: Tensor, ratio: Tensor | None = None, training: Tensor | None = None) -> list[Operand]:
    """The input itself, unless in training."""
    in_training = training is not None and node.known_number(training, "a mode")
    if in_training and (ratio is None or node.known_number(ratio, "a ratio")):
        refuse("random numbers, for dropout in training")
    # The mask has had the type of the data at first.
    mask_type = x.element_type if node.version < 10 else i1
    mask: list[Operand] = [node.full(node.shape(x), True, mask_type)] if node.output_count > 1 else []
    return [x, *mask]


@imports("OptionalHasElement")
def has_element(node: OnnxNode, x: object = None) -> Operand:
    """Whether an optional value is present."""
    return Known(np.array(x is not None and not isinstance(x, Empty)))
