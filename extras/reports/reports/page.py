"""The page of a report: its data as JSON, compressed, and a script that shows it."""

from __future__ import annotations

import base64
import gzip
import html
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

from relex.tools.reports.changes import Change, changes
from relex.tools.reports.drawing import Drawing
from relex.tools.reports.listings import Listing
from relex.tools.reports.overview import overview_of
from relex.tools.shell.highlighting import WORDS
from relex.version import __version__

if TYPE_CHECKING:
    from relex.runtime.profile import KernelCalls, Profile
    from relex.tools.reports.compilation import CompilationReport
    from relex.tools.reports.recorder import PassStep

T = TypeVar("T")

SCRIPTS = ("report.js", "overview.js", "program.js", "pictures.js", "findings.js")
"""The scripts that show the page: its frame, and the tabs."""


def make_page(report: CompilationReport) -> str:
    """Return a page that needs nothing else."""
    parts = files("relex.tools.reports") / "page"
    compressed = gzip.compress(json.dumps(data_of(report), separators=(",", ":")).encode(), mtime=0)
    values = {
        "TITLE": html.escape(report.name),
        "COLORS": (parts / "colors.css").read_text(),
        "STYLE": (parts / "report.css").read_text(),
        "DATA": base64.b64encode(compressed).decode(),
        "SCRIPT": "\n".join((parts / name).read_text() for name in SCRIPTS),
        "WORDS": json.dumps(WORDS.replace("(?P<", "(?<")),
    }
    page = (parts / "report.html").read_text()
    for name, value in values.items():
        page = page.replace(f"{{{{{name}}}}}", value)
    return page


def data_of(report: CompilationReport) -> dict[str, Any]:
    """Return what the page shows, as values for JSON. Equal texts and pictures are there once, and others refer to
    them by number."""
    listings, drawings, places = _Numbers[Listing](), _Numbers[str](), _Numbers[str]()
    steps = list(_steps(report.steps, listings, drawings))
    lines = {name: [places.of(p) if p else -1 for p in found] for name, found in report.assembly_places.items()}
    return {
        "name": report.name,
        "version": __version__,
        "target": report.target,
        "steps": steps,
        "listings": [
            {"text": "\n".join(listing.lines), "places": [places.of(p) if p else -1 for p in listing.places]}
            for listing in listings.values
        ],
        "drawings": [json.loads(text) for text in drawings.values],
        "places": places.values,
        "sources": dict(report.sources),
        "plans": [asdict(arena) for arena in report.arenas],
        "assembly": dict(report.assembly),
        "lines": {name: lines.get(name, []) for name in report.assembly},
        "profile": None if report.profile is None else _profile(report.profile),
        "overview": asdict(overview_of(report)),
        "llvm": report.llvm_seconds,
    }


class _Numbers(dict[T, int]):
    """Different values, numbered in order."""

    def of(self, value: T) -> int:
        """Return the number of a value."""
        return self.setdefault(value, len(self))

    @property
    def values(self) -> list[T]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return list(self)


def _steps(steps: Sequence[PassStep], listings: _Numbers[Listing], drawings: _Numbers[str]) -> Iterator[dict[str, Any]]:
    before: Mapping[str, Listing] = {}
    for step in steps:
        functions = {name: listings.of(listing) for name, listing in step.functions.items()}
        yield {
            "name": step.name,
            "seconds": step.seconds,
            "functions": functions,
            "changes": _changes(before, step.functions) if step.name != "input" and step.functions else {},
            "drawings": {name: drawings.of(_drawing(drawing)) for name, drawing in step.drawings.items()},
            "remarks": [asdict(remark) for remark in step.remarks],
            "verdict": step.verdict,
            "findings": [asdict(found) for found in step.findings],
            "error": step.error,
        }
        before = step.functions or before


def _changes(before: Mapping[str, Listing], after: Mapping[str, Listing]) -> dict[str, list[Change]]:
    """Return what has changed in each function, new and removed ones included."""
    names = dict.fromkeys([*after, *before])
    pairs = {name: (_lines(before.get(name)), _lines(after.get(name))) for name in names}
    found = {name: changes(old, new) for name, (old, new) in pairs.items() if old != new}
    return {name: change for name, change in found.items() if change}


def _lines(listing: Listing | None) -> Sequence[str]:
    return listing.lines if listing is not None else ()


def _drawing(drawing: Drawing) -> str:
    width, height = drawing.size
    return json.dumps({"width": width, "height": height, **asdict(drawing)})


def _profile(profile: Profile) -> dict[str, Any]:
    return {
        "function": profile.function,
        "seconds": profile.seconds,
        "runs": profile.runs,
        "rows": [_row(row) for row in profile.rows],
    }


def _row(row: KernelCalls) -> dict[str, Any]:
    from relex.tools.run.roofline import least_seconds_of

    rates = {"gigabytes": row.bytes_per_second / 1e9, "gigaflops": (row.flops_per_second or 0.0) / 1e9}
    return {**asdict(row), **rates, "least": least_seconds_of(row)}
