"""Arrays made of elements of others, against a loop over all iterations."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Array
from xdsl.ir import SSAValue

from relex.dialects.tir import ForOp
from relex.passes.loops import gathers
from relex.passes.loops.affine import Atom, Form, Quotient
from relex.passes.loops.gathers import Gather, Index, Limit


def variables(*extents: int) -> tuple[dict[SSAValue, int], list[Form]]:
    """Loops, and their variables as forms."""
    loops = [ForOp(extent) for extent in extents]
    found: dict[SSAValue, int] = {loop.variable: extent for loop, extent in zip(loops, extents, strict=True)}
    return found, [Form.of(variable) for variable in found]


def value(form: Form, at: Mapping[SSAValue, int]) -> int:
    return form.constant + sum(factor * value_of_atom(atom, at) for atom, factor in form.terms.items())


def value_of_atom(atom: Atom, at: Mapping[SSAValue, int]) -> int:
    if isinstance(atom, SSAValue):
        return at[atom]
    divided = value(atom.form, at)
    return divided // atom.divisor if isinstance(atom, Quotient) else divided % atom.divisor


def copied(
    array: Array,
    extents: Mapping[SSAValue, int],
    source: Sequence[Index],
    target: Sequence[Index],
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


def numbered(indices: Sequence[Index]) -> Array:
    """An array without equal elements, nor zeros."""
    sizes = [index.size for index in indices]
    return np.arange(1, prod(sizes) + 1, dtype=np.int32).reshape(sizes)


def check(
    extents: Mapping[SSAValue, int], source: Sequence[Index], target: Sequence[Index], limits: Sequence[Limit] = ()
) -> Gather | None:
    gather = Gather.of(extents, source, target, limits)
    array = numbered(source)
    expected = copied(array, extents, source, target, limits)
    assert (gather is None) == (expected is None)
    if gather is not None:
        found = gather.apply(array)
        assert found.flags.c_contiguous
        np.testing.assert_array_equal(found, expected)
    return gather


def listed(gather: Gather | None) -> int:
    """How many elements are listed."""
    assert gather is not None
    return sum(part.origin.size for part in gather.parts)


def below(form: Form, bound: int) -> Limit:
    return Limit(form - bound, lambda difference: difference < 0)


@pytest.mark.parametrize("columns", [64, 71, 1])
def test_panels(columns: int) -> None:
    """Columns in panels of 16: the panels' axes are listed, not their product."""
    extents, (panel, term, column) = variables(-(-columns // 16), 33, 16)
    source = [Index(16 * panel + column, columns), Index(term, 33)]
    target = [Index(panel, -(-columns // 16)), Index(term, 33), Index(column, 16)]
    gather = check(extents, source, target, [below(16 * panel + column, columns)])
    assert listed(gather) <= columns + 16 + 33 + 1


def test_a_flat_index_comes_apart() -> None:
    extents, (i, j, k) = variables(3, 5, 8)
    flat = Index(40 * k + 8 * j + i, 320)
    assert listed(check(extents, [Index(i, 3), Index(j, 5), Index(k, 8)], [flat])) < 40
    assert listed(check(extents, [flat], [Index(j, 5), Index(k, 8), Index(i, 3)])) < 40


def test_a_loop_over_several_axes() -> None:
    """The axes of a window in one loop: what they share is listed."""
    extents, (i, k) = variables(7, 4 * 3 * 3)
    source = [Index(i, 7), Index(k // 9, 4), Index(k // 3 % 3, 3), Index(k % 3, 3)]
    assert listed(check(extents, source, [Index(k, 36), Index(i, 7)])) == 36 + 7 + 1


def test_constant_indices_and_loops_that_nothing_depends_on() -> None:
    extents, (i, j) = variables(3, 2)
    check(extents, [Index(Form(1), 2), Index(i, 3)], [Index(i, 3), Index(Form(2), 4)])
    check(extents, [Index(i, 3)], [Index(i, 3)], [below(j, 0)])


@pytest.mark.parametrize("rows", [0, 3])
def test_empty(rows: int) -> None:
    extents, (i, j) = variables(rows, 0)
    check(extents, [Index(i, rows), Index(j, 0)], [Index(j, 5), Index(i, rows)])


def test_refused() -> None:
    extents, (i, j) = variables(4, 4)
    assert check(extents, [Index(i, 4), Index(j, 4)], [Index(i, 4)]) is None
    assert check(extents, [Index(i + 1, 4)], [Index(i, 4)]) is None
    assert check(extents, [Index(i, 4)], [Index(i - 1, 4)]) is None
    _, (other,) = variables(4)
    assert Gather.of(extents, [Index(other, 4)], [Index(other, 4)], []) is None


def test_long_lists_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two loops in one index that does not come apart."""
    extents, (i, j) = variables(30, 30)
    indices = [Index(30 * i + j, 901)], [Index(j + 30 * i + 1, 901)]
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
    source = [Index(form, size) for form, size in zip([whole, *others], sizes, strict=True)]
    padded = extents[next(iter(block.variables()))] * width + room
    first = data.draw(
        st.sampled_from(
            [
                [Index(whole, padded)],
                [Index(block, padded // width), Index(inner, width)],
                [Index(whole // 2, padded // 2 + 1), Index(whole % 2, 2)],
                [Index(Form(padded - 1) - whole, padded)],
            ]
        )
    )
    target = data.draw(st.permutations([*first, *source[1:]]))
    source = data.draw(st.permutations(source))
    flat = Index(Form(0), 1)
    for index in target:
        flat = Index(flat.form * index.size + index.form, flat.size * index.size)
    limits = data.draw(st.sampled_from([[below(whole, sizes[0])], [below(whole, sizes[0]), below(inner, 2)], []]))
    check(extents, source, data.draw(st.sampled_from([target, [flat]])), limits)
