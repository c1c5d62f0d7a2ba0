"""Scripts in live Python programs: decorators that turn a class or function into a module.

Python evaluates only the decorators and annotations of a script. Its meaning is read from the source, by the same
reader as for files, so the names defined here only need to exist. Constants that a printed module leaves out are taken
from a variable `metadata`, a dictionary like TVM's.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any

from relex.dialects.errors import RelexError
from relex.frontend.call_site import shown_path
from relex.frontend.ir_module import IRModule
from relex.frontend.script.metadata import in_scope
from relex.frontend.script.modules import read_module
from relex.frontend.script.source import ScriptSource

_HERE = "relex.frontend.script"


class Name:
    """A name of a vocabulary, such as `T.Buffer`: calls, subscripts and attributes are all accepted."""

    def __init__(self, path: str, **members: object):
        self._path = path
        vars(self).update(members)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"{self._path!r} has no attribute {name!r}")
        return Name(f"{self._path}.{name}")

    def __call__(self, *args: object, **options: object) -> Any:
        return self

    def __getitem__(self, item: object) -> Any:
        return self

    def __repr__(self) -> str:
        return self._path


class FunctionDecorator(Name):
    """`T.prim_func` and `R.function`: inside a class they mark a function, elsewhere they turn it into a module."""

    def __call__(self, *args: Any, **options: object) -> Any:
        if not args:
            return self
        (function,) = args
        if not isinstance(function, FunctionType):
            raise RelexError(f"expected a function below '@{self}', found {function!r}")
        around = function.__qualname__.rpartition(".")[0]
        in_class = around and not around.endswith("<locals>")
        return function if in_class else _read(function, is_alone=True)


class ModuleDecorator(Name):
    """`I.ir_module`: turns a class into a module."""

    def __call__(self, *args: Any, **options: object) -> Any:
        if not args:
            return self
        (cls,) = args
        functions = [f for f in vars(cls).values() if isinstance(f, FunctionType)] if isinstance(cls, type) else []
        if not functions:
            raise RelexError(f"expected a class with functions below '@{self}', found {cls!r}")
        return _read(functions[0], is_alone=False)


def _read(function: FunctionType, *, is_alone: bool) -> IRModule:
    """Read the module of a function, or of the class that contains it."""
    file = function.__code__.co_filename
    text = "".join(linecache.getlines(file, function.__globals__))
    if not text:
        raise RelexError(f"cannot find the source of '{function.__qualname__}'; scripts are read from it")
    name = shown_path(file)
    source = ScriptSource(text, name)
    for scope in ast.walk(source.tree):
        for node in ast.iter_child_nodes(scope):
            # Python counts the lines of a function from its first decorator, or from its name.
            lines = [part.lineno for part in (node, *node.decorator_list)] if isinstance(node, ast.FunctionDef) else []
            if isinstance(node, ast.FunctionDef) and function.__code__.co_firstlineno in lines:
                found = [node] if is_alone else scope
                if isinstance(found, ast.ClassDef | list):
                    names = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
                    module = read_module(source, found, given=names, bound=_places(names), params=in_scope(names))
                    return IRModule.taking(module)
    raise RelexError(f"cannot find '{function.__qualname__}' in {name}; has the file changed?")


def _places(names: Mapping[str, object]) -> Mapping[str, str]:
    """Return the qualified names of those names that refer to modules or to parts of a vocabulary."""
    modules = {name: value.__name__ for name, value in names.items() if isinstance(value, ModuleType)}
    # TVM's modules are not imported under their `__name__`: the import in the file is more reliable.
    places = {name: module for name, module in modules.items() if not module.startswith("tvm.")}
    parts = {name: f"{_HERE}.{value!r}" for name, value in names.items() if isinstance(value, Name)}
    return {**places, **parts}


T = Name("T", prim_func=FunctionDecorator("T.prim_func"))
R = Name("R", function=FunctionDecorator("R.function"))
I = Name("I", ir_module=ModuleDecorator("I.ir_module"))  # noqa: E741
Tensor = Name("R.Tensor")
