"""Transposed convolution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from math import gcd

from relex.dialects.relex import TransposedConvolution
from relex.dialects.relex.properties import as_integer
from relex.dialects.sizes import Size
from relex.lowering import te
from relex.lowering.legalizations.convolution import SPATIAL, WINDOW, member, windowed
from relex.lowering.legalizations.legalization_table import legalizes, result_shape


@dataclass(frozen=True)
class _Phase:
    """Consecutive phases along a dimension, `count` of them starting at `first`: their results, which are `period`
    apart, have equally many products. Phase `p` has the products with the elements `start + p * step` of the window and
    every `period`-th one after it, the first of them with the element `j + source + p * shift` of the data, where `j`
    counts the results."""

    first: int
    count: int
    terms: Size
    start: int
    step: int
    source: int
    shift: int

    def inside(self, phase: te.PrimExpr) -> te.PrimExpr | int:
        """Return the number of a phase among these."""
        return 0 if self.count == 1 else phase - self.first if self.first else phase

    def begin(self, inside: te.Axis) -> te.PrimExpr | int:
        """Return the first element of the window for one of these phases."""
        return self.start + _scaled(inside, self.step) if self.count > 1 else self.start

    def source_of(self, inside: te.Axis) -> te.PrimExpr | int:
        """Return the difference of the first element of the data and `j` for one of these phases."""
        return self.source + _scaled(inside, self.shift) if self.count > 1 else self.source

    def joined(self, other: _Phase) -> _Phase | None:
        """Return these phases and the next one together; None if there is no rule for all of them."""
        if other.terms != self.terms:
            return None
        last = self.count - 1
        step, shift = other.start - self.start - last * self.step, other.source - self.source - last * self.shift
        if last and (step, shift) != (self.step, self.shift):
            return None
        return replace(self, count=self.count + 1, step=step, shift=shift)


def _scaled(index: te.Axis, factor: int) -> te.PrimExpr | int:
    return 0 if factor == 0 else index if factor == 1 else index * factor


@dataclass(frozen=True)
class _Steps:
    """The products that each result of a transposed convolution sums along a dimension: result `r` has the products of
    elements `i` of the data and `k` of the window with `r + before = i * stride + k * dilation`.

    With the common divisor of stride and dilation, and their quotients `period` and `step`, there are such products for
    `period` of `stride` results in a row, their phases, which are `divisor` apart. The remainder of `k` by the period
    is the same for all products of a phase.
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
    def place_of_first(self) -> int:
        """The place of phase 0 before padding is removed, in divisors."""
        return -(-self.before // self.divisor)

    @property
    def ahead(self) -> int:
        """The largest distance by which the first element of the data for a phase is ahead of the number of the
        result."""
        return -(-self.place_of_first // self.period)

    @property
    def reach(self) -> Size:
        """The number of zeros before the data that results reach; if negative, the number of first elements that no
        result reaches."""
        ahead = self.ahead
        return ((self.size - 1) * self.step + ahead * self.period - self.place_of_first) // self.period - ahead

    @property
    def count(self) -> Size:
        """The number of results of a phase."""
        return (self.results + self.stride - 1) // self.stride

    @property
    def spread(self) -> Size:
        """The number of elements of the data, and zeros around it, for all results."""
        return self.count + self.reach + self.ahead

    @property
    def phases(self) -> list[_Phase]:
        """The phases in order, as few as possible if the size of the window is known."""
        found: list[_Phase] = []
        for phase in map(self._phase, range(self.period)):
            joined = found[-1].joined(phase) if found else None
            found[-1:] = [joined] if joined else [*found[-1:], phase]
        return found

    def _phase(self, number: int) -> _Phase:
        place, period = self.place_of_first + number, self.period
        start = place * pow(self.step, -1, period) % period
        source = (place - start * self.step) // period
        return _Phase(number, 1, (self.size - start + period - 1) // period, start, 0, source, 0)

    def has_products(self, result: te.PrimExpr) -> te.PrimExpr:
        """Return whether a result has a phase."""
        return te.equal((result + self.before) % self.divisor, 0)

    def place(self, result: te.PrimExpr) -> tuple[te.PrimExpr, te.PrimExpr]:
        """Return the phase of a result, and its number in the phase."""
        phase = result % self.stride
        return phase // self.divisor if self.divisor > 1 else phase, result // self.stride


@legalizes(TransposedConvolution)
def transposed_convolution(op: TransposedConvolution, x: te.Tensor, w: te.Tensor) -> te.Tensor:
    """Legalize to a convolution for each phase of the strides, with the elements of the window that reach its results,
    and interleave them."""
    groups, windows = as_integer(op.groups), op.windows(w.shape)
    channels, outputs = x.shape[1] // groups, w.shape[1]
    images, _, *sizes = result_shape(op, x, w)
    properties = zip(windows.size, windows.strides, windows.dilation, windows.before, sizes, strict=True)
    along = [_Steps(*of_dimension) for of_dimension in properties]
    data = _surrounded(x, [s.reach for s in along], [s.spread for s in along])

    def sums_of(phases: Sequence[_Phase]) -> te.Tensor:
        c = te.reduce_axis(channels, "c")
        inner = [te.reduce_axis(phase.terms, name) for phase, name in zip(phases, WINDOW[-op.RANK :], strict=True)]

        def element(n: te.Axis, g: te.Axis, *index: te.Axis) -> te.PrimExpr:
            inside, o, place = index[: op.RANK], index[op.RANK], index[op.RANK + 1 :]
            channel = member(0 if groups == 1 else g, channels, c)
            each = [*zip(phases, inside, inner, along, strict=True)]
            firsts = [phase.source_of(p) + s.reach for phase, p, _, s in each]
            source = [j + first - u * s.step for j, first, (_, _, u, s) in zip(place, firsts, each, strict=True)]
            taken = [phase.begin(p) + u * s.period for phase, p, u, s in each]
            return te.sum(data[n, channel, *source] * w[channel, o, *taken], (c, *inner))

        shape = (images, groups, *(phase.count for phase in phases), outputs, *(s.count for s in along))
        spatial = SPATIAL[-op.RANK :]
        return te.compute(shape, element, "sums", ["n", "g", *(f"p{name}" for name in spatial), "o", *spatial])

    phases = [s.phases for s in along]
    sums = {chosen: sums_of(chosen) for chosen in product(*phases) if all(phase.terms != 0 for phase in chosen)}

    def element(n: te.Axis, o: te.Axis, *results: te.Axis) -> te.PrimExpr:
        starts, places = zip(*(s.place(i) for s, i in zip(along, results, strict=True)), strict=True)
        group, member = (0, o) if groups == 1 else (o, 0) if outputs == 1 else (o // outputs, o % outputs)

        def of(*chosen: _Phase) -> te.PrimExpr:
            if len(chosen) < op.RANK:
                return among(chosen, phases[len(chosen)])
            if chosen not in sums:
                return te.as_expr(0, x.type)
            inside = [phase.inside(k) for k, phase in zip(starts, chosen, strict=True)]
            return sums[chosen][n, group, *inside, member, *places]

        def among(chosen: tuple[_Phase, ...], left: Sequence[_Phase]) -> te.PrimExpr:
            phase, *others = left
            value, end = of(*chosen, phase), phase.first + phase.count
            return te.if_then_else(starts[len(chosen)] < end, value, among(chosen, others)) if others else value

        conditions = [s.has_products(i) for i, s in zip(results, along, strict=True) if s.divisor > 1]
        return te.if_then_else(reduce(lambda a, b: a & b, conditions), of(), 0) if conditions else of()

    return windowed(op, [x, w], "no", element)


def _surrounded(x: te.Tensor, before: Sequence[Size], sizes: Sequence[Size]) -> te.Tensor:
    """Return a tensor whose last dimensions have `sizes`, with `x` after `before` zeros; if that is negative, as many
    of its first elements are left out."""
    if all(width == 0 for width in before) and list(sizes) == list(x.shape[2:]):
        return x

    def element(*i: te.Axis) -> te.PrimExpr:
        place = [index - width for index, width in zip(i[2:], before, strict=True)]
        inside = [index >= width for index, width in zip(i[2:], before, strict=True) if width != 0]
        inside += [index < size for index, size in zip(place, x.shape[2:], strict=True)]
        return te.if_then_else(reduce(lambda a, b: a & b, inside), x[*i[:2], *place], 0)

    return te.compute((*x.shape[:2], *sizes), element, name="padded")
