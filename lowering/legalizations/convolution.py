"""Convolution and pooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import gcd, prod
from operator import mul

from xdsl.dialects.builtin import AnyFloat, i64

from relex.dialects.relex import (
    AvgPool,
    Conv2dBlockedOp,
    Convolution,
    MaxPool,
    MaxPoolWithIndices,
    Pool,
    SlidingWindows,
    TransposedConvolution,
    Windows,
)
from relex.dialects.relex.properties import as_integer
from relex.dialects.sizes import Size, count
from relex.lowering.legalizations.indexing import padded
from relex.lowering.legalizations.linear import times
from relex.lowering.legalizations.table import legalizes, result_shape
from relex.lowering.te import (
    Axis,
    Expr,
    OfIndices,
    Tensor,
    as_expr,
    cast,
    compute,
    equal,
    if_then_else,
    is_nan,
    lowest,
    max,
    min,
    reduce_axis,
    select,
    sum,
)

_SPATIAL = "zyx"
_WINDOW = "qrs"
_COUNTS = ("slices", "rows", "columns")
"""Names for the dimensions, of which the last ones are taken."""


@legalizes(Convolution)
def convolution(op: Convolution, x: Tensor, w: Tensor) -> Tensor:
    """Legalize to a sum over channels and window of the padded input, for each group of channels."""
    windows = op.windows(w.shape)
    data = _padded(x, windows, 0)
    groups = as_integer(op.groups)
    channels, outputs = w.shape[1], w.shape[0] // groups
    c = reduce_axis(channels, "c")
    axes = _window_axes(windows)
    inner = [0 if axis.extent == 1 else axis for axis in axes]
    terms = [c, *(axis for axis in axes if axis in inner)]

    def element(n: Axis, g: Expr | int, o: Expr | int, *place: Axis) -> Expr:
        source = data[n, _member(g, channels, c), *_inside(windows, place, inner)]
        return sum(times(op, source, w[_member(g, outputs, o), c, *inner]), axis=terms)

    return _by_group(op, [x, w], groups, outputs, element)


@legalizes(Conv2dBlockedOp)
def conv2d_blocked(op: Conv2dBlockedOp, x: Tensor, w: Tensor) -> Tensor:
    """Legalize to a sum over blocks of channels, the window, and the channels of a block."""
    windows = op.windows(w.shape)
    data = _padded(x, windows, 0)
    block, channel = reduce_axis(w.shape[1], "b"), reduce_axis(w.shape[4], "c")
    axes = [block, *_window_axes(windows), channel]
    terms = [axis for axis in axes if axis.extent != 1] or [channel]
    b, *inner, c = (axis if axis in terms else 0 for axis in axes)

    def element(*index: Axis) -> Expr:
        n, o, *place, i = index
        if op.depthwise is not None:
            inside = [i] if x.ndim == 5 else []
            return sum(data[n, o, *_inside(windows, place, inner), *inside] * w[o, b, *inner, c, i], axis=terms)
        inside = [c] if x.ndim == 5 else []
        return sum(data[n, b, *_inside(windows, place, inner), *inside] * w[o, b, *inner, c, i], axis=terms)

    return compute(result_shape(op, x, w), element, _name(op), [*"noyxi"])


@dataclass(frozen=True)
class _Phase:
    """Results along a dimension to which as many elements of the window contribute: every `period`-th one of the
    window, from each of `count` consecutive ones on."""

    first: int
    count: int
    terms: Size

    @classmethod
    def all_of(cls, size: Size, period: int) -> list[_Phase]:
        """Return the phases of a window, in order. They are as few as possible if its size is known."""
        if not isinstance(size, int):
            return [cls(first, 1, (size - first + period - 1) // period) for first in range(period)]
        terms, rest = divmod(size, period)
        phases = [cls(0, rest, terms + 1), cls(rest, period - rest, terms)]
        return [phase for phase in phases if phase.count]


@dataclass(frozen=True)
class _Steps:
    """How the window of a transposed convolution reaches results along a dimension: result `t`, before padding is
    removed, gets the products of elements `i` of the data and `k` of the window with `t = i * stride + k * dilation`.

    With the common divisor of stride and dilation, their quotients `period` and `step`, and `t = divisor * (j * period
    + k0 * step % period)`, these are `k = k0 + u * period` and `i = j - k * step // period` for all `u`.
    """

    size: Size
    stride: int
    dilation: int
    before: int
    results: Size

    @property
    def divisor(self) -> int:
        return gcd(self.stride, self.dilation)

    @property
    def period(self) -> int:
        return self.stride // self.divisor

    @property
    def step(self) -> int:
        return self.dilation // self.divisor

    @property
    def first(self) -> int:
        """The first `j`."""
        return self.before // self.stride

    @property
    def count(self) -> Size:
        """The number of values of `j`."""
        return (self.before + self.results + self.stride - 1) // self.stride - self.first

    @property
    def reach(self) -> Size:
        """The most that `i` is below `j`."""
        return (self.size - 1) * self.step // self.period

    def place(self, result: Expr) -> tuple[Expr, Expr]:
        """Return the `k0` and `j`, counted from the first one, of a result."""
        at = result + self.before if self.before else result
        inverse = pow(self.step, -1, self.period) if self.period > 1 else 0
        step = at // self.stride
        return (at // self.divisor) % self.period * inverse % self.period, step - self.first if self.first else step


@legalizes(TransposedConvolution)
def transposed_convolution(op: TransposedConvolution, x: Tensor, w: Tensor) -> Tensor:
    """Legalize to a convolution for each phase of the strides, with the elements of the window that reach its results,
    and interleave them."""
    groups, windows = as_integer(op.groups), op.windows(w.shape)
    channels, outputs = x.shape[1] // groups, w.shape[1]
    images, _, *sizes = result_shape(op, x, w)
    properties = zip(windows.size, windows.strides, windows.dilation, windows.before, sizes, strict=True)
    along = [_Steps(*of_dimension) for of_dimension in properties]
    data = _surrounded(x, [s.reach - s.first for s in along], [s.count + s.reach for s in along])

    def sums_of(phases: Sequence[_Phase]) -> Tensor:
        c = reduce_axis(channels, "c")
        inner = [reduce_axis(phase.terms, name) for phase, name in zip(phases, _WINDOW[-op.RANK :], strict=True)]

        def element(n: Axis, g: Axis, *index: Axis) -> Expr:
            starts, o, place = index[: op.RANK], index[op.RANK], index[op.RANK + 1 :]
            channel = _member(0 if groups == 1 else g, channels, c)
            firsts = [k + phase.first if phase.first else k for k, phase in zip(starts, phases, strict=True)]
            steps = zip(place, firsts, inner, along, strict=True)
            source = [j - k * s.step // s.period - u * s.step + s.reach for j, k, u, s in steps]
            taken = [k + u * s.period for k, u, s in zip(firsts, inner, along, strict=True)]
            return sum(data[n, channel, *source] * w[channel, o, *taken], (c, *inner))

        shape = (images, groups, *(phase.count for phase in phases), outputs, *(s.count for s in along))
        spatial = _SPATIAL[-op.RANK :]
        return compute(shape, element, "sums", ["n", "g", *(f"p{name}" for name in spatial), "o", *spatial])

    phases = [_Phase.all_of(s.size, s.period) for s in along]
    sums = {chosen: sums_of(chosen) for chosen in product(*phases) if all(phase.terms != 0 for phase in chosen)}

    def element(n: Axis, o: Axis, *results: Axis) -> Expr:
        starts, places = zip(*(s.place(i) for s, i in zip(along, results, strict=True)), strict=True)
        group, member = (0, o) if groups == 1 else (o, 0) if outputs == 1 else (o // outputs, o % outputs)

        def of(*chosen: _Phase) -> Expr:
            if len(chosen) < op.RANK:
                return among(chosen, phases[len(chosen)])
            if chosen not in sums:
                return as_expr(0, x.type)
            inside = [k - phase.first if phase.first else k for k, phase in zip(starts, chosen, strict=True)]
            return sums[chosen][n, group, *inside, member, *places]

        def among(chosen: tuple[_Phase, ...], left: Sequence[_Phase]) -> Expr:
            phase, *others = left
            value, end = of(*chosen, phase), phase.first + phase.count
            return if_then_else(starts[len(chosen)] < end, value, among(chosen, others)) if others else value

        conditions = [
            equal((i + s.before) % s.divisor, 0) for i, s in zip(results, along, strict=True) if s.divisor > 1
        ]
        return if_then_else(reduce(lambda a, b: a & b, conditions), of(), 0) if conditions else of()

    return _windowed(op, [x, w], "no", element)


def _surrounded(x: Tensor, before: Sequence[Size], sizes: Sequence[Size]) -> Tensor:
    """Return a tensor whose last dimensions have `sizes`, with `x` after so many zeros; if there are fewer than none,
    its first elements are left out."""
    if all(width == 0 for width in before) and list(sizes) == list(x.shape[2:]):
        return x

    def element(*i: Axis) -> Expr:
        place = [index - width for index, width in zip(i[2:], before, strict=True)]
        inside = [index >= width for index, width in zip(i[2:], before, strict=True) if width != 0]
        inside += [index < size for index, size in zip(place, x.shape[2:], strict=True)]
        return if_then_else(reduce(lambda a, b: a & b, inside), x[*i[:2], *place], 0)

    return compute((*x.shape[:2], *sizes), element, name="padded")


def _by_group(
    op: SlidingWindows, operands: Sequence[Tensor], groups: int, outputs: Size, element: Callable[..., Expr]
) -> Tensor:
    """Compute `element` of an image, a group, one of its output channels and a place. Groups of several channels have a
    loop of their own: each is a convolution of all of its channels."""

    def of_channel(n: Axis, o: Axis, *place: Axis) -> Expr:
        return element(n, 0, o, *place) if groups == 1 else element(n, o, 0, *place)

    def of_sums(n: Axis, o: Axis, *place: Axis) -> Expr:
        return sums[n, o // outputs, o % outputs, *place]

    if groups == 1 or outputs == 1:
        return _windowed(op, operands, "no", of_channel)
    images, _, *sizes = result_shape(op, *operands)
    sums = compute((images, groups, outputs, *sizes), element, "sums", [*"ngo", *_SPATIAL[-op.RANK :]])
    return _windowed(op, operands, "no", of_sums)


def _member(group: Expr | int, size: Size, index: Expr | int) -> Expr | int:
    """Return the channel at an index in a group of channels; 0 stands for the only group, or the only channel."""
    if isinstance(group, int):
        return index
    first = group if size == 1 else group * size
    return first if isinstance(index, int) else first + index


def _reduced(op: Pool, x: Tensor, data: Tensor, function: Callable[..., Expr], name: str | None = None) -> Tensor:
    """Reduce the elements of each window of `data`, which is `x` with its padding."""
    inner = _window_axes(op.windows)

    def element(n: Axis, c: Axis, *place: Axis) -> Expr:
        return function(data[n, c, *_inside(op.windows, place, inner)], axis=inner)

    return _windowed(op, [x], "nc", element, name)


@legalizes(MaxPool)
def max_pool(op: MaxPool, x: Tensor) -> Tensor:
    """Legalize to a maximum over each window; padding is the lowest value."""
    return _reduced(op, x, _padded(x, op.windows, lowest(x.type)), max)


@legalizes(MaxPoolWithIndices)
def max_pool_with_indices(op: MaxPoolWithIndices, x: Tensor) -> tuple[Tensor, Tensor]:
    """Legalize to the maximum over each window, then the smallest position in the data that holds it, or NaN."""
    windows, sizes = op.windows, x.shape[2:]
    data = _padded(x, windows, lowest(x.type))
    beyond = count(sizes)
    largest = _reduced(op, x, data, max, "largest")
    places = _window_axes(windows)

    def first(n: Axis, c: Axis, *place: Axis) -> Expr:
        at = _inside(windows, place, places)
        value = data[n, c, *at]
        found = equal(value, largest[n, c, *place])
        if isinstance(x.type, AnyFloat):
            found = found | is_nan(value)
        # Row by row: the position in all dimensions so far.
        position: Expr | None = None
        for index, before, size in zip(at, windows.before, sizes, strict=True):
            offset = index - before if before else index
            found = found & (offset >= 0) & (offset < size)
            position = offset if position is None else position * size + offset
        assert position is not None
        return min(select(found, cast(position, i64), beyond), axis=places)

    earliest = _windowed(op, [x], "nc", first, name="earliest")

    def known(n: Axis, c: Axis, *place: Axis) -> Expr:
        found = earliest[n, c, *place]
        return select(equal(found, beyond), -1, found)

    return largest, _windowed(op, [x], "nc", known, name="indices")


@legalizes(AvgPool)
def avg_pool(op: AvgPool, x: Tensor) -> Tensor:
    """Legalize to a sum over each window, divided by the number of elements counted."""
    windows = op.windows
    total = _reduced(op, x, _padded(x, windows, 0), sum, "total")
    includes_padding = op.count_include_pad is not None
    if not windows.ceil_mode and (includes_padding or not any(windows.padding)):
        count = prod(windows.size)
        return compute(result_shape(op, x), lambda *i: total[*i] / count, name=_name(op))
    # The elements of a window that are counted form a box.
    counts = [_counted(op, x, dimension, includes_padding) for dimension in range(op.RANK)]

    def element(n: Axis, c: Axis, *place: Axis) -> Expr:
        return total[n, c, *place] / reduce(mul, (count[i] for count, i in zip(counts, place, strict=True)))

    return _windowed(op, [x], "nc", element)


def _counted(op: AvgPool, x: Tensor, dimension: int, includes_padding: bool) -> Tensor:
    """Count the elements of each window along one dimension that are not padding, or not beyond it."""
    windows = op.windows
    before, after = windows.before[dimension], windows.after[dimension]
    size = x.shape[2 + dimension]
    first, end = (0, before + size + after) if includes_padding else (before, before + size)
    k = _window_axes(windows)[dimension]

    def element(i: Axis) -> Expr:
        place = i * windows.strides[dimension] + k * windows.dilation[dimension]
        inside = (place >= first) & (place < end)
        return sum(cast(inside, x.type), axis=k)

    return compute([result_shape(op, x)[2 + dimension]], element, name=_COUNTS[dimension - op.RANK])


def _padded(x: Tensor, windows: Windows, value: float) -> Tensor:
    if not any(windows.padding) and not windows.ceil_mode:
        return x
    after = windows.ends(x.shape[2 : 2 + windows.rank])
    block = [0] * (x.ndim - 2 - windows.rank)
    return padded(x, (0, 0, *windows.before, *block), (0, 0, *after, *block), value)


def _windowed(
    op: SlidingWindows, operands: Sequence[Tensor], others: str, element: OfIndices, name: str | None = None
) -> Tensor:
    """Compute the result of an operator over windows, with axes called by their letters, `others` in front."""
    return compute(result_shape(op, *operands), element, name or _name(op), [*others, *_SPATIAL[-op.RANK :]])


def _name(op: SlidingWindows) -> str:
    return op.name.rpartition(".")[2]


def _window_axes(windows: Windows) -> list[Axis]:
    return [reduce_axis(extent, name) for extent, name in zip(windows.size, _WINDOW[-windows.rank :], strict=True)]


def _inside(windows: Windows, place: Sequence[Axis], inner: Sequence[Axis | int]) -> list[Expr]:
    """Return the indices in the padded input of an element of a window."""
    firsts = [_scaled(index, stride) for index, stride in zip(place, windows.strides, strict=True)]
    steps = zip(firsts, inner, windows.dilation, strict=True)
    return [first + _scaled(k, dilation) if isinstance(k, Axis) else first for first, k, dilation in steps]


def _scaled(index: Axis, factor: int) -> Expr:
    return index if factor == 1 else index * factor
