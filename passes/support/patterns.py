"""
Patterns over graphs: what a value may be computed by.

    dense = op(DenseOp, wildcard("x"), wildcard("w"))
    dense_bias = op(AddOp, dense.single_use(), wildcard("b").where(lambda m: rank(m.value) == 1)).commutative()
    layer = op(ReluOp, dense_bias) | dense_bias
    found = layer.match(some_op)

A pattern is an expression of the values it describes, so it reads like the program that it finds. It never changes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import permutations

from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.traits import ConstantLike

from relex.passes.support.constants import holds_only


@dataclass(frozen=True)
class Match:
    """What a pattern was found to be, or the part of it that is found so far."""

    value: SSAValue
    """The value that the pattern, or the part of it that is asked about, stands for."""
    ops: tuple[Operation, ...] = ()
    """The ops that the pattern speaks of, each once."""
    names: Mapping[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    """The values that it has names for."""
    outputs: frozenset[SSAValue] = frozenset()
    """The values inside of it that others may use."""

    def __getitem__(self, name: str) -> SSAValue:
        """The value of that name."""
        return self.names[name]


Condition = Callable[[Match], bool]


class Pattern(ABC):
    """A description of a value."""

    def match(self, root: Operation) -> Match | None:
        """How the pattern describes the first result of an op, and thereby the op; None if it does not."""
        return next(self.matches(root), None)

    def matches(self, root: Operation) -> Iterator[Match]:
        """All ways in which the pattern describes the first result of an op: alternatives in the order they stand."""
        return self.extend(Match(root.results[0])) if root.results else iter(())

    @abstractmethod
    def extend(self, match: Match) -> Iterator[Match]:
        """All ways in which the pattern describes `match.value`, given what is found so far."""

    def __or__(self, other: Pattern) -> Pattern:
        """Either of two; the first one is tried first."""
        return _Either(self, other)

    def where(self, condition: Condition) -> Pattern:
        """Only where a condition holds. It may ask for the value, and for all names in this pattern and before it."""
        return _Where(self, condition)

    def named(self, name: str) -> Pattern:
        """The same, by a name. A name that stands twice means one value."""
        return _Named(self, name)

    def single_use(self) -> Pattern:
        """Only where the value is used once."""
        return self.where(lambda m: m.value.has_one_use())

    def output(self) -> Pattern:
        """The same, and ops outside of the match may use the value: a function for the match returns it too."""
        return _Output(self)


def wildcard(name: str | None = None) -> Pattern:
    """Any value; what computes it is no part of the match."""
    return _Any() if name is None else _Any().named(name)


def constant(name: str | None = None, *, number: float | None = None) -> Pattern:
    """Any constant, or one that holds nothing but a number."""
    pattern = wildcard(name).where(lambda m: isinstance(m.value, OpResult) and m.value.op.has_trait(ConstantLike))
    return pattern if number is None else pattern.where(lambda m: holds_only(m.value, number))


def op(
    kinds: type[IRDLOperation] | tuple[type[IRDLOperation], ...], *operands: Pattern, **properties: Attribute | None
) -> OpPattern:
    """
    A result of an op of that class, or of one of several, whose operands are described one by one; without any, they
    are not looked at. `properties` are those the op must have; None stands for one that it must not have.

    Raises `ValueError` for a property that the class does not have.
    """
    classes = kinds if isinstance(kinds, tuple) else (kinds,)
    for cls in classes:
        known = cls.get_irdl_definition().properties
        for name in properties.keys() - known.keys():
            raise ValueError(f"expected properties of '{cls.name}' among {', '.join(known) or 'none'}, found {name}")
    return OpPattern(classes, operands, properties)


@dataclass(frozen=True)
class OpPattern(Pattern):
    """A result of an op; `op` makes it."""

    classes: tuple[type[IRDLOperation], ...]
    operands: tuple[Pattern, ...]
    properties: Mapping[str, Attribute | None]
    any_order: bool = False

    def commutative(self) -> OpPattern:
        """The same, with the operands in any order."""
        return replace(self, any_order=True)

    def extend(self, match: Match) -> Iterator[Match]:
        op = match.value.owner
        if not isinstance(op, self.classes) or not self._fits(op):
            return
        found = match if op in match.ops else replace(match, ops=(*match.ops, op))
        for operands in permutations(self.operands) if self.any_order else (self.operands,):
            for result in _extend_all(operands, tuple(op.operands), found):
                yield replace(result, value=match.value)

    def _fits(self, op: Operation) -> bool:
        """Whether an op has as many operands, and the properties."""
        if self.operands and len(op.operands) != len(self.operands):
            return False
        return all(op.properties.get(name) == value for name, value in self.properties.items())


def _extend_all(patterns: tuple[Pattern, ...], values: tuple[SSAValue, ...], match: Match) -> Iterator[Match]:
    """All ways in which the patterns describe the values one by one."""
    if not patterns:
        yield match
        return
    for first in patterns[0].extend(replace(match, value=values[0])):
        yield from _extend_all(patterns[1:], values[1:], first)


@dataclass(frozen=True)
class _Any(Pattern):
    def extend(self, match: Match) -> Iterator[Match]:
        yield match


@dataclass(frozen=True)
class _Either(Pattern):
    first: Pattern
    second: Pattern

    def extend(self, match: Match) -> Iterator[Match]:
        yield from self.first.extend(match)
        yield from self.second.extend(match)


@dataclass(frozen=True)
class _Where(Pattern):
    pattern: Pattern
    condition: Condition

    def extend(self, match: Match) -> Iterator[Match]:
        return filter(self.condition, self.pattern.extend(match))


@dataclass(frozen=True)
class _Named(Pattern):
    pattern: Pattern
    name: str

    def extend(self, match: Match) -> Iterator[Match]:
        if match.names.get(self.name, match.value) is not match.value:
            return
        yield from self.pattern.extend(replace(match, names={**match.names, self.name: match.value}))


@dataclass(frozen=True)
class _Output(Pattern):
    pattern: Pattern

    def extend(self, match: Match) -> Iterator[Match]:
        for found in self.pattern.extend(match):
            yield replace(found, outputs=found.outputs | {match.value})
