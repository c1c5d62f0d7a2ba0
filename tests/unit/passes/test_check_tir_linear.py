"""Systems of integer constraints: solutions and projections, against trying all points."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relex.dialects.index import solve
from relex.dialects.index.atoms import Variable, VariableOrigin
from relex.dialects.index.constraints import Constraint, Point, System, at_least
from relex.dialects.index.elimination import inner_projection, remove_equalities
from relex.dialects.index.expr import IndexExpr, combination
from relex.dialects.index.solve import find_point

LARGEST = 4
VARIABLES = [Variable(name, VariableOrigin.COUNTER, 0, LARGEST) for name in "xyz"]
FACTORS = st.sampled_from([-5, -3, -2, -1, 0, 0, 1, 2, 3, 4])
BOX = [c for v in VARIABLES for c in (Constraint(IndexExpr.of(v)), at_least(LARGEST, IndexExpr.of(v)))]
POINTS = [dict(zip(VARIABLES, values, strict=True)) for values in product(range(LARGEST + 1), repeat=len(VARIABLES))]


@st.composite
def constraints(draw: st.DrawFn) -> Constraint:
    factors = {v: f for v in VARIABLES if (f := draw(FACTORS))}
    return Constraint(combination(draw(st.integers(-9, 9)), factors), draw(st.sampled_from([None, None, 0, 2, 3])))


def holds(system: System, point: Point) -> bool:
    chosen = all(any(holds(part, point) for part in choice) for choice in system.choices)
    return chosen and all(c.holds_at(point) for c in system.constraints)


@settings(max_examples=200, deadline=None)
@given(st.lists(constraints(), max_size=4), st.lists(st.lists(constraints(), min_size=1, max_size=3), max_size=2))
def test_points(together: list[Constraint], choices: list[list[Constraint]]) -> None:
    system = System((*BOX, *together), tuple(tuple(map(System.of, choice)) for choice in choices))
    found = find_point(system)
    assert (found is not None) == any(holds(system, point) for point in POINTS)
    assert found is None or holds(system, found)


def test_equalities_are_removed_once_for_all_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, z = VARIABLES
    equalities: list[int] = []

    def counted(found: Sequence[Constraint], removable: Any) -> Any:
        equalities.append(sum(c.is_equality for c in found))
        return remove_equalities(found, removable)

    monkeypatch.setattr(solve, "remove_equalities", counted)
    choices = [tuple(System.of(at_least(IndexExpr.of(v), n)) for n in (9, 8, 2)) for v in (x, z)]
    sums = Constraint(combination(-1, {x: 1, y: -1}), 0), Constraint(combination(-5, {x: 1, z: 1}), 0)
    assert find_point(System((*BOX, *sums), tuple(choices))) == {x: 2, y: 1, z: 3}
    assert equalities[0] == len(sums)
    assert len(equalities) > len(choices)
    assert not any(equalities[1:])


@settings(max_examples=200, deadline=None)
@given(st.lists(constraints(), max_size=4), st.sets(st.sampled_from(VARIABLES)))
def test_projections_hold_only_where_there_are_values(together: list[Constraint], gone: set[Variable]) -> None:
    projection = inner_projection([*BOX, *together], lambda v: v in gone)
    kept = [v for v in VARIABLES if v not in gone]
    image = {tuple(p[v] for v in kept) for p in POINTS if holds(System((*BOX, *together)), p)}
    for values in product(range(-1, LARGEST + 2), repeat=len(kept)):
        if projection is not None and all(c.holds_at(dict(zip(kept, values, strict=True))) for c in projection):
            assert values in image


@settings(max_examples=100, deadline=None)
@given(constraints(), st.sampled_from(POINTS))
def test_negations(c: Constraint, point: Point) -> None:
    fixed = tuple(Constraint(combination(-value, {v: 1}), 0) for v, value in point.items())
    negated = find_point(System.any_of(c.negated()) & System(fixed))
    assert (negated is None) == c.holds_at(point)


def test_forms_as_text() -> None:
    x, y, _ = (IndexExpr.of(v) for v in VARIABLES)
    assert str(x * 2 - y + 1) == "2 * x - y + 1"
    assert str(y * -1) == "-y"
