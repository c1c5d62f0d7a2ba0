"""Programs for reading, MLIR text and scripts: the tokens that have a color, and the colors, on terminals and in
HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from xdsl.ir import Operation

from relex.dialects.upstream.printer import ElidingPrinter, printed
from relex.tools.options.arguments import DEFAULT_ELIDE
from relex.tools.shell.colors import colored

WORDS = (
    r'(?P<string>"(?:[^"\\]|\\.)*")|(?P<value>%[\w$.-]+)|(?P<symbol>@[\w$.-]+)'
    r"|(?P<type>\b(?:tensor|memref|vector)<[^<>]*>|\b(?:index|b?f\d+|i\d+)\b|!llvm\.[\w.]+)"
    r"|(?P<op>\b[a-z_]+\.[a-z_][\w.]*)"
)
"""The tokens of MLIR text by kind, as Python writes expressions; the classes of HTML have the same names."""

_CODES = {"string": "32", "value": "35", "symbol": "33", "type": "36", "op": "34"}
"""ANSI color codes of the kinds."""

MLIR = re.compile(WORDS)
SCRIPT = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*"|#.*)|(?P<symbol>@[\w.]+|(?<=def )\w+|(?<=class )\w+)|(?P<type>\b[IRT]\.[\w.]+)'
    r"|(?P<op>\b(?:class|def|for|from|if|else|import|in|pass|return|while|with|as)\b)"
)
"""The tokens of a language."""


def text_of(op: Operation, elide: int = DEFAULT_ELIDE) -> str:
    """Return an op as MLIR text. Constants of more than `elide` elements are left out."""
    return printed(op, ElidingPrinter, limit=elide)


def for_terminal(text: str, language: re.Pattern[str] = MLIR) -> str:
    """Return a program with ANSI codes."""
    return _marked(text, language, lambda kind, word: colored(word, _CODES[kind]), lambda other: other)


def for_html(text: str, language: re.Pattern[str] = MLIR) -> str:
    """Return a program as HTML, with a `span` for each token."""
    return _marked(text, language, lambda kind, word: f'<span class="{kind}">{html.escape(word)}</span>', html.escape)


def _marked(text: str, language: re.Pattern[str], mark: Callable[[str, str], str], plain: Callable[[str], str]) -> str:
    parts: list[str] = []
    end = 0
    for word in language.finditer(text):
        parts += [plain(text[end : word.start()]), mark(word.lastgroup or "op", word[0])]
        end = word.end()
    return "".join([*parts, plain(text[end:])])
