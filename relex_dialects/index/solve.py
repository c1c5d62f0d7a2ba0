"""Integer solutions of systems of constraints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relex.dialects.index.atoms import Variable
from relex.dialects.index.constraints import Constraint, Point, System, at, unknowns
from relex.dialects.index.elimination import (
    Bounds,
    Contradiction,
    Replacement,
    TooHardError,
    eliminate,
    remove_equalities,
)
from relex.dialects.index.expr import Index, combination

MOST_STEPS = 3000
"""A limit on the steps of a search, unless it is told another."""

MOST_BRANCHES = 100
"""A limit on nested branches: if the bounds of a variable move along with another one, there is always a next one."""


def find_point(system: System, most_steps: int = MOST_STEPS) -> Point | None:
    """Return a point that satisfies the system; None if there certainly is none. Raises `TooHardError` after
    `most_steps`.

    Eliminating all variables shows whether there is a rational solution; back substitution then gives each variable an
    integer between its bounds. If there is none between them, another variable that these depend on is tried with
    larger and with smaller values.

    Of choices, one alternative after the other is added to what is left without equalities, which are removed once.
    """
    return _Search(most_steps).find(system.constraints, system.choices)


class _Search:
    def __init__(self, most_steps: int) -> None:
        self._steps_left = most_steps
        self._branches = 0

    def find(self, constraints: Sequence[Constraint], choices: Sequence[Sequence[System]]) -> Point | None:
        if not self._steps_left:
            raise TooHardError
        self._steps_left -= 1
        try:
            inequalities, replacements = remove_equalities(constraints, lambda _: True)
            _, order = eliminate(inequalities, {v for c in inequalities for v in unknowns(c.form)})
        except Contradiction:
            return None
        if choices:
            left = [[alternative.with_values(replacements) for alternative in choice] for choice in choices]
            found = self._choose(inequalities, left)
            return None if found is None else _completed(found, replacements)
        values: dict[Variable, int] = {}
        for bounds in reversed(order):
            if not _assign(bounds, values):
                return self._branch(inequalities, bounds, values, replacements)
        return _completed(values, replacements)

    def _choose(self, constraints: Sequence[Constraint], choices: Sequence[Sequence[System]]) -> Point | None:
        first = min(choices, key=len)
        others = [choice for choice in choices if choice is not first]
        for alternative in first:
            found = self.find((*constraints, *alternative.constraints), (*others, *alternative.choices))
            if found is not None:
                return found
        return None

    def _branch(
        self, inequalities: Sequence[Constraint], bounds: Bounds, values: Point, replacements: Sequence[Replacement]
    ) -> Point | None:
        """Try other values of a variable on which the bounds of another depend, as these contain no integer."""
        _, lower, upper = bounds
        other = next((v for form in (*lower, *upper) for v in unknowns(form) if v in values), None)
        if other is None:
            return None  # The bounds are constants.
        self._branches += 1
        if self._branches > MOST_BRANCHES:
            raise TooHardError
        at = combination(-values[other], {other: 1})
        for part in (Constraint(at, 0), Constraint(at * -1 - 1), Constraint(at - 1)):
            found = self.find((*inequalities, part), ())
            if found is not None:
                return _completed(found, replacements)
        self._branches -= 1
        return None


def _assign(bounds: Bounds, values: dict[Variable, int]) -> bool:
    """Assign to a variable the smallest value within its bounds. Returns False if there is none."""
    variable, lower, upper = bounds
    low = max((-(_rest(f, variable, values) // unknowns(f)[variable]) for f in lower), default=None)
    high = min((_rest(f, variable, values) // -unknowns(f)[variable] for f in upper), default=None)
    if low is not None and high is not None and low > high:
        return False
    values[variable] = low if low is not None else min(high, 0) if high is not None else 0
    return True


def _rest(form: Index, variable: Variable, values: Point) -> int:
    return at(form, {**values, variable: 0})


def _completed(values: Point, replacements: Iterable[Replacement]) -> Point:
    """Return the point together with the values of the variables that were replaced."""
    result = dict(values)
    for variable, value in reversed(list(replacements)):
        result[variable] = at(value, result)
    return result
