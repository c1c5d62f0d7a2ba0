"""Messages and positions of syntax errors."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.utils.exceptions import MultipleSpansParseError, ParseError
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from relex.dialects.errors import tidy
from relex.dialects.readers import READERS
from relex.dialects.upstream.lexer import Lexer

AnySpan = Span[str] | Span[bytes]

_EXPECTED_OPERATION = "expected an operation"
_REWORDED = {
    " in block definition": f"{_EXPECTED_OPERATION}, a block or '}}'",
    "Expected an operand.": "expected an operand",
    "attribute expected": "expected an attribute",
    "expect symbol name": "expected a symbol name",
    "operand expected": "expected an operand",
    "successor expected": "expected a block",
    "block-id expected": "expected a block",
    "type expected": "expected a type",
    "Expected suffix identifier after {first_char}": "expected a name after the sign",
    "function type signature expected": "expected ':' and a function type",
}
"""Replacements of messages of xDSL that are hard to understand where they appear."""

_MAX_FOUND = 40

_PYTHON = re.compile(r"^(@\w[\w.]*(\(.*\))?|(from|import) [\w.]+.*|(class|def) \w+.*:)\s*$", re.MULTILINE)
"""Lines that occur in Python scripts but not in MLIR text."""


class UndefinedNames(ParseError):
    """Names that are used but never defined, each at its first use."""

    def __init__(self, kind: str, uses: Sequence[Span]):
        super().__init__(uses[0], f"{kind} {uses[0].text} is not defined")
        self.parts = [ParseError(use, f"{kind} {use.text} is not defined") for use in uses]


def explain(error: ParseError, next_token: AnySpan | None) -> list[ParseError]:
    """Return one error for each position that is wrong. `next_token` is the token that the parser would have read
    next."""
    match error:
        case UndefinedNames():
            return error.parts
        case MultipleSpansParseError(ref_text="dangling block references:", refs=refs):
            # xDSL points at the end of the region.
            return [ParseError(use, f"block {use.text} is not defined") for use, _ in refs]
        case _:
            message = tidy(_REWORDED.get(error.msg, error.msg))
    if next_token is None or error.span != next_token:
        return [ParseError(error.span, message)]
    if not message.startswith("expected "):
        # Detected after the token that is wrong.
        return [ParseError(_token_before(next_token) or next_token, message)]
    if not re.search(r"\b(found|got|but|given)\b", message):
        message = f"{message}, found {_found(next_token)}"
    return [ParseError(_place_of_missing(next_token, message), message)]


def python_notes(text: str) -> tuple[str, ...]:
    """Return notes on text that does not parse, if it is Python."""
    if not _PYTHON.search(text):
        return ()
    reader = READERS["py"].replace(":", ".")
    return (f"this looks like Python: scripts are read from files named *.py, or by {reader}",)


def _found(span: AnySpan) -> str:
    if _is_end(span):
        return "the end of the text"
    line = span.text.split("\n")[0]
    return f"'{line}'" if len(line) <= _MAX_FOUND else f"'{line[:_MAX_FOUND]}...'"


def _place_of_missing(span: AnySpan, message: str) -> AnySpan:
    """Return the position where something is missing: the end of a line rather than the token that begins the next
    one."""
    before = _token_before(span)
    if before is None or before.get_location().line == span.get_location().line:
        return span
    if message.startswith(_EXPECTED_OPERATION) and not _is_end(span):
        return span
    return Span(before.end, before.end, before.input)


def _token_before(span: AnySpan) -> Span[str] | None:
    """Return the token that ends before `span`."""
    content = span.input.content
    if isinstance(content, bytes):
        return None
    lexer = Lexer(Input(content, span.input.name))
    before: Span[str] | None = None
    try:
        while (token := lexer.lex()).kind is not MLIRTokenKind.EOF and token.span.start < span.start:
            before = token.span
    except ParseError:
        # The parser splits some tokens, such as tokens of shapes, in its own way.
        return None
    return before


def _is_end(span: AnySpan) -> bool:
    return span.start >= len(span.input)
