"""Errors and diagnostics with source locations.

Everything that relex raises on purpose is a `RelexError`. An invalid program is a `CompileError`: it holds one
`Diagnostic` per mistake, and its text is what the tools print, `file:line:col: error: message`. Misuse of the Python
API raises subclasses of `RelexError` that are also the built-in error people expect (`TypeError`, `ValueError`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import NoReturn

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    CallSiteLoc,
    DenseArrayBase,
    FileLineColLoc,
    FusedLoc,
    IntegerType,
    ModuleOp,
    NameLoc,
    ShapedType,
    UnregisteredOp,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException, VerifyException
from xdsl.utils.hints import isa

from relex.dialects.exceptions import ArityError as ArityError
from relex.dialects.exceptions import AssertionFailedError as AssertionFailedError
from relex.dialects.exceptions import DTypeError as DTypeError
from relex.dialects.exceptions import DuplicateError as DuplicateError
from relex.dialects.exceptions import IndexRangeError as IndexRangeError
from relex.dialects.exceptions import MissingPackageError as MissingPackageError
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
    """Operands that an operator does not accept: no result type can be inferred from them."""


class WrongOp(VerifyException):
    """A violation of one op's rule by an op nested in it: the diagnostic points at the nested op."""

    def __init__(self, op: Operation, message: str):
        super().__init__(message)
        self.op = op


Style = Callable[[str, str], str]
"""Marks a part of a message, for terminals: its kind is "place", "message", "caret", or a severity."""


def plain(kind: str, text: str) -> str:
    """The style that marks nothing."""
    return text


@dataclass(frozen=True)
class Diagnostic:
    """One mistake in a program, or something less severe if `severity` is not "error". `line` and `column` count from
    1; 0 means that the location is unknown."""

    message: str
    file: str = "<unknown>"
    line: int = 0
    column: int = 0
    source_line: str | None = None
    severity: str = "error"
    notes: tuple[str, ...] = ()
    """Further notes, printed one per line."""
    op: Operation | None = field(default=None, compare=False, repr=False)
    """The op that is wrong, if known."""
    reason: str = field(default="", compare=False)
    """The message without the op that it is about."""
    steps: tuple[str, ...] = field(default=(), compare=False)
    """Of a remark about a schedule: the primitives that were applied. They are not printed."""

    def __str__(self) -> str:
        return self.text()

    def text(self, style: Style = plain) -> str:
        """Return the message with its place, its line in the source, and its notes."""
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        head = f"{style('place', f'{place}:')} {style(self.severity, f'{self.severity}:')}"
        lines = [f"{head} {style('message', self.message)}" if self.message else head]
        if self.source_line is not None:
            # Tabs are kept so that the caret stands under its column in any terminal.
            indent = "".join("\t" if c == "\t" else " " for c in self.source_line[: self.column - 1])
            lines += [self.source_line, f"{indent}{style('caret', '^')}"]
        return "\n".join([*lines, *(f"{style('note', 'note:')} {note}" for note in self.notes)])


class CompileError(RelexError):
    """A program that cannot be parsed, verified or compiled."""

    def __init__(self, diagnostics: Diagnostic | list[Diagnostic]):
        self.diagnostics = diagnostics if isinstance(diagnostics, list) else [diagnostics]
        super().__init__(self.text())

    def text(self, style: Style = plain) -> str:
        """Return all mistakes, one after the other."""
        return "\n".join(d.text(style) for d in self.diagnostics)

    @property
    def reason(self) -> str:
        """The first mistake, without the op that it is at."""
        return self.diagnostics[0].reason or self.diagnostics[0].message


class CompileWarning(UserWarning):
    """A possible mistake in a program. Passes issue it with `warnings.warn`; the tools print it."""

    severity = "warning"

    def __init__(self, diagnostic: Diagnostic):
        self.diagnostic = replace(diagnostic, severity=self.severity)
        super().__init__(str(self.diagnostic))


class CompileRemark(CompileWarning):
    """An optimization remark: what a pass did or did not do, and why. Only given on request, and issued like a
    warning."""

    severity = "remark"


DEBUG_HINT = "run with --debug for the Python traceback"


class InternalError(CompileError):
    """An exception that the compiler did not raise on purpose."""

    def text(self, style: Style = plain) -> str:
        return f"{super().text(style)}\n{style('note', 'note:')} {DEBUG_HINT}"


class InvalidOutputError(CompileError):
    """A program that was valid until a pass changed it: a mistake of the pass."""


def describe(error: BaseException) -> str:
    """Format an exception as `ValueError: message`, or as its type alone if it has no message."""
    return f"{type(error).__name__}: {error}".removesuffix(": ")


class PassError(CompileError, PassFailedException):
    """An op that a pass cannot handle. To xDSL's tools it is a `PassFailedException`."""


class ExecutionError(CompileError):
    """An error at an op of a program while it is interpreted."""


class FailedAssertionError(ExecutionError, AssertionFailedError):
    """An assertion that fails while a program is interpreted."""


