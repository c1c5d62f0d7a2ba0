"""Pieces of HTML for notebooks: each brings its own style, and needs nothing else."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files


def fragment(*parts: str) -> str:
    """Return HTML that can be put anywhere in a page."""
    return f'<div class="relex"><style>{_style()}</style>{"".join(parts)}</div>'


@cache
def _style() -> str:
    """Return the colors of reports, and what is special in notebooks, for what is in a fragment alone."""
    page = files("relex.tools.reports") / "page"
    colors = (page / "colors.css").read_text().replace(":root", ".relex")
    return f"{colors}{(page / 'notebook.css').read_text()}"


def title(kind: str, about: str = "") -> str:
    """Return a heading: what is shown, and more about it."""
    return f"<header><b>{html.escape(kind)}</b> <span class='dim'>{html.escape(about)}</span></header>"


def folded(summary: str, *parts: str, about: str = "", is_open: bool = True) -> str:
    """Return a part that can be opened and closed. The summary is text."""
    shown = " open" if is_open else ""
    dim = f" <span class='dim'>{html.escape(about)}</span>" if about else ""
    return f"<details{shown}><summary>{html.escape(summary)}{dim}</summary>{''.join(parts)}</details>"


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table. The titles are text, cells are HTML."""
    head = "".join(f"<th>{html.escape(text)}</th>" for text in titles)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def bar(share: float, kind: str = "") -> str:
    """Return a bar whose length is a share of the width there is."""
    return f'<div class="meter {kind}" style="width: {min(max(share, 0.0), 1.0):.1%}"></div>'


def count(number: int, what: str) -> str:
    """Format a number of things: `1 function`, `2 functions`."""
    return f"{number} {what}{'' if number == 1 else 's'}"
