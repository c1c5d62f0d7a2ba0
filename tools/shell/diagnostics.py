"""Error reporting of the command-line tools: on stderr, with source locations and without Python tracebacks."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ShrinkException

from relex.dialects import readers
from relex.dialects.errors import (
    DEBUG_HINT,
    CompileError,
    CompileWarning,
    Diagnostic,
    InternalError,
    RelexError,
    add_source,
    describe,
    diagnose,
)
from relex.dialects.readers import BINARY_READERS, known_suffixes, split_path

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from relex.passes.driver.crashes import PassCrash


# When it ends, Python would search the program and all modules for garbage: a quarter of the time of a short run.
atexit.register(gc.freeze)


class ToolError(RelexError):
    """An invalid request to a tool: a missing file, an unknown pass."""

    status = 1
    """The exit code of the tool."""


@dataclass(frozen=True)
class Source:
    """Program text and its origin. `line_offset` is the number of lines before it in its file. A binary file has `data`
    in place of text. `module` is the name of a module in it, `kind` the extension of such files."""

    name: str
    text: str
    line_offset: int = 0
    data: bytes | None = None
    module: str | None = None
    kind: str = "mlir"

    def show(self, diagnostic: Diagnostic) -> Diagnostic:
        """Add the source line to a diagnostic that points into this text, and the file to one without a location."""
        if not diagnostic.line:
            # A part of a binary file is named after the file itself.
            return diagnostic if diagnostic.file.startswith(f"{self.name}:") else replace(diagnostic, file=self.name)
        return add_source(diagnostic, self.text, self.line_offset) if diagnostic.file == self.name else diagnostic


def read_bytes(path: str | None) -> tuple[str, bytes]:
    """Return the name for messages and the contents of a file; None and "-" stand for standard input."""
    name = "<stdin>" if path is None or path == "-" else path
    try:
        return name, sys.stdin.buffer.read() if name == "<stdin>" else Path(name).read_bytes()
    except OSError as e:
        raise ToolError(f"cannot read '{name}': {e.strerror}") from e


def read_text(path: str | None) -> tuple[str, str]:
    """Return the name for messages and the text of a file; None and "-" stand for standard input."""
    name, data = read_bytes(path)
    try:
        return name, data.decode()
    except UnicodeDecodeError as e:
        raise ToolError(f"cannot read '{name}': expected UTF-8 text, found byte 0x{data[e.start]:02x}") from e


def read_source(path: str | None, others: str = "", kind: str | None = None) -> Source:
    """Return the program in a file. `x.py:Name` is one of several modules in a file. The kind of program is the one of
    the extension by default. Raises `ToolError` for one that is not known; `others` says what else may be given."""
    path, module = (None, None) if path is None else split_path(path)
    kind = kind or _file_kind(path or "-", others)
    if kind in BINARY_READERS:
        name, data = read_bytes(path)
        return Source(name, "", data=data, kind=kind)
    return Source(*read_text(path), module=module, kind=kind)


def parse_source(source: Source, of_models: Mapping[str, Any], **options: Any) -> ModuleOp:
    """Return the module of a program; `of_models` are the options of readers of binary files, `options` are options of
    readers of text."""
    if source.data is not None:
        return readers.read_bytes(source.kind, source.data, source.name, **of_models)
    return readers.read_text(
        source.kind, source.text, source.name, module=source.module, line_offset=source.line_offset, **options
    )


def _file_kind(name: str, others: str) -> str:
    kind, known = PurePath(name).suffix.removeprefix(".") or "mlir", known_suffixes()
    if kind not in known:
        expected = ", ".join(f".{k}" for k in known)
        raise ToolError(f"unknown file extension '.{kind}' of '{name}'; expected {expected}{others}")
    return kind


def write_bytes(path: str, data: bytes) -> None:
    """Write a file, as a whole or not at all. Raises `ToolError` on failure."""
    from relex.runtime.container import write_file

    target = Path(path).resolve()
    try:
        if target.exists() and not target.is_file():
            # A device or a pipe.
            target.write_bytes(data)
        else:
            write_file(target, [data])
    except (OSError, RelexError) as e:
        reason = getattr(e if isinstance(e, OSError) else e.__cause__, "strerror", None)
        raise ToolError(f"cannot write '{path}': {reason or e}") from e


def make_folder(path: Path) -> None:
    """Create a directory and its parents if missing. Raises `ToolError` on failure."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise ToolError(f"cannot make folder '{path}': {e.strerror}") from e


