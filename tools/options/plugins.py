"""Passes, dialects and rules from Python files: `relex-opt --load-passes my_passes.py`."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import invalidate_caches
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from xdsl.context import Context
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.arg_spec import ArgSpec
from xdsl.utils.target import Target

from relex.dialects.errors import CompileError, Diagnostic, add_source, describe
from relex.dialects.table import TABLES, is_same_definition, packages_of
from relex.tools.options.pipelines import instantiate
from relex.tools.shell.diagnostics import ToolError, read_text

T = TypeVar("T")


@dataclass
class Plugins:
    """The dialects, passes and targets of the loaded files, by name."""

    dialects: dict[str, Callable[[], Dialect]] = field(default_factory=dict[str, Callable[[], Dialect]])
    passes: dict[str, Callable[[], type[ModulePass]]] = field(default_factory=dict[str, Callable[[], type[ModulePass]]])
    targets: dict[str, Callable[[], type[Target]]] = field(default_factory=dict[str, Callable[[], type[Target]]])
    has_more: bool = False
    """Whether a file defines anything other than passes."""

    @classmethod
    def of(cls, paths: Iterable[str]) -> Plugins:
        """Load several files, in order."""
        plugins = cls()
        for path in paths:
            plugins.load(path)
        return plugins

    def load(self, path: str) -> None:
        """
        Import a file and collect every pass that it defines, and the contents of its `UNIVERSE` if it has one. What it
        adds to tables needs no collecting.

        Raises `CompileError` at the line with the error, and `ToolError` for a name that is taken, a pass without a
        name, or a file that brings nothing.
        """
        entries = _count_entries()
        module = import_file(path)
        universe = getattr(module, "UNIVERSE", Universe())
        if not isinstance(universe, Universe):
            raise ToolError(f"'{path}': expected UNIVERSE to be a Universe of xDSL, found {type(universe).__name__}")
        passes = dict(universe.all_passes)
        for cls in _defined_passes(module, path):
            if cls.name not in universe.all_passes:
                _add(passes, {cls.name: lambda cls=cls: cls}, "pass", f"'{path}'")
        has_more = bool(universe.all_dialects or universe.all_targets or _count_entries() > entries)
        self.has_more |= has_more
        if not (passes or has_more):
            raise ToolError(
                f"'{path}' brings nothing: expected a pass (a class derived from RelexPass, defined in this file), "
                "a UNIVERSE, or an entry of a table"
            )
        _add(self.dialects, universe.all_dialects, "dialect", f"'{path}'")
        _add(self.passes, passes, "pass", f"'{path}'")
        _add(self.targets, universe.all_targets, "target", f"'{path}'")

    def add_dialects(self, context: Context) -> None:
        """Register the dialects. Like the methods below, raises `ToolError` for a name that is taken."""
        for name, factory in self.dialects.items():
            if name not in context.registered_dialect_names:
                context.register_dialect(name, factory)
            elif not _is_same(context.get_dialect(name), factory()):
                raise _taken("--load-passes", "dialect", name)

    def add_passes(self, known: dict[str, Callable[[], type[ModulePass]]]) -> None:
        """Add the passes to the known ones."""
        _add(known, self.passes, "pass", "--load-passes")

    def add_targets(self, known: dict[str, Any]) -> None:
        """Add the targets to the known ones."""
        _add(known, self.targets, "target", "--load-passes")

    def extensions(self) -> list[ModulePass]:
        """Return the passes that belong in the default compilation, as they declare by `extends_pipeline`, with their
        default options. Raises `ToolError` for one with options that must be given."""
        from relex.passes.driver.extension import declared_place

        classes = [cls for factory in self.passes.values() if declared_place(cls := factory())]
        return [instantiate("pass", cls, ArgSpec(cls.name, {})) for cls in classes]

    def extended(self, p: ModulePass) -> ModulePass:
        """Return the default compilation with the passes that belong in it; any other pass as it is."""
        if p.name != "relex-pipeline" or not (passes := self.extensions()):
            return p
        # Imported here, as most uses of the tool do not need it.
        from relex.lowering.relex_pipeline import RelexPipelinePass

        return replace(p, passes=tuple(passes)) if isinstance(p, RelexPipelinePass) else p


def _add(known: dict[str, Callable[[], T]], new: Mapping[str, Callable[[], T]], kind: str, where: str) -> None:
    """Add factories to the known ones. One that is known already, because its package is installed, may be given
    again."""
    for name, factory in new.items():
        if name in known and not _is_same(known[name](), factory()):
            raise _taken(where, kind, name)
        known.setdefault(name, factory)


def _taken(where: str, kind: str, name: str) -> ToolError:
    return ToolError(f"{where} brings a {kind} '{name}', which is there already")


def _is_same(known: object, new: object) -> bool:
    """Return whether two passes, targets or dialects are one, or come from executing one file twice."""
    if isinstance(known, Dialect) and isinstance(new, Dialect):
        kinds = zip([*known.operations, *known.attributes], [*new.operations, *new.attributes], strict=False)
        return known is new or all(is_same_definition(*pair) for pair in kinds)
    return is_same_definition(known, new)


def _defined_passes(module: ModuleType, path: str) -> list[type[ModulePass]]:
    """Return the passes that a file defines itself, without those it imports, and without base classes of others.
    Raises `ToolError` for one that lacks its name, or what it does."""
    found: list[type[ModulePass]] = []
    for cls in vars(module).values():
        if not (isinstance(cls, type) and issubclass(cls, ModulePass) and cls.__module__ == module.__name__):
            continue
        if isinstance(getattr(cls, "name", None), str) and not inspect.isabstract(cls):
            found.append(cls)
        elif not cls.__subclasses__() and inspect.isabstract(cls):
            missing = " or ".join(sorted(cls.__abstractmethods__))
            raise ToolError(f"'{path}': pass {cls.__name__} has no {missing}")
        elif not cls.__subclasses__():
            words = re.findall(r"[A-Z]*[a-z0-9]+|[A-Z]+", cls.__name__.removesuffix("Pass")) or ["my", "pass"]
            raise ToolError(f"'{path}': pass {cls.__name__} has no name; add name = \"{'-'.join(words).lower()}\"")
    return found


def _count_entries() -> int:
    """Return the number of table entries that are not relex's own, and of registered library functions."""
    library = sys.modules.get("relex.runtime.library")
    functions: Mapping[str, object] = library.LIBRARY if library is not None else {}
    return len(functions) + sum(bool(packages_of(table, key)) for table in TABLES for key in table)


