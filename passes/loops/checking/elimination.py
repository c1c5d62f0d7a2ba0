"""
Variables out of systems of integer constraints.

*Equalities.* If a variable has factor 1, the equality says what it is, and it can be replaced. Else a variable is
replaced by a new one plus multiples of others, so that all factors become remainders by the smallest one, as in
Euclid's algorithm; that ends with a factor of 1, or with a single variable to be removed whose factor says what the
rest is a multiple of.

*Inequalities* (Fourier and Motzkin). Each lower bound `l <= b x` and upper bound `a x <= u` give `a l <= b u`. That is
all that rational numbers need. There is an integer between the two for certain if `b u - a l >= (a - 1)(b - 1)`, which
is the same if `a` or `b` is 1: the part of the result that satisfies it (the "dark shadow" of the Omega test) has a
solution for the variable everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence

from relex.passes.loops.checking.linear import Constraint, Linear, Origin, Variable, multiple, same

MOST_INEQUALITIES = 600
"""More of them are not looked at: elimination may square their number with each variable."""


class TooHardError(Exception):
    """A question that would take too long to answer."""


class Contradiction(Exception):
    """Constraints that no point satisfies."""


def fresh(name: str = "t") -> Variable:
    """A variable that only an elimination sees."""
    return Variable(name, Origin.COUNTER, -(2**63), 2**63)


Replacement = tuple[Variable, Linear]
"""A variable and what it equals."""


def remove_equalities(
    constraints: Sequence[Constraint], removable: Callable[[Variable], bool]
) -> tuple[list[Constraint], list[Replacement]]:
    """Use equalities (and multiples) to replace removable variables, also by new ones.

    Returns what is left, equivalent to the whole, and the replacements in the order they were made. Raises
    `Contradiction`.
    """
    new: set[Variable] = set()

    def goes(variable: Variable) -> bool:
        return variable in new or removable(variable)

    left = list(constraints)
    replacements: list[Replacement] = []
    for i, c in enumerate(left):
        if c.modulus and any(map(goes, c.form.factors)):
            new.add(t := fresh())
            left[i] = same(c.form, Linear(0, {t: c.modulus}))
    while True:
        left = _simplified(left)
        found = _best_equality(left, goes)
        if found is None:
            return left, replacements
        equality, variable = found
        form = equality.form
        factor = form.factors[variable]
        if abs(factor) == 1:
            value = Linear(0, {variable: 1}) - form.scaled(factor)
            left.remove(equality)
        elif all(v is variable or not goes(v) for v in form.factors):
            left.remove(equality)
            left = _replace_fraction(left, variable, form)
            continue
        else:
            new.add(t := fresh())
            quotients = {v: -(f // factor) for v, f in form.factors.items() if v is not variable}
            value = Linear(-(form.constant // factor), {t: 1, **{v: q for v, q in quotients.items() if q}})
        left = [c.with_value(variable, value) for c in left]
        replacements.append((variable, value))


def _best_equality(
    constraints: Iterable[Constraint], goes: Callable[[Variable], bool]
) -> tuple[Constraint, Variable] | None:
    """An equality and its removable variable with the smallest factor that there is."""
    candidates = [(c, v) for c in constraints if c.is_equality for v in c.form.factors if goes(v)]
    return min(candidates, key=lambda found: abs(found[0].form.factors[found[1]]), default=None)


def _replace_fraction(constraints: Iterable[Constraint], variable: Variable, form: Linear) -> list[Constraint]:
    """Replace a variable by the fraction that it equals, as `form`, which holds it, is 0."""
    factor = form.factors[variable]
    if factor < 0:
        form, factor = form.scaled(-1), -factor
    numerator = (form - Linear(0, {variable: factor})).scaled(-1)
    result = [multiple(numerator, factor)]
    for c in constraints:
        own = c.form.factors.get(variable)
        if own is None:
            result.append(c)
            continue
        rest = c.form - Linear(0, {variable: own})
        result.append(Constraint(rest.scaled(factor) + numerator.scaled(own), c.modulus and c.modulus * factor))
    return result


def _simplified(constraints: Iterable[Constraint]) -> list[Constraint]:
    """The same without common factors and repetitions. Raises `Contradiction` where one is seen."""
    others: list[Constraint] = []
    tightest: dict[frozenset[tuple[Variable, int]], Linear] = {}
    kept: list[Constraint] = []
    for c in constraints:
        form, divisor = c.form, c.form.divisor
        if not divisor:
            if not c.holds_at({}):
                raise Contradiction
        elif c.is_inequality:
            form = Linear(form.constant // divisor, {v: f // divisor for v, f in form.factors.items()})
            key = frozenset(form.factors.items())
            if key not in tightest or form.constant < tightest[key].constant:
                tightest[key] = form
        elif c.is_equality:
            if form.constant % divisor:
                raise Contradiction
            kept.append(
                Constraint(Linear(form.constant // divisor, {v: f // divisor for v, f in form.factors.items()}), 0)
            )
        elif c not in others:
            others.append(c)
    while tightest:
        key, form = tightest.popitem()
        opposite = frozenset((v, -f) for v, f in key)
        if opposite not in tightest or (gap := form.constant + tightest[opposite].constant) > 0:
            kept.append(Constraint(form))
        elif gap < 0:
            raise Contradiction
        else:  # The two of them say that it is 0.
            del tightest[opposite]
            kept.append(Constraint(form, 0))
    return [*kept, *others]


Bounds = tuple[Variable, list[Linear], list[Linear]]
"""A variable with the forms that bound it, by an inequality each: those with a positive factor bound from below."""


def eliminate(
    inequalities: Sequence[Constraint], variables: Collection[Variable], *, dark: bool = False
) -> tuple[list[Constraint], list[Bounds]]:
    """Remove variables from inequalities.

    Returns what is left and the bounds of each variable, in the order of elimination. What is left holds wherever there
    are values for them. With `dark` it is the other way round: where it holds, there are values for them. Raises
    `Contradiction` and `TooHardError`.
    """
    left = list(inequalities)
    remaining = set(variables)
    order: list[Bounds] = []
    while remaining:
        variable = _cheapest(left, remaining)
        remaining.remove(variable)
        lower = [c.form for c in left if c.form.factors.get(variable, 0) > 0]
        upper = [c.form for c in left if c.form.factors.get(variable, 0) < 0]
        order.append((variable, lower, upper))
        left = [c for c in left if variable not in c.form.factors]
        left += [_combined(variable, low, high, dark) for low in lower for high in upper]
        left = [part for c in _simplified(left) for part in _as_inequalities(c)]
        if len(left) > MOST_INEQUALITIES:
            raise TooHardError
    return left, order


def _cheapest(inequalities: Iterable[Constraint], variables: Collection[Variable]) -> Variable:
    """The variable whose elimination gives the fewest new inequalities."""
    lower, upper = Counter[Variable](), Counter[Variable]()
    for c in inequalities:
        for variable, factor in c.form.factors.items():
            (lower if factor > 0 else upper)[variable] += 1
    return min(variables, key=lambda v: lower[v] * upper[v] - lower[v] - upper[v])


def _combined(variable: Variable, low: Linear, high: Linear, dark: bool) -> Constraint:
    b, a = low.factors[variable], -high.factors[variable]
    gap = (a - 1) * (b - 1) if dark else 0
    return Constraint(low.scaled(a) + high.scaled(b) - gap)


def _as_inequalities(c: Constraint) -> tuple[Constraint, ...]:
    return (Constraint(c.form), Constraint(c.form.scaled(-1))) if c.is_equality else (c,)


def inner_projection(
    constraints: Sequence[Constraint], removable: Callable[[Variable], bool]
) -> list[Constraint] | None:
    """Constraints on the other variables under which there are values for the removable ones; None if that is nowhere.

    In some corners there may be values although the result does not hold. Raises `TooHardError`.
    """
    try:
        left, _ = remove_equalities(constraints, lambda v: removable(v))
        kept = [c for c in left if not c.is_inequality]
        inequalities = [c for c in left if c.is_inequality]
        known = {v for c in constraints for v in c.form.factors}
        gone = {v for c in left for v in c.form.factors if removable(v) or v not in known}
        rest, _ = eliminate(inequalities, gone, dark=True)
        return _simplified([*kept, *rest])
    except Contradiction:
        return None
