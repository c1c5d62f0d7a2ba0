"""Text to module: the one parser of relex.

It differs from xDSL's in three ways. Every op gets the place where it was parsed; errors are `CompileError`s; and a
hexadecimal number in a dense list of floats (`dense<[0x7FC00000]>`) is read as bits, as MLIR reads it.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from relex.dialects.context import make_context
from relex.dialects.errors import CompileError, Diagnostic, diagnose


class RelexParser(Parser):
    """xDSL's parser, recording where each op stands."""

    def __init__(self, ctx: Context, text: str, name: str = "<string>", line_offset: int = 0):
        super().__init__(ctx, text, name)
        self._file = StringAttr(name)
        self._line_offset = line_offset
        self._line_starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]

    def parse_operation(self) -> Operation:
        start = self._current_token.span.start
        op = super().parse_operation()
        if isinstance(op.location, UnknownLoc):
            line = bisect_right(self._line_starts, start)
            column = start - self._line_starts[line - 1] + 1
            op.location = FileLineColLoc(self._file, IntAttr(line + self._line_offset), IntAttr(column))
        return op


def parse_module(
    text: str, name: str = "<string>", *, context: Context | None = None, verify: bool = True, line_offset: int = 0
) -> ModuleOp:
    """Parse MLIR text into a verified module.

    `name` is the file name for locations and errors, `line_offset` is added to every line number.
    Raises `CompileError` when the text does not parse or the module does not verify.
    """
    parser = RelexParser(context or make_context(), text, name, line_offset)
    try:
        module = parser.parse_module()
    except ParseError as e:
        place = e.span.get_location()
        raise CompileError(
            add_source(Diagnostic(e.msg, name, place.line + line_offset, place.col), text, line_offset)
        ) from e
    if verify:
        verify_module(module, text, line_offset)
    return module


def verify_module(module: ModuleOp, text: str | None = None, line_offset: int = 0) -> None:
    """Verify every op of a module; raises one `CompileError` with a diagnostic for each op that is wrong.

    `text` is the source that the module was parsed from; with it, errors show the line.
    """
    diagnostics: list[Diagnostic] = []
    for op in module.walk():
        try:
            op.verify(verify_nested_ops=False)
        except VerifyException as e:
            found = diagnose(op, str(e).removeprefix("Operation does not verify: "))
            diagnostics.append(add_source(found, text, line_offset) if text is not None else found)
    if diagnostics:
        raise CompileError(diagnostics)


def add_source(diagnostic: Diagnostic, text: str, line_offset: int = 0) -> Diagnostic:
    """The same diagnostic with its source line, taken from the text that the module was parsed from."""
    lines = text.split("\n")
    index = diagnostic.line - line_offset - 1
    if diagnostic.source_line is not None or not 0 <= index < len(lines):
        return diagnostic
    return Diagnostic(
        diagnostic.message, diagnostic.file, diagnostic.line, diagnostic.column, lines[index].removesuffix("\r")
    )
