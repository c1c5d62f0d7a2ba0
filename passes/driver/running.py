"""
The state of a running pass: the pattern that it tries, and the op that the pattern is tried on.

xDSL's walkers apply patterns until none applies any more, whatever the patterns do. While a pass runs under `running`,
which is how every `RelexPass` runs, its walkers also

* stop a pattern that is applied without end, after `max_rewrites` times,
* refuse a pattern that returns an op instead of putting it in place,
* give new ops the location of the op that they replace, unless they have one,
* and remember where an exception comes from: see `relex.passes.driver.crashes`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property, wraps
from typing import Any, TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.ir import Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    RewritePattern,
)

from relex.dialects.errors import DTypeError, PassError, diagnose, kind_of, locate
from relex.passes.driver.crashes import crash_of, function_of, record_crash, shown, title_of, variables_of

REWRITES_PER_OP = 100
"""The default limit on applications of a pattern, for each op of a module."""

MIN_REWRITES = 10_000
"""The least default limit, for small modules: one op may become many, as in an unrolled loop."""

SHOWN = 4
"""The number of rewrites that an error shows."""


@dataclass
class Running:
    """A pass that is running."""

    p: ModulePass
    module: ModuleOp
    max_rewrites: int | None = None
    pattern: object = None
    """The pattern that is being tried, or was tried last."""
    op: Operation | None = None
    """The op that it is tried on."""
    _inserted: list[Operation] = field(default_factory=list[Operation])
    """The new ops of this try."""

    # Most passes try no pattern: these are made on first use.

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter()

    @cached_property
    def _last(self) -> deque[str]:
        return deque(maxlen=SHOWN)

    def watch(self, pattern: RewritePattern) -> RewritePattern:
        """Return a pattern that does the same, and reports to this object."""
        if type(pattern) is GreedyRewritePatternApplier:
            return replace(pattern, rewrite_patterns=[self.watch(part) for part in pattern.rewrite_patterns])
        return pattern if isinstance(pattern, _Watched) else _Watched(pattern, self, _method_of(pattern))

    def listener(self) -> PatternRewriterListener:
        """Return the listener that gives new ops their locations."""
        return PatternRewriterListener(
            operation_insertion_handler=[lambda op: self._inserted.append(op)],
            operation_replacement_handler=[lambda op, _: self._locate(op)],
        )

    def attempt(self, pattern: RewritePattern, op: Operation, rewrite: Callable[[], object]) -> None:
        """Record that a pattern is tried on an op by `rewrite`. If that fails, both stay recorded."""
        outer = self.pattern, self.op, self._inserted
        self.pattern, self.op, self._inserted = pattern, op, []
        rewrite()
        self.pattern, self.op, self._inserted = outer

    def applied(self, op: Operation) -> None:
        """Called after a pattern was applied."""
        self._locate(op)
        title = title_of(self.pattern)
        self._counts[title] += 1
        left = self._limit - self._counts[title]
        if left < SHOWN:
            new = ", ".join(f"'{op.name}'" for op in self._inserted)
            self._last.append(f"{title} was applied to {shown(op)}" + (f", and made {new}" if new else ""))
        if left < 0:
            raise self._endless(title)

    @cached_property
    def _limit(self) -> int:
        given = self.max_rewrites or getattr(self.p, "max_rewrites", None)
        return given or max(MIN_REWRITES, REWRITES_PER_OP * sum(1 for _ in self.module.walk()))

    def _locate(self, op: Operation) -> None:
        for new in self._inserted:
            for inner in new.walk():
                if isinstance(inner.location, UnknownLoc):
                    inner.location = op.location

    def _endless(self, title: str) -> PassError:
        op = self._inserted[-1] if self._inserted and self.op and not locate(self.op.location) else self.op
        remedy = ["--max-rewrites of relex-opt"]
        if any(option.name == "max_rewrites" for option in fields(self.p)):
            remedy.insert(0, "option 'max-rewrites'")
        elif hasattr(self.p, "max_rewrites"):
            remedy.insert(0, f"'max_rewrites' in {type(self.p).__name__}")
        told = f"{title} of pass '{self.p.name}' was applied {self._limit} times without end"
        told = f"{told}; {' or '.join(remedy)} raises the limit"
        return PassError(replace(diagnose(op or self.module, told), notes=tuple(self._last)))


_RUNNING: ContextVar[Running | None] = ContextVar("running", default=None)


@contextmanager
def running(p: ModulePass, module: ModuleOp, max_rewrites: int | None = None) -> Generator[None]:
    """Watch the patterns of a pass that runs in the `with` block."""
    outer = _RUNNING.get()
    if outer is not None and outer.p is p:
        yield
        return
    token = _RUNNING.set(run := Running(p, module, max_rewrites))
    try:
        yield
    except Exception as e:
        # xDSL adds the whole module.
        notes: list[str] = getattr(e, "__notes__", [])
        notes[:] = [note for note in notes if "Error while applying pattern" not in note]
        if crash_of(e) is None:
            record_crash(e, p, run.pattern, run.op, __file__)
        raise
    finally:
        _RUNNING.reset(token)


def tries(pattern: object) -> None:
    """Say which pattern is being tried, if one pattern consists of others."""
    if (run := _RUNNING.get()) is not None:
        run.pattern = pattern


ApplyT = TypeVar("ApplyT", bound=Callable[..., None])


def watched(apply: ApplyT) -> ApplyT:
    """Wrap the method `apply` of a pass so that the pass runs under `running`, and check that it returns no ops."""
    return cast(ApplyT, _watched(apply))


@cache
def _watched(apply: Callable[..., None]) -> Callable[..., None]:
    @wraps(apply)
    def run(self: ModulePass, ctx: Context, op: ModuleOp) -> None:
        active = _RUNNING.get()
        with nullcontext() if active is not None and active.p is self else running(self, op):
            returned: Any = apply(self, ctx, op)
            if returned is not None and any(isinstance(part, Operation) for part in _ir_in(returned)):
                raise DTypeError(
                    f"expected 'apply' of pass '{self.name}' to change the module in place and return None, "
                    f"found that it returns {kind_of(returned)}"
                )

    return run


@dataclass
class _Watched(RewritePattern):
    """A wrapper of a pattern that reports its rewrites to the running pass."""

    pattern: RewritePattern
    run: Running
    method: Callable[[Operation, PatternRewriter], Any]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        self.run.attempt(self.pattern, op, lambda: self._rewrite(op, rewriter))

    def _rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        returned = self.method(op, rewriter)
        if returned is not None:
            self._expect_in_place(_ir_in(returned), rewriter)
        if rewriter.has_done_action:
            self.run.applied(op)

    def _expect_in_place(self, returned: Sequence[Operation | SSAValue], rewriter: PatternRewriter) -> None:
        """Raise `DTypeError` for ops and values that are returned to replace the matched one, which xDSL ignores."""
        if lost := [part for part in returned if _is_detached(part) or not rewriter.has_done_action]:
            found = ", ".join(shown(part) if isinstance(part, Operation) else "a value" for part in lost)
            raise DTypeError(
                f"expected {title_of(self.pattern)} to call 'rewriter.replace(op, ...)' and return None, "
                f"found that it returns {found}"
            )


def _method_of(pattern: RewritePattern) -> Callable[[Operation, PatternRewriter], Any]:
    """Return the method of a pattern, which returns what the function in it returns."""
    function = function_of(pattern)
    if function is type(pattern).match_and_rewrite:
        return pattern.match_and_rewrite
    kind = variables_of(type(pattern).match_and_rewrite)["expected_type"]

    # Ops are of few classes, and patterns see each op.
    @cache
    def applies(found: type[Operation]) -> bool:
        return issubclass(found, kind)

    return lambda op, rewriter: function(pattern, op, rewriter) if applies(type(op)) else None


_rewrite_region = PatternRewriteWalker.rewrite_region


@wraps(_rewrite_region)
def _watching(self: PatternRewriteWalker, region: Region) -> bool:
    if (run := _RUNNING.get()) is None:
        return _rewrite_region(self, region)
    pattern, listener = self.pattern, self.listener
    self.pattern, self.listener = run.watch(pattern), run.listener()
    self.listener.extend_from_listener(listener)
    try:
        return _rewrite_region(self, region)
    finally:
        self.pattern, self.listener = pattern, listener


# xDSL has no way to follow the patterns of a walker that somebody else's pass creates. Nothing changes where no pass
# runs under `running`.
PatternRewriteWalker.rewrite_region = _watching


def _ir_in(value: object) -> list[Operation | SSAValue]:
    """Return the ops and values in what a function returns: itself, or those in a sequence."""
    match value:
        case Operation() | SSAValue():
            return [value]
        case tuple() | list():
            return [part for inner in cast("Sequence[object]", value) for part in _ir_in(inner)]
        case _:
            return []


def _is_detached(part: Operation | SSAValue) -> bool:
    op = part if isinstance(part, Operation) else part.owner
    return isinstance(op, Operation) and op.parent is None
