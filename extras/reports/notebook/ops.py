"""Modules, functions and schedules in notebooks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from relex.dialects.symbols import symbol_of
from relex.tools.notebook.fragment import count, folded, fragment, title
from relex.tools.shell.highlighting import MLIR, for_html, text_of

if TYPE_CHECKING:
    from relex.passes.schedule.schedule import Schedule

MOST_LINES = 1000
"""Longer functions are cut: notebooks keep what they show."""

LINES_TO_OPEN = 100
"""Of a longer module only the first function is open."""

_SIGNS = {"-": "removed", "+": "added"}
"""Classes of the lines of a diff."""


def html_of_op(op: Operation) -> str:
    """Return a module, each of its functions by itself, or any other op."""
    if not isinstance(op, ModuleOp):
        return fragment(_code(text_of(op)))
    attributes = ", ".join(f"{name} = {value}" for name, value in op.attributes.items())
    head = title("module", count(len(op.ops), "function"))
    return fragment(head, _code(attributes) if attributes else "", *_functions(op))


def _functions(module: ModuleOp, suffix: str = "") -> Iterator[str]:
    texts = [(symbol_of(op) or op.name, text_of(op)) for op in module.ops]
    lines = [text.count("\n") + 1 for _, text in texts]
    for number, (name, text) in enumerate(texts):
        is_open = sum(lines) <= LINES_TO_OPEN or number == 0
        yield folded(name, _code(text), about=f"{count(lines[number], 'line')}{suffix}", is_open=is_open)


def html_of_text(text: str, language: re.Pattern[str] = MLIR) -> str:
    """Return a program, as it is."""
    return fragment(f"<pre>{for_html(text, language)}</pre>")


def html_of_change(text: str) -> str:
    """Return a diff of MLIR texts: each line begins with a sign."""
    lines = (f'<div class="{_SIGNS.get(line[:1], "")}">{for_html(line)}</div>' for line in text.split("\n"))
    return fragment(f"<pre>{''.join(lines)}</pre>")


def html_of_schedule(schedule: Schedule) -> str:
    """Return the steps so far, and what the functions have become."""
    steps = "\n".join(map(text_of, schedule.trace().ops))
    shown = _code(steps) if steps else "<p class='dim'>no steps so far</p>"
    return fragment(title("schedule"), shown, *_functions(schedule.module, ", as they are now"))


def _code(text: str) -> str:
    lines = text.split("\n")
    more = f"\n... {count(len(lines) - MOST_LINES, 'more line')}" if len(lines) > MOST_LINES else ""
    return f"<pre>{for_html(chr(10).join(lines[:MOST_LINES]))}{more}</pre>"
