"""Resized data: each element of the result is a sum of a few elements along each dimension."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from math import ceil, floor
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Attribute

from relex.dialects.arrays import Array
from relex.dialects.dtypes import INTEGERS, NUMBERS, record_of
from relex.dialects.sizes import IndexExpr, Size
from relex.frontend import op
from relex.frontend.compositions.indexing import LAST, along, numbers_below
from relex.frontend.graph_expressions import Operand
from relex.frontend.importing.import_node import ImportedNode
from relex.frontend.importing.values import Known, refuse

Taps = list[tuple[list[int], list[float]]]
"""For each position of the result, positions in the data and their weights."""

Scale: TypeAlias = Operand | None
"""The factor from the size of a dimension to its new size, which may be a number that the program computes; None if it
is the quotient of the sizes."""

PERIODIC = ("asymmetric", "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel")
"""Transformations by which a whole factor moves all elements alike."""
MOST_FACTOR = 64
"""The largest factor that is looked for between two dynamic sizes."""


BEFORE_OR_AFTER = "floor_or_ceil"
"""Which element is the nearest: the one before a position where data grows, the one after it where it shrinks."""


@dataclass(frozen=True)
class ResamplingSettings:
    """The mapping from positions of the result to positions in the data, and the weights of the elements there."""

    mode: str
    transformation: str
    nearest: str = "floor"
    cubic: float = -0.75
    exclude: bool = False
    antialias: bool = False
    outside: float = 0.0
    region: Sequence[float] = ()
    """The part of the data that becomes the result: where it starts along each dimension, and where it ends."""
    multiplies: bool = False
    """Positions are multiplied by the factor from new sizes to old ones, as in PyTorch, and not divided."""

    def position(self, i: int, scale: float, old: int, new: int, region: Sequence[float]) -> float:
        """Return the position in the data of a position of the result, whose width need not be a whole number."""
        width = scale * old
        match self.transformation:
            case "half_pixel":
                return (i + 0.5) / scale - 0.5
            case "half_pixel_symmetric":
                adjustment = new / width
                return old / 2 * (1 - adjustment) + (i + 0.5) / scale - 0.5
            case "pytorch_half_pixel":
                return (i + 0.5) / scale - 0.5 if new > 1 else 0.0
            case "align_corners":
                return i * (old - 1) / (width - 1) if width != 1 else 0.0
            case "asymmetric":
                return i / scale
            case "tf_crop_and_resize":
                start, end = region
                if width != 1:
                    return start * (old - 1) + i * (end - start) * (old - 1) / (width - 1)
                return 0.5 * (start + end) * (old - 1)
            case other:
                refuse(f"the transformation {other}", "coordinate_transformation_mode")

    def nearest_by(self, scale: Scale) -> str:
        """Return how the nearest element is chosen where data grows or shrinks by a factor."""
        if self.nearest != BEFORE_OR_AFTER:
            return self.nearest
        assert isinstance(scale, int | float)  # Only old operators choose so, whose factors are numbers.
        return "ceil" if scale < 1 else "floor"

    def rounded(self, position: Operand, scale: Scale) -> Operand:
        """Return the nearest elements of positions."""
        round_, offset = _rounding(self.nearest_by(scale))
        return _ON_TENSORS[round_](op.add(position, offset) if offset else position)

    def taps(self, position: float, scale: float) -> tuple[list[int], list[float]]:
        """Return the elements of the data that contribute at a position, and their weights."""
        if self.mode == "nearest":
            if self.nearest == BEFORE_OR_AFTER:
                position = float(np.float32(position))  # Those that are whole numbers in f32 are meant to be.
            round_, offset = _rounding(self.nearest_by(scale))
            return [round_(position + offset)], [1.0]
        kernel, reach = (_linear, 1) if self.mode == "linear" else (partial(_cubic, self.cubic), 2)
        shrink = min(scale, 1.0) if self.antialias else 1.0
        width = reach / shrink
        first = floor(position) - ceil(width) + 1
        places = list(range(first, floor(position) + ceil(width) + 1))
        weights = [kernel((place - position) * shrink) for place in places]
        if self.antialias:
            total = sum(weights)
            weights = [weight / total for weight in weights]
        return places, weights


def _rounding(nearest: str) -> tuple[Callable[[float], int], float]:
    """Return how a position is rounded to the nearest element, and what is added to it before."""
    match nearest:
        case "floor":
            return floor, 0.0
        case "ceil":
            return ceil, 0.0
        case "round_prefer_ceil":
            return floor, 0.5
        case _:
            return ceil, -0.5


_ON_TENSORS: dict[Callable[[float], int], Callable[[Operand], Operand]] = {floor: op.floor, ceil: op.ceil}


def _linear(distance: float) -> float:
    return max(0.0, 1.0 - abs(distance))


def _cubic(a: float, distance: float) -> float:
    d = abs(distance)
    if d <= 1:
        return ((a + 2) * d - (a + 3)) * d * d + 1
    return (((d - 5) * d + 8) * d - 4) * a if d < 2 else 0.0


def resized(
    site: ImportedNode,
    x: Operand,
    axes: Sequence[int],
    sizes: Sequence[Size],
    scales: Sequence[Scale],
    settings: ResamplingSettings,
) -> Operand:
    """Resize one dimension after another. Dynamic ones stay as they are, or grow by a whole factor. Integers are
    interpolated as f64, and rounded: those halfway to even ones, those beyond the type to its ends. Floats of 16 bits
    are interpolated as f32."""
    given = site.element_type(x)
    if settings.mode == "nearest":
        return _resized(site, x, axes, sizes, scales, settings)
    if given not in NUMBERS:
        refuse(f"elements of type {given} resized by the mode {settings.mode}", "mode")
    wide = f64 if given in INTEGERS else f32 if record_of(given).bits < 32 else given
    if wide == given:
        return _resized(site, x, axes, sizes, scales, settings)
    return _rounded(_resized(site, op.astype(x, wide), axes, sizes, scales, settings), given)


def _rounded(x: Operand, element_type: Attribute) -> Operand:
    """Return floats as numbers of another type."""
    return op.astype(op.round(x) if element_type in INTEGERS else x, element_type)


def _resized(
    site: ImportedNode,
    x: Operand,
    axes: Sequence[int],
    sizes: Sequence[Size],
    scales: Sequence[Scale],
    settings: ResamplingSettings,
) -> Operand:
    """Resize, by the element type's own arithmetic."""
    shape, region = site.shape(x), settings.region
    outside: list[Array] = []
    order = list(enumerate(zip(axes, sizes, scales, strict=True)))
    repeats = {axis: found for _, (axis, new, scale) in order if (found := _repeats(shape[axis], new, scale, settings))}
    x = _repeated(x, shape, repeats)
    # Where elements are repeated, the last dimension comes first: the others then copy whole rows.
    for i, (axis, new, scale) in reversed(order) if settings.mode == "nearest" else order:
        old = shape[axis]
        is_number = isinstance(scale, int | float)
        if axis in repeats or (is_number and new == old and scale == 1 and not region):
            continue
        if not is_number or isinstance(old, IndexExpr) or isinstance(new, IndexExpr):
            x = _multiplied(site, x, axis, new, scale, settings)
            continue
        edges = (region[i], region[i + len(axes)]) if region else (0.0, 1.0)
        positions = [settings.position(place, scale, old, new, edges) for place in range(new)]
        column = np.array([not 0 <= position <= old - 1 for position in positions], bool)
        outside.append(along(column, axis, len(shape)))
        x = _along(site, x, axis, old, [settings.taps(p, scale) for p in positions], settings.exclude)
    if settings.transformation != "tf_crop_and_resize":
        return x
    mask = reduce(np.logical_or, outside, np.zeros([1] * len(shape), bool))
    number = site.tensor(_rounded(Known(np.array(settings.outside, np.float64)), site.element_type(x)))
    return op.where(Known(mask), number, x)


