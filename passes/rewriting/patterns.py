"""
Patterns over graphs, which describe how a value is computed.

    dense = op(DenseOp, wildcard("x"), wildcard("w"))
    dense_bias = op(AddOp, dense.single_use(), wildcard("b").where(lambda m: rank(m.value) == 1)).commutative()
    layer = op(ReluOp, dense_bias) | dense_bias
    found = layer.match(some_op)

A pattern is an expression of the values it describes, so it reads like the program that it finds; `str` of one shows
it. Patterns are immutable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any, Protocol

from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.irdl import IRDLOperation, VarOperandDef
from xdsl.traits import ConstantLike

from relex.dialects.exceptions import ArityError
from relex.dialects.relex.properties import python_value
from relex.passes.rewriting.constants import holds_only
from relex.passes.tracing import refuse


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
    lists: Mapping[str, tuple[SSAValue, ...]] = field(default_factory=dict[str, tuple[SSAValue, ...]])
    """The values named by `values`: one for each operand that `each` describes."""
    properties: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The properties named by `attribute`, as Python values; None where the op does not have them."""
    index: int = 0
    """The position among the operands that `each` describes."""

    def __getitem__(self, name: str) -> SSAValue:
        """Return the value of that name."""
        return self.names[name]


Condition = Callable[[Match], bool]


class Examples(Protocol):
    """Makes the parts of programs that patterns describe; see `Pattern.example`."""

    def value(self, name: str | None) -> SSAValue:
        """Return some value; for a name, always the same one."""
        ...

    def name(self, name: str, value: SSAValue) -> SSAValue:
        """Return the value of that name, which is `value` if there is none yet."""
        ...

    def constant(self, number: float | None) -> SSAValue:
        """Return a constant; if `number` is given, all of its elements are that number."""
        ...

    def operator(self, pattern: ResultPattern, operands: Sequence[SSAValue]) -> SSAValue:
        """Return the result of an op of one of the pattern's classes, with its properties."""
        ...

    def choice(self, count: int) -> int:
        """Return a number below `count`."""
        ...


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

    def example(self, examples: Examples) -> SSAValue:
        """Return a value that the pattern describes, in a program made to test what uses the pattern, whatever the
        conditions say."""
        return examples.value(None)

    def __or__(self, other: Pattern) -> Pattern:
        """Match either of two patterns; the first one is tried first."""
        return _Either(self, other)

    def where(self, condition: Condition, reason: str = "a condition in its pattern is false") -> Pattern:
        """Match only if a condition holds. It may use the value, and all names in this pattern and before it. `reason`
        is what `--statistics` gives as the reason where it does not hold."""
        return _Where(self, condition, reason)

    def named(self, name: str) -> Pattern:
        """Match the same, and name the value. A name that appears twice means the same value."""
        return _Named(self, name)

    def single_use(self) -> Pattern:
        """Match only if the value is used once."""
        return self.where(lambda m: m.value.has_one_use(), "a value is not used once")

    def output(self) -> Pattern:
        """Match the same, and allow uses of the value outside of the match: a function for the match returns it too."""
        return _Output(self)


def wildcard(name: str | None = None) -> Pattern:
    """Match any value; the op that computes it is not part of the match."""
    return _Any() if name is None else _Any().named(name)


def values(name: str) -> Pattern:
    """Match any value, and collect those that `each` meets under one name: `concat(each(add(values("xs"), b)))`."""
    return _Many(name)


def each(pattern: Pattern) -> Pattern:
    """Match all operands of an op, however many, each with the same pattern. Names in it stand for one value that all
    have in common; names of `values` stand for a list."""
    return _Each(pattern)


@dataclass(frozen=True)
class attribute:
    """Match any value of a property, and name it: `concat(each(xs), axis=attribute("axis"))`."""

    name: str

    def __str__(self) -> str:
        return self.name


