"""Transposed convolution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import gcd
from typing import TypeVar

from relex.dialects.relex import TransposedConvolution
from relex.dialects.relex.properties import as_integer
from relex.dialects.sizes import Size
from relex.lowering.legalizations.convolution import SPATIAL, WINDOW, member, windowed
from relex.lowering.legalizations.table import legalizes, result_shape
from relex.lowering.te import Axis, Expr, Tensor, as_expr, compute, equal, if_then_else, reduce_axis, sum

ExprT = TypeVar("ExprT", int, Expr)


@dataclass(frozen=True)
class _Phase:
    """Results along a dimension to which as many elements of the window contribute: every `period`-th one of the
    window, from each of `count` consecutive ones on."""

    first: int
    count: int
    terms: Size

    @classmethod
    def all_of(cls, steps: _Steps) -> list[_Phase]:
        """Return the phases of a window, in order. They are as few as possible if its size is known."""
        size, period = steps.size, steps.period
        if not isinstance(size, int):
            starts = map(steps.start, range(period))
            return [cls(first, 1, (size - start + period - 1) // period) for first, start in enumerate(starts)]
        terms, rest = divmod(size, period)
        if steps.is_reversed and rest:
            return [cls(0, 1, terms), cls(1, 1, terms + 1)]
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
    def is_reversed(self) -> bool:
        """Whether phases are counted from the first result, which is an odd one of pairs: the element `1 - k` of the
        window is the first one for phase `k`, and `j` is counted from `k`. Otherwise there is half a pair more."""
        return self.stride == 2 and self.dilation == 1 and self.before % 2 == 1

    @property
    def first(self) -> int:
        """The first `j`."""
        return self.before // self.stride

    @property
    def count(self) -> Size:
        """The number of values of `j` for a phase."""
        before = 0 if self.is_reversed else self.before % self.stride
        return (before + self.results + self.stride - 1) // self.stride

    @property
    def spread(self) -> Size:
        """The number of values of `i` for all results."""
        return self.count + self.reach + (1 if self.is_reversed else 0)

    @property
    def reach(self) -> Size:
        """The most that `i` is below `j`."""
        return (self.size - 1) * self.step // self.period

    def place(self, result: Expr) -> tuple[Expr, Expr]:
        """Return the `k0` and `j`, counted from the first one, of a result."""
        if self.is_reversed:
            return result % 2, result // 2
        at = result + self.before if self.before else result
        inverse = pow(self.step, -1, self.period) if self.period > 1 else 0
        step = at // self.stride
        return (at // self.divisor) % self.period * inverse % self.period, step - self.first if self.first else step

    def start(self, phase: ExprT) -> ExprT:
        """Return the first element of the window that contributes to a phase."""
        return 1 - phase if self.is_reversed else phase

    def source(self, place: Expr, phase: Expr, term: Expr) -> Expr:
        """Return the element of the data among zeros that a term of a result multiplies."""
        if self.is_reversed:
            return place + phase - term + self.reach
        return place - phase * self.step // self.period - term * self.step + self.reach


@legalizes(TransposedConvolution)
def transposed_convolution(op: TransposedConvolution, x: Tensor, w: Tensor) -> Tensor:
    """Legalize to a convolution for each phase of the strides, with the elements of the window that reach its results,
    and interleave them."""
    groups, windows = as_integer(op.groups), op.windows(w.shape)
    channels, outputs = x.shape[1] // groups, w.shape[1]
    images, _, *sizes = result_shape(op, x, w)
    properties = zip(windows.size, windows.strides, windows.dilation, windows.before, sizes, strict=True)
    along = [_Steps(*of_dimension) for of_dimension in properties]
    data = _surrounded(x, [s.reach - s.first for s in along], [s.spread for s in along])

    def sums_of(phases: Sequence[_Phase]) -> Tensor:
        c = reduce_axis(channels, "c")
        inner = [reduce_axis(phase.terms, name) for phase, name in zip(phases, WINDOW[-op.RANK :], strict=True)]

        def element(n: Axis, g: Axis, *index: Axis) -> Expr:
            starts, o, place = index[: op.RANK], index[op.RANK], index[op.RANK + 1 :]
            channel = member(0 if groups == 1 else g, channels, c)
            firsts = [k + phase.first if phase.first else k for k, phase in zip(starts, phases, strict=True)]
            steps = zip(place, firsts, inner, along, strict=True)
            source = [s.source(j, k, u) for j, k, u, s in steps]
            taken = [s.start(k) + u * s.period for k, u, s in zip(firsts, inner, along, strict=True)]
            return sum(data[n, channel, *source] * w[channel, o, *taken], (c, *inner))

        shape = (images, groups, *(phase.count for phase in phases), outputs, *(s.count for s in along))
        spatial = SPATIAL[-op.RANK :]
        return compute(shape, element, "sums", ["n", "g", *(f"p{name}" for name in spatial), "o", *spatial])

    phases = [_Phase.all_of(s) for s in along]
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

    return windowed(op, [x, w], "no", element)


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
