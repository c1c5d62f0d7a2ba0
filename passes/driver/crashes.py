"""The origin of an exception that ends a pass: the pattern, the op, and the line in the file of the pass."""

from __future__ import annotations

import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, TracebackType
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.utils.exceptions import PassFailedException, ShrinkException

from relex.dialects.errors import CompileError, RelexError, locate


@dataclass(frozen=True)
class PassCrash:
    """The origin of an exception that a pass did not raise on purpose."""

    pass_name: str
    pattern: str | None
    op: Operation | None
    line: traceback.FrameSummary
    """The innermost line in the folder of the pass or its pattern, or in user code that they call."""
    traceback: TracebackType
    """The frames down to that line."""

    @property
    def note(self) -> str:
        """The line, as a note for an error."""
        who = f"{self.pattern} of pass '{self.pass_name}'" if self.pattern else f"pass '{self.pass_name}'"
        return f"{self.line.filename}:{self.line.lineno}: in '{self.line.name}' of {who}: {self.line.line}"

    def __str__(self) -> str:
        return self.note + (f" (on {shown(self.op)})" if self.op is not None else "")


def crash_of(error: BaseException) -> PassCrash | None:
    """Return the origin of an exception; None if no pass was running."""
    return getattr(error, "_relex_crash", None)


def record_crash(error: Exception, p: ModulePass, pattern: object, op: Operation | None, raised_by: str) -> None:
    """Record the origin of an exception of a pass, unless it was raised on purpose.

    `pattern` was tried on `op`, which is None while none is tried. An exception from the file `raised_by` is about what
    the pass or the pattern returns.
    """
    # Passes of relex raise errors about the program, which may also be nested too deeply.
    is_ours = type(p).__module__.startswith("relex.")
    on_purpose = RelexError | RecursionError if is_ours else CompileError
    if isinstance(error, on_purpose | PassFailedException | ShrinkException):
        return
    parts = list(_frames(error.__traceback__))
    folders = {_folder(_file(thing)) for thing in (p, pattern) if thing is not None}
    own = [i for i, part in enumerate(parts) if not _is_library(part) or _folder(_code(part).co_filename) in folders]
    ours = parts[: own[-1] + 1] if own else parts
    title = title_of(pattern) if op is not None else None
    line = traceback.extract_tb(ours[-1], limit=1)[0]
    if _code(parts[-1]).co_filename == raised_by:
        # The return value is wrong.
        line = _body_of(function_of(pattern) if isinstance(pattern, RewritePattern) and op is not None else p.apply)
    op = op or next((found for i in reversed(own) if (found := _op_in(parts[i])) is not None), None)
    crash = PassCrash(p.name, title, op, line, _cut(ours))
    vars(error)["_relex_crash"] = crash
    error.add_note(str(crash))


def title_of(pattern: object) -> str:
    """Return the name of a pattern for messages."""
    return getattr(pattern, "title", None) or f"pattern '{type(pattern).__name__}'"


def function_of(pattern: RewritePattern) -> Callable[..., Any]:
    """Return the function that matches a pattern. xDSL's `op_type_rewrite_pattern` drops the return value of the
    function that it decorates."""
    method = type(pattern).match_and_rewrite
    return variables_of(method).get("func", method) if method.__module__ == PatternRewriter.__module__ else method


def variables_of(function: Any) -> dict[str, Any]:
    """Return the variables that a function captures from enclosing scopes."""
    cells = function.__closure__ or ()
    return {name: cell.cell_contents for name, cell in zip(function.__code__.co_freevars, cells, strict=True)}


def shown(op: Operation) -> str:
    """Return the name of an op with its place, for messages."""
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


def _code(part: TracebackType) -> CodeType:
    return part.tb_frame.f_code


def _body_of(function: Any) -> traceback.FrameSummary:
    """Return the first line in the body of a function, without its decorators."""
    code = inspect.unwrap(function).__code__
    line = min((line for _, _, line in code.co_lines() if line and line > code.co_firstlineno), default=0)
    return traceback.FrameSummary(code.co_filename, line or code.co_firstlineno, code.co_name)


def _folder(file: str) -> str:
    return os.path.dirname(os.path.realpath(file))


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
