"""Prints modules on a terminal."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from io import StringIO
from typing import TextIO, cast

from xdsl.ir import Operation

from relex.dialects.errors import DTypeError, expect_kind, kind_of
from relex.dialects.upstream.printer import ElidingPrinter
from relex.tools.arguments import DEFAULT_ELIDE

_COLORS = {
    "string": "32",
    "value": "35",
    "symbol": "33",
    "type": "36",
    "op": "34",
}
"""ANSI color codes of the kinds of tokens."""

_WORDS = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*")|(?P<value>%[\w$.-]+)|(?P<symbol>@[\w$.-]+)'
    r"|(?P<type>\b(?:tensor|memref|vector)<[^<>]*>|\b(?:index|b?f\d+|i\d+)\b)|(?P<op>\b[a-z_]+\.[a-z_][\w.]*)"
)


def show(op: Operation, *, file: TextIO | None = None, color: bool | None = None, elide: int = DEFAULT_ELIDE) -> None:
    """Print a module or a part of it as MLIR text, for reading: long constants are left out.

    Terminal output is colored, unless the environment variable NO_COLOR is set; `color` overrides this.
    """
    _expect_op(op)
    out = file or sys.stdout
    stream = StringIO()
    ElidingPrinter(stream=stream, limit=elide).print_op(op)
    is_colored = out.isatty() and not os.environ.get("NO_COLOR") if color is None else color
    text = stream.getvalue()
    print(_WORDS.sub(_colored, text) if is_colored else text, file=out)


def _expect_op(op: object) -> None:
    expected = "a module or a part of it"
    if isinstance(op, Mapping):
        found = kind_of(cast(object, op))
        raise DTypeError(f"expected {expected}, found {found}: show the module that it was built from")
    expect_kind(op, Operation, expected)


def _colored(word: re.Match[str]) -> str:
    return f"\x1b[{_COLORS[word.lastgroup or 'op']}m{word[0]}\x1b[0m"