def constant(name: str | None = None, *, number: float | None = None) -> Pattern:
    """Match any constant, or one that only holds `number`."""
    pattern = _Constant(number)
    return pattern if name is None else pattern.named(name)


def op(
    kinds: type[IRDLOperation] | tuple[type[IRDLOperation], ...], *operands: Pattern, **properties: Any
) -> ResultPattern:
    """
    Match a result of an op of one of the given classes whose operands match one by one; without operand patterns, they
    are not checked. `properties` are those that the op must have, as attributes or as Python values; None stands for
    one that it must not have, and `attribute` names any. Raises `ValueError` for a property that the class does not
    have, and `ArityError` for a wrong number of operands.
    """
    classes = kinds if isinstance(kinds, tuple) else (kinds,)
    for cls in classes:
        known = cls.get_irdl_definition().properties
        for name in properties.keys() - known.keys():
            raise ValueError(f"expected properties of '{cls.name}' among {', '.join(known) or 'none'}, found {name}")
        count = _operand_count(cls)
        if operands and count not in (None, len(operands)) and not isinstance(operands[0], _Each):
            raise ArityError(f"expected patterns for {count} operands of '{cls.name}', found {len(operands)}")
    return ResultPattern(classes, operands, properties)


def _operand_count(cls: type[IRDLOperation]) -> int | None:
    """Return the number of operands of every op of a class; None if they differ."""
    declared = cls.get_irdl_definition().operands
    return None if any(isinstance(kind, VarOperandDef) for _, kind in declared) else len(declared)


@dataclass(frozen=True)
class ResultPattern(Pattern):
    """A result of an op, made by `op`."""

    classes: tuple[type[IRDLOperation], ...]
    operands: tuple[Pattern, ...]
    properties: Mapping[str, Any]
    any_order: bool = False

    def commutative(self) -> ResultPattern:
        """Match the same, with the operands in any order."""
        return replace(self, any_order=True)

    def extend(self, match: Match) -> Iterator[Match]:
        op = match.value.owner
        if not isinstance(op, self.classes) or not self._fits(op):
            return
        found = match if op in match.ops else replace(match, ops=(*match.ops, op))
        named = {wanted.name: python_value(op.properties.get(name)) for name, wanted in self._named_properties()}
        if any(found.properties.get(name, value) != value for name, value in named.items()):
            return
        found = replace(found, properties={**found.properties, **named})
        for operands in permutations(self.operands) if self.any_order else (self.operands,):
            for result in _extend_all(operands, tuple(op.operands), found):
                yield replace(result, value=match.value)

    def example(self, examples: Examples) -> SSAValue:
        operands = [value for operand in self.operands for value in _examples(operand, examples)]
        return examples.operator(self, operands)

    def _named_properties(self) -> list[tuple[str, attribute]]:
        return [(name, wanted) for name, wanted in self.properties.items() if isinstance(wanted, attribute)]

    def _fits(self, op: Operation) -> bool:
        """Return whether an op has the right number of operands, and the properties."""
        if self.operands and len(op.operands) != len(self.operands) and not isinstance(self.operands[0], _Each):
            return False
        return all(_has(op.properties.get(name), wanted) for name, wanted in self.properties.items())

    def __str__(self) -> str:
        names = " | ".join(cls.name.rpartition(".")[2] for cls in self.classes)
        arguments = [*map(str, self.operands), *(f"{name}={value}" for name, value in self.properties.items())]
        return f"{names}({', '.join(arguments)})"


def _has(found: Attribute | None, wanted: Any) -> bool:
    return isinstance(wanted, attribute) or found == wanted or (found is not None and python_value(found) == wanted)


def _extend_all(patterns: tuple[Pattern, ...], values: tuple[SSAValue, ...], match: Match) -> Iterator[Match]:
    """Yield all ways in which the patterns describe the values one by one."""
    if not patterns:
        yield match
        return
    if isinstance(patterns[0], _Each):
        yield from patterns[0].extend_over(values, match)
        return
    for first in patterns[0].extend(replace(match, value=values[0])):
        yield from _extend_all(patterns[1:], values[1:], first)


