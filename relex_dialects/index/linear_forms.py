"""Linear forms of expressions: variables in place of quotients, remainders and extremes, with what is known of them."""

from __future__ import annotations

from collections.abc import Callable

from relex.dialects.index.atoms import Atom, Extreme, Quotient, Remainder, Variable, VariableOrigin
from relex.dialects.index.constraints import Constraint, System, limits_of, same, within
from relex.dialects.index.expr import Index, IndexExpr
from relex.dialects.index.values import replace_atoms


class LinearForms:
    """Linear forms of expressions, and the system that their variables satisfy."""

    def __init__(self) -> None:
        self.system = System()
        self.variables: set[Variable] = set()
        self._terms: dict[Atom, Index] = {}

    def new(
        self,
        name: str,
        limits: tuple[int, int],
        *alternatives: Callable[[Index], System],
        origin: VariableOrigin = VariableOrigin.COUNTER,
    ) -> Index:
        """Return a fresh variable about which one of the systems holds."""
        variable = Variable(name, origin, *limits)
        self.variables.add(variable)
        form = IndexExpr.of(variable)
        self.require(System.of(Constraint(form - limits[0]), Constraint(form * -1 + limits[1])))
        if alternatives:
            self.require(System.any_of(alternative(form) for alternative in alternatives))
        return form

    def require(self, system: System) -> None:
        """Add a condition to the system."""
        self.system &= system

    def linear(self, index: Index) -> Index:
        """Return an expression with variables in place of its quotients, remainders and extremes."""
        return replace_atoms(index, self._term)

    def _term(self, atom: Atom) -> Index | None:
        if atom not in self._terms and (found := self.variable_for(atom)) is not None:
            self._terms[atom] = found
        return self._terms.get(atom)

    def variable_for(self, atom: Atom) -> Index | None:
        """Return a new variable that replaces an atom in an expression; None for one that stays as it is."""
        match atom:
            case Quotient(dividend=dividend, divisor=divisor):
                rest = self.linear(dividend)
                low, high = limits_of(rest)
                limits = low // divisor, high // divisor
                return self.new("quotient", limits, lambda q: within(rest - q * divisor, divisor))
            case Remainder(dividend=dividend, divisor=divisor):
                rest = self.linear(dividend - IndexExpr.of(Quotient(dividend, divisor)) * divisor)
                return self.new("remainder", (0, divisor - 1), lambda r: System.of(same(r, rest)))
            case Extreme(which=which, operands=operands):
                a, b = map(self.linear, operands)
                (low, high), (other_low, other_high) = limits_of(a), limits_of(b)
                choose = min if which == "min" else max
                limits = choose(low, other_low), choose(high, other_high)
                found = self.new(which, limits, lambda m: System.of(same(m, a)), lambda m: System.of(same(m, b)))
                sign = 1 if which == "min" else -1
                self.require(System.of(Constraint((a - found) * sign), Constraint((b - found) * sign)))
                return found
            case _:
                return None
