"""Prints modules on terminals and in notebooks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from difflib import unified_diff
from functools import partial
from itertools import islice
from typing import Any, TextIO, cast

from xdsl.ir import Operation

from relex.dialects.errors import DTypeError, expect_kind, kind_of
from relex.extras import find_part
from relex.tools.options.arguments import DEFAULT_ELIDE
from relex.tools.shell.colors import colored, is_colored
from relex.tools.shell.highlighting import SCRIPT, for_terminal, text_of

_SIGNS = {"-": "31", "+": "32"}
"""ANSI color codes of the lines of a diff."""


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

    Output on terminals and in notebooks is colored, unless the environment variable NO_COLOR is set; FORCE_COLOR colors
    any output. `color` overrides both.
    """
    _expect_op(op)
    text = text_of(op, elide)
    if since is None:
        _print(text, file, color, for_terminal, "html-of-text")
    else:
        _expect_op(since)
        _print("\n".join(_difference(text_of(since, elide), text)), file, color, _colored_change, "html-of-change")


def show_script(text: str) -> None:
    """Print a script, as `show` prints a module."""
    _print(text, None, None, partial(for_terminal, language=SCRIPT), "html-of-text", language=SCRIPT)


def _print(
    text: str,
    file: TextIO | None,
    color: bool | None,
    for_terminal: Callable[[str], str],
    for_notebook: str,
    **options: Any,
) -> None:
    """Print a text. `for_notebook` names the part of an extra that makes HTML of it, with these options."""
    if file is None and color is None and (display := find_part("notebook-display")()) is not None:
        display(text, find_part(for_notebook)(text, **options))
        return
    out = file or sys.stdout
    print(for_terminal(text) if (is_colored(out) if color is None else color) else text, file=out)


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


def _colored_change(text: str) -> str:
    lines = text.split("\n")
    return "\n".join(colored(line, _SIGNS[line[0]]) if line[:1] in _SIGNS else line for line in lines)
