"""Dialects whose ops are imported on first use."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from xdsl.ir import Dialect, Operation

from relex.lazy import declared_imports


class LazyDialect(Dialect):
    """
    The ops that a package imports for type checkers (see `relex.lazy`). A class is named after its op, which is found
    without the others: `relex.max_pool2d` is `MaxPool2dOp`.
    """

    def __init__(self, name: str, package: str):
        super().__init__(name)
        # In the order of their names, whatever the package imports first.
        homes = sorted(declared_imports(package).items())
        self._homes = {_key(kind.removesuffix("Op")): (home, kind) for kind, home in homes if kind.endswith("Op")}

    @property
    def operations(self) -> Iterator[type[Operation]]:
        """All ops, which are imported one after the other."""
        return map(self._import, self._homes)

    def find(self, name: str) -> type[Operation] | None:
        """Return the op with a name, such as `relex.add`, if the dialect has it."""
        dialect, _, op = name.partition(".")
        found = self._import(_key(op)) if dialect == self.name and _key(op) in self._homes else None
        return found if found is not None and found.name == name else None

    def _import(self, key: str) -> type[Operation]:
        home, kind = self._homes[key]
        return getattr(import_module(home), kind)


def _key(name: str) -> str:
    return name.replace("_", "").lower()
