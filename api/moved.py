"""Documented import paths of modules that have moved: the old paths import the same modules."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "relex.lowering.emit_te": "relex.lowering.te.emit",
    "relex.lowering.scalars": "relex.lowering.te.scalars",
    "relex.passes.graph.outline": "relex.passes.support.outline",
    "relex.passes.graph.patterns": "relex.passes.support.patterns",
    "relex.passes.loops.schedule": "relex.passes.schedule",
    "relex.passes.loops.structure": "relex.passes.analysis.loop_tree",
}
"""Old paths to new ones."""


class _Finder(MetaPathFinder, Loader):
    """The last finder on the meta path: resolves names that no other finder knows."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = import_module(MOVED[module.__name__])


def install() -> None:
    """Register the old import paths."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
