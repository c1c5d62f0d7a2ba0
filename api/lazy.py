"""Lazy imports for the public names of packages.

A package imports its public names below `if TYPE_CHECKING`, where type checkers see them, and has in the `else` branch
`__getattr__, __dir__, __all__ = lazy_exports(__name__)`, which reads those imports for Python. A type checker that saw
`__getattr__` would accept any name. Imports that a program writes are in a stub, `__init__.pyi`.
"""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from itertools import chain
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.passes import ModulePass


def lazy_exports(package: str, *eager: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package.

    Besides what is imported below `if TYPE_CHECKING`, names are public that the package imports at once, each as
    itself, and those that it defines directly, `eager`.
    """
    homes = declared_imports(package)
    public = sorted([*homes, *_imported_as_themselves(package), *eager])

    def __getattr__(name: str) -> object:
        if (home := homes.get(name)) is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_uncollected(home)
        found = module if home == f"{package}.{name}" else getattr(module, name)
        setattr(sys.modules[package], name, found)  # Python finds it from now on, and asks no more.
        return found

    def __dir__() -> list[str]:
        return public

    return __getattr__, __dir__, public


def import_uncollected(name: str) -> ModuleType:
    """Import a module while the garbage collector is off. What modules define stays, and to look at it again and again
    takes a tenth of the time to import it."""
    if not gc.isenabled():
        return import_module(name)
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.enable()


def listed(package: str, *own: str) -> Callable[[], list[str]]:
    """Return `__dir__` of a package that imports its public names at once, each as itself: these names, and those that
    it defines directly. Neither its modules nor what it needs itself are among them."""

    def __dir__() -> list[str]:
        return sorted([*_imported_as_themselves(package), *own])

    return __dir__


def lazy_passes(package: str) -> dict[str, Callable[[], type[ModulePass]]]:
    """Return factories for the passes that a package imports for type checkers, by pass name; each class is imported on
    first use. File and class are named after the pass: `fuse-ops` is the class `FuseOpsPass` in `fuse_ops.py`."""

    def factory(name: str, home: str) -> Callable[[], type[ModulePass]]:
        return lambda: getattr(import_module(home), name)

    homes = declared_imports(package)
    files = {name: home.rpartition(".")[2] for name, home in homes.items()}
    passes = [name for name, file in files.items() if name == f"{''.join(map(str.capitalize, file.split('_')))}Pass"]
    return {files[name].replace("_", "-"): factory(name, homes[name]) for name in passes}


def _imported_as_themselves(package: str) -> list[str]:
    imports = [node for node in _source_of(package).body if isinstance(node, ast.ImportFrom)]
    return [a.name for node in imports for a in node.names if a.asname == a.name]


def declared_imports(package: str) -> dict[str, str]:
    """Return the names that a package imports for type checkers, and the module of each. A name that is imported from
    the package itself is a module; a class in a stub is in the module of its base class."""
    parts = [part for part in _source_of(package).body if isinstance(part, ast.If)]
    guarded = [part.body for part in parts if isinstance(part.test, ast.Name) and part.test.id == "TYPE_CHECKING"]
    found: dict[str, str] = {}
    for statement in [*chain.from_iterable(guarded), *_stub_of(package)]:
        if isinstance(statement, ast.ImportFrom) and (home := statement.module) is not None:
            found |= {a.name: f"{home}.{a.name}" if home == package else home for a in statement.names}
        elif isinstance(statement, ast.ClassDef):
            found[statement.name] = found[ast.unparse(statement.bases[0])]
    return found


@cache
def _source_of(package: str) -> ast.Module:
    spec = sys.modules[package].__spec__
    # Not an `isinstance`: `importlib.abc` takes as long to import as everything else that `import relex` imports.
    get_source = getattr(spec.loader, "get_source", None) if spec is not None else None
    if get_source is None:
        raise ImportError(f"cannot read the source of {package}", name=package)
    return ast.parse(get_source(package) or "")


def _stub_of(package: str) -> list[ast.stmt]:
    """Return the statements of the stub of a package; none without one."""
    spec = sys.modules[package].__spec__
    # Not `open`: the package may be in an archive.
    get_data = getattr(spec.loader, "get_data", None) if spec is not None else None
    if spec is None or spec.origin is None or get_data is None:
        return []
    try:
        return ast.parse(get_data(f"{spec.origin}i")).body
    except OSError:
        return []