def scaled(size: Size, factor: float) -> Size:
    """Return a size times a factor, rounded down, which of a dynamic size must be a simple fraction: others are rounded
    before."""
    if not isinstance(size, IndexExpr):
        return floor(size * factor)
    times, divisor = float(factor).as_integer_ratio()
    if divisor > MOST_FACTOR:
        refuse(f"the dynamic size {size} times {factor:g}, which is rounded; fix the size with `shapes=`")
    return size * times // divisor


def scale_between(old: Size, new: Size) -> float | None:
    """Return the factor from one size to another, None if it depends on the run."""
    if isinstance(old, int) and isinstance(new, int):
        return new / old
    return next((factor for factor in range(1, MOST_FACTOR + 1) if old * factor == new), None)


def _is_whole(old: Size, new: Size, scale: Scale, settings: ResamplingSettings) -> bool:
    """Return whether a whole factor moves all elements alike."""
    if (
        not isinstance(scale, int | float)
        or scale != int(scale)
        or settings.transformation not in PERIODIC
        or settings.exclude
    ):
        return False
    return old * int(scale) == new


def _repeats(old: Size, new: Size, scale: Scale, settings: ResamplingSettings) -> tuple[int, int] | None:
    """Return how often elements are repeated, and which ones, counted from the place of the result; None if they are
    not."""
    if (
        settings.mode != "nearest"
        or not isinstance(scale, int | float)
        or scale <= 1
        or not _is_whole(old, new, scale, settings)
    ):
        return None
    factor = int(scale)
    taps = [settings.taps(settings.position(i, scale, 1, factor, ()), scale) for i in range(factor)]
    places = {place for found, _ in taps for place in found}
    return (factor, places.pop()) if len(places) == 1 else None


