"""What is wrong with a finished site: links that lead nowhere, and what a browser would fetch from the web."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

FROM_WEB = re.compile(r"(https?:)?//")
STYLE = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')]*)")


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors, self.links, self.fetched = {""}, list[str](), list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        self.fetched += [given[name] for name in ("src", "srcset", "data") if name in given]
        if tag == "link" and "href" in given:
            self.fetched.append(given["href"])


def mistakes(html: Path) -> list[str]:
    """Return a line for each."""
    pages = {file: _Page(file.read_text()) for file in sorted(html.rglob("*.html"))}
    found = [f"{file}: fetches {url}" for file, page in pages.items() for url in page.fetched if FROM_WEB.match(url)]
    links = [(file, link) for file, page in pages.items() for link in page.links]
    found += [f"{file}: leads nowhere: {link}" for file, link in links if not _leads(file, link, pages)]
    styles = [(file, url) for file in html.rglob("*.css") for url in STYLE.findall(file.read_text())]
    return [*found, *(f"{file}: fetches {url}" for file, url in styles)]


def _leads(file: Path, link: str, pages: dict[Path, _Page]) -> bool:
    if re.match(r"[a-z]+:", link):
        return True
    path, _, anchor = unquote(link).partition("#")
    target = (file.parent / path).resolve() if path else file
    return target.exists() and (target not in pages or anchor in pages[target].anchors)
