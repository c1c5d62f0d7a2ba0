"""Text to module: the one parser of relex.

It differs from xDSL's in three ways. Every op gets the place where it was parsed; errors are `CompileError`s; and a
hexadecimal number in a dense list of floats (`dense<[0x7FC00000]>`) is read as bits, as MLIR reads it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    ComplexType,
    FileLineColLoc,
    IndexType,
    IntAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Operation, SSAValue
from xdsl.parser import AttrParser, Parser
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span

from relex.dialects.context import make_context
from relex.dialects.errors import CompileError, Diagnostic, WrongOp, diagnose
from relex.dialects.functions import NAME_ATTR, argument_attr, set_argument_attr


class RelexParser(Parser):
    """xDSL's parser, recording where each op stands."""

    def __init__(self, ctx: Context, text: str, name: str = "<string>", line_offset: int = 0):
        super().__init__(ctx, text, name)
        self._file = StringAttr(name)
        self._line_offset = line_offset
        self._line_starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
        self._full_names: dict[SSAValue, str] = {}
        self._op_places: list[tuple[int, int]] = []

    @property
    def line_and_column(self) -> tuple[int, int]:
        """Where the next token stands, both counted from 1."""
        start = self._current_token.span.start
        line = bisect_right(self._line_starts, start)
        return line + self._line_offset, start - self._line_starts[line - 1] + 1

    def parse_operation(self) -> Operation:
        op = super().parse_operation()
        line, column = self._op_places.pop()
        if isinstance(op.location, UnknownLoc):
            op.location = FileLineColLoc(self._file, IntAttr(line), IntAttr(column))
        self._keep_argument_names(op)
        return op

    def _parse_op_result_list(self) -> list[tuple[Span, int]]:
        results = super()._parse_op_result_list()
        # As in MLIR, an op stands where its name does.
        self._op_places.append(self.line_and_column)
        return results

    def _get_op_by_name(self, name: str) -> type[Operation]:
        try:
            return super()._get_op_by_name(name)
        except ParseError as e:
            # xDSL points behind the name.
            start = self._parser_state.lexer.input.content.rfind(name, 0, self._current_token.span.start)
            self.raise_error(e.msg, start, start + len(name))

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        super()._register_ssa_definition(name, values, span)
        if values and values[0].name_hint != name and not name.isdigit():
            self._full_names[values[0]] = name

    def _keep_argument_names(self, op: Operation) -> None:
        """Note argument names that a name hint cannot hold: xDSL cuts `%w_1` to `w`."""
        if op.has_trait(SymbolOpInterface) and op.regions and op.regions[0].blocks:
            for i, arg in enumerate(op.regions[0].blocks[0].args):
                if (full_name := self._full_names.get(arg)) is not None and argument_attr(op, i, NAME_ATTR) is None:
                    set_argument_attr(op, i, NAME_ATTR, StringAttr(full_name))

    def _parse_tensor_literal_element(self) -> AttrParser._TensorLiteralElement:
        hexadecimal = self._current_token.text[:2].lower() == "0x"
        element = super()._parse_tensor_literal_element()
        return _Bits(element.is_negative, element.value, element.span) if hexadecimal else element


class _Bits(AttrParser._TensorLiteralElement):
    """A hexadecimal number in a dense list: of a float it gives the bits."""

    def to_type(self, parser: AttrParser, type: AnyFloat | IntegerType | IndexType | ComplexType) -> Any:
        if not isinstance(type, AnyFloat):
            return super().to_type(parser, type)
        try:
            return type.unpack(self.to_int(parser).to_bytes(type.compile_time_size, "little"), 1)[0]
        except OverflowError:
            parser.raise_error(f"expected at most {8 * type.compile_time_size} bits", self.span)


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
        message, line, column = e.msg, place.line, place.col
        raise CompileError(add_source(Diagnostic(message, name, line + line_offset, column), text, line_offset)) from e
    except Exception as e:
        # Some of xDSL's parsing functions build attributes and ops that refuse their parameters.
        message = str(e) or type(e).__name__
        line, column = parser.line_and_column
        raise CompileError(add_source(Diagnostic(message, name, line, column), text, line_offset)) from e
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
        except Exception as e:
            # A VerifyException, or what a few of xDSL's verifiers raise instead.
            culprit = e.op if isinstance(e, WrongOp) else op
            found = diagnose(culprit, str(e).removeprefix("Operation does not verify: ") or type(e).__name__)
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
