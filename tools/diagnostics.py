"""How the command-line tools report mistakes: on stderr, with a place in the source, and without Python tracebacks."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ShrinkException

from relex.dialects.errors import (
    DEBUG_HINT,
    CompileError,
    CompileWarning,
    Diagnostic,
    InternalError,
    RelexError,
    add_source,
    describe,
)


class ToolError(RelexError):
    """A call of a tool that cannot be followed: a file that is not there, a pass that does not exist."""


@dataclass(frozen=True)
class Source:
    """Program text and where it comes from. `line_offset` is the number of lines that stand before it in its file."""

    name: str
    text: str
    line_offset: int = 0

    def show(self, diagnostic: Diagnostic) -> Diagnostic:
        """The diagnostic with its source line, if it points into this text; one without a place gets the file."""
        if not diagnostic.line:
            return replace(diagnostic, file=self.name)
        return add_source(diagnostic, self.text, self.line_offset) if diagnostic.file == self.name else diagnostic


def read_text(path: str | None) -> tuple[str, str]:
    """The name for messages and the text of a file; None and "-" stand for standard input."""
    name = "<stdin>" if path is None or path == "-" else path
    try:
        data = sys.stdin.buffer.read() if name == "<stdin>" else Path(name).read_bytes()
    except OSError as e:
        raise ToolError(f"cannot read '{name}': {e.strerror}") from e
    try:
        return name, data.decode()
    except UnicodeDecodeError as e:
        raise ToolError(f"cannot read '{name}': expected UTF-8 text, found byte 0x{data[e.start]:02x}") from e


def write_bytes(path: str, data: bytes) -> None:
    """Write a file. Raises `ToolError` when that is not possible."""
    try:
        Path(path).write_bytes(data)
    except OSError as e:
        raise ToolError(f"cannot write '{path}': {e.strerror}") from e


def make_folder(path: Path) -> None:
    """Make a folder and those around it, unless it is there. Raises `ToolError` when that is not possible."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise ToolError(f"cannot make folder '{path}': {e.strerror}") from e


@contextmanager
def stage(name: str, source: Source) -> Generator[None]:
    """Make a `CompileError` of everything that a stage of the compilation raises.

    Errors with a place pass through. xDSL's own say only what is wrong, so the name of the stage is added; their notes
    (the whole module as text) are left out.
    """
    try:
        yield
    except (CompileError, ShrinkException):
        raise
    except (DiagnosticException, RelexError) as e:
        raise CompileError(Diagnostic(f"{name} failed: {e}", source.name)) from e
    except RecursionError as e:
        raise CompileError(Diagnostic(f"{name} failed: expected a program that nests less deeply", source.name)) from e
    except Exception as e:
        raise InternalError(Diagnostic(f"internal error in {name}: {describe(e)}", source.name)) from e


@contextmanager
def compile_warnings(show: Callable[[Diagnostic], None]) -> Generator[None]:
    """Give what passes warn of to `show`. Other warnings go their usual way."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", CompileWarning)
        usual = warnings.showwarning

        def showwarning(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if isinstance(message, CompileWarning):
                show(message.diagnostic)
            else:
                usual(message, category, filename, lineno, file, line)

        warnings.showwarning = showwarning
        yield


def run_tool(tool: str, main: Callable[[], None], *, debug: bool) -> int:
    """Run the body of a command-line tool and return its exit code, 0 or 1.

    Errors are printed to stderr in one form; `debug` lets them pass, so that Python prints its traceback.
    """
    try:
        main()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough. Python would complain once more when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    except SystemExit as e:
        # argparse ends with 2 after a wrong option; a wrong program and a wrong call look the same to scripts here.
        return 0 if not e.code else 1
    # ArgSpecParseError is no Exception.
    except (Exception, ArgSpecParseError) as e:
        if debug:
            raise
        print(_explain(tool, e), file=sys.stderr)
        return 1
    return 0


def _explain(tool: str, error: BaseException) -> str:
    match error:
        case CompileError():
            return str(error)
        case RelexError() | ArgSpecParseError() | OSError():
            return f"{tool}: error: {error}".rstrip()
        case _:
            return f"{tool}: internal error: {describe(error)}\n{DEBUG_HINT}"
