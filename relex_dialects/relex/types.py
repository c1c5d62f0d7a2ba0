"""Type inference of graph operators: shapes and element types of results from the operands'."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, i8
from xdsl.ir import Attribute, SSAValue

from relex.dialects.dtypes import ui8
from relex.dialects.errors import InferenceError, size_str
from relex.dialects.sizes import Size, Sizes, equal, named
from relex.dialects.upstream.hints import isa

Shape = tuple[int, ...]
"""Numbers, one for each dimension or for some of them."""

SizeT = TypeVar("SizeT", bound=Size)


@dataclass(frozen=True)
class SizedType:
    """A tensor type with expressions for dynamic sizes, so that type rules can compute with them."""

    element_type: Attribute
    shape: Sequence[Size]

    @classmethod
    def of(cls, t: TensorType, name: str) -> SizedType:
        """Return the type `t` with a distinct name for each `?`, derived from `name`."""
        return cls(t.element_type, with_names(t.get_shape(), lambda dimension: named(f"{name}_{dimension}")))

    def get_shape(self) -> Sizes:
        """Return the sizes of the dimensions."""
        return tuple(self.shape)

    def __str__(self) -> str:
        return str(TensorType(self.element_type, without_names(self.shape)))


def tensor_type(t: Attribute) -> TensorType:
    """Return `t` if it is a ranked tensor type. Raises `InferenceError` otherwise."""
    if not isa(t, TensorType):
        raise InferenceError(f"expected a ranked tensor, found {t}")
    return t


def shape_of(tensor: SSAValue) -> Shape:
    """Return the sizes of a tensor, with `DYNAMIC_INDEX` for each `?`. Raises `InferenceError` for other values."""
    return tensor_type(tensor.type).get_shape()


def is_bytes(value: SSAValue) -> bool:
    """Return whether the elements of a tensor are integers of 8 bits."""
    return tensor_type(value.type).element_type in (i8, ui8)


def rank_of(tensor: SSAValue) -> int:
    """Return the number of dimensions of a tensor."""
    return tensor_type(tensor.type).get_num_dims()


def with_names(shape: Sequence[int], name: Callable[[int], Size]) -> Sizes:
    """Return the sizes in a type, with `name(dimension)` for each `?`."""
    return tuple(name(d) if size == DYNAMIC_INDEX else size for d, size in enumerate(shape))


def long_sizes(shape: Sequence[SizeT]) -> list[SizeT]:
    """Return the sizes of a shape without those that are 1."""
    return [size for size in shape if size != 1]


def without_names(sizes: Sequence[Size]) -> Shape:
    """Return the sizes as in a type, with `?` for dynamic ones."""
    return tuple(size if isinstance(size, int) else DYNAMIC_INDEX for size in sizes)


def same_element_type(*types: SizedType) -> Attribute:
    """Return the element type that all operands share. Raises `InferenceError` if they differ."""
    found = list(dict.fromkeys(t.element_type for t in types))
    if len(found) != 1:
        raise InferenceError(f"expected operands of one element type, found {' and '.join(map(str, found))}")
    return found[0]


def expect_element_type(t: SizedType, allowed: Sequence[Attribute], what: str) -> Attribute:
    """Return the element type. Raises `InferenceError` unless it is allowed."""
    if t.element_type not in allowed:
        raise InferenceError(f"expected {what} of {' or '.join(map(str, allowed))}, found {t.element_type}")
    return t.element_type


def broadcast(*shapes: Sequence[Size]) -> Sizes:
    """Return the shape that operands broadcast to, as in NumPy. A `?` never broadcasts: it equals the size it is paired
    with."""
    rank = max(map(len, shapes))
    columns = zip(*((1,) * (rank - len(s)) + tuple(s) for s in shapes), strict=True)
    return tuple(_broadcast_sizes(sizes, shapes) for sizes in columns)


def _broadcast_sizes(sizes: Sequence[Size], shapes: Sequence[Sequence[Size]]) -> Size:
    # Static sizes come first, so that the result is static if any size is.
    wide = sorted((size for size in sizes if size != 1), key=lambda size: not isinstance(size, int))
    if not all(equal(wide[0], size) for size in wide[1:]):
        raise InferenceError(f"expected shapes that broadcast, found {' and '.join(map(shape_str, shapes))}")
    return wide[0] if wide else 1


def expect_equal(lhs: Size, rhs: Size, what: str) -> None:
    """Check that two sizes are equal, such as sizes of a dimension that is summed over; dynamic ones are checked at run
    time."""
    if not equal(lhs, rhs):
        raise InferenceError(f"expected equal {what}, found {lhs} and {rhs}")


def shape_str(shape: Sequence[Size]) -> str:
    """Format `(1, 784)` as `1x784`, a scalar's shape as `scalar`, and dynamic sizes as `?`."""
    return "x".join(map(size_str, shape)) or "scalar"


def normalize_axis(axis: int, rank: int) -> int:
    """Return a dimension counted from the front; a negative one counts from the back."""
    if not -rank <= axis < rank:
        raise InferenceError(f"expected an axis in {-rank}..{rank - 1} for rank {rank}, found {axis}")
    return axis % rank


def normalize_axes(axes: Sequence[int], rank: int) -> Shape:
    """Return dimensions counted from the front. No dimension may occur twice."""
    normal = tuple(normalize_axis(axis, rank) for axis in axes)
    if len(set(normal)) != len(normal):
        raise InferenceError(f"expected axes that differ, found {', '.join(map(str, axes))}")
    return normal


def expect_integers(values: Sequence[int], what: str, *, count: int | None = None, least: int | None = None) -> Shape:
    """Check the number of integers in a property and their lower bound, and return them."""
    if count is not None and len(values) != count:
        raise InferenceError(f"expected {count} {what}, found {len(values)}")
    if least is not None and any(value < least for value in values):
        raise InferenceError(f"expected {what} of {least} or more, found {', '.join(map(str, values))}")
    return tuple(values)


def merge(lhs: Size, rhs: Size, what: str) -> Size:
    """Return one size for two that must be equal, preferring a static one."""
    expect_equal(lhs, rhs, what)
    return lhs if isinstance(lhs, int) else rhs