_EXECUTED: dict[Path, tuple[str, ModuleType]] = {}
"""The files that were executed, each with its text then."""

_NEIGHBORS: dict[str, Path] = {}
"""The modules that loaded files have imported from their own folders, with the folders."""


def import_file(path: str) -> ModuleType:
    """
    Execute a Python file, unless it has been imported already: entries of tables are made once.

    It may import the files beside it or, as part of a package, the package; they import it under its own name, unless
    that is taken. Raises `CompileError` at the line with the error.
    """
    name, text = read_text(path)
    file = Path(name).resolve()
    if file not in _EXECUTED or _EXECUTED[file][0] != text:
        try:
            _EXECUTED[file] = text, _import(file, name, text)
        except (Exception, SystemExit) as e:
            raise CompileError(_diagnose(e, name, text)) from e
    return _EXECUTED[file][1]


def _import(file: Path, path: str, text: str) -> ModuleType:
    folder, name = _place(file)
    is_taken = "." not in name and not _is_of(file, _find(name), default=True)
    with _importing_from(folder):
        spec = _find(name)
        if is_taken or spec is None or not _is_of(file, spec):
            # A name that `import` cannot refer to.
            spec = ModuleSpec(f"relex-opt:{path}", None, origin=path)
        elif name in sys.modules and file not in _EXECUTED:
            return sys.modules[name]
        module = module_from_spec(spec)
        module.__file__ = path
        # It must be registered, as dataclasses look up their module.
        sys.modules[spec.name] = module
        try:
            exec(compile(text, path, "exec"), vars(module))
        except BaseException:
            del sys.modules[spec.name]
            raise
        return module


def _place(file: Path) -> tuple[Path, str]:
    """Return the folder from which Python would import a file, and the name that it would have."""
    folder, names = file.parent, [file.stem]
    while (folder / "__init__.py").exists():
        names.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(names).removesuffix(".__init__")


def _find(name: str) -> ModuleSpec | None:
    """Return what `import` finds by a name."""
    try:
        return find_spec(name) if all(map(str.isidentifier, name.split("."))) else None
    except ValueError:
        # A module that was made by other means.
        return ModuleSpec(name, None)


def _is_of(file: Path, spec: ModuleSpec | None, *, default: bool = False) -> bool:
    return default if spec is None else spec.origin is not None and Path(spec.origin).resolve() == file


@contextmanager
def _importing_from(folder: Path) -> Generator[None]:
    """Let `import` look into a folder first. What it finds there is not found by files of other folders that have a
    module of the same name."""
    for name, other in list(_NEIGHBORS.items()):
        if other != folder and ((folder / f"{name}.py").exists() or (folder / name).is_dir()):
            del _NEIGHBORS[name]
            for inner in [m for m in sys.modules if m.partition(".")[0] == name]:
                del sys.modules[inner]
    path, known = sys.path[:], set(sys.modules)
    sys.path.insert(0, str(folder))
    invalidate_caches()
    try:
        yield
    finally:
        sys.path[:] = path
        new = {name.partition(".")[0] for name in sys.modules.keys() - known}
        _NEIGHBORS.update(dict.fromkeys((n for n in new if _is_below(folder, sys.modules.get(n))), folder))


def _is_below(folder: Path, module: ModuleType | None) -> bool:
    origin = getattr(module, "__file__", None)
    return origin is not None and Path(origin).resolve().is_relative_to(folder)


def _diagnose(error: BaseException, path: str, text: str) -> Diagnostic:
    """Return a diagnostic at the location of an exception in the file."""
    message, line, column = describe(error), 0, 0
    if isinstance(error, SyntaxError) and error.filename == path:
        message, line, column = f"SyntaxError: {error.msg}", error.lineno or 0, error.offset or 1
    # Imported here, as most files have no errors.
    import traceback

    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == path:
            line, column = frame.lineno or 0, (frame.colno or 0) + 1
    return add_source(Diagnostic(message, path, line, column), text)
