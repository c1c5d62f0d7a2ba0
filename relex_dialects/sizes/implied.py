"""Requirements that hold in every run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from relex.dialects.index.atoms import Atom, Product, Symbol, VariableOrigin
from relex.dialects.index.constraints import Constraint, System, at_least
from relex.dialects.index.elimination import TooHardError
from relex.dialects.index.expr import Index, span_of_atom
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


@lru_cache(maxsize=4096)
def always_holds(requirement: Requirement, given: Sequence[Requirement] = (), positive: Sequence[Size] = ()) -> bool:
    """Return whether a requirement certainly holds for all sizes that arguments can have, where the `given` ones hold,
    and where the `positive` sizes are 1 or more."""
    if requirement.holds is not None:
        return requirement.holds
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


def needed(requirements: Sequence[Requirement]) -> list[Requirement]:
    """Return the requirements that can fail for sizes of arguments although the others hold."""
    left = list(requirements)
    for requirement in reversed(requirements):
        others = tuple(other for other in left if other is not requirement)
        if always_holds(requirement, others):
            left = list(others)
    return left