def _repeated(x: Operand, shape: Sequence[Size], repeats: Mapping[int, tuple[int, int]]) -> Operand:
    """Repeat the elements along some dimensions: new ones beside them, of which a reshape makes one each. Its sizes
    are in terms of its own operand, by which the loops know that they need to divide by the factors alone."""
    if not repeats:
        return x
    for axis, (_, place) in repeats.items():
        x = _shifted(x, axis, place)
    wide: list[int] = []
    texts: list[str] = []
    for axis, size in enumerate(shape):
        factor, _ = repeats.get(axis, (1, 0))
        if isinstance(size, IndexExpr):
            texts.append(f"{factor} * d{len(wide)}")
        wide += [-1, factor] if axis in repeats else [-1]
    new = [size * repeats.get(axis, (1, 0))[0] if isinstance(size, int) else -1 for axis, size in enumerate(shape)]
    beside = [place for place, size in enumerate(wide) if size != -1]
    return op.reshape(op.broadcast_to(op.expand_dims(x, beside), wide), new, sizes=texts or None)


def _multiplied(
    site: ImportedNode, x: Operand, axis: int, new: Size, scale: Scale, settings: ResamplingSettings
) -> Operand:
    """Resize a dimension of dynamic size. By a whole factor, the same few neighbors count for each element."""
    shape = site.shape(x)
    if not isinstance(scale, int | float) or not _is_whole(shape[axis], new, scale, settings):
        return _between_places(site, x, axis, new, scale, settings)
    factor = int(scale)
    taps = [settings.taps(settings.position(i, scale, 1, factor, ()), scale) for i in range(factor)]
    weights: dict[int, Array] = {}
    for i, tap in enumerate(taps):
        for place, weight in zip(*tap, strict=True):
            if weight:
                weights.setdefault(place, np.zeros(factor))[i] = weight
    result: Operand | None = None
    for place, column in weights.items():
        part: Operand = op.expand_dims(_shifted(x, axis, place), axis + 1)
        if (column != 1).any():
            part = op.multiply(part, site.like(along(column, axis + 1, len(shape) + 1), x))
        else:
            part = site.broadcast_to(part, (*shape[: axis + 1], factor, *shape[axis + 1 :]))
        result = part if result is None else op.add(result, part)
    return site.reshape(x if result is None else result, (*shape[:axis], new, *shape[axis + 1 :]))


def _between_places(
    site: ImportedNode, x: Operand, axis: int, new: Size, scale: Scale, settings: ResamplingSettings
) -> Operand:
    """Resize a dimension by a factor that depends on the run: positions are computed there, with floats of 32 bits as
    frameworks do."""
    old = site.shape(x)[axis]
    if settings.antialias:
        refuse(
            f"{_change(old, new)} with antialias, by as many elements as follow from the size; fix the size with "
            "`shapes=`, or what it is computed from with `values=`"
        )
    position = site.tensor(_position(site, old, new, scale, settings))
    if settings.mode == "nearest":
        places = settings.rounded(position, scale)
        return op.take(x, op.astype(places, i64), axis)
    first = op.floor(position)
    share = op.astype(op.subtract(position, first), site.element_type(x))
    weights = _weights(share, settings)
    if settings.exclude:
        last = op.subtract(op.astype(Known(old), f32), 1.0)
        weights = _inside(weights, first, last)
    beside = [d for d in range(site.rank(x)) if d != axis]
    parts = [
        op.multiply(
            op.take(x, op.astype(op.add(first, float(place)) if place else first, i64), axis),
            op.expand_dims(weight, beside) if beside else weight,
        )
        for place, weight in weights.items()
    ]
    return reduce(op.add, parts)


