"""The command-line tools, what relex offers to those of xDSL, and `show`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from relex.tools.display import show as show


def __getattr__(name: str) -> object:
    if name != "show":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from relex.tools.display import show

    return show
