"""Jupyter notebooks of pages whose Python is one program.

The blocks of Python become cells. The block after one of them is what it prints: it becomes the output of the cell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import PurePath
from typing import Any

from relex.tools.learn.markdown import LINK, is_external, prose
from relex.tools.notebook.ops import html_of_change, html_of_text

BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```$(?:\n\n^```(?P<kind>mlir|diff|text)\n(?P<printed>.*?)^```$)?", re.M | re.S
)
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def name_of(page: str) -> str:
    """Return the name of the notebook of a page."""
    return PurePath(page).with_suffix(".ipynb").name


def make_notebook(text: str, beside: Collection[str]) -> str:
    """Return the notebook of a page, as its file has it. `beside` are the names of pages whose notebooks lie
    beside it."""
    cells = list(_cells(_linked(text, beside)))
    numbered = [{**cell, "id": f"cell-{number}"} for number, cell in enumerate(cells)]
    made = {"nbformat": 4, "nbformat_minor": 5, "metadata": METADATA, "cells": numbered}
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def _cells(text: str) -> Iterator[dict[str, Any]]:
    end = 0
    for count, block in enumerate(BLOCK.finditer(text), 1):
        yield from _prose(text[end : block.start()])
        yield {
            "cell_type": "code",
            "metadata": {},
            "execution_count": count,
            "source": block["code"].rstrip("\n"),
            "outputs": [] if block["kind"] is None else [_output(block["kind"], block["printed"])],
        }
        end = block.end()
    yield from _prose(text[end:])


def _prose(text: str) -> Iterator[dict[str, Any]]:
    if text.strip():
        yield {"cell_type": "markdown", "metadata": {}, "source": text.strip("\n")}


def _output(kind: str, printed: str) -> dict[str, Any]:
    """Return what a cell prints, or shows by `relex.show`."""
    if kind == "text":
        return {"output_type": "stream", "name": "stdout", "text": printed}
    shown = printed.removesuffix("\n")
    html = html_of_change(shown) if kind == "diff" else html_of_text(shown)
    return {"output_type": "display_data", "metadata": {}, "data": {"text/plain": shown, "text/html": html}}


def _linked(text: str, beside: Collection[str]) -> str:
    """Return a page with links to other notebooks, which lie beside it, and no links to other pages, which do not."""
    parts: list[str] = []
    end = 0
    for link in LINK.finditer(prose(text)):
        shown = text[link.start() : link.end()]
        label, target = shown.removeprefix("[").partition("](")[0], PurePath(link[1].partition("#")[0])
        if target.name in beside:
            shown = f"[{label}]({name_of(target.name)})"
        elif not is_external(link[1]):
            shown = label
        parts += [text[end : link.start()], shown]
        end = link.end()
    return "".join([*parts, text[end:]])


@cache
def lessons() -> Mapping[str, str]:
    """Return the names of the lessons' pages, by number."""
    names = [file.name for file in files("relex.tools.learn.pages").iterdir() if file.name.endswith(".md")]
    return {name.partition("-")[0]: name for name in sorted(names)}


def notebook_of_lesson(number: str) -> tuple[str, str]:
    """Return the name of the notebook of a lesson, and its text."""
    name = lessons()[number]
    text = (files("relex.tools.learn.pages") / name).read_text(encoding="utf-8")
    return name_of(name), make_notebook(text, lessons().values())
