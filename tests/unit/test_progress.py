"""The bar that shows how far a tool has come."""

from __future__ import annotations

import io

import pytest

from relex.tools import progress
from relex.tools.progress import bar, with_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_only_terminals_show_it() -> None:
    file = io.StringIO()
    assert list(with_progress([1, 2, 3], file)) == [1, 2, 3]
    assert file.getvalue() == ""


def test_it_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PAUSE", 0)
    file = Terminal()
    assert list(with_progress("ab", file)) == ["a", "b"]
    assert file.getvalue().startswith("\r[..............................] 0/2, starting")
    assert "\r[###############...............] 1/2, " in file.getvalue()
    assert file.getvalue().endswith("\r\x1b[K")


def test_it_goes_away_when_something_fails() -> None:
    file = Terminal()
    items = with_progress([1, 2], file)
    next(items)
    items.close()
    assert file.getvalue() == "\r\x1b[K"


def test_quick_tools_show_nothing() -> None:
    file = Terminal()
    assert list(with_progress("", file)) == []
    assert file.getvalue() == "\r\x1b[K"


def test_the_time_left() -> None:
    assert bar(1, 4, 2.0) == "[#######.......................] 1/4, 6 s left  "
    assert bar(3, 3, 2.0) == "[##############################] 3/3, 0 s left  "