@contextmanager
def stage(name: str, source: Source) -> Generator[None]:
    """Turn any exception of a compilation stage into a `CompileError`.

    Errors with a location pass through. xDSL's own errors state only the problem, so the name of the stage is added;
    their notes (the whole module as text) are dropped.
    """
    try:
        yield
    except (CompileError, ShrinkException):
        raise
    except (DiagnosticException, RelexError) as e:
        raise CompileError(_at_crash(e, f"{name} failed", str(e), source)) from e
    except RecursionError as e:
        why = "expected a program that nests less deeply" + (
            " or a pass without endless recursion" if _crash_of(e) else ""
        )
        raise CompileError(_at_crash(e, f"{name} failed", why, source)) from e
    except Exception as e:
        raise InternalError(_at_crash(e, f"internal error in {name}", describe(e), source)) from e


def _crash_of(error: BaseException) -> PassCrash | None:
    # Most runs have no errors.
    from relex.passes.driver.crashes import crash_of

    return crash_of(error)


def _at_crash(error: Exception, what: str, why: str, source: Source) -> Diagnostic:
    """Return a diagnostic at the op that a pass was at, with its line in the file of the pass."""
    crash = _crash_of(error)
    if crash is None or crash.op is None:
        return Diagnostic(f"{what}: {why}", source.name, notes=() if crash is None else (crash.note,))
    place = diagnose(crash.op, "")
    return replace(place, message=f"{what} on '{crash.op.name}' op: {why}", notes=(crash.note,))


@contextmanager
def compile_warnings(show: Callable[[Diagnostic], None]) -> Generator[None]:
    """Pass compiler warnings to `show`. Other warnings are handled as usual."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", CompileWarning)
        usual = warnings.showwarning

        def showwarning(message: Warning | str, *others: Any, **options: Any) -> None:
            if isinstance(message, CompileWarning):
                show(message.diagnostic)
            else:
                usual(message, *others, **options)

        warnings.showwarning = showwarning
        yield


@contextmanager
def _plain_warnings(tool: str) -> Generator[None]:
    """Print warnings as the tools print errors, without the place in Python where they arise."""
    with warnings.catch_warnings():

        def showwarning(message: Warning | str, *others: Any, **options: Any) -> None:
            print_diagnostic(Diagnostic(str(message), tool, severity="warning"))

        warnings.showwarning = showwarning
        yield


def run_tool(tool: str, main: Callable[[], None], *, debug: bool) -> int:
    """Run the body of a command-line tool and return its exit code: 0, 1, `status` of a `ToolError`, or 130 after an
    interrupt.

    Errors are printed to stderr in one format; `debug` lets them propagate, so that Python prints its traceback.
    """
    try:
        with nullcontext() if debug else _plain_warnings(tool):
            main()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader closed the pipe. Python would report it again when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    except SystemExit as e:
        # argparse exits with 2 after a wrong option; these tools exit with 1 for any error.
        return 0 if not e.code else 1
    # ArgSpecParseError does not derive from Exception.
    except (Exception, ArgSpecParseError) as e:
        if debug:
            raise
        print_diagnostic(_explained(tool, e))
        return e.status if isinstance(e, ToolError) else 1
    return 0


def print_diagnostic(diagnostic: Diagnostic | CompileError) -> None:
    """Print an error, a warning or a note on stderr, in color on terminals."""
    from relex.tools.shell.colors import style_for  # Most runs print none.

    print(diagnostic.text(style_for(sys.stderr)), file=sys.stderr)


def _explained(tool: str, error: BaseException) -> Diagnostic | CompileError:
    crash = _crash_of(error)
    where = () if crash is None else (str(crash),)
    match error:
        case CompileError():
            return error
        case RelexError() | ArgSpecParseError() | OSError():
            return Diagnostic(str(error).rstrip(), tool, notes=where)
        case _:
            return Diagnostic(describe(error), tool, severity="internal error", notes=(*where, DEBUG_HINT))
