"""Markdown as GitHub reads it: code, links, and the prose between them."""

from __future__ import annotations

import re

FENCE = re.compile(r"^(`{3,})[^`\n]*\n.*?^\1`*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def prose(text: str) -> str:
    """Return a page with blanks in place of code, so that everything else is where it was."""
    return CODE.sub(blank, FENCE.sub(blank, text))


def blank(code: re.Match[str]) -> str:
    """Return as many blanks and line ends as there is code."""
    return re.sub(r"\S", " ", code[0])


def is_external(target: str) -> bool:
    """Return whether a link leads to the web."""
    return re.match(r"[a-z]+:", target) is not None
