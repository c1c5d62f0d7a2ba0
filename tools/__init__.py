"""The command-line tools, relex's entry points for xDSL's tools, and `show`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relex.lazy import lazy_exports

if TYPE_CHECKING:
    from relex.tools.shell.display import show as show
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__)
