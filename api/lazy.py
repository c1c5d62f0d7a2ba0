"""Lazy imports for the public names of packages.

A package lists its public names twice: for type checkers as imports below `if TYPE_CHECKING`, and for Python, in the
`else` branch, as `__getattr__, __dir__, __all__ = lazy_exports(__name__, {...})`. A type checker that saw `__getattr__`
would accept any name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType


def lazy_exports(
    package: str, homes: Mapping[str, str], *eager: str, moved: Mapping[str, str] = MappingProxyType({})
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package.

    `homes` maps each name to the module it is imported from; a name whose home is `package.name` is that module itself.
    `eager` are public names that the package defines directly. `moved` maps names that used to be public here to their
    new modules: they still resolve, but are not listed.
    """
    public = sorted([*homes, *eager])

    def __getattr__(name: str) -> object:
        home = homes.get(name) or moved.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(home)
        return module if home == f"{package}.{name}" else getattr(module, name)

    def __dir__() -> list[str]:
        return public

    return __getattr__, __dir__, public