def _weights(share: Operand, settings: ResamplingSettings) -> dict[int, Operand]:
    """Return the weights of the elements around positions, by their places after the element before a position, of
    which a position is a share further on."""
    if settings.mode == "linear":
        return {0: op.subtract(1.0, share), 1: share}
    a, other = settings.cubic, op.subtract(1.0, share)

    def near(d: Operand) -> Operand:
        return op.add(op.multiply(op.multiply(op.subtract(op.multiply(d, a + 2), a + 3), d), d), 1.0)

    def far(d: Operand) -> Operand:
        inner = op.add(op.multiply(op.subtract(d, 5.0), d), 8.0)
        return op.multiply(op.subtract(op.multiply(inner, d), 4.0), a)

    return {-1: far(op.add(share, 1.0)), 0: near(share), 1: near(other), 2: far(op.add(other, 1.0))}


def _inside(weights: Mapping[int, Operand], first: Operand, last: Operand) -> dict[int, Operand]:
    """Return weights without elements before the first one and after the last one; the others add up to 1."""
    kept: dict[int, Operand] = {}
    for place, weight in weights.items():
        at = op.add(first, float(place))
        is_inside = op.logical_and(op.greater_equal(at, 0.0), op.less_equal(at, last))
        kept[place] = op.where(is_inside, weight, 0.0)
    total = reduce(op.add, kept.values())
    return {place: op.divide(weight, total) for place, weight in kept.items()}


def _change(old: Size, new: Size) -> str:
    return f"the {'dynamic ' if isinstance(old, IndexExpr) else ''}size {old} resized to {new}"


def _position(site: ImportedNode, old: Size, new: Size, scale: Scale, settings: ResamplingSettings) -> Operand:
    """Return the positions in the data of all positions of the result."""
    i, before, after = (op.astype(x, f32) for x in (numbers_below(new), Known(old), Known(new)))

    def moved(place: Operand) -> Operand:
        if settings.multiplies:
            return op.multiply(place, op.divide(before, after) if scale is None else 1 / scale)
        return op.divide(place, op.divide(after, before) if scale is None else scale)

    centre = op.subtract(moved(op.add(i, 0.5)), 0.5)
    match settings.transformation:
        case "asymmetric":
            return moved(i)
        case "half_pixel":
            return centre
        case "pytorch_half_pixel":
            return op.where(op.greater(after, 1.0), centre, 0.0)
        case "align_corners":
            # The size before it is rounded says how far apart positions are.
            exact = after if scale is None or settings.multiplies else op.multiply(before, scale)
            way = op.where(op.equal(exact, 1.0), 1.0, op.subtract(exact, 1.0))
            return op.multiply(i, op.divide(op.subtract(before, 1.0), way))
        case other:
            refuse(
                f"{_change(old, new)} by {other}; fix the size with `shapes=`, or what it is computed from with "
                "`values=`"
            )


def _shifted(x: Operand, axis: int, places: int) -> Operand:
    """Return the element `places` further on, the last one after the end, the first one before the start."""
    if places == 0:
        return x
    if places > 0:
        last = op.strided_slice(x, [axis], [-1], [LAST])
        return op.concat(op.strided_slice(x, [axis], [places], [LAST]), *[last] * places, axis=axis)
    first = op.strided_slice(x, [axis], [0], [1])
    return op.concat(*[first] * -places, op.strided_slice(x, [axis], [0], [places]), axis=axis)


def _along(site: ImportedNode, x: Operand, axis: int, old: int, taps: Taps, exclude: bool) -> Operand:
    """Return sums of elements along a dimension, given the places and weights for each result."""
    rank = site.rank(x)
    if old == 0:
        refuse("data without elements")
    if exclude:
        taps = [(places, _without_outside(places, weights, old)) for places, weights in taps]
    result: Operand | None = None
    for k in range(max((len(places) for places, _ in taps), default=0)):
        places = np.array([min(max(tap[0][k], 0), old - 1) if k < len(tap[0]) else 0 for tap in taps], np.int64)
        weights = np.array([tap[1][k] if k < len(tap[1]) else 0.0 for tap in taps])
        if not weights.any():
            continue
        part: Operand = op.take(x, Known(places), axis)
        if (weights != 1).any():
            part = op.multiply(part, site.like(along(weights, axis, rank), x))
        result = part if result is None else op.add(result, part)
    if result is not None:
        return result
    # No element counts, or there are no results.
    return op.multiply(op.take(x, Known(np.zeros(len(taps), np.int64)), axis), site.like(0, x))


def _without_outside(places: Sequence[int], weights: Sequence[float], old: int) -> list[float]:
    kept = [weight if 0 <= place < old else 0.0 for place, weight in zip(places, weights, strict=True)]
    total = sum(kept)
    return [weight / total for weight in kept] if total else kept
