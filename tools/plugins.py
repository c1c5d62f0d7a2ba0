"""Passes from a Python file that is not part of a package: `relex-opt --load-passes my_passes.py`."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, TypeVar

from xdsl.context import Context
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.target import Target

from relex.dialects.errors import CompileError, Diagnostic, add_source, describe
from relex.tools.diagnostics import ToolError, read_text

T = TypeVar("T")


@dataclass
class Plugins:
    """The dialects, passes and targets of the loaded files, by name."""

    dialects: dict[str, Callable[[], Dialect]] = field(default_factory=dict[str, Callable[[], Dialect]])
    passes: dict[str, Callable[[], type[ModulePass]]] = field(default_factory=dict[str, Callable[[], type[ModulePass]]])
    targets: dict[str, Callable[[], type[Target]]] = field(default_factory=dict[str, Callable[[], type[Target]]])

    def load(self, path: str) -> None:
        """
        Import a file and collect every pass that it defines, and the contents of its `UNIVERSE` if it has one.

        Raises `CompileError` at the line with the error, and `ToolError` for a name that is taken.
        """
        module = import_file(path)
        universe = getattr(module, "UNIVERSE", Universe())
        if not isinstance(universe, Universe):
            raise ToolError(f"'{path}': expected UNIVERSE to be a Universe of xDSL, found {type(universe).__name__}")
        passes = dict(universe.all_passes)
        for cls in _defined_passes(module):
            if cls.name not in universe.all_passes:
                _add(passes, {cls.name: lambda cls=cls: cls}, "pass", f"'{path}'")
        _add(self.dialects, universe.all_dialects, "dialect", f"'{path}'")
        _add(self.passes, passes, "pass", f"'{path}'")
        _add(self.targets, universe.all_targets, "target", f"'{path}'")

    def add_dialects(self, context: Context) -> None:
        """Register the dialects. Like the methods below, raises `ToolError` for a name that is taken."""
        for name, factory in self.dialects.items():
            if name in context.registered_dialect_names:
                raise ToolError(f"--load-passes brings a dialect '{name}', which is there already")
            context.register_dialect(name, factory)

    def add_passes(self, known: dict[str, Callable[[], type[ModulePass]]]) -> None:
        """Add the passes to the known ones."""
        _add(known, self.passes, "pass", "--load-passes")

    def add_targets(self, known: dict[str, Any]) -> None:
        """Add the targets to the known ones."""
        _add(known, self.targets, "target", "--load-passes")


def _add(known: dict[str, T], new: Mapping[str, T], kind: str, where: str) -> None:
    for name, factory in new.items():
        if name in known:
            raise ToolError(f"{where} brings a {kind} '{name}', which is there already")
        known[name] = factory


def _defined_passes(module: ModuleType) -> list[type[ModulePass]]:
    """Return the passes that a file defines itself, without those it imports."""
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, ModulePass)
        and value.__module__ == module.__name__
        and not inspect.isabstract(value)
        and hasattr(value, "name")
    ]


def import_file(path: str) -> ModuleType:
    """Execute a Python file. Raises `CompileError` at the line with the error."""
    name, text = read_text(path)
    # A name that `import` cannot refer to. It must be registered, as dataclasses look up their module.
    module = ModuleType(f"relex-opt:{name}")
    module.__file__ = name
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, name, "exec"), vars(module))
    except (Exception, SystemExit) as e:
        del sys.modules[module.__name__]
        raise CompileError(_diagnose(e, name, text)) from e
    return module


def _diagnose(error: BaseException, path: str, text: str) -> Diagnostic:
    """Return a diagnostic at the location of an exception in the file."""
    message, line, column = describe(error), 0, 0
    if isinstance(error, SyntaxError) and error.filename == path:
        message, line, column = f"SyntaxError: {error.msg}", error.lineno or 0, error.offset or 1
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == path:
            line, column = frame.lineno or 0, (frame.colno or 0) + 1
    return add_source(Diagnostic(message, path, line, column), text)
