"""Type rules of the graph operators: shapes and element types of results from those of operands."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute

from relex.dialects.errors import InferenceError

Shape = tuple[int, ...]
"""Sizes; `DYNAMIC_INDEX`, printed `?`, stands for one that is known at run time."""


def same_element_type(*types: TensorType) -> Attribute:
    """The element type that all operands share."""
    found = list(dict.fromkeys(t.element_type for t in types))
    if len(found) != 1:
        raise InferenceError(f"expected operands of one element type, found {' and '.join(map(str, found))}")
    return found[0]


def expect_element_type(t: TensorType, allowed: Sequence[Attribute], what: str) -> Attribute:
    if t.element_type not in allowed:
        raise InferenceError(f"expected {what} of {' or '.join(map(str, allowed))}, found {t.element_type}")
    return t.element_type


def broadcast(*shapes: Sequence[int]) -> Shape:
    """The shape that operands broadcast to, as in NumPy. A `?` never broadcasts: it equals the size that it meets."""
    rank = max(map(len, shapes))
    columns = zip(*((1,) * (rank - len(s)) + tuple(s) for s in shapes), strict=True)
    return tuple(_broadcast_sizes(sizes, shapes) for sizes in columns)


def _broadcast_sizes(sizes: Sequence[int], shapes: Sequence[Sequence[int]]) -> int:
    known = {size for size in sizes if size not in (1, DYNAMIC_INDEX)}
    if len(known) > 1:
        raise InferenceError(f"expected shapes that broadcast, found {' and '.join(map(shape_str, shapes))}")
    if known:
        return known.pop()
    return DYNAMIC_INDEX if DYNAMIC_INDEX in sizes else 1


def contract(lhs: int, rhs: int, what: str) -> None:
    """Check that two sizes which are summed over are equal, as far as they are known."""
    if DYNAMIC_INDEX not in (lhs, rhs) and lhs != rhs:
        raise InferenceError(f"expected equal {what}, found {lhs} and {rhs}")


def shape_str(shape: Sequence[int]) -> str:
    """`(1, 784)` as `1x784`, a scalar's shape as `scalar`."""
    return "x".join("?" if size == DYNAMIC_INDEX else str(size) for size in shape) or "scalar"


def normalize_axis(axis: int, rank: int) -> int:
    """A dimension counted from the front; a negative one counts from the back."""
    if not -rank <= axis < rank:
        raise InferenceError(f"expected an axis in {-rank}..{rank - 1} for rank {rank}, found {axis}")
    return axis % rank


def normalize_axes(axes: Sequence[int], rank: int) -> Shape:
    """Dimensions counted from the front. None may stand twice."""
    normal = tuple(normalize_axis(axis, rank) for axis in axes)
    if len(set(normal)) != len(normal):
        raise InferenceError(f"expected axes that differ, found {', '.join(map(str, axes))}")
    return normal


def expect_integers(values: Sequence[int], what: str, *, count: int | None = None, least: int | None = None) -> Shape:
    """Check how many integers a property has, and that none is too small."""
    if count is not None and len(values) != count:
        raise InferenceError(f"expected {count} {what}, found {len(values)}")
    if least is not None and any(value < least for value in values):
        raise InferenceError(f"expected {what} of {least} or more, found {', '.join(map(str, values))}")
    return tuple(values)


def merge(lhs: int, rhs: int, what: str) -> int:
    """One size for two that must be equal: the one that is known."""
    contract(lhs, rhs, what)
    return rhs if lhs == DYNAMIC_INDEX else lhs