def _examples(operand: Pattern, examples: Examples) -> list[SSAValue]:
    """Return examples of an operand, or of the several that `each` stands for."""
    count = 1 + examples.choice(3) if isinstance(operand, _Each) else 1
    return [operand.example(examples) for _ in range(count)]


@dataclass(frozen=True)
class _Constant(Pattern):
    number: float | None

    def extend(self, match: Match) -> Iterator[Match]:
        if not isinstance(match.value, OpResult) or not match.value.op.has_trait(ConstantLike):
            return
        if self.number is None or holds_only(match.value, self.number):
            yield match

    def example(self, examples: Examples) -> SSAValue:
        return examples.constant(self.number)

    def __str__(self) -> str:
        return "_" if self.number is None else f"{self.number:g}"


@dataclass(frozen=True)
class _Any(Pattern):
    def extend(self, match: Match) -> Iterator[Match]:
        yield match

    def __str__(self) -> str:
        return "_"


@dataclass(frozen=True)
class _Many(Pattern):
    name: str

    def extend(self, match: Match) -> Iterator[Match]:
        known = match.lists.get(self.name, ())
        if known[match.index :] not in ((), (match.value,)):
            return
        yield replace(match, lists={**match.lists, self.name: (*known[: match.index], match.value)})

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class _Around(Pattern):
    """Another pattern, and more."""

    pattern: Pattern

    def example(self, examples: Examples) -> SSAValue:
        return self.pattern.example(examples)

    def __str__(self) -> str:
        return str(self.pattern)


@dataclass(frozen=True)
class _Each(_Around):
    def extend(self, match: Match) -> Iterator[Match]:
        return self.pattern.extend(match)

    def extend_over(self, values: tuple[SSAValue, ...], match: Match, index: int = 0) -> Iterator[Match]:
        """Yield all ways in which the pattern describes every one of the values."""
        if index == len(values):
            yield replace(match, index=0)
            return
        for found in self.pattern.extend(replace(match, value=values[index], index=index)):
            yield from self.extend_over(values, found, index + 1)

    def __str__(self) -> str:
        return f"each({self.pattern})"


@dataclass(frozen=True)
class _Either(Pattern):
    first: Pattern
    second: Pattern

    def extend(self, match: Match) -> Iterator[Match]:
        yield from self.first.extend(match)
        yield from self.second.extend(match)

    def example(self, examples: Examples) -> SSAValue:
        return (self.first, self.second)[examples.choice(2)].example(examples)

    def __str__(self) -> str:
        return f"({self.first} | {self.second})"


@dataclass(frozen=True)
class _Where(_Around):
    condition: Condition
    reason: str = ""
    """Given where the condition does not hold; empty for one that says what to match, as classes of ops do."""

    def extend(self, match: Match) -> Iterator[Match]:
        for found in self.pattern.extend(match):
            if self.condition(found):
                yield found
            elif self.reason:
                refuse(self.reason)


@dataclass(frozen=True)
class _Named(_Around):
    name: str

    def extend(self, match: Match) -> Iterator[Match]:
        if match.names.get(self.name, match.value) is not match.value:
            return
        yield from self.pattern.extend(replace(match, names={**match.names, self.name: match.value}))

    def example(self, examples: Examples) -> SSAValue:
        if isinstance(self.pattern, _Any):
            return examples.value(self.name)
        return examples.name(self.name, self.pattern.example(examples))

    def __str__(self) -> str:
        return self.name if isinstance(self.pattern, _Any | _Constant) else str(self.pattern)


@dataclass(frozen=True)
class _Output(_Around):
    def extend(self, match: Match) -> Iterator[Match]:
        for found in self.pattern.extend(match):
            yield replace(found, outputs=found.outputs | {match.value})
