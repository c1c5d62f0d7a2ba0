"""Keys of the compile cache: everything that a compiled program depends on, in one digest."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from hashlib import sha256
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from relex.dialects.table import TABLES, Table, describe, packages_of, parts_of
from relex.dialects.target.features import default_target
from relex.dialects.target.machine import Target
from relex.dialects.upstream.hints import isa
from relex.dialects.upstream.printer import ExactPrinter, printed
from relex.lowering.relex_pipeline import pipeline
from relex.passes.driver.extension import AnyExtension, PlacedPass
from relex.runtime.container import VERSION

_FLOORS = ("dialects", "passes", "lowering", "runtime")
_LONG = 256
"""Constants of at least this many bytes are replaced by their digests."""


def cache_key(
    module: ModuleOp,
    *,
    strict: bool,
    target: Target | None,
    passes: Sequence[AnyExtension] = (),
    approximate: bool = False,
) -> str | None:
    """Return the cache key of a module; None if a rule or pass takes part that source files do not fully determine."""
    compiler = compiler_key(module, passes)
    if compiler is None:
        return None
    targets = [Target.host(), default_target(), target]
    facts = [compiler, *map(str, targets), strict, approximate, _text(module)]
    return sha256(json.dumps(facts).encode()).hexdigest()


def compiler_key(module: ModuleOp, passes: Sequence[AnyExtension] = ()) -> str | None:
    """Return a digest of what compiles a module: the compiler, its dependencies, and the rules, ops and passes of
    others. None if source files do not fully determine one of these."""
    others, extensions = _of_others(module), _of_passes(passes)
    if others is None or extensions is None:
        return None
    return sha256(json.dumps([VERSION, *_versions(), *others, *extensions]).encode()).hexdigest()


_OWN = {"relex", "xdsl", "builtins"}
_BELOW = {*_OWN, "abc", "typing"}


def _of_others(module: ModuleOp) -> list[str] | None:
    """Return what other packages contribute to the program: their entries in tables, and the ops that they define. None
    if that may change undetected."""
    found: set[str] = set()
    kinds = {type(op) for op in module.walk()}
    packages = {_package(kind) for kind in kinds}
    if not all(map(_is_known, kinds)):
        return None
    for table in TABLES:
        for place, (key, entry) in enumerate(table.items()):
            of_entry = _packages_of(table, key)
            if not of_entry:
                continue
            if not all(map(_is_known, (*parts_of(key), *parts_of(entry)))):
                return None
            packages |= of_entry
            # Named rules are tried in order.
            order = f" {place}" if isinstance(key, str) else ""
            found.add(f"{table.name}{order}: {describe(key)}: {describe(entry)}")
    digests = [_digest(package) for package in sorted(packages - _OWN)]
    return None if None in digests else [*sorted(found), *filter(None, digests)]


_PACKAGES: dict[tuple[str, Any], tuple[Any, Any, set[str]]] = {}
"""Entries, who made them, and what `packages_of` has found."""


def _packages_of(table: Table[Any, Any], key: Any) -> set[str]:
    """Return `packages_of` an entry. Each build asks for the packages of all entries, which seldom change."""
    entry, made_by = table[key], table.entered_by.get(key)
    if isinstance(entry, list | Mapping):
        return packages_of(table, key)  # Its parts may change.
    known = _PACKAGES.get((table.name, key))
    if known is None or known[0] is not entry or known[1] != made_by:
        known = _PACKAGES[table.name, key] = entry, made_by, packages_of(table, key)
    return known[2]


def _of_passes(passes: Sequence[AnyExtension]) -> list[str] | None:
    """Return what passes of others contribute: their options and places in the compilation, and their sources. None if
    that may change undetected."""
    if not passes:
        return []
    added = [p for _, group in pipeline(passes=passes) for p in group]
    kinds = {kind for p in passes for kind in type(p.p if isinstance(p, PlacedPass) else p).__mro__}
    options = [_options(p) for p in added]
    digests = [_digest_of(kind) for kind in sorted(kinds, key=describe) if _package(kind) not in _BELOW]
    if None in options or None in digests or not all(map(_is_known, kinds)):
        return None
    return [*filter(None, options), *filter(None, digests)]


def _options(p: ModulePass) -> str | None:
    """Return the class of a pass and its options; None if text does not fully describe them."""
    values = {option.name: getattr(p, option.name) for option in fields(p)}
    return f"{describe(type(p))} {values}" if all(map(_is_text, values.values())) else None


def _is_text(value: Any) -> bool:
    return (
        value is None
        or isinstance(value, str | int | float)
        or (isinstance(value, tuple) and all(map(_is_text, cast(tuple[Any, ...], value))))
    )


def _digest_of(kind: type) -> str | None:
    """Return a digest of the state of the files that define a class: the files of its package or, if it is in a file
    that cannot be imported by name, that file and those next to it, which it may import."""
    home = sys.modules.get(kind.__module__)
    file = getattr(home, "__file__", None)
    return _digest(_package(kind)) or (_digest_of_file(file) if file else None)


@cache
def _digest_of_file(file: str) -> str:
    folder = Path(file).resolve().parent
    return _digest_of_files(file, [Path(file), *sorted(folder.glob("*.py")), *sorted(folder.glob("*/*.py"))])


def _package(part: Any) -> str:
    """Return the package that a function or class belongs to."""
    return str(getattr(part, "__module__", None) or "builtins").partition(".")[0]


def _is_known(part: Any) -> bool:
    """Return whether the source of its package fully determines a function, class or value: nothing is bound to it at
    run time."""
    if isinstance(part, type):
        return "<locals>" not in part.__qualname__
    if part is None or isinstance(part, str | int | float):
        return True
    return isinstance(part, FunctionType) and part.__closure__ is None


@cache
def _versions() -> list[str]:
    """Return the versions of the compiler and its dependencies. A checkout of relex changes without a new version: its
    files count."""
    # It is slow to import, and most programs are not cached.
    from importlib.metadata import version

    from relex.version import DISTRIBUTION

    floors = [_digest(f"relex.{floor}") or "" for floor in _FLOORS]
    return [*map(version, (DISTRIBUTION, "xdsl", "llvmlite")), *floors]


@cache
def _digest(package: str) -> str | None:
    """Return a digest of the state of all files of a package; None if it has none."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return None
    if spec is None or not (spec.has_location or spec.submodule_search_locations):
        return None
    if not spec.submodule_search_locations and PathFinder.find_spec(package) is None:
        # A file that a tool was given: what it imports from its folder counts too, and is not known.
        return None
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    files = [file for folder in folders for file in sorted(folder.rglob("*.py"))]
    return _digest_of_files(package, files or [Path(str(spec.origin))])


def _digest_of_files(name: str, files: Sequence[Path]) -> str:
    digest = sha256(name.encode())
    for file in files:
        status = file.stat()
        digest.update(f"{file}:{status.st_size}:{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


class _KeyPrinter(ExactPrinter):
    """Prints long constants as digests: the text is only compared."""

    def print_attribute(self, attribute: Attribute) -> None:
        if isa(attribute, DenseIntOrFPElementsAttr) and len(attribute.data.data) >= _LONG:
            self.print_string(sha256(attribute.data.data).hexdigest())
            super().print_attribute(attribute.get_type())
        else:
            super().print_attribute(attribute)


def _text(module: ModuleOp) -> str:
    return printed(module, _KeyPrinter)
