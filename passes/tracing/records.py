"""Records of passes: rules that were applied or refused, remarks, statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from relex.dialects.errors import Diagnostic, diagnose, locate


@dataclass(frozen=True)
class RuleApplication:
    """A rule that was applied at an op."""

    number: int
    """The applications of all rules are counted from 1; rules of a conversion have the number 0."""
    rule: str
    pass_name: str
    op: str
    """The name of the op."""
    place: Diagnostic
    """A diagnostic without a message, located at the op."""
    matched: tuple[str, ...] = ()
    """The ops that the rule matched and left unchanged, as text. All texts are empty unless they are requested."""
    before: tuple[str, ...] = ()
    """The ops that were removed or changed."""
    after: tuple[str, ...] = ()
    """The new or changed ops, or the values that take the place of old ones."""

    def __str__(self) -> str:
        return f"'{self.rule}' of pass '{self.pass_name}'" if self.pass_name else f"'{self.rule}'"

    def lines(self) -> Iterator[str]:
        """Yield the ops before and after as lines of a diff."""
        yield from (f"    {text}" for text in self.matched)
        yield from (f"  - {text}" for text in self.before)
        yield from (f"  + {text}" for text in self.after)


@dataclass(frozen=True)
class Remark:
    """A remark of a pass about an op."""

    pass_name: str
    message: str
    diagnostic: Diagnostic


@dataclass
class PassRecord:
    """The events recorded for a pass."""

    statistics: dict[str, int] = field(default_factory=dict[str, int])
    applied: dict[str, int] = field(default_factory=dict[str, int])
    """The number of applications of each rule."""
    refusals: dict[str, dict[str, set[Operation]]] = field(default_factory=dict[str, dict[str, set[Operation]]])
    """The ops at which rules were refused, by rule and reason."""

    @property
    def refused(self) -> dict[str, dict[str, int]]:
        """The number of ops at which each rule was refused, by reason."""
        return {rule: {why: len(ops) for why, ops in reasons.items()} for rule, reasons in self.refusals.items()}


@dataclass
class Attempt:
    """A pattern that is running at an op."""

    rule: Callable[[Attempt], str]
    """Returns the name of the rule, which is computed only if it is needed."""
    op: Operation
    parent: Operation | None
    rewriter: PatternRewriter | None
    text: str = ""
    changes: bool = False
    """Whether the pattern itself has changed something, rather than another pattern that it runs."""
    before: dict[Operation, tuple[str, Block | None]] = field(
        default_factory=dict[Operation, "tuple[str, Block | None]"]
    )
    """Ops that are matched or removed, with their text and block before."""
    inserted: list[Operation] = field(default_factory=list[Operation])
    values: list[SSAValue] = field(default_factory=list[SSAValue])
    reasons: list[str] = field(default_factory=list[str])

    def place(self) -> Diagnostic:
        """Return the location, which does not change if the op is removed."""
        op = self.op if self.parent is None or locate(self.op.location) is not None else self.parent
        found = diagnose(op, "")
        return Diagnostic("", found.file, found.line, found.column, severity="note")
