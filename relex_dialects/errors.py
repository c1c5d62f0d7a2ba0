"""Errors that name a place in the program.

Everything that relex raises on purpose is a `RelexError`. A wrong program is a `CompileError`: it holds one
`Diagnostic` per mistake, and its text is what the tools print, `file:line:col: error: message`. Wrong calls of the
Python API raise subclasses of `RelexError` that are also the built-in error people expect (`TypeError`, `ValueError`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NoReturn

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, ModuleOp, NameLoc, UnregisteredOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException, VerifyException
from xdsl.utils.hints import isa

from relex.dialects.exceptions import ArityError as ArityError
from relex.dialects.exceptions import DTypeError as DTypeError
from relex.dialects.exceptions import DuplicateError as DuplicateError
from relex.dialects.exceptions import OutOfMemoryError as OutOfMemoryError
from relex.dialects.exceptions import OverlapError as OverlapError
from relex.dialects.exceptions import RangeError as RangeError
from relex.dialects.exceptions import RelexError as RelexError
from relex.dialects.exceptions import ShapeError as ShapeError
from relex.dialects.exceptions import UnknownNameError as UnknownNameError
from relex.dialects.exceptions import expect_kind as expect_kind
from relex.dialects.exceptions import kind_of as kind_of
from relex.dialects.exceptions import wrong_kind as wrong_kind


class InferenceError(RelexError, VerifyException):
    """Operands that an operator cannot take: no result type follows from theirs."""


class WrongOp(VerifyException):
    """A rule of one op that another op, inside of it, breaks: the error belongs to that one."""

    def __init__(self, op: Operation, message: str):
        super().__init__(message)
        self.op = op


@dataclass(frozen=True)
class Diagnostic:
    """One mistake in a program, or with another `severity` than "error" something less. `line` and `column` count from
    1; 0 means that the place is not known."""

    message: str
    file: str = "<unknown>"
    line: int = 0
    column: int = 0
    source_line: str | None = None
    severity: str = "error"
    notes: tuple[str, ...] = ()
    """What else there is to say, line by line."""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        lines = [f"{place}: {self.severity}: {self.message}"]
        if self.source_line is not None:
            # Tabs are kept so that the caret stands under its column in any terminal.
            indent = "".join("\t" if c == "\t" else " " for c in self.source_line[: self.column - 1])
            lines += [self.source_line, f"{indent}^"]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


class CompileError(RelexError):
    """A program that cannot be parsed, verified or compiled."""

    def __init__(self, diagnostics: Diagnostic | list[Diagnostic]):
        self.diagnostics = diagnostics if isinstance(diagnostics, list) else [diagnostics]
        super().__init__("\n".join(str(d) for d in self.diagnostics))


class CompileWarning(UserWarning):
    """Something in a program that may be a mistake. Passes give it to `warnings.warn`; the tools print it."""

    severity = "warning"

    def __init__(self, diagnostic: Diagnostic):
        self.diagnostic = replace(diagnostic, severity=self.severity)
        super().__init__(str(self.diagnostic))


class CompileRemark(CompileWarning):
    """What a pass has done, or not, and why, for those who have asked for it. It is given out as warnings are."""

    severity = "remark"


DEBUG_HINT = "note: run with --debug for the Python traceback"


class InternalError(CompileError):
    """An exception that no part of the compiler raised on purpose."""

    def __str__(self) -> str:
        return f"{super().__str__()}\n{DEBUG_HINT}"


def describe(error: BaseException) -> str:
    """`ValueError: what it says`, or just the type for an exception without words."""
    return f"{type(error).__name__}: {error}".removesuffix(": ")


class PassError(CompileError, PassFailedException):
    """A pass met an op that it cannot handle. xDSL's tools know it as a `PassFailedException`."""


class ExecutionError(CompileError):
    """A program that goes wrong while it is interpreted, at one of its ops."""


class UnsupportedError(ExecutionError):
    """An op that the interpreter does not know how to run; the program may be right."""


def locate(location: Attribute) -> FileLineColLoc | None:
    """The file position behind a location attribute, if it has one."""
    match location:
        case FileLineColLoc():
            return location
        case NameLoc():
            return locate(location.location)
        case CallSiteLoc():
            return locate(location.callee)
        case FusedLoc() if isa(location.locations, ArrayAttr):
            return next((found for part in location.locations if (found := locate(part))), None)
        case _:
            return None


def diagnose(op: Operation, message: str) -> Diagnostic:
    """A diagnostic at the place of `op`; an op without a place uses the nearest op around it that has one."""
    op_name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
    message = f"'{op_name}' op {message}"
    scope: Operation | None = op
    while scope is not None:
        if (place := locate(scope.location)) is not None:
            return Diagnostic(message, place.filename.data, place.line.data, place.column.data)
        scope = scope.parent_op()
    return Diagnostic(message)


def add_source(diagnostic: Diagnostic, text: str, line_offset: int = 0) -> Diagnostic:
    """The same diagnostic with its source line, taken from the text that the module was parsed from."""
    lines = text.split("\n")
    index = diagnostic.line - line_offset - 1
    if diagnostic.source_line is not None or not 0 <= index < len(lines):
        return diagnostic
    return replace(diagnostic, source_line=lines[index].removesuffix("\r"))


def one_line(error: Exception) -> str:
    """What an exception says, in the form that messages have behind `error: `."""
    return tidy(str(error).removeprefix("Operation does not verify: ")) or type(error).__name__


def tidy(message: str) -> str:
    """A message of xDSL in the form of all others: one line, in lower case, with what was expected first."""
    text = " ".join(message.split()).removeprefix("op ").rstrip(".!")
    text = re.sub(r"^([a-z][\w. '-]*|'.+?') expected((?: in | after ).*)?$", r"expected \1\2", text)
    return re.sub(r"(^|\. )([A-Z])(?=[a-z]+\b)", lambda word: word[1].replace(".", ":") + word[2].lower(), text)


def name_of(value: SSAValue) -> str:
    """What a message calls a value: `%x`."""
    return f"%{value.name_hint}" if value.name_hint else "a value"


def stop(op: Operation, message: str) -> NoReturn:
    """Stop a run of the interpreter at `op`."""
    raise ExecutionError(diagnose(op, message))


def expect_module(module: object, where: str = "") -> None:
    """Raise `DTypeError` for what is no module. `where` is what needs one."""
    expect_kind(module, ModuleOp, "a module", where)


def unsupported(op: Operation, why: str) -> NoReturn:
    """Stop a run of the interpreter at an op that it cannot run."""
    raise UnsupportedError(diagnose(op, f"cannot be interpreted: {why}"))


def fail(op: Operation, message: str) -> NoReturn:
    """Stop a pass at `op`. Unlike `op.emit_error` this does not print the whole module into the error."""
    raise PassError(diagnose(op, message))
