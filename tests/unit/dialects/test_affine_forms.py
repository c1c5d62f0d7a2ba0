"""Index expressions in normal form: they keep their values, their bounds hold, and what is proved of them is true."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.index.atoms import Atom, Extreme
from relex.dialects.index.elimination import Contradiction
from relex.dialects.index.expr import Index, IndexExpr, atom_of, larger, never_negative, smaller, span_of
from relex.dialects.index.from_ir import index_of
from relex.dialects.index.ranges import Range
from relex.dialects.index.values import replace_atoms
from relex.dialects.tir import BlockOp, ForOp, IterKind, PrimFuncOp
from relex.passes.analysis.dependence import equal_atoms
from relex.passes.analysis.footprints import IndexInterval, covers, is_full
from relex.passes.rewriting.index_arithmetic import IndexArithmetic

EXTENTS = (3, 1, 4)
BLOCK = BlockOp("all", [IterKind.SPATIAL] * len(EXTENTS), EXTENTS, [])
VARIABLES = BLOCK.body.block.args

Point = dict[SSAValue, int]


def points_of(variables: Sequence[SSAValue]) -> list[Point]:
    """All values of three variables together."""
    return [dict(zip(variables, point, strict=True)) for point in product(*map(range, EXTENTS))]


POINTS = points_of(VARIABLES)


def value(form: Index, point: Point) -> int:
    found = replace_atoms(form, lambda atom: point[atom] if isinstance(atom, SSAValue) else None)
    assert isinstance(found, int)
    return found


def test_atoms_and_constants() -> None:
    i, j, _ = map(IndexExpr.of, VARIABLES)
    assert atom_of(i) is VARIABLES[0]
    assert all(atom_of(index) is None for index in (3, i * 2, i + 1, i + j))
    assert i + j == j + i
    assert hash(i + j) == hash(j + i)
    assert i - i == 0


def test_quotients_and_remainders_are_simplified() -> None:
    i, _, k = map(IndexExpr.of, VARIABLES)
    tiled = i * 4 + k
    assert tiled // 4 == i
    assert tiled % 4 == k
    assert (tiled * 2 + 1) // 8 == i
    assert (tiled * 2 + 1) % 8 == k * 2 + 1
    assert (i * 16 + k + 8) % 8 == k
    assert (i * 8 + k) // 16 == i // 2
    assert (i * 8 + k) % 16 == (i % 2) * 8 + k
    assert (k + 4) // 4 == 1


def test_signs_are_read_from_bounds_and_from_roundings() -> None:
    i, j, _ = map(IndexExpr.of, VARIABLES)
    assert never_negative(-((1 - i * 4) // 3))  # By its bounds: the dividend may be positive.
    assert never_negative(i - i // 2)  # A quotient is rounded down.
    assert not never_negative(i - j - 1)


COEFFICIENTS = st.sampled_from([-4, -1, 0, 1, 1, 2, 3, 4, 4, 8, 12])


@st.composite
def forms(draw: st.DrawFn) -> tuple[Index, list[int]]:
    """A form, and its values at all points."""
    form: Index = draw(st.integers(-5, 5))
    for variable in VARIABLES:
        form = form + IndexExpr.of(variable) * draw(COEFFICIENTS)
    values = [value(form, point) for point in POINTS]
    for _ in range(draw(st.integers(0, 2))):
        divisor = draw(st.sampled_from([1, 2, 3, 4, 8]))
        if draw(st.booleans()):
            form, values = form // divisor, [v // divisor for v in values]
        else:
            form, values = form % divisor, [v % divisor for v in values]
        factor, shift = draw(st.integers(-3, 3)), draw(st.integers(-3, 3))
        form, values = form * factor + shift, [v * factor + shift for v in values]
    return form, values


@given(forms())
@settings(deadline=None)
def test_values_and_spans(drawn: tuple[Index, list[int]]) -> None:
    form, values = drawn
    assert [value(form, point) for point in POINTS] == values
    assert all(span_of(form).low <= v <= span_of(form).high for v in values)


def test_spans_of_one_variable_are_exact() -> None:
    """Their ends are the least and the largest value."""
    k = IndexExpr.of(VARIABLES[2])
    for dividend, divisor, factor in product((k, k - 3, k * 3 + 1, larger(k, 2), smaller(k, 1)), (2, 3), (-1, 2)):
        form = dividend // divisor * factor
        values = [value(form, point) for point in POINTS]
        assert span_of(form) == Range(min(values), max(values)), form


@given(forms())
@settings(deadline=None)
def test_forms_are_written_and_read(drawn: tuple[Index, list[int]]) -> None:
    form, values = drawn
    func = PrimFuncOp("f", [], [])
    nest: list[ForOp] = []
    for extent in EXTENTS:
        loop = ForOp(extent)
        (nest[-1] if nest else func).body.block.add_op(loop)
        nest.append(loop)
    end = BlockOp("end", [], [], [])
    Rewriter.insert_op(end, InsertPoint.at_end(nest[-1].body.block))
    loops: dict[SSAValue, Index] = {
        variable: IndexExpr.of(loop.variable) for variable, loop in zip(VARIABLES, nest, strict=True)
    }
    written = IndexArithmetic(end).emit(in_loops(form, loops))
    func.verify()
    points = points_of([loop.variable for loop in nest])
    assert [value(index_of(written), point) for point in points] == values


def in_loops(form: Index, loops: dict[SSAValue, Index]) -> Index:
    """The same expression of other variables."""
    return replace_atoms(form, lambda atom: loops[atom] if isinstance(atom, SSAValue) else None)


@given(st.lists(st.tuples(forms(), forms()), min_size=1, max_size=2))
@settings(deadline=None)
def test_what_is_proved_equal_is_equal(drawn: list[tuple[tuple[Index, list[int]], tuple[Index, list[int]]]]) -> None:
    meeting = [
        (one, other)
        for (p, one), (q, other) in product(enumerate(POINTS), repeat=2)
        if all(left[p] == right[q] for (_, left), (_, right) in drawn)
    ]
    try:
        proved = equal_atoms([(a, b) for (a, _), (b, _) in drawn], BLOCK)
    except Contradiction:
        assert not meeting
        return
    for one, other in meeting:
        assert all(value(IndexExpr.of(atom), one) == value(IndexExpr.of(atom), other) for atom in proved)


@given(forms())
@settings(deadline=None)
def test_places_of_their_own(drawn: tuple[Index, list[int]]) -> None:
    """A form that is proved to tell all points apart has as many values."""
    form, values = drawn
    if equal_atoms([(form, form)], BLOCK) >= {v for v, extent in zip(VARIABLES, EXTENTS, strict=True) if extent > 1}:
        assert len(set(values)) == len(POINTS)


def test_tiles_are_told_apart() -> None:
    i, _, k = map(IndexExpr.of, VARIABLES)
    fused = i * 4 + k
    everything = {VARIABLES[0], VARIABLES[2]}
    for equations in ([fused], [fused // 3, fused % 3], [i, k]):
        assert equal_atoms([(e, e) for e in equations], BLOCK) >= everything
    assert VARIABLES[0] not in equal_atoms([(i * 3 + k, i * 3 + k)], BLOCK)
    assert VARIABLES[2] not in equal_atoms([(fused, fused + 1)], BLOCK)


@given(forms(), st.integers(1, 6), st.integers(1, 20))
@settings(deadline=None)
def test_what_covers_reaches_all(drawn: tuple[Index, list[int]], width: int, extent: int) -> None:
    form, values = drawn
    reached = {v + i for v in values for i in range(width)}
    if covers(IndexInterval(form, width, full=True), extent):
        assert reached >= set(range(extent))
    if is_full(form):
        assert set(values) == set(range(min(values), max(values) + 1))


def test_what_is_no_sum_is_an_atom() -> None:
    i = VARIABLES[0]
    smaller = arith.MinSIOp(i, VARIABLES[2])
    two = arith.ConstantOp(IntegerAttr(2, IndexType()))
    product_of_two = arith.MuliOp(i, VARIABLES[2])
    doubled = arith.MuliOp(two, smaller)
    least = IndexExpr.of(Extreme("min", (IndexExpr.of(VARIABLES[2]), IndexExpr.of(i))))
    assert index_of(smaller.result) == least
    assert index_of(doubled.result) == least * 2
    assert index_of(product_of_two.result) == IndexExpr.of(product_of_two.result)


def test_forms_leave_nothing_to_the_garbage_collector() -> None:
    i, j = VARIABLES[0], VARIABLES[2]
    total = arith.AddiOp(i, j)
    replaced: dict[Atom, Index] = {j: IndexExpr.of(i)}
    gc.collect()
    gc.disable()
    try:
        for _ in range(100):
            assert replace_atoms(index_of(total.result), replaced.get) == IndexExpr.of(i) * 2
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_sums_of_thousands_are_read() -> None:
    sums = [arith.AddiOp(VARIABLES[0], VARIABLES[2])]
    for _ in range(3000):
        sums.append(arith.AddiOp(sums[-1], VARIABLES[2]))
    assert index_of(sums[-1].result) == IndexExpr.of(VARIABLES[0]) + IndexExpr.of(VARIABLES[2]) * 3001
