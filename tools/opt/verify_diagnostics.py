"""`--verify-diagnostics`: checks the errors of a program against those its comments expect, as in MLIR.

```mlir
%0 = arith.addi %a, %b : i32 // expected-error {{value %a is not defined}}
// expected-error@+1 {{an error in the next line}}
// expected-error@below {{the same}}
// expected-error-re@above {{found {{[0-9]+}} results}}
// expected-error@unknown {{an error without a place}}
// expected-error@-4:8 {{an error in column 8; MLIR cannot say this}}
// expected-warning {{a warning}}
```

The error message must contain the text between the braces. With `-re`, text in inner braces is a regular expression.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from relex.dialects.errors import CompileError, Diagnostic
from relex.tools.shell.diagnostics import Source

_START = re.compile(r"expected-(?P<kind>error|warning|note|remark)(?P<regex>-re)?\s*(?P<at>@[^\s{]*)?\s*\{\{")
_TEXT = re.compile(r"(?P<text>(?:\{\{.*?\}\}|.)*?)\}\}(?!\})")
_AT = re.compile(r"@(?P<offset>[+-]\d+|above|below|unknown)?(:(?P<column>\d+))?")


@dataclass(frozen=True)
class Expectation:
    """One diagnostic that a comment expects."""

    comment: Diagnostic
    """The error to report if the diagnostic is not produced, at the location of the comment."""
    text: str
    """Text that the message contains, as written."""
    pattern: re.Pattern[str]
    kind: str
    line: int | None
    """The line of the expected diagnostic; None for one without a location."""
    column: int | None

    def is_met_by(self, diagnostic: Diagnostic, file: str) -> bool:
        """Return whether `diagnostic` is the one expected in `file`."""
        if self.kind != diagnostic.severity:
            return False
        is_here = diagnostic.line == self.line and diagnostic.file == file if self.line else not diagnostic.line
        if self.column not in (None, diagnostic.column):
            return False
        return is_here and self.pattern.search(diagnostic.message) is not None


def find_expectations(source: Source) -> list[Expectation]:
    """Return all expectations of a text. Raises `CompileError` if some cannot be parsed."""
    lines = source.text.split("\n")
    is_comment = [_START.search(line) is not None for line in lines]
    found: list[Expectation] = []
    wrong: list[Diagnostic] = []
    for i, line in enumerate(lines):
        for start in _START.finditer(line):
            comment = Diagnostic("", source.name, source.line_offset + i + 1, start.start() + 1, line)
            try:
                target, column = _target(start["at"] or "@", i, is_comment)
                pattern, text = _pattern(line, start)
            except ValueError as e:
                wrong.append(replace(comment, message=str(e)))
                continue
            comment = replace(comment, message=f'expected {start["kind"]} "{text}" was not produced')
            at = None if target is None else source.line_offset + target + 1
            found.append(Expectation(comment, text, pattern, start["kind"], at, column))
    if wrong:
        raise CompileError(wrong)
    return found


def _target(at: str, line: int, is_comment: Sequence[bool]) -> tuple[int | None, int | None]:
    """Return the index of the line that an expectation in `line` refers to, and the column. Raises `ValueError`."""
    match = _AT.fullmatch(at)
    if match is None:
        raise ValueError(f"expected @+N, @-N, @above, @below or @unknown, found '{at}'")
    column = int(match["column"]) if match["column"] else None
    match match["offset"]:
        case None:
            return line, column
        case "unknown":
            return None, column
        case "above" | "below" as side:
            # Adjacent comment lines all refer to the program line before or after them.
            step = -1 if side == "above" else 1
            line += step
            while 0 <= line < len(is_comment) and is_comment[line]:
                line += step
            return line, column
        case offset:
            return line + int(offset), column


def _pattern(line: str, start: re.Match[str]) -> tuple[re.Pattern[str], str]:
    """Return a pattern for the message, and its text as written. Raises `ValueError`."""
    body = _TEXT.match(line, start.end())
    if body is None:
        raise ValueError("expected '}}' at the end of the message")
    if not start["regex"]:
        return re.compile(re.escape(body["text"])), body["text"]
    parts = re.split(r"\{\{(.*?)\}\}", body["text"])
    expression = "".join(f"(?:{part})" if i % 2 else re.escape(part) for i, part in enumerate(parts))
    try:
        return re.compile(expression), body["text"]
    except re.error as e:
        raise ValueError(f"expected a regular expression: {e}") from e


def compare(source: Source, diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return a diagnostic for each difference between the diagnostics of a program and its expectations."""
    open_expectations = find_expectations(source)
    unexpected: list[Diagnostic] = []
    for diagnostic in diagnostics:
        met = next((e for e in open_expectations if e.is_met_by(diagnostic, source.name)), None)
        if met is None:
            unexpected.append(
                replace(diagnostic, message=f"unexpected {diagnostic.severity}: {diagnostic.message}", severity="error")
            )
        else:
            open_expectations.remove(met)
    return [*unexpected, *(e.comment for e in open_expectations)]
