"""Index expressions as sums: what loops, blocks and buffers are addressed by.

A `Form` is a constant plus atoms with constant factors. An atom is a variable, a quotient or a remainder of a form by a
constant, or any other value. Forms are simplified when they are made, so that equal expressions are mostly equal forms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from math import gcd, inf
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import BlockArgument, SSAValue

from relex.dialects.tir import BlockOp, ForOp
from relex.dialects.tir.ranges import constant_value


@dataclass(frozen=True)
class Span:
    """The values from `low` to `high`, both included, without an end on a side that is infinite."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """How far two of the values may be apart."""
        return max(self.high - self.low, 0)

    def __add__(self, other: Span) -> Span:
        return Span(self.low + other.low, self.high + other.high)

    def scaled(self, by: int) -> Span:
        ends = sorted((end * by if by else 0) for end in (self.low, self.high))
        return Span(ends[0], ends[1])


ANYTHING = Span(-inf, inf)


@dataclass(frozen=True)
class Quotient:
    """A form divided by a positive constant, rounded down."""

    form: Form
    divisor: int


@dataclass(frozen=True)
class Remainder:
    """What a division, rounded down, leaves: from 0 to the divisor."""

    form: Form
    divisor: int


Atom: TypeAlias = SSAValue | Quotient | Remainder


class Form:
    """A constant plus atoms with factors other than 0."""

    def __init__(self, constant: int, terms: Mapping[Atom, int] | None = None):
        self.constant = constant
        self.terms = {atom: factor for atom, factor in (terms or {}).items() if factor}

    @classmethod
    def of(cls, atom: Atom) -> Form:
        return cls(0, {atom: 1})

    @property
    def atom(self) -> Atom | None:
        """The atom that this form is, if it is just one."""
        (atom, factor), *rest = [*self.terms.items(), (None, 0)]
        return atom if factor == 1 and len(rest) == 1 and not self.constant else None

    def __add__(self, other: Form | int) -> Form:
        if isinstance(other, int):
            return Form(self.constant + other, self.terms)
        terms = dict(self.terms)
        for atom, factor in other.terms.items():
            terms[atom] = terms.get(atom, 0) + factor
        return Form(self.constant + other.constant, terms)

    def __sub__(self, other: Form | int) -> Form:
        return self + -1 * other

    def __mul__(self, factor: int) -> Form:
        return Form(self.constant * factor, {atom: f * factor for atom, f in self.terms.items()})

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and (self.constant, self.terms) == (other.constant, other.terms)

    def __hash__(self) -> int:
        return hash((self.constant, frozenset(self.terms.items())))

    def __floordiv__(self, divisor: int) -> Form:
        parts = _divide(self, divisor)
        if _is_within(parts.large, parts.divisor):
            return parts.whole
        return parts.whole + Form.of(Quotient(parts.large, parts.divisor))

    def __mod__(self, divisor: int) -> Form:
        parts = _divide(self, divisor)
        kept = parts.large
        if not _is_within(kept, parts.divisor):
            kept = Form.of(Remainder(kept, parts.divisor))
        return kept * parts.scale + parts.small

    @property
    def span(self) -> Span:
        """Bounds of the values that the form takes."""
        parts = (span_of(atom).scaled(factor) for atom, factor in self.terms.items())
        return reduce(Span.__add__, parts, Span(self.constant, self.constant))

    def variables(self) -> Iterable[SSAValue]:
        """The values that the form is made of."""
        for atom in self.terms:
            if isinstance(atom, SSAValue):
                yield atom
            else:
                yield from atom.form.variables()


@dataclass(frozen=True)
class _Division:
    """A form as `whole` times a number, plus `large` times `scale`, plus `small`, which stays below `scale`; the number
    is `divisor` times `scale`. So the quotient is that of `large` by `divisor`, on top of `whole`."""

    whole: Form
    large: Form
    small: Form
    scale: int
    divisor: int


def _divide(form: Form, divisor: int) -> _Division:
    """The parts of a form that a division by a constant goes to, with as large a scale as can be."""
    whole = Form(form.constant // divisor, {a: f // divisor for a, f in form.terms.items() if f % divisor == 0})
    rest = form - whole * divisor
    for scale in sorted({gcd(f, divisor) for f in rest.terms.values()}, reverse=True):
        small = Form(rest.constant % scale, {atom: f for atom, f in rest.terms.items() if f % scale})
        if _is_within(small, scale):
            large = rest - small
            reduced = Form(large.constant // scale, {atom: f // scale for atom, f in large.terms.items()})
            return _Division(whole, reduced, small, scale, divisor // scale)
    return _Division(whole, rest, Form(0), 1, divisor)


def _is_within(form: Form, size: int) -> bool:
    span = form.span
    return span.low >= 0 and span.high < size


def span_of(atom: Atom) -> Span:
    """Bounds of the values of an atom: a variable of a loop or block counts from 0 to its extent."""
    match atom:
        case Quotient(form=form, divisor=divisor):
            return Span(_floor(form.span.low, divisor), _floor(form.span.high, divisor))
        case Remainder(divisor=divisor):
            return Span(0, divisor - 1)
        case BlockArgument():
            return _span_of_variable(atom)
        case _:
            return ANYTHING


def _floor(end: float, divisor: int) -> float:
    return end // divisor if abs(end) < inf else end


def _span_of_variable(variable: BlockArgument) -> Span:
    extent = _extent_of(variable)
    if extent is None:
        return ANYTHING
    return Span(0, extent - 1 if isinstance(extent, int) else inf)


def _extent_of(variable: Atom) -> int | SSAValue | None:
    """How far the variable of a loop or block counts."""
    match variable.owner.parent_op() if isinstance(variable, BlockArgument) else None:
        case ForOp() as loop:
            return loop.extent
        case BlockOp() as block if isinstance(variable, BlockArgument):
            return block.extent_of(variable)
        case _:
            return None


def is_below(form: Form, bound: int | SSAValue) -> bool:
    """Whether a form stays below a number or value, also where that depends on sizes that are known at run time."""
    limit = Form(bound) if isinstance(bound, int) else form_of(bound)
    room = limit - form
    for atom, factor in room.terms.items():
        extent = _extent_of(atom)
        if isinstance(extent, SSAValue):
            # The least that is left is that of the first value of the variable, or of the last.
            room -= Form.of(atom) * factor
            room += (form_of(extent) - 1) * min(factor, 0)
    return room.span.low > 0


Lookup: TypeAlias = Callable[[SSAValue], Form | None]
"""What stands for a value; None where its own computation does."""


def form_of(value: SSAValue, lookup: Lookup = lambda value: None, opaque: Callable[[SSAValue], Form] = Form.of) -> Form:
    """The form of an index value. `lookup` gives what stands for values, `opaque` for what is computed otherwise than
    by sums, quotients and remainders."""
    if (found := lookup(value)) is not None:
        return found
    if not isinstance(value.type, IndexType):
        return opaque(value)
    if (constant := constant_value(value)) is not None:
        return Form(constant)
    return _combine(value, lambda operand: form_of(operand, lookup, opaque)) or opaque(value)


def _combine(value: SSAValue, form: Callable[[SSAValue], Form]) -> Form | None:
    if isinstance(value, BlockArgument):
        return None
    match value.owner:
        case arith.AddiOp(lhs=lhs, rhs=rhs):
            return form(lhs) + form(rhs)
        case arith.SubiOp(lhs=lhs, rhs=rhs):
            return form(lhs) - form(rhs)
        case arith.MuliOp(lhs=lhs, rhs=rhs):
            if (factor := constant_value(rhs)) is not None:
                return form(lhs) * factor
            return form(rhs) * factor if (factor := constant_value(lhs)) is not None else None
        case arith.FloorDivSIOp(lhs=lhs, rhs=rhs) if divisor := _positive(rhs):
            return form(lhs) // divisor
        case arith.DivSIOp(lhs=lhs, rhs=rhs) | arith.DivUIOp(lhs=lhs, rhs=rhs) if divisor := _positive(rhs):
            return dividend // divisor if (dividend := form(lhs)).span.low >= 0 else None
        case arith.RemSIOp(lhs=lhs, rhs=rhs) | arith.RemUIOp(lhs=lhs, rhs=rhs) if divisor := _positive(rhs):
            return dividend % divisor if (dividend := form(lhs)).span.low >= 0 else None
        case _:
            return None


def _positive(value: SSAValue) -> int | None:
    constant = constant_value(value)
    return constant if constant is not None and constant > 0 else None
