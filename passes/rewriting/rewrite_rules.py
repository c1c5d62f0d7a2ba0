"""
Rewriting rules with two sides: the pattern and its replacement are both expressions of operators.

    add, concat = operators.add, operators.concat
    xs, b = values("xs"), wildcard("b")

    HOIST = rule(
        concat(each(add(xs, b)), axis=attribute("axis")),
        lambda m: add(concat(m.xs, axis=m.axis), m.b),
        where=lambda m: m.b.type.get_num_dims() == 0,
    )

`operators.add` is a pattern if its operands are patterns, and the operator itself if they are values of the program. A
list of rules is a pass:

    class HoistBiasPass(RulesPass):
        name = "hoist-bias"
        rules = (HOIST,)
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriter, PatternRewriteWalker, RewritePattern
from xdsl.rewriter import InsertPoint

from relex.dialects.errors import InferenceError, UnknownNameError
from relex.dialects.locations import fuse_locations
from relex.dialects.relex import OPERATORS, Operator
from relex.passes.driver.base import Level, RelexPass
from relex.passes.rewriting.patterns import Match, Pattern, attribute, op, values, wildcard
from relex.passes.tracing import matched, refuse


class Bindings:
    """The meaning of the names on the left side of a rule in a match: `m.x` is a value, the values that `values("x")`
    has collected, or the property that `attribute("x")` has matched."""

    def __init__(self, match: Match):
        self.match = match

    def __getattr__(self, name: str) -> Any:
        known: dict[str, Any] = {**self.match.names, **self.match.lists, **self.match.properties}
        if name not in known:
            raise UnknownNameError(
                f"expected a name of the left side ({', '.join(known) or 'it has none'}), found {name}"
            )
        return known[name]


Replacement = Callable[[Any], Any]
"""Map the `Bindings` of a match to its replacement: a value that the match names, or a new operator."""

Condition = Callable[[Any], bool]
"""Return whether a rule applies, given the `Bindings` of a match."""


@dataclass(frozen=True)
class OperatorFunction:
    """An operator on both sides of a rule: a pattern for its results on patterns, the operator itself on values."""

    kind: type[Operator]

    def __call__(self, *operands: Pattern | SSAValue | Operation | tuple[SSAValue, ...], **properties: Any) -> Any:
        """Return an `OpPattern` if an operand is a pattern, else the result of a new operator."""
        flat: list[Any] = []
        for operand in operands:
            flat += operand if isinstance(operand, tuple) else (operand,)
        if any(isinstance(operand, Pattern) for operand in flat):
            return op(self.kind, *flat, **properties)
        return self.kind(*flat, **properties).results[0]


class Operators:
    """The operators of the graph dialect for rules, by the last part of their names: `operators.add`."""

    def __getattr__(self, name: str) -> OperatorFunction:
        if name in OPERATORS:
            return OperatorFunction(OPERATORS[name])
        raise AttributeError(f"no operator '{name}'; there are {', '.join(dir(self))}")

    def __dir__(self) -> list[str]:
        return sorted(OPERATORS)


operators = Operators()
"""The operators of the graph dialect; `OperatorFunction(HardSwishOp)` is one of another package."""


@dataclass(frozen=True)
class Rule(RewritePattern):
    """A rewriting rule, made by `rule`."""

    pattern: Pattern
    replacement: Replacement
    where: Condition = lambda m: True
    benefit: int = 1
    name: str = ""

    @property
    def rule_name(self) -> str:
        """The name of the rule, or its two sides."""
        return self.name or str(self)

    @property
    def title(self) -> str:
        """The name used in error messages."""
        return f"rule '{self}'"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if len(op.results) != 1:
            return
        for match in self.pattern.matches(op):
            if (value := self._replacement_of(match)) is not None:
                matched(match.ops[::-1])
                made = list(dict.fromkeys(_new_ops(value)))
                for new in made:
                    new.location = fuse_locations(match.ops)
                rewriter.insert(made, InsertPoint.before(op))
                _discard_new_users(match)
                rewriter.replace(op, [], [value])
                return

    def _replacement_of(self, match: Match) -> SSAValue | None:
        """Return what replaces a match; None if the rule does not apply."""
        found = Bindings(match)
        if not self.where(found):
            refuse("'where' is false")
            return None
        try:
            value = SSAValue.get(self.replacement(found))
        except InferenceError as e:
            refuse(f"its right side does not accept its operands: {e}")
            _discard_new_users(match)
            return None
        if value.type != match.value.type or value is match.value:
            is_same = value is match.value
            refuse("nothing would change" if is_same else f"its type would change to {value.type}")
            _discard_new_users(match)
            return None
        return value

    def __str__(self) -> str:
        try:
            right = str(self.replacement(_Symbols(self.pattern)))
        except Exception:  # The right side looks at what a program has.
            right = "..."
        return f"{self.name + ': ' if self.name else ''}{self.pattern} -> {right}"


def rule(
    pattern: Pattern, replacement: Replacement, *, where: Condition = lambda m: True, benefit: int = 1, name: str = ""
) -> Rule:
    """
    Return the rule that replaces what `pattern` describes by `replacement`.

    It does not apply where `where` is false, where the replacement would have another type, or where an operator does
    not accept its operands. Operators that are used elsewhere too are kept for their other users; `single_use` in the
    pattern prevents computing them twice. New operators have the locations of the match. Of the rules of a pass those
    with more `benefit` are tried first.
    """
    return Rule(pattern, replacement, where, benefit, name)


@dataclass(frozen=True)
class RulesPass(RelexPass, ABC):
    """
    A pass that applies rules until none applies any more. It also removes ops without users and effects.

    Rules that undo each other would never come to an end: after `max_rewrites` of one rule, by default 100 for each op
    and at least 10,000, that is an error which names the rule and the place.
    """

    max_rewrites: int | None = None

    rules: ClassVar[Sequence[Rule]]
    works_on: ClassVar[Level | None] = "graph"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        ordered = sorted(self.rules, key=lambda rule: -rule.benefit)
        PatternRewriteWalker(GreedyRewritePatternApplier([*ordered])).rewrite_module(op)


def _new_ops(value: SSAValue) -> Iterator[Operation]:
    """Yield the ops that compute a value and are in no block yet, operands first."""
    op = value.owner
    if isinstance(op, Operation) and op.parent is None:
        for operand in op.operands:
            yield from _new_ops(operand)
        yield op


def _discard_new_users(match: Match) -> None:
    """Erase ops that are in no block, and use values of a match."""
    values = {*match.names.values(), *(v for found in match.lists.values() for v in found)}
    for value in (*values, *(v for old in match.ops for v in (*old.results, *old.operands))):
        _discard(value)


def _discard(value: SSAValue) -> None:
    for user in {use.operation for use in value.uses if use.operation.parent is None}:
        for result in user.results:
            _discard(result)
        user.erase()


class _Symbols:
    """The names of a pattern as patterns, to show a right side as an expression."""

    def __init__(self, pattern: Pattern):
        self._parts = list(_parts(pattern))

    def __getattr__(self, name: str) -> Any:
        if any(isinstance(part, attribute) and part.name == name for part in self._parts):
            return attribute(name)
        return (values(name),) if values(name) in self._parts else wildcard(name)


def _parts(part: object) -> Iterator[object]:
    """Yield a pattern and all of its parts."""
    yield part
    match part:
        case Pattern():
            inside: Iterable[object] = vars(part).values()
        case tuple():
            inside = cast(tuple[object, ...], part)
        case Mapping():
            inside = cast(Mapping[object, object], part).values()
        case _:
            inside = ()
    for inner in inside:
        yield from _parts(inner)
