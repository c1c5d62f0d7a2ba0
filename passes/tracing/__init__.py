"""
Follow what passes do: which rules are applied where and which are refused and why, statistics, and remarks.

    with observe() as seen:
        HoistBiasPass()(module)
    assert seen.passes["hoist-bias"].statistics == {"hoisted": 2}

Rules are all patterns of xDSL, including those in `relex.passes.rewriting.rewrite_rules` and `OutliningPass`, and what
a pass that has no patterns runs in `applying`. Only where something is observed, the methods of patterns are replaced
by ones that take notes; otherwise nothing is recorded, and no pattern runs slower.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from xdsl.ir import Operation
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriter, RewritePattern

from relex.dialects.symbols import symbol_of
from relex.passes.tracing.patterns import WatchedPatterns
from relex.passes.tracing.records import Attempt
from relex.passes.tracing.records import RuleApplication as RuleApplication
from relex.passes.tracing.trace import Trace as Trace

Message = str | Callable[[], str]
"""A text, or a function that makes it if somebody wants to read it."""


def remark(op: Operation, message: Message) -> None:
    """Say what a pass did, or did not do, at an op: an optimization remark. `relex-opt --remarks` prints it with its
    location and the name of the pass; without it, a `message` that is a function is not even called."""
    if (trace := _current.get()) is not None:
        trace.add_remark(op, message() if callable(message) else message)


def statistic(name: str, count: int = 1) -> None:
    """Add to a counter of the pass that is running. `relex-opt --statistics` prints all of them. Within a `RelexPass`,
    `self.statistic("hoisted")` is the same."""
    if (trace := _current.get()) is not None:
        trace.count(trace.pass_name, name, count)


def refuse(reason: Message) -> None:
    """Say why a pattern that nearly applies does not, for `relex-opt --statistics` and `--trace-rules=refused`: `return
    refuse("the axis is dynamic")` in `match_and_rewrite`."""
    if (trace := _current.get()) is not None:
        trace.add_refusal(reason() if callable(reason) else reason)


@dataclass(frozen=True)
class _RuleName:
    """The name of a pattern: its `rule_name`, its symbol in PDL, else its class; and what an applier of patterns does
    itself."""

    pattern: RewritePattern

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _RuleName) and other.pattern is self.pattern

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __call__(self, attempt: Attempt) -> str:
        if isinstance(self.pattern, GreedyRewritePatternApplier):
            return "fold" if attempt.values or attempt.inserted else "dead code"
        name = getattr(self.pattern, "rule_name", None) or _name_in_pdl(self.pattern)
        return name if isinstance(name, str) else type(self.pattern).__name__


def _name_in_pdl(pattern: RewritePattern) -> str | None:
    """Return the symbol of a pattern that is written in PDL."""
    rewrite = getattr(pattern, "pdl_rewrite_op", None)
    around = rewrite.parent_op() if isinstance(rewrite, Operation) else None
    return None if around is None else symbol_of(around)


@contextmanager
def applying(rule: str, *ops: Operation) -> Generator[Callable[..., None]]:
    """
    Make what a pass does to ops without a pattern an application of a rule, which is counted, traced, and found by
    `--bisect`. The last op is the one that the rule is applied at.

        with applying("outline", *group) as made:
            made(outline(group))

    `made` takes the new ops.
    """
    if (trace := _current.get()) is None:
        yield lambda *_: None
        return
    with trace.applying(rule, ops) as made:
        yield made


def matched(ops: Sequence[Operation]) -> None:
    """Say which ops the pattern that is running has matched, so that they are shown as what was there before."""
    if (trace := _current.get()) is not None:
        trace.add_matched(ops)


_current: ContextVar[Trace | None] = ContextVar("trace", default=None)


def current_trace() -> Trace | None:
    """Return what observes the passes in this thread, if anything does."""
    return _current.get()


@contextmanager
def observe(trace: Trace | None = None) -> Generator[Trace]:
    """Observe the passes that run in the body, in this thread. With `observe(Trace(with_texts=True))`, the
    applications of rules have texts."""
    trace = trace or Trace()
    token = _current.set(trace)
    try:
        with _PATTERNS:
            yield trace
    finally:
        _current.reset(token)


def _attempt(pattern: RewritePattern, op: Operation, rewriter: PatternRewriter, run: Callable[[], object]) -> object:
    trace = _current.get()
    return run() if trace is None else trace.attempt(_RuleName(pattern), op, rewriter, run)


_PATTERNS = WatchedPatterns(_attempt)
