"""Arrays made of elements of others, against a loop over all iterations."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from math import prod
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Array
from xdsl.ir import SSAValue

from relex.dialects import shared_work
from relex.dialects.index.expr import Index, IndexExpr, values_in
from relex.dialects.index.values import replace_atoms
from relex.dialects.tir import ForOp
from relex.passes.graph.layout import gathers
from relex.passes.graph.layout.gathers import AxisIndex, Gather, Limit


def variables(*extents: int) -> tuple[dict[SSAValue, int], list[Index]]:
    """Loops, and their variables as forms."""
    loops = [ForOp(extent) for extent in extents]
    found: dict[SSAValue, int] = {loop.variable: extent for loop, extent in zip(loops, extents, strict=True)}
    return found, [IndexExpr.of(variable) for variable in found]


def value(form: Index, at: Mapping[SSAValue, int]) -> int:
    found = replace_atoms(form, lambda atom: at[atom] if isinstance(atom, SSAValue) else None)
    assert isinstance(found, int)
    return found


def copied(
    array: Array,
    extents: Mapping[SSAValue, int],
    source: Sequence[AxisIndex],
    target: Sequence[AxisIndex],
    limits: Sequence[Limit] = (),
) -> Array | None:
    """The target after all iterations; None if an index leaves its axis, or a place is given two elements."""
    origins: dict[tuple[int, ...], tuple[int, ...]] = {}
    for values in itertools.product(*map(range, extents.values())):
        at = dict(zip(extents, values, strict=True))
        if not all(limit.holds(value(limit.form, at)) for limit in limits):
            continue
        here, there = (tuple(value(index.form, at) for index in indices) for indices in (source, target))
        inside = all(0 <= i < index.size for i, index in zip((*here, *there), (*source, *target), strict=True))
        if not inside or origins.setdefault(there, here) != here:
            return None
    result = np.zeros([index.size for index in target], array.dtype)
    for there, here in origins.items():
        result[there] = array[here]
    return result


def numbered(indices: Sequence[AxisIndex]) -> Array:
    """An array without equal elements, nor zeros."""
    sizes = [index.size for index in indices]
    return np.arange(1, prod(sizes) + 1, dtype=np.int32).reshape(sizes)


def check(
    extents: Mapping[SSAValue, int],
    source: Sequence[AxisIndex],
    target: Sequence[AxisIndex],
    limits: Sequence[Limit] = (),
) -> Gather | None:
    gather = Gather.of(extents, source, target, limits)
    array = numbered(source)
    expected = copied(array, extents, source, target, limits)
    assert (gather is None) == (expected is None)
    if gather is not None:
        found = np.full(gather.shape, -1, array.dtype)
        gather.apply(array, found)
        np.testing.assert_array_equal(found, expected)
        in_parts = np.full(gather.shape, -1, array.dtype)
        with patch.object(shared_work, "PART", 8), patch.object(shared_work, "SHARED", 16):
            gather.apply(array, in_parts)
        np.testing.assert_array_equal(in_parts, expected)
    return gather


def listed(gather: Gather | None) -> int:
    """How many elements are listed."""
    assert gather is not None
    return sum(part.origin.size for part in gather.parts)


def below(form: Index, bound: int) -> Limit:
    return Limit(form - bound, lambda difference: difference < 0)


@pytest.mark.parametrize("columns", [64, 71, 1])
def test_panels(columns: int) -> None:
    """Columns in panels of 16: the panels' axes are listed, not their product."""
    extents, (panel, term, column) = variables(-(-columns // 16), 33, 16)
    source = [AxisIndex(16 * panel + column, columns), AxisIndex(term, 33)]
    target = [AxisIndex(panel, -(-columns // 16)), AxisIndex(term, 33), AxisIndex(column, 16)]
    gather = check(extents, source, target, [below(16 * panel + column, columns)])
    assert listed(gather) <= columns + 16 + 33 + 1


def test_a_flat_index_comes_apart() -> None:
    extents, (i, j, k) = variables(3, 5, 8)
    flat = AxisIndex(40 * k + 8 * j + i, 320)
    assert listed(check(extents, [AxisIndex(i, 3), AxisIndex(j, 5), AxisIndex(k, 8)], [flat])) < 40
    assert listed(check(extents, [flat], [AxisIndex(j, 5), AxisIndex(k, 8), AxisIndex(i, 3)])) < 40


def test_a_loop_over_several_axes() -> None:
    """The axes of a window in one loop: what they share is listed."""
    extents, (i, k) = variables(7, 4 * 3 * 3)
    source = [AxisIndex(i, 7), AxisIndex(k // 9, 4), AxisIndex(k // 3 % 3, 3), AxisIndex(k % 3, 3)]
    assert listed(check(extents, source, [AxisIndex(k, 36), AxisIndex(i, 7)])) == 36 + 7 + 1


def test_constant_indices_and_loops_that_nothing_depends_on() -> None:
    extents, (i, j) = variables(3, 2)
    check(extents, [AxisIndex(1, 2), AxisIndex(i, 3)], [AxisIndex(i, 3), AxisIndex(2, 4)])
    check(extents, [AxisIndex(i, 3)], [AxisIndex(i, 3)], [below(j, 0)])


@pytest.mark.parametrize("rows", [0, 3])
def test_empty(rows: int) -> None:
    extents, (i, j) = variables(rows, 0)
    check(extents, [AxisIndex(i, rows), AxisIndex(j, 0)], [AxisIndex(j, 5), AxisIndex(i, rows)])


def test_refused() -> None:
    extents, (i, j) = variables(4, 4)
    assert check(extents, [AxisIndex(i, 4), AxisIndex(j, 4)], [AxisIndex(i, 4)]) is None
    assert check(extents, [AxisIndex(i + 1, 4)], [AxisIndex(i, 4)]) is None
    assert check(extents, [AxisIndex(i, 4)], [AxisIndex(i - 1, 4)]) is None
    _, (other,) = variables(4)
    assert Gather.of(extents, [AxisIndex(other, 4)], [AxisIndex(other, 4)], []) is None


def test_long_lists_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two loops in one index that does not come apart."""
    extents, (i, j) = variables(30, 30)
    indices = [AxisIndex(30 * i + j, 901)], [AxisIndex(j + 30 * i + 1, 901)]
    assert Gather.of(extents, *indices, []) is not None
    monkeypatch.setattr(gathers, "MAX_LIST", 899)
    assert Gather.of(extents, *indices, []) is None


@settings(max_examples=200)
@given(st.data())
def test_random_gathers(data: st.DataObject) -> None:
    """Loops in any order on both sides, one of them in two parts, flat or not, with room at the edge."""
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    width, room = data.draw(st.integers(1, 4)), data.draw(st.integers(0, 2))
    extents, (block, inner, *others) = variables(-(-sizes[0] // width), width, *sizes[1:])
    whole = width * block + inner
    source = [AxisIndex(form, size) for form, size in zip([whole, *others], sizes, strict=True)]
    padded = extents[next(iter(values_in(block)))] * width + room
    first = data.draw(
        st.sampled_from(
            [
                [AxisIndex(whole, padded)],
                [AxisIndex(block, padded // width), AxisIndex(inner, width)],
                [AxisIndex(whole // 2, padded // 2 + 1), AxisIndex(whole % 2, 2)],
                [AxisIndex(padded - 1 - whole, padded)],
            ]
        )
    )
    target = data.draw(st.permutations([*first, *source[1:]]))
    source = data.draw(st.permutations(source))
    flat = AxisIndex(0, 1)
    for index in target:
        flat = AxisIndex(flat.form * index.size + index.form, flat.size * index.size)
    limits = data.draw(st.sampled_from([[below(whole, sizes[0])], [below(whole, sizes[0]), below(inner, 2)], []]))
    check(extents, source, data.draw(st.sampled_from([target, [flat]])), limits)
