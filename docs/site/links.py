"""Links in Markdown as GitHub reads them: where they are, the anchors they may name, and which of them lead nowhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from posixpath import normpath

from relex.tools.learn.markdown import FENCE, LINK, blank, is_external, prose

HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.MULTILINE)


def targets(text: str) -> list[str]:
    """Return what the links of a page lead to, other than to the web."""
    return [target for target in LINK.findall(prose(text)) if not is_external(target)]


def relinked(text: str, change: Callable[[str], str]) -> str:
    """Return a page with other targets of its links."""
    parts: list[str] = []
    end = 0
    for link in LINK.finditer(prose(text)):
        parts += [text[end : link.start(1)], link[1] if is_external(link[1]) else change(link[1])]
        end = link.end(1)
    return "".join([*parts, text[end:]])


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    found: dict[str, int] = {}
    for heading in HEADING.findall(FENCE.sub(blank, text)):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        found[slug] = found.get(slug, -1) + 1
        if found[slug]:
            found[f"{slug}-{found[slug]}"] = 0
    return {*found}


def resolved(page: str, target: str) -> tuple[str, str]:
    """Return the file or folder and the anchor that a link on a page leads to; paths are relative to the repository."""
    path, _, anchor = target.partition("#")
    return normpath(str(Path(page).parent / path)) if path else page, anchor


def broken(root: Path, pages: Iterable[str]) -> list[str]:
    """Return the links of pages that lead to no file, or to an anchor that its page does not have."""
    return [
        f"{page}: {target}"
        for page in pages
        for target in targets((root / page).read_text())
        if not _exists(root, *resolved(page, target))
    ]


def _exists(root: Path, path: str, anchor: str) -> bool:
    file = root / path
    return file.exists() and (not anchor or (file.suffix == ".md" and anchor in anchors(file.read_text())))
