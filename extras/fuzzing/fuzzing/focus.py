"""Which ops a pass is about, as far as its code says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any, cast

from xdsl.ir import Operation
from xdsl.passes import ModulePass


def ops_named(p: ModulePass) -> list[type[Operation]]:
    """Return the classes of ops that the code of a pass names: its methods, its fields, and the classes and functions
    of the same file that these use."""
    found: dict[type[Operation], None] = {}
    seen: set[int] = set()
    pending: list[object] = [type(p), *vars(p).values()]
    while pending:
        value: Any = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, type) and issubclass(value, Operation):
            if hasattr(value, "name"):
                found[value] = None
            continue
        pending += _parts(value, type(p).__module__)
    return sorted(found, key=lambda kind: kind.name)


def _parts(value: Any, home: str) -> Iterator[object]:
    """Yield what a value is made of, if it belongs to a file."""
    if isinstance(value, list | tuple | set | frozenset):
        yield from cast("list[object]", value)
    elif isinstance(value, Mapping):
        yield from cast("Mapping[object, object]", value).values()
    elif isinstance(value, FunctionType):
        if value.__module__ == home or value.__closure__:
            yield from _named_by(value)
    elif isinstance(value, type):
        if value.__module__ == home:
            yield from vars(value).values()
    elif isinstance(value, property) or type(value) in (classmethod, staticmethod):
        yield from (getattr(value, name, None) for name in ("fget", "__func__"))
    elif type(value).__module__ == home or hasattr(value, "match_and_rewrite"):
        yield type(value)
        yield from getattr(value, "__dict__", {}).values()


def _named_by(function: FunctionType) -> Iterator[object]:
    """Yield what the names in a function stand for: globals, what modules have under these names, annotations, and
    variables around it."""
    yield from (cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell))
    annotations = [*function.__annotations__.values()]
    names = {*_names(function.__code__), *re.findall(r"\w+", " ".join(map(str, annotations)))}
    for value in [function.__globals__[name] for name in names if name in function.__globals__]:
        yield value
        if isinstance(value, ModuleType):
            yield from (getattr(value, name, None) for name in names)
    yield from annotations
    yield getattr(function, "__wrapped__", None)


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
