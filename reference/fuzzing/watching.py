"""Which patterns a pass applies, and where."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from xdsl.ir import Operation, Region
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriter, PatternRewriteWalker, RewritePattern


class Endless(BaseException):
    """Patterns are applied more often than any that come to an end. No pass may catch this."""


@dataclass(frozen=True)
class Step:
    """A pattern at work on an op."""

    rule: str
    op: str


@dataclass
class Watch:
    """What patterns have done in a run. Patterns do nothing once they have been applied `stop` times."""

    limit: int
    stop: int | None = None
    applied: list[Step] = field(default_factory=list[Step])
    current: Step | None = None
    """The pattern that runs, or that has raised an exception."""


def rule_name(pattern: RewritePattern) -> str:
    """Return the name of a rule, or a rule as an expression, or the class of a pattern."""
    found = getattr(pattern, "rule_name", None)
    return found if isinstance(found, str) else type(pattern).__name__


@dataclass
class _Watched(RewritePattern):
    """A pattern that reports what it does."""

    pattern: RewritePattern
    watch: Watch

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        watch = self.watch
        if watch.stop is not None and len(watch.applied) >= watch.stop:
            return
        watch.current = Step(rule_name(self.pattern), op.name)
        before, rewriter.has_done_action = rewriter.has_done_action, False
        self.pattern.match_and_rewrite(op, rewriter)
        if rewriter.has_done_action:
            watch.applied.append(watch.current)
            if len(watch.applied) > watch.limit:
                raise Endless
        rewriter.has_done_action |= before
        watch.current = None


def _watched(pattern: RewritePattern, watch: Watch) -> RewritePattern:
    if isinstance(pattern, GreedyRewritePatternApplier):
        return replace(pattern, rewrite_patterns=[_watched(inner, watch) for inner in pattern.rewrite_patterns])
    return _Watched(pattern, watch)


@contextmanager
def watching(watch: Watch) -> Generator[None]:
    """Report to `watch` what all walkers of xDSL do in the body. Only for one thread at a time."""
    original = PatternRewriteWalker.rewrite_region

    def rewrite_region(self: PatternRewriteWalker, region: Region) -> bool:
        pattern, self.pattern = self.pattern, _watched(self.pattern, watch)
        try:
            return original(self, region)
        finally:
            self.pattern = pattern

    PatternRewriteWalker.rewrite_region = rewrite_region
    try:
        yield
    finally:
        PatternRewriteWalker.rewrite_region = original
