"""
What is known about a pass while it runs: the pattern that it tries, and the op that the pattern is tried on.

xDSL's walkers apply patterns until none applies any more, whatever the patterns do. While a pass runs under `running`,
which is how every `RelexPass` runs, its walkers also

* stop a pattern that is applied without end, after `max_rewrites` times,
* refuse a pattern that returns an op instead of putting it in place,
* give new ops the location of the op that they replace, unless they have one,
* and remember where an exception comes from: see `crash_of`.
"""

from __future__ import annotations

import inspect
import re
import sys
import traceback
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, wraps
from types import CodeType, TracebackType
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
from xdsl.utils.exceptions import PassFailedException, ShrinkException

from relex.dialects.errors import CompileError, DTypeError, PassError, RelexError, diagnose, kind_of, locate

REWRITES_PER_OP = 100
"""How often a pattern may be applied for each op of a module, by default."""

MIN_REWRITES = 10_000
"""How often a pattern may be applied to small modules: one op may become many, as in an unrolled loop."""

SHOWN = 4
"""The number of rewrites that an error shows."""


@dataclass(frozen=True)
class Crash:
    """Where an exception comes from that a pass has not raised on purpose."""

    pass_name: str
    pattern: str | None
    op: Operation | None
    line: traceback.FrameSummary
    """The innermost line that is beside the pass or its pattern, or in somebody else's rule that they call."""
    traceback: TracebackType
    """The frames down to that line."""

    @property
    def note(self) -> str:
        """The line, as a note for an error."""
        who = f"{self.pattern} of pass '{self.pass_name}'" if self.pattern else f"pass '{self.pass_name}'"
        return f"{self.line.filename}:{self.line.lineno}: in '{self.line.name}' of {who}: {self.line.line}"

    def __str__(self) -> str:
        return self.note + (f" (on {_shown(self.op)})" if self.op is not None else "")


def crash_of(error: BaseException) -> Crash | None:
    """Return where an exception comes from; None if no pass was running."""
    return getattr(error, "_relex_crash", None)


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
    _counts: Counter[str] = field(default_factory=Counter[str])
    _last: deque[str] = field(default_factory=lambda: deque[str](maxlen=SHOWN))

    def watch(self, pattern: RewritePattern) -> RewritePattern:
        """Return a pattern that does the same, and tells this object."""
        if type(pattern) is GreedyRewritePatternApplier:
            return replace(pattern, rewrite_patterns=[self.watch(part) for part in pattern.rewrite_patterns])
        return pattern if isinstance(pattern, _Watched) else _Watched(pattern, self, _method_of(pattern))

    def listener(self) -> PatternRewriterListener:
        """Return the listener that gives new ops their locations."""
        return PatternRewriterListener(
            operation_insertion_handler=[lambda op: self._inserted.append(op)],
            operation_replacement_handler=[lambda op, _: self._locate(op)],
        )

    @contextmanager
    def trying(self, pattern: RewritePattern, op: Operation) -> Generator[None]:
        """While a pattern is tried on an op. If that fails, they stay what they were then."""
        outer = self.pattern, self.op, self._inserted
        self.pattern, self.op, self._inserted = pattern, op, []
        yield
        self.pattern, self.op, self._inserted = outer

    def applied(self, op: Operation) -> None:
        """Called after a pattern was applied."""
        self._locate(op)
        title = title_of(self.pattern)
        self._counts[title] += 1
        left = self._limit - self._counts[title]
        if left < SHOWN:
            new = ", ".join(f"'{op.name}'" for op in self._inserted)
            self._last.append(f"{title} was applied to {_shown(op)}" + (f", and made {new}" if new else ""))
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

    def crashed(self, error: Exception) -> None:
        """Called with an exception that ends the pass."""
        on_purpose = RelexError if type(self.p).__module__.startswith("relex.") else CompileError
        if isinstance(error, on_purpose | PassFailedException | ShrinkException):
            return
        parts = list(_frames(error.__traceback__))
        folders = {_folder(_file(thing)) for thing in (self.p, self.pattern) if thing}
        own = [i for i, part in enumerate(parts) if not _is_library(part) or _folder_of(part) in folders]
        ours = parts[: own[-1] + 1] if own else parts
        op = self.op or next((op for i in reversed(own) if (op := _op_in(parts[i])) is not None), None)
        title = title_of(self.pattern) if self.op is not None else None
        line = traceback.extract_tb(ours[-1], limit=1)[0]
        if _code(parts[-1]).co_filename == __file__:
            # It returns what it should not.
            line = _body_of(self.p.apply if self.op is None else function_of(cast(RewritePattern, self.pattern)))
        crash = Crash(self.p.name, title, op, line, _cut(ours))
        vars(error)["_relex_crash"] = crash
        error.add_note(str(crash))


_RUNNING: ContextVar[Running | None] = ContextVar("running", default=None)


@contextmanager
def running(p: ModulePass, module: ModuleOp, max_rewrites: int | None = None) -> Generator[None]:
    """While a pass runs in this context, its patterns are watched."""
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
            run.crashed(e)
        raise
    finally:
        _RUNNING.reset(token)


def tries(pattern: object) -> None:
    """Say which pattern is being tried, if one pattern consists of others."""
    if (run := _RUNNING.get()) is not None:
        run.pattern = pattern


ApplyT = TypeVar("ApplyT", bound=Callable[..., None])


