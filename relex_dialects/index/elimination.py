"""
Elimination of variables from systems of integer constraints.

*Equalities.* A variable with factor 1 is solved for, and replaced. Otherwise a variable is replaced by a new one plus
multiples of others, so that all factors become remainders modulo the smallest one, as in Euclid's algorithm; that ends
with a factor of 1, or with a single removable variable whose factor the rest must be a multiple of.

*Inequalities* (Fourier and Motzkin). Each pair of a lower bound `l <= b x` and an upper bound `a x <= u` implies
`a l <= b u`. Over the rationals that is exact. There certainly is an integer between the two if
`b u - a l >= (a - 1)(b - 1)`, which is the same if `a` or `b` is 1: wherever the result satisfies it (the "dark shadow"
of the Omega test), there is a solution for the variable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from math import gcd

from relex.dialects.index.atoms import Variable, VariableOrigin
from relex.dialects.index.constraints import Constraint, multiple, same, unknowns
from relex.dialects.index.expr import Index, IndexExpr, combination, constant_of, divide_factors

MOST_INEQUALITIES = 600
"""A limit on the inequalities, whose number elimination may square with each variable."""


class TooHardError(Exception):
    """A question that would take too long to answer."""


class Contradiction(Exception):
    """Constraints that no point satisfies."""


def fresh(name: str = "t") -> Variable:
    """Return a new variable, internal to an elimination."""
    return Variable(name, VariableOrigin.COUNTER, -(2**63), 2**63)


Replacement = tuple[Variable, Index]
"""A variable and the expression that it equals."""


def remove_equalities(
    constraints: Sequence[Constraint], removable: Callable[[Variable], bool]
) -> tuple[list[Constraint], list[Replacement]]:
    """Use equalities and multiples to replace removable variables, possibly by new ones.

    Returns the remaining constraints, equivalent to the whole, and the replacements in the order they were made. Raises
    `Contradiction`.
    """
    new: set[Variable] = set()

    def goes(variable: Variable) -> bool:
        return variable in new or removable(variable)

    left = list(constraints)
    replacements: list[Replacement] = []
    for i, c in enumerate(left):
        if c.modulus and any(map(goes, unknowns(c.form))):
            new.add(t := fresh())
            left[i] = same(c.form, IndexExpr.of(t) * c.modulus)
    while True:
        left = _simplified(left)
        found = _best_equality(left, goes)
        if found is None:
            return left, replacements
        equality, variable = found
        form = equality.form
        factor = unknowns(form)[variable]
        if abs(factor) == 1:
            value = IndexExpr.of(variable) - form * factor
            left.remove(equality)
        elif all(v is variable or not goes(v) for v in unknowns(form)):
            left.remove(equality)
            left = _replace_fraction(left, variable, form)
            continue
        else:
            new.add(t := fresh())
            quotients = {v: -(f // factor) for v, f in unknowns(form).items() if v is not variable}
            value = combination(-(constant_of(form) // factor), {t: 1, **{v: q for v, q in quotients.items() if q}})
        left = [c.with_value(variable, value) for c in left]
        replacements.append((variable, value))


def _best_equality(
    constraints: Iterable[Constraint], goes: Callable[[Variable], bool]
) -> tuple[Constraint, Variable] | None:
    """Return an equality and its removable variable with the smallest factor of all."""
    candidates = [(c, v) for c in constraints if c.is_equality for v in unknowns(c.form) if goes(v)]
    return min(candidates, key=lambda found: abs(unknowns(found[0].form)[found[1]]), default=None)


def _replace_fraction(constraints: Iterable[Constraint], variable: Variable, form: Index) -> list[Constraint]:
    """Replace a variable by the fraction that it equals where `form`, which contains it, is 0."""
    factor = unknowns(form)[variable]
    if factor < 0:
        form, factor = form * -1, -factor
    numerator = IndexExpr.of(variable) * factor - form
    result = [multiple(numerator, factor)]
    for c in constraints:
        own = unknowns(c.form).get(variable)
        if own is None:
            result.append(c)
            continue
        rest = c.form - IndexExpr.of(variable) * own
        result.append(Constraint(rest * factor + numerator * own, c.modulus and c.modulus * factor))
    return result


def _simplified(constraints: Iterable[Constraint]) -> list[Constraint]:
    """Return the constraints without common factors and duplicates. Raises `Contradiction` if there is an obvious
    one."""
    others: list[Constraint] = []
    tightest: dict[frozenset[tuple[Variable, int]], Index] = {}
    kept: list[Constraint] = []
    for c in constraints:
        form, divisor = c.form, gcd(*unknowns(c.form).values())
        if not divisor:
            if not c.holds_at({}):
                raise Contradiction
        elif c.is_inequality:
            form = divide_factors(form, divisor)
            key = frozenset(unknowns(form).items())
            if key not in tightest or constant_of(form) < constant_of(tightest[key]):
                tightest[key] = form
        elif c.is_equality:
            if constant_of(form) % divisor:
                raise Contradiction
            kept.append(Constraint(divide_factors(form, divisor), 0))
        elif c not in others:
            others.append(c)
    while tightest:
        key, form = tightest.popitem()
        opposite = frozenset((v, -f) for v, f in key)
        if opposite not in tightest or (gap := constant_of(form) + constant_of(tightest[opposite])) > 0:
            kept.append(Constraint(form))
        elif gap < 0:
            raise Contradiction
        else:  # Together they imply that it is 0.
            del tightest[opposite]
            kept.append(Constraint(form, 0))
    return [*kept, *others]


Bounds = tuple[Variable, list[Index], list[Index]]
"""A variable with the forms of the inequalities that bound it: from below if its factor is positive, and from above."""


def eliminate(
    inequalities: Sequence[Constraint], variables: Collection[Variable], *, dark: bool = False
) -> tuple[list[Constraint], list[Bounds]]:
    """Remove variables from inequalities.

    Returns the remaining inequalities and the bounds of each variable, in order of elimination. The remaining
    inequalities hold wherever the variables have values; with `dark`, conversely, the variables have values wherever
    they hold. Raises `Contradiction` and `TooHardError`.
    """
    left = list(inequalities)
    remaining = set(variables)
    order: list[Bounds] = []
    while remaining:
        variable = _cheapest(left, remaining, dark)
        remaining.remove(variable)
        lower = [c.form for c in left if unknowns(c.form).get(variable, 0) > 0]
        upper = [c.form for c in left if unknowns(c.form).get(variable, 0) < 0]
        order.append((variable, lower, upper))
        left = [c for c in left if variable not in unknowns(c.form)]
        left += [_combined(variable, low, high, dark) for low in lower for high in upper]
        left = [part for c in _simplified(left) for part in _as_inequalities(c)]
        if len(left) > MOST_INEQUALITIES:
            raise TooHardError
    return left, order


def _cheapest(inequalities: Iterable[Constraint], variables: Collection[Variable], dark: bool) -> Variable:
    """Return the variable whose elimination adds the fewest inequalities; with `dark`, that which loses least: the rows
    of blocks of tiles, `78 b + 13 t + r`, have no gaps if the variables go in the order of their factors."""
    lower, upper = defaultdict[Variable, list[int]](list), defaultdict[Variable, list[int]](list)
    for c in inequalities:
        for variable, factor in unknowns(c.form).items():
            (lower if factor > 0 else upper)[variable].append(abs(factor))

    def rank(v: Variable) -> tuple[int, int]:
        growth = len(lower[v]) * len(upper[v]) - len(lower[v]) - len(upper[v])
        gap = (max(lower[v], default=1) - 1) * (max(upper[v], default=1) - 1)
        return (gap, growth) if dark else (growth, gap)

    return min(variables, key=rank)


def _combined(variable: Variable, low: Index, high: Index, dark: bool) -> Constraint:
    b, a = unknowns(low)[variable], -unknowns(high)[variable]
    gap = (a - 1) * (b - 1) if dark else 0
    return Constraint(low * a + high * b - gap)


def _as_inequalities(c: Constraint) -> tuple[Constraint, ...]:
    return (Constraint(c.form), Constraint(c.form * -1)) if c.is_equality else (c,)


def inner_projection(
    constraints: Sequence[Constraint], removable: Callable[[Variable], bool]
) -> list[Constraint] | None:
    """Return constraints on the other variables under which the removable ones have values; None if they never have.

    The result may be stricter than necessary. Raises `TooHardError`.
    """
    try:
        left, _ = remove_equalities(constraints, lambda v: removable(v))
        kept = [c for c in left if not c.is_inequality]
        inequalities = [c for c in left if c.is_inequality]
        known = {v for c in constraints for v in unknowns(c.form)}
        gone = {v for c in left for v in unknowns(c.form) if removable(v) or v not in known}
        rest, _ = eliminate(inequalities, gone, dark=True)
        return _simplified([*kept, *rest])
    except Contradiction:
        return None
