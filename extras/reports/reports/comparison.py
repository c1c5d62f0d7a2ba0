"""Two reports on one page: what differs, and both side by side."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from relex.dialects.errors import RelexError
from relex.runtime.profile import duration

_DATA = re.compile(r'<script id="data"[^>]*>([^<]*)</script>')

Row = tuple[str, str, str]
"""What is compared, and how it is in either report."""


def read_page(path: Path) -> str:
    """Return the text of a saved report. Raises `RelexError` for any other file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RelexError(f"cannot read {path}: {getattr(error, 'strerror', None) or 'not UTF-8'}") from error
    _data_in(text, path)
    return text


def make_comparison(before: str, after: str) -> str:
    """Return a page with two pages of reports and a table of what differs."""
    parts = files("relex.tools.reports") / "page"
    rows = [row for row in _rows(_data_in(before), _data_in(after)) if row[1] != row[2]]
    values = {
        "COLORS": (parts / "colors.css").read_text(),
        "ROWS": "\n".join(map(_row, rows)) or '<tr><td colspan="3">no difference</td></tr>',
        "BEFORE": html.escape(before),
        "AFTER": html.escape(after),
    }
    page = (parts / "comparison.html").read_text()
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], page)


def _data_in(page: str, path: Path | None = None) -> dict[str, Any]:
    found = _DATA.search(page)
    try:
        return json.loads(gzip.decompress(base64.b64decode(found[1] if found is not None else "")))
    except (ValueError, OSError, EOFError) as error:
        raise RelexError(f"{path}: expected a report that --html or save() has written") from error


def _row(row: Row) -> str:
    return "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>"


def _rows(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Row]:
    yield from _pairs(_headline(before), _headline(after))
    yield "passes", _passes_without(before, after), _passes_without(after, before)
    yield from _pairs(_kernels(before), _kernels(after))
    yield from _pairs(_code(before), _code(after))


def _headline(data: Mapping[str, Any]) -> Mapping[str, str]:
    counts: list[dict[str, str]] = data["overview"]["counts"]
    return {
        "program": data["name"],
        "target": data["target"],
        "a run": "not measured" if data["profile"] is None else duration(data["profile"]["seconds"]),
        **{count["before"].split()[1]: count["after"] for count in counts},
        "passes take": duration(sum(step["seconds"] for step in data["steps"])),
    }


def _pairs(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Row]:
    for name in dict.fromkeys([*before, *after]):
        yield name, before.get(name, "none"), after.get(name, "none")


def _passes_without(data: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Return the passes of one report that the other has not."""
    names = {step["name"] for step in other["steps"]}
    own = dict.fromkeys(step["name"] for step in data["steps"] if step["name"] not in names)
    return ", ".join(own) or "no others"


def _kernels(data: Mapping[str, Any]) -> Mapping[str, str]:
    rows: list[dict[str, Any]] = [] if data["profile"] is None else data["profile"]["rows"]
    return {f"{row['function']}({', '.join(row['inputs'])})": duration(row["seconds"]) for row in rows}


def _code(data: Mapping[str, Any]) -> Mapping[str, str]:
    return {f"assembly of {name}": f"{len(text.splitlines())} lines" for name, text in data["assembly"].items()}
