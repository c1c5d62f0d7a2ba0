"""
Patterns over graphs, which describe how a value is computed.

    dense = op(DenseOp, wildcard("x"), wildcard("w"))
    dense_bias = op(AddOp, dense.single_use(), wildcard("b").where(lambda m: rank(m.value) == 1)).commutative()
    layer = op(ReluOp, dense_bias) | dense_bias
    found = layer.match(some_op)

A pattern is an expression of the values it describes, so it reads like the program that it finds. Patterns are
immutable.
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
    """A complete or partial match of a pattern."""

    value: SSAValue
    """The value that the pattern, or the current part of it, describes."""
    ops: tuple[Operation, ...] = ()
    """The matched ops, each once."""
    names: Mapping[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    """The values that the pattern names."""
    outputs: frozenset[SSAValue] = frozenset()
    """The values inside of the match that other ops may use."""

    def __getitem__(self, name: str) -> SSAValue:
        """Return the value of that name."""
        return self.names[name]


Condition = Callable[[Match], bool]


class Pattern(ABC):
    """A description of a value."""

    def match(self, root: Operation) -> Match | None:
        """Return the first match for the first result of an op; None if there is none."""
        return next(self.matches(root), None)

    def matches(self, root: Operation) -> Iterator[Match]:
        """Yield all matches for the first result of an op; alternatives are tried in order."""
        return self.extend(Match(root.results[0])) if root.results else iter(())

    @abstractmethod
    def extend(self, match: Match) -> Iterator[Match]:
        """Yield all ways to extend a partial match so that the pattern describes `match.value`."""

    def __or__(self, other: Pattern) -> Pattern:
        """Match either of two patterns; the first one is tried first."""
        return _Either(self, other)

    def where(self, condition: Condition) -> Pattern:
        """Match only if a condition holds. It may use the value, and all names in this pattern and before it."""
        return _Where(self, condition)

    def named(self, name: str) -> Pattern:
        """Match the same, and name the value. A name that appears twice means the same value."""
        return _Named(self, name)

    def single_use(self) -> Pattern:
        """Match only if the value is used once."""
        return self.where(lambda m: m.value.has_one_use())

    def output(self) -> Pattern:
        """Match the same, and allow uses of the value outside of the match: a function for the match returns it too."""
        return _Output(self)


def wildcard(name: str | None = None) -> Pattern:
    """Match any value; the op that computes it is not part of the match."""
    return _Any() if name is None else _Any().named(name)


def constant(name: str | None = None, *, number: float | None = None) -> Pattern:
    """Match any constant, or one that holds nothing but `number`."""
    pattern = wildcard(name).where(lambda m: isinstance(m.value, OpResult) and m.value.op.has_trait(ConstantLike))
    return pattern if number is None else pattern.where(lambda m: holds_only(m.value, number))


def op(
    kinds: type[IRDLOperation] | tuple[type[IRDLOperation], ...], *operands: Pattern, **properties: Attribute | None
) -> OpPattern:
    """
    Match a result of an op of one of the given classes whose operands match one by one; without operand patterns, they
    are not checked. `properties` are those that the op must have; None stands for one that it must not have. Raises
    `ValueError` for a property that the class does not have.
    """
    classes = kinds if isinstance(kinds, tuple) else (kinds,)
    for cls in classes:
        known = cls.get_irdl_definition().properties
        for name in properties.keys() - known.keys():
            raise ValueError(f"expected properties of '{cls.name}' among {', '.join(known) or 'none'}, found {name}")
    return OpPattern(classes, operands, properties)


@dataclass(frozen=True)
class OpPattern(Pattern):
    """A result of an op, made by `op`."""

    classes: tuple[type[IRDLOperation], ...]
    operands: tuple[Pattern, ...]
    properties: Mapping[str, Attribute | None]
    any_order: bool = False

    def commutative(self) -> OpPattern:
        """Match the same, with the operands in any order."""
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
        """Return whether an op has the right number of operands, and the properties."""
        if self.operands and len(op.operands) != len(self.operands):
            return False
        return all(op.properties.get(name) == value for name, value in self.properties.items())


def _extend_all(patterns: tuple[Pattern, ...], values: tuple[SSAValue, ...], match: Match) -> Iterator[Match]:
    """Yield all ways in which the patterns describe the values one by one."""
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
