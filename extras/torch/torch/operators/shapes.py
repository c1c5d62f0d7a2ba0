"""Tensors with the same elements in another arrangement."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64

from relex.dialects.sizes import IndexExpr, Size, count, larger, smaller
from relex.frontend import op
from relex.frontend.compositions.indexing import (
    LAST,
    diagonal_mask,
    numbers_below,
    part_at,
    pieces,
    stacked,
    windows_along,
)
from relex.frontend.compositions.reshaping import is_number, without_minus_one
from relex.frontend.importing.values import sizes_of
from relex.frontend.torch import Known, Operand, Tensor, TorchNode, imports, refuse
from relex.frontend.torch.import_table import row
from relex.frontend.torch.symbols import are_equal
from relex.frontend.torch.views import order_in_memory
from relex.passes.graph.layout.permutations import inverse


@imports("aten.view", "aten._unsafe_view", "aten.view_copy", "aten._reshape_copy")
def reshape(node: TorchNode, x: Tensor, shape: Sequence[Size]) -> Operand:
    """Another shape, in which -1 stands for what is left."""
    new = without_minus_one(node.shape(x), sizes_of(shape))
    return x if list(node.shape(x)) == new else node.reshape(x, new)


@imports("aten.as_strided", "aten.as_strided_copy")
def by_strides(
    node: TorchNode, x: Tensor, sizes: Sequence[Size], strides: Sequence[Size], offset: Size | None = None
) -> Operand:
    """A view by strides: of the same elements in the same places, as torch changes strides of dimensions of size 1, or
    of the elements in the order of memory."""
    given, found = node.fx.args[0].meta["val"], node.results[0]
    if not offset and given.dim() == found.dim() and all(map(are_equal, given.shape, found.shape)):
        wide = [d for d, size in enumerate(given.shape) if not are_equal(size, 1)]
        if all(are_equal(given.stride(d), found.stride(d)) for d in wide):
            return x
    return op.take(_in_memory(node, x), _places(node, sizes, strides, offset), 0)


@imports("aten.as_strided_scatter")
def stored_by_strides(
    node: TorchNode, x: Tensor, y: Tensor, sizes: Sequence[Size], strides: Sequence[Size], offset: Size | None = None
) -> Operand:
    """A tensor with other elements at places by strides."""
    flat = _in_memory(node, x)
    number = count(sizes_of(sizes))
    places = node.reshape(_places(node, sizes, strides, offset), [number])
    stored = op.scatter_elements(flat, places, node.reshape(node.typed(y), [number]), 0)
    order = order_in_memory(node.fx.args[0]) or []
    shape = [node.shape(x)[d] for d in order]
    return op.permute_dims(node.reshape(stored, shape), [*inverse(tuple(order))]) if order else node.reshape(stored, [])


def _in_memory(node: TorchNode, x: Tensor) -> Tensor:
    """Return the elements of a tensor in the order of memory, of which it must be the only one there."""
    given, order = node.fx.args[0].meta["val"], order_in_memory(node.fx.args[0])
    size = given.numel() * given.element_size()
    if order is None or not are_equal(given.untyped_storage().nbytes(), size):
        refuse("a view by strides of a part of a tensor; view the whole tensor, or take elements by indices")
    ordered = x if order == sorted(order) else node.tensor(op.permute_dims(x, order))
    return node.tensor(node.reshape(ordered, [count(node.shape(x))]))


def _places(node: TorchNode, sizes: Sequence[Size], strides: Sequence[Size], offset: Size | None) -> Operand:
    """Return the place of each element of a view by strides, in the order of memory."""
    rank = len(sizes)
    places: Operand = node.full(sizes_of(sizes), 0, i64)
    for d, (size, stride) in enumerate(zip(sizes_of(sizes), sizes_of(strides), strict=True)):
        others = [axis for axis in range(rank) if axis != d]
        steps = op.multiply(numbers_below(size), Known(stride))
        places = op.add(places, op.expand_dims(steps, others) if others else steps)
    return op.add(places, Known(offset or 0))


@imports("aten.permute")
def permute(node: TorchNode, x: Tensor, axes: Sequence[int]) -> Operand:
    """The dimensions in another order."""
    return op.permute_dims(x, node.dimensions(axes, x))


@imports("aten.transpose.int")
def transpose(node: TorchNode, x: Tensor, first: int, second: int) -> Operand:
    """Two dimensions exchanged."""
    axes = list(range(node.rank(x)))
    i, j = node.dimension(first, x), node.dimension(second, x)
    if axes:
        axes[i], axes[j] = axes[j], axes[i]
    return op.permute_dims(x, axes)


row("t", op.permute_dims)
row("unsqueeze", op.expand_dims)


@imports("aten.squeeze")
def squeeze(node: TorchNode, x: Tensor, axes: int | Sequence[int] | None = None) -> Operand:
    """The tensor without dimensions of size 1."""
    shape = node.shape(x)
    chosen = range(len(shape)) if axes is None else node.dimensions(axes, x) if axes != [] else []
    ones = [axis for axis in chosen if is_number(shape[axis], 1)]
    return op.squeeze(x, ones) if ones else x


@imports("aten.expand")
def expand(node: TorchNode, x: Tensor, sizes: Sequence[Size], implicit: bool = False) -> Operand:
    """The tensor repeated along dimensions of size 1 and new ones; -1 keeps a size."""
    wanted, old = sizes_of(sizes), node.shape(x)
    kept = [*([1] * (len(wanted) - len(old))), *old]
    new = [found if is_number(size, -1) else size for size, found in zip(wanted, kept, strict=True)]
    return x if list(old) == new else node.broadcast_to(x, new)


@imports("aten.repeat")
def repeat(node: TorchNode, x: Tensor, times: Sequence[Size]) -> Operand:
    """The tensor repeated along each dimension."""
    sizes: list[Size] = [*([1] * (len(times) - node.rank(x))), *node.shape(x)]
    pairs = list(zip(sizes_of(times), sizes, strict=True))
    joined = [size * n for n, size in pairs]
    if all(is_number(size, 1) or is_number(n, 1) for n, size in pairs):
        return node.broadcast_to(node.reshape(x, sizes), joined)
    parts = node.reshape(x, [part for size in sizes for part in (1, size)])
    repeated = [size for pair in pairs for size in pair]
    return node.reshape(node.broadcast_to(parts, repeated), joined)


@imports("aten.cat", "aten.concat")
def concat(node: TorchNode, tensors: Sequence[Tensor], axis: int = 0) -> Operand:
    """The tensors one after another. Torch ignores tensors of rank 1 without elements."""
    given = [x for x in tensors if not (len(x.sizes) == 1 and is_number(x.sizes[0], 0))] or list(tensors[:1])
    typed = [node.typed(x) for x in given]
    return op.concat(*typed, axis=node.dimension(axis, typed[0])) if len(typed) > 1 else typed[0]


@imports("aten.stack")
def stack(node: TorchNode, tensors: Sequence[Tensor], axis: int = 0) -> Operand:
    """The tensors along a new dimension."""
    axis %= node.rank(tensors[0]) + 1
    return stacked([node.typed(x) for x in tensors], axis)


def _known_size(node: TorchNode, x: Tensor, axis: int) -> int:
    return node.closed(node.shape(x)[axis], "parts of a dynamic dimension: {}")


@imports("aten.split_with_sizes")
def split_with_sizes(node: TorchNode, x: Tensor, lengths: Sequence[int], axis: int = 0) -> list[Operand]:
    """Parts of given lengths along a dimension."""
    return pieces(x, lengths, node.dimension(axis, x))


@imports("aten.split.Tensor")
def split(node: TorchNode, x: Tensor, length: int, axis: int = 0) -> list[Operand]:
    """Parts of equal length along a dimension, of which the last may be shorter."""
    axis = node.dimension(axis, x)
    whole = _known_size(node, x, axis)
    return pieces(x, [min(length, whole - start) for start in range(0, max(whole, 1), length)], axis)


@imports("aten.unbind")
def unbind(node: TorchNode, x: Tensor, axis: int = 0) -> list[Operand]:
    """The parts along a dimension, without it."""
    axis = node.dimension(axis, x)
    return [part_at(x, axis, i) for i in range(_known_size(node, x, axis))]


@imports("aten.flip")
def flip(node: TorchNode, x: Tensor, axes: Sequence[int]) -> Operand:
    """The elements in reverse order along dimensions."""
    chosen = node.dimensions(axes, x) if axes else []
    if not chosen:
        return x
    return op.strided_slice(x, chosen, [LAST] * len(chosen), [-LAST - 1] * len(chosen), [-1] * len(chosen))


@imports("aten.roll")
def roll(node: TorchNode, x: Tensor, shifts: int | Sequence[int], axes: int | Sequence[int] = ()) -> Operand:
    """The elements moved along dimensions; those that leave at an end return at the other."""
    moves = [shifts] if isinstance(shifts, int) else list(shifts)
    if not axes and axes != 0:
        flat = node.tensor(node.reshape(x, [count(node.shape(x))]))
        return node.reshape(roll(node, flat, moves, [0]), node.shape(x))
    y: Operand = x
    for shift, axis in zip(moves, node.dimensions(axes, x), strict=True):
        size = node.shape(x)[axis]
        if isinstance(size, IndexExpr) or isinstance(shift, IndexExpr):
            moved = op.subtract(numbers_below(size), Known(shift))
            y = op.take(y, op.floor_mod(moved, Known(larger(size, 1))), axis)
        elif size and shift % size:
            cut = size - shift % size
            y = op.concat(*reversed(pieces(y, [cut, size - cut], axis)), axis=axis)
    return y


@imports("aten.diagonal", "aten.diagonal_copy")
def diagonal(node: TorchNode, x: Tensor, offset: int = 0, first: int = 0, second: int = 1) -> Operand:
    """The diagonal of two dimensions, as the last one."""
    i, j = node.dimension(first, x), node.dimension(second, x)
    others = [axis for axis in range(node.rank(x)) if axis not in (i, j)]
    *sizes, n, m = node.shape(op.permute_dims(x, [*others, i, j]))
    flat = node.reshape(op.permute_dims(x, [*others, i, j]), [*sizes, n * m])
    length = larger(smaller(n, m - offset) if offset >= 0 else smaller(n + offset, m), 0)
    start = offset if offset >= 0 else -offset * m
    places = op.add(op.multiply(numbers_below(length), Known(m + 1)), Known(start))
    return op.take(flat, places, len(sizes))


@imports("aten.diagonal_scatter")
def diagonal_scatter(
    node: TorchNode, x: Tensor, y: Tensor, offset: int = 0, first: int = 0, second: int = 1
) -> Operand:
    """A tensor with another diagonal of two dimensions, which is given as the last one."""
    i, j = node.dimension(first, x), node.dimension(second, x)
    order = (*(axis for axis in range(node.rank(x)) if axis not in (i, j)), i, j)
    data = op.permute_dims(x, list(order))
    n, m = node.shape(data)[-2:]
    # A part behind the diagonal is there, although it is never taken, where the diagonal has no elements.
    longer = op.concat(node.typed(y), node.full([*node.shape(y)[:-1], 1], 0, node.result_type), axis=-1)
    number, axis = (n, -1) if offset >= 0 else (m, -2)
    places = op.minimum(numbers_below(number), Known(node.shape(y)[-1]))
    values = op.expand_dims(op.take(longer, places, node.rank(y) - 1), axis)
    is_on = diagonal_mask(n, m, offset, op.equal)
    return op.permute_dims(op.where(is_on, values, data), list(inverse(order)))


@imports("aten.unfold", "aten.unfold_copy")
def unfold(node: TorchNode, x: Tensor, axis: int, size: int, step: int) -> Operand:
    """Windows along a dimension, whose elements are the last dimension."""
    return windows_along(node, x, node.dimension(axis, x), size, step)


@imports("aten.pixel_shuffle")
def pixel_shuffle(node: TorchNode, x: Tensor, factor: int) -> Operand:
    """Groups of channels become blocks of pixels."""
    *batch, c, h, w = node.shape(x)
    b, inner = len(batch), c // (factor * factor)
    parts = node.reshape(x, [*batch, inner, factor, factor, h, w])
    order = [*range(b), b, b + 3, b + 1, b + 4, b + 2]
    return node.reshape(op.permute_dims(parts, order), [*batch, inner, h * factor, w * factor])
