"""Gathers: arrays made of elements of others, by index expressions. Axes that share no loop are gathered in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.ir import SSAValue

from relex.dialects.arrays import Array, np
from relex.dialects.index.atoms import Atom, Quotient, Remainder
from relex.dialects.index.expr import Index, constant_of, terms_of, values_in
from relex.dialects.shared_work import each_part

MAX_LIST = 2**22
"""Maximum number of iterations or elements that are enumerated, as 64-bit integers, for axes that cannot be
separated."""

Grid = Mapping[SSAValue, "Array"]
"""The values of loop variables in all iterations."""


@dataclass(frozen=True)
class AxisIndex:
    """An index into an axis of the given size."""

    form: Index
    size: int


@dataclass(frozen=True)
class Limit:
    """A condition on iterations: `holds` must be true of the value of `form`."""

    form: Index
    holds: Callable[[Any], Any]


@dataclass(frozen=True)
class Part:
    """Axes whose indices share loops with each other, but with no axis of another part. `origin` has, for each element
    of the target's axes in row-major order, the number of the element of the source's axes that goes there; -1 for
    none."""

    source: Sequence[int]
    target: Sequence[int]
    origin: Array


@dataclass(frozen=True)
class Gather:
    """The source element for each place of a target, in parts. Their axes are the axes of the arrays after splitting:
    an index `%i * 16 + %j` with `%j` below 16 counts as two axes."""

    source_sizes: Sequence[int]
    target_sizes: Sequence[int]
    parts: Sequence[Part]
    shape: Sequence[int]
    """The shape of the target before its axes were split."""

    @classmethod
    def of(
        cls,
        extents: Mapping[SSAValue, int],
        source: Sequence[AxisIndex],
        target: Sequence[AxisIndex],
        limits: Sequence[Limit],
    ) -> Gather | None:
        """Return the gather that copies `source` to `target` in all iterations of loops within limits. None if a place
        receives more than one element, if indices leave their axes or depend on more than loops, or if too many
        elements would have to be enumerated."""
        sources, targets = ([axis for index in indices for axis in _split(index)] for indices in (source, target))
        used = [set(values_in(item.form)) for item in (*sources, *targets, *limits)]
        if not all(variables <= extents.keys() for variables in used):
            return None
        groups = _connected([*({variable} for variable in extents), *used])
        parts = [_part(group, extents, sources, targets, limits) for group in groups]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        # Gathering the axes in memory order copies whole rows.
        known.sort(key=lambda part: list(part.source))
        return cls(_sizes(sources), _sizes(targets), known, _sizes(target))

    def apply(self, array: Array, target: Array) -> None:
        """Write the target for a source; 0 where nothing is copied."""
        if not target.size:
            return
        axes = [axis for part in self.parts for axis in part.source]
        sizes = [prod(self.source_sizes[axis] for axis in part.source) for part in self.parts]
        array = array.reshape(self.source_sizes).transpose(axes).reshape(sizes)
        whole = target.reshape(self.target_sizes)
        firsts = [part.target[0] for part in self.parts if part.target]
        if not firsts:
            self._fill(whole, array, {})
            return
        longest = max(firsts, key=lambda axis: self.target_sizes[axis])
        each_part(self.target_sizes[longest], target.nbytes, lambda some: self._fill(whole, array, {longest: some}))

    def _fill(self, whole: Array, array: Array, places: Mapping[int, slice]) -> None:
        """Write the places in a slice of an axis of the target, which is the first one of a part."""
        for number, part in enumerate(self.parts):
            origin = part.origin
            for axis in part.target[:1]:
                origin = origin.reshape(self.target_sizes[axis], -1)[places.get(axis, slice(None))].reshape(-1)
            array = _take(array, origin, number)
        target = whole[*(places.get(axis, slice(None)) for axis in range(whole.ndim))]
        axes = [axis for part in self.parts for axis in part.target]
        array = array.reshape([target.shape[axis] for axis in axes]).transpose(np.argsort(axes))
        np.copyto(target, array)


def _sizes(indices: Sequence[AxisIndex]) -> list[int]:
    return [index.size for index in indices]


def _split(index: AxisIndex) -> Iterator[AxisIndex]:
    """Split an index into several where it is a row-major number whose row and column share no loop."""
    for factor in sorted(set(map(abs, terms_of(index.form).values()))):
        if factor > 1 and index.size % factor == 0:
            row, column = index.form // factor, index.form % factor
            in_row = set(values_in(row))
            if in_row and in_row.isdisjoint(values_in(column)):
                yield from _split(AxisIndex(row, index.size // factor))
                yield AxisIndex(column, factor)
                return
    yield index


def _connected(sets: Iterable[set[SSAValue]]) -> list[set[SSAValue]]:
    """Return the unions of overlapping sets, preceded by the empty set."""
    unions: list[set[SSAValue]] = [set()]
    for found in filter(None, sets):
        overlapping = [union for union in unions if union & found]
        unions = [union for union in unions if union not in overlapping] + [found.union(*overlapping)]
    return unions


def _part(
    group: set[SSAValue],
    extents: Mapping[SSAValue, int],
    source: Sequence[AxisIndex],
    target: Sequence[AxisIndex],
    limits: Sequence[Limit],
) -> Part | None:
    """Return the part of the axes that depend on a group of loops; axes without loops belong to the empty group."""

    def within(items: Sequence[AxisIndex | Limit]) -> list[int]:
        used = [set(values_in(item.form)) for item in items]
        return [i for i, variables in enumerate(used) if variables <= group and bool(variables) == bool(group)]

    axes, places = within(source), within(target)
    origin = _origin(
        {variable: extent for variable, extent in extents.items() if variable in group},
        [source[axis] for axis in axes],
        [target[axis] for axis in places],
        [limits[i] for i in within(limits)],
    )
    return Part(axes, places, origin) if origin is not None else None


def _origin(
    extents: Mapping[SSAValue, int], source: Sequence[AxisIndex], target: Sequence[AxisIndex], limits: Sequence[Limit]
) -> Array | None:
    """Return the number of the source element for each target element; None if this is unknown, not always the same, or
    too large to enumerate."""
    shape, size = tuple(extents.values()), prod(_sizes(target))
    if max(prod(shape), size) > MAX_LIST:
        return None
    axes = np.ogrid[tuple(slice(extent) for extent in shape)]
    grid: Grid = dict(zip(extents, axes, strict=True))
    runs = np.ones(shape, bool)
    try:
        for limit in limits:
            runs &= limit.holds(_evaluate(limit.form, grid))
        numbers, places = _numbers(source, grid, runs), _numbers(target, grid, runs)
    except NotListedError:
        return None
    if numbers is None or places is None:
        return None
    origin = np.full(size, -1)
    origin[places] = numbers
    return origin if np.array_equal(origin[places], numbers) else None


def _numbers(indices: Sequence[AxisIndex], grid: Grid, runs: Array) -> Array | None:
    """Return the row-major number of the element at these indices in each active iteration; None if one is out of
    range."""
    numbers = np.zeros(np.count_nonzero(runs), int)
    for index in indices:
        values = np.broadcast_to(_evaluate(index.form, grid), runs.shape)[runs]
        if ((values < 0) | (values >= index.size)).any():
            return None
        numbers = numbers * index.size + values
    return numbers


class NotListedError(Exception):
    """An index is made of more than sums of loops, quotients and remainders."""


def _evaluate(form: Index, grid: Grid) -> Array:
    """Return the values of an index expression in all iterations."""
    total = np.asarray(constant_of(form))
    for atom, factor in terms_of(form).items():
        total = total + factor * _evaluate_atom(atom, grid)
    return total


def _evaluate_atom(atom: Atom, grid: Grid) -> Array:
    match atom:
        case Quotient(dividend=dividend, divisor=divisor):
            return _evaluate(dividend, grid) // divisor
        case Remainder(dividend=dividend, divisor=divisor):
            return _evaluate(dividend, grid) % divisor
        case SSAValue():
            return grid[atom]
        case _:
            raise NotListedError


def _take(array: Array, origin: Array, axis: int) -> Array:
    """Return the elements of an axis with the given numbers; 0 for -1."""
    size: int = array.shape[axis]
    if np.array_equal(origin, np.arange(size)):
        return array
    (places,) = np.nonzero(origin >= 0)
    before = (slice(None),) * axis
    if len(places) == len(origin):
        return array[*before, _as_slice(origin)]
    result = np.zeros((*array.shape[:axis], len(origin), *array.shape[axis + 1 :]), array.dtype)
    result[*before, _as_slice(places)] = array[*before, _as_slice(origin[places])]
    return result


def _as_slice(numbers: Array) -> Array | slice:
    """Return consecutive numbers as a slice, which is copied faster and in one go."""
    count = len(numbers)
    first = int(numbers[0]) if count else 0
    return slice(first, first + count) if np.array_equal(numbers, np.arange(first, first + count)) else numbers
