"""Writes the table of `docs/replays.md`: mistakes of other compilers, and the pass of relex that would be named."""

from __future__ import annotations

import re
from pathlib import Path

from named_passes import named_pass
from replays import FILES, Replay, replays

PAGE = Path(__file__).resolve().parents[2] / "docs" / "replays.md"
MARKED = re.compile(r"(?<=<!-- replays -->\n).*?(?=<!-- end of replays -->)", re.DOTALL)


def table() -> str:
    """Return the table, by projects."""
    found = [replay for name in FILES for replay in replays(name)]
    projects = sorted({_project(replay) for replay in found}, key=str.lower)
    parts: list[str] = []
    for project in projects:
        rows = [_row(replay) for replay in found if _project(replay) == project]
        parts += [f"\n## {project}\n", "| report | what was wrong | in relex |", "|---|---|---|", *rows]
    return "\n".join([*parts, "", ""])


def _project(replay: Replay) -> str:
    return replay.reports.partition("#")[0]


def _row(replay: Replay) -> str:
    named = "refused" if "refused" in replay.fields else f"`{named_pass(replay)[0].name}`"
    reports = [report.removeprefix(_project(replay)) for report in replay.reports.split(", ")]
    return f"| {', '.join(reports)} | {replay.what.replace('|', chr(92) + '|')} | {named} |"


def with_table(text: str) -> str:
    """Return the page with the table of today."""
    return MARKED.sub(lambda _: table(), text)


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
