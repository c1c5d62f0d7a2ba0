"""Documented import paths of modules that have moved: the old paths import the same modules."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:
    # Importing them takes longer than all else here, and Python asks for the methods only.
    class Loader: ...

    class MetaPathFinder: ...


MOVED = {
    "relex.lowering.emit_te": "relex.lowering.te.emit",
    "relex.lowering.scalars": "relex.lowering.te.scalars",
    "relex.passes.graph.outline": "relex.passes.support.outline",
    "relex.passes.graph.patterns": "relex.passes.support.patterns",
    "relex.passes.loops.rules": "relex.passes.cpu",
    "relex.passes.loops.schedule": "relex.passes.schedule",
    "relex.passes.loops.structure": "relex.passes.analysis.loop_tree",
    "relex.runtime.json_codec": "relex.dialects.json_codec",
    "relex.runtime.module_signatures": "relex.lowering.support.signatures",
    "relex.runtime.signature": "relex.dialects.signature",
}
"""Old paths to new ones."""


def new_path(old: str) -> str | None:
    """Return the path that has replaced one, which may be the path of a module in a package that has moved."""
    for package, new in MOVED.items():
        if old == package or old.startswith(f"{package}."):
            return new + old.removeprefix(package)
    return None


class _Finder(MetaPathFinder, Loader):
    """Finds modules by their old paths. It comes first: by the path of its package, a module would be loaded twice."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname.startswith("relex.") and new_path(fullname) else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Python makes the module."""

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        sys.modules[name] = import_module(new_path(name) or name)


def install() -> None:
    """Let Python find them."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
