"""Requirements that hold in every run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain

from relex.dialects.index.atoms import Atom, Product, Symbol, VariableOrigin
from relex.dialects.index.constraints import Constraint, System, at_least
from relex.dialects.index.elimination import TooHardError
from relex.dialects.index.expr import Index, constant_of, larger, parts_of, span_of_atom, terms_of
from relex.dialects.index.linear_forms import LinearForms
from relex.dialects.index.solve import find_point
from relex.dialects.sizes.expressions import MAX_ARGUMENT_SIZE, Size
from relex.dialects.sizes.requirements import Requirement

MOST_STEPS = 50
"""A limit on the search for sizes that break a requirement: most searches take one or two."""

_ENDLESS = 2**512
"""More than any product of sizes."""


class _Forms(LinearForms):
    """Linear forms of sizes. A product is an unknown number."""

    def variable_for(self, atom: Atom) -> Index | None:
        match atom:
            case Symbol(name=name):
                return self.new(name, (0, MAX_ARGUMENT_SIZE), origin=VariableOrigin.SIZE)
            case Product():
                low = 0 if span_of_atom(atom).low >= 0 else -_ENDLESS
                return self.new("product", (low, _ENDLESS), origin=VariableOrigin.SIZE)
            case _:
                return super().variable_for(atom)

    def constraint(self, requirement: Requirement) -> Constraint:
        """Return a requirement as a constraint."""
        slack = self.linear(requirement.rhs) - self.linear(requirement.lhs)
        return Constraint(slack, None if requirement.relation == "<=" else 0)


def always_holds(requirement: Requirement, given: Sequence[Requirement] = (), positive: Sequence[Size] = ()) -> bool:
    """Return whether a requirement certainly holds for all sizes that arguments can have, where the `given` ones hold,
    and where the `positive` sizes are 1 or more. Given ones about other sizes do not count."""
    if requirement.holds is not None:
        return requirement.holds
    if any(_is_as_strict(other, requirement) for other in given):
        return True
    return _follows(requirement, tuple(_related(requirement, given, positive)), tuple(positive))


def _is_as_strict(other: Requirement, requirement: Requirement) -> bool:
    """Return whether a requirement says the same as another one, or the same with a lower limit."""
    if other.relation != requirement.relation:
        return False
    found, expected = other.rhs - other.lhs, requirement.rhs - requirement.lhs
    if terms_of(found) == terms_of(expected):
        more = constant_of(expected) - constant_of(found)
        return more >= 0 if requirement.relation == "<=" else more == 0
    return requirement.relation == "==" and found == -expected


def _related(requirement: Requirement, given: Sequence[Requirement], positive: Sequence[Size]) -> Iterator[Requirement]:
    """Yield the given requirements that share unknown numbers with a requirement, or with others that do."""
    about = _unknowns(requirement.lhs, requirement.rhs, *positive)
    left = {other: _unknowns(other.lhs, other.rhs) for other in given}
    while near := [other for other in left if not about.isdisjoint(left[other])]:
        about.update(*map(left.pop, near))
    return (other for other in given if other not in left)


def _unknowns(*sizes: Size) -> set[Atom]:
    """Return the atoms in sizes. Products have no parts here: they are unknown numbers."""
    found, pending = set[Atom](), [*chain(*map(terms_of, sizes))]
    while pending:
        atom = pending.pop()
        if atom not in found:
            found.add(atom)
            pending += () if isinstance(atom, Product) else chain(*map(terms_of, parts_of(atom)))
    return found


@lru_cache(maxsize=4096)
def _follows(requirement: Requirement, given: Sequence[Requirement], positive: Sequence[Size]) -> bool:
    """Return whether a requirement certainly holds wherever others hold and some sizes are positive."""
    forms = _Forms()
    for size in positive:
        forms.require(System.of(at_least(forms.linear(size), 1)))
    for other in given:
        forms.require(System.of(forms.constraint(other)))
    broken = System.any_of(forms.constraint(requirement).negated())
    try:
        return find_point(forms.system & broken, MOST_STEPS) is None
    except TooHardError:
        return False


def in_any_run(size: Size, given: Sequence[Requirement]) -> Size:
    """Return a size of a tensor, where the `given` requirements hold; 0 instead of less, as in a branch that does not
    run."""
    return size if always_holds(Requirement(0, "<=", size), given) else larger(0, size)


def needed(requirements: Sequence[Requirement]) -> list[Requirement]:
    """Return the requirements that can fail for sizes of arguments although the others hold."""
    left = list(requirements)
    for requirement in reversed(requirements):
        others = tuple(other for other in left if other is not requirement)
        if always_holds(requirement, others):
            left = list(others)
    return left