class WrongIndexError(ExecutionError, IndexRangeError):
    """An index out of range while a program is interpreted."""


class WrongSizeError(ExecutionError, ShapeError):
    """Sizes that do not fit while a program is interpreted."""


class UnsupportedError(ExecutionError):
    """An op that the interpreter does not support; the program may be correct."""


def locate(location: Attribute) -> FileLineColLoc | None:
    """Return the file position in a location attribute, if it has one."""
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
    """Return a diagnostic at the location of `op`, or of the nearest enclosing op that has one."""
    op_name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
    found = Diagnostic(f"'{op_name}' op {message}", op=op, reason=message)
    scope: Operation | None = op
    while scope is not None:
        if (place := locate(scope.location)) is not None:
            return replace(found, file=place.filename.data, line=place.line.data, column=place.column.data)
        scope = scope.parent_op()
    return found


def add_source(diagnostic: Diagnostic, text: str, line_offset: int = 0) -> Diagnostic:
    """Return the diagnostic with its source line, taken from the text that the module was parsed from."""
    lines = text.split("\n")
    index = diagnostic.line - line_offset - 1
    if diagnostic.source_line is not None or not 0 <= index < len(lines):
        return diagnostic
    return replace(diagnostic, source_line=lines[index].removesuffix("\r"))


def one_line(error: Exception) -> str:
    """Return the message of an exception in the form used after `error: `."""
    return tidy(str(error).removeprefix("Operation does not verify: ")) or type(error).__name__


def tidy(message: str) -> str:
    """Bring a message of xDSL into the form of all others: one line, in lower case, starting with what was expected."""
    text = " ".join(message.split()).removeprefix("op ").rstrip(".!")
    text = re.sub(r"^([a-z][\w. '-]*|'.+?') expected((?: in | after ).*)?$", r"expected \1\2", text)
    return re.sub(r"(^|\. )([A-Z])(?=[a-z]+\b)", lambda word: word[1].replace(".", ":") + word[2].lower(), text)


def name_of(value: SSAValue) -> str:
    """Return the name of a value for messages: `%x`."""
    return f"%{value.name_hint}" if value.name_hint else "a value"


def types_str(types: Iterable[object]) -> str:
    """Format types, or sizes, as `(f32, i64)`."""
    return f"({', '.join(map(str, types))})"


def size_str(size: object) -> str:
    """Format a size, stride or offset in a type or in a static list of an op: a dynamic one, which is `DYNAMIC_INDEX`
    there and an expression in type inference, as `?`."""
    return str(size) if isinstance(size, int) and size != DYNAMIC_INDEX else "?"


def with_dynamic_sizes(message: str, op: Operation) -> str:
    """Return the message of a verifier of `op` with `?` in place of `DYNAMIC_INDEX`, as xDSL's print it, if the op has
    a dynamic size, stride or offset."""
    return _DYNAMIC.sub(size_str(DYNAMIC_INDEX), message) if any(map(_is_dynamic, _attributes_of(op))) else message


_DYNAMIC = re.compile(rf"(?<![\w.]){DYNAMIC_INDEX}(?![\w.])")


def _attributes_of(op: Operation) -> Iterable[Attribute]:
    return *op.operand_types, *op.result_types, *op.properties.values(), *op.attributes.values()


def _is_dynamic(attribute: Attribute) -> bool:
    if isa(attribute, DenseArrayBase[IntegerType]):
        return DYNAMIC_INDEX in attribute.get_values()
    return "?" in str(attribute) if isinstance(attribute, ShapedType) else False


def in_line(op: Operation) -> str:
    """Describe the source line of an op, if it is known."""
    place = locate(op.location)
    return f" in line {place.line.data}" if place is not None else ""


def stop(op: Operation, message: str) -> NoReturn:
    """Stop the interpreter at `op` with an `ExecutionError`."""
    raise ExecutionError(diagnose(op, message))


def fail_assertion(op: Operation, message: str, index: int | None) -> NoReturn:
    """Stop the interpreter at an assertion that does not hold; its error names an index, if there is one."""
    if index is None:
        raise FailedAssertionError(diagnose(op, f"failed: {message}"))
    raise WrongIndexError(diagnose(op, f"failed: {message}, found {index}"))


def fail_sizes(op: Operation, message: str, found: int) -> NoReturn:
    """Stop the interpreter at sizes that do not fit; the error names the one that was found."""
    raise WrongSizeError(diagnose(op, f"failed: {message}, found {found}"))


def expect_module(module: object, where: str = "") -> None:
    """Raise `DTypeError` unless `module` is a module. `where` names what requires one."""
    expect_kind(module, ModuleOp, "a module", where)


def unsupported(op: Operation, why: str) -> NoReturn:
    """Stop the interpreter at an op that it does not support with an `UnsupportedError`."""
    raise UnsupportedError(diagnose(op, f"cannot be interpreted: {why}"))


def fail(op: Operation, message: str) -> NoReturn:
    """Stop a pass at `op` with a `PassError`. Unlike `op.emit_error` this does not print the whole module into the
    error."""
    raise PassError(diagnose(op, message))
