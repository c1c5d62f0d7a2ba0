"""Prints modules on a terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from io import StringIO
from itertools import islice
from typing import TextIO, cast

from xdsl.ir import Operation

from relex.dialects.errors import DTypeError, expect_kind, kind_of
from relex.dialects.upstream.printer import ElidingPrinter
from relex.tools.arguments import DEFAULT_ELIDE
from relex.tools.colors import colored, is_colored

_COLORS = {
    "string": "32",
    "value": "35",
    "symbol": "33",
    "type": "36",
    "op": "34",
}
"""ANSI color codes of the kinds of tokens."""

_SIGNS = {"-": "31", "+": "32"}
"""ANSI color codes of the lines of a diff."""

_WORDS = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*")|(?P<value>%[\w$.-]+)|(?P<symbol>@[\w$.-]+)'
    r"|(?P<type>\b(?:tensor|memref|vector)<[^<>]*>|\b(?:index|b?f\d+|i\d+)\b)|(?P<op>\b[a-z_]+\.[a-z_][\w.]*)"
)


def show(
    op: Operation,
    *,
    since: Operation | None = None,
    file: TextIO | None = None,
    color: bool | None = None,
    elide: int = DEFAULT_ELIDE,
) -> None:
    """Print a module or a part of it as MLIR text, for reading: long constants are left out. With `since`, print only
    what is different from an earlier module, as a diff.

    Terminal output is colored, unless the environment variable NO_COLOR is set; FORCE_COLOR colors any output. `color`
    overrides both.
    """
    _expect_op(op)
    out = file or sys.stdout
    text = _text(op, elide)
    with_colors = is_colored(out) if color is None else color
    if since is not None:
        _expect_op(since)
        lines = _difference(_text(since, elide), text)
        text = "\n".join(map(_colored_change, lines) if with_colors else lines)
    elif with_colors:
        text = _WORDS.sub(_colored, text)
    print(text, file=out)


def _text(op: Operation, elide: int) -> str:
    stream = StringIO()
    ElidingPrinter(stream=stream, limit=elide).print_op(op)
    return stream.getvalue()


def _difference(before: str, after: str) -> Iterator[str]:
    """Yield the lines that are different, each with its sign, and those around them."""
    lines = unified_diff(before.splitlines(), after.splitlines(), n=1, lineterm="")
    for line in islice(lines, 3, None):
        yield "..." if line.startswith("@@") else line


def _expect_op(op: object) -> None:
    expected = "a module or a part of it"
    if isinstance(op, Mapping):
        found = kind_of(cast(object, op))
        raise DTypeError(f"expected {expected}, found {found}: show the module that it was built from")
    expect_kind(op, Operation, expected)


def _colored_change(line: str) -> str:
    return colored(line, _SIGNS[line[0]]) if line[0] in _SIGNS else line


def _colored(word: re.Match[str]) -> str:
    return colored(word[0], _COLORS[word.lastgroup or "op"])