def watched(apply: ApplyT) -> ApplyT:
    """Return the method `apply` of a pass, such that the pass runs under `running`, and that it returns nothing."""

    @wraps(apply)
    def run(self: ModulePass, ctx: Context, op: ModuleOp) -> None:
        with running(self, op):
            returned: Any = apply(self, ctx, op)
            if _ops_in(returned):
                raise DTypeError(
                    f"expected 'apply' of pass '{self.name}' to change the module in place and return None, "
                    f"found that it returns {kind_of(returned)}"
                )

    return cast(ApplyT, run)


@dataclass
class _Watched(RewritePattern):
    """A pattern that tells the pass that is running what it does."""

    pattern: RewritePattern
    run: Running
    method: Callable[[Operation, PatternRewriter], Any]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        with self.run.trying(self.pattern, op):
            returned = self.method(op, rewriter)
            if returned is not None:
                self._expect_in_place(_ops_in(returned), rewriter)
            if rewriter.has_done_action:
                self.run.applied(op)

    def _expect_in_place(self, returned: Sequence[Operation], rewriter: PatternRewriter) -> None:
        """Raise `DTypeError` for ops that are returned to replace the matched one, which xDSL ignores."""
        if lost := [op for op in returned if op.parent is None or not rewriter.has_done_action]:
            raise DTypeError(
                f"expected {title_of(self.pattern)} to call 'rewriter.replace(op, ...)' and return None, "
                f"found that it returns {', '.join(_shown(op) for op in lost)}"
            )


def _method_of(pattern: RewritePattern) -> Callable[[Operation, PatternRewriter], Any]:
    """Return the method of a pattern, such that it returns what the function in it returns."""
    function = function_of(pattern)
    if function is type(pattern).match_and_rewrite:
        return pattern.match_and_rewrite
    kind = _variables(type(pattern).match_and_rewrite)["expected_type"]
    return lambda op, rewriter: function(pattern, op, rewriter) if isinstance(op, kind) else None


def function_of(pattern: RewritePattern) -> Callable[..., Any]:
    """Return the function that matches a pattern. xDSL's `op_type_rewrite_pattern` drops what the function below it
    returns."""
    method = type(pattern).match_and_rewrite
    return _variables(method).get("func", method) if method.__module__ == PatternRewriter.__module__ else method


def _variables(function: Any) -> dict[str, Any]:
    """Return the variables that a function has from around it."""
    cells = function.__closure__ or ()
    return {name: cell.cell_contents for name, cell in zip(function.__code__.co_freevars, cells, strict=True)}


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


def title_of(pattern: object) -> str:
    """Return the name of a pattern for messages."""
    return getattr(pattern, "title", None) or f"pattern '{type(pattern).__name__}'"


def _ops_in(value: object) -> list[Operation]:
    """Return the ops in what a function returns: itself, in a sequence, or as owners of values."""
    match value:
        case Operation():
            return [value]
        case SSAValue():
            return [value.owner] if isinstance(value.owner, Operation) else []
        case tuple() | list():
            return [op for part in cast("Sequence[object]", value) for op in _ops_in(part)]
        case _:
            return []


def _shown(op: Operation) -> str:
    place = locate(op.location)
    where = f" at {place.filename.data}:{place.line.data}:{place.column.data}" if place is not None else ""
    return f"'{op.name}' op{where}"


def _frames(tb: TracebackType | None) -> Iterator[TracebackType]:
    while tb is not None:
        yield tb
        tb = tb.tb_next


def _cut(parts: Sequence[TracebackType]) -> TracebackType:
    """Return a traceback of these frames."""
    tb: TracebackType | None = None
    for part in reversed(parts):
        tb = TracebackType(tb, part.tb_frame, part.tb_lasti, part.tb_lineno)
    assert tb is not None
    return tb


_LIBRARIES = {"relex", "xdsl", "numpy", "llvmlite", *sys.stdlib_module_names}


def _is_library(part: TracebackType) -> bool:
    """Return whether a frame is in code that users do not write."""
    return str(part.tb_frame.f_globals.get("__name__")).partition(".")[0] in _LIBRARIES


def _folder_of(part: TracebackType) -> str:
    return _folder(_code(part).co_filename)


def _code(part: TracebackType) -> CodeType:
    return part.tb_frame.f_code


def _body_of(function: Any) -> traceback.FrameSummary:
    """Return the first line in the body of a function, without its decorators."""
    code = inspect.unwrap(function).__code__
    line = min((line for _, _, line in code.co_lines() if line and line > code.co_firstlineno), default=0)
    return traceback.FrameSummary(code.co_filename, line or code.co_firstlineno, code.co_name)


def _file(thing: object) -> str:
    """Return the file that defines the class of an object."""
    return getattr(sys.modules.get(type(thing).__module__), "__file__", None) or ""


def _op_in(part: TracebackType) -> Operation | None:
    """Return the op that a frame is about: one that its line mentions, else the one in the last of its variables."""
    ops = {
        name: value
        for name, value in part.tb_frame.f_locals.items()
        if isinstance(value, Operation) and not isinstance(value, ModuleOp)
    }
    line = traceback.extract_tb(part, limit=1)[0].line or ""
    mentioned = [ops[name] for name in re.findall(r"\w+", line) if name in ops]
    return next(iter([*mentioned, *reversed(ops.values())]), None)
