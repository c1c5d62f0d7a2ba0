"""Open tables: rules for each kind of op, type or name, to which any package can add.

```python
STEPS = Table[type[Operation], MakeStep]("interpreter steps")


@STEPS.rule(arith.AddfOp, arith.SubfOp)
def make_step(op, preparation): ...


STEPS.find(op)  # the rule for the class of op, or for the nearest one that it derives from
```
"""

from __future__ import annotations

import os
import sys
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from types import FrameType, FunctionType
from typing import Any, TypeVar, cast

from relex.dialects.exceptions import DTypeError, DuplicateError

KeyT = TypeVar("KeyT")
EntryT = TypeVar("EntryT")

TABLES: list[Table[Any, Any]] = []
"""All tables: the cache of compiled programs searches them for rules of other packages."""


class Table(ChainMap[KeyT, EntryT]):
    """
    A mapping from classes, or names, to entries, in insertion order.

    It may be composed of other tables (`parts`): their entries are found here, entries of later parts first. Nothing is
    overwritten by accident: `table[key] = entry` replaces an entry on purpose, `rule` and `add` never do.
    """

    def __init__(self, name: str, *parts: MutableMapping[KeyT, EntryT]):
        super().__init__({}, *reversed(parts))
        self.name = name
        self.entered_by: dict[KeyT, str] = {}
        """The module that made each entry: the entry itself may consist of another module's functions."""
        self.of_others: set[KeyT] = set()
        """The keys whose entries are neither relex's nor xDSL's."""
        self._made: dict[KeyT, list[tuple[EntryT, str]]] = {}
        """All entries that each key has had, with the modules that made them."""
        TABLES.append(self)

    def __setitem__(self, key: KeyT, value: EntryT) -> None:
        self.expect_keys(key)
        # An entry that is put back, as after a test, is still one of the module that made it.
        made = self._made.setdefault(key, [])
        module = next((module for entry, module in made if entry is value), None)
        if module is None:
            module = _caller()
            made.append((value, module))
        self.entered_by[key] = module
        (self.of_others.discard if is_own(module) else self.of_others.add)(key)
        super().__setitem__(key, value)

    def __delitem__(self, key: KeyT) -> None:
        super().__delitem__(key)
        self.entered_by.pop(key, None)
        self.of_others.discard(key)

    def rule(self, *keys: KeyT) -> Callable[[EntryT], EntryT]:
        """Return a decorator that adds an entry for all of these keys. Raises `DuplicateError` if one has an entry
        already, and `DTypeError` for keys of another kind than the keys of the table."""
        self.expect_keys(*keys)

        def enter(entry: EntryT) -> EntryT:
            self.add(entry, *keys)
            return entry

        return enter

    def add(self, entry: EntryT, *keys: KeyT) -> None:
        """Add an entry for all of these keys. If one has an entry already, add none and raise `DuplicateError`, unless
        it is this entry: a file may be executed twice, as part of its package and by itself."""
        for key in keys:
            if key in self and not is_same_definition(self[key], entry):
                raise DuplicateError(
                    f"{self.name}: expected one entry for {describe(key)}, found {describe(self[key])} and "
                    f"{describe(entry)}; assign to replace one"
                )
        self.update(dict.fromkeys(keys, entry))

    def expect_keys(self, *keys: object) -> None:
        """Raise `DTypeError` unless these may be keys of the table: classes, or names or tuples if it has such."""
        kind = type(next(iter(self.entered_by), keys[0] if keys else None))
        expected, example, kinds = ("a class", "AddOp", type)
        if kind in (str, tuple):
            expected, example, kinds = ("a name", '"name"', str) if kind is str else ("a tuple", "(a, b)", tuple)
        where = f"{self.name}: expected {expected} as key"
        for key in keys:
            if isinstance(key, FunctionType):
                raise DTypeError(f"{where}, as in @...({example}), found the function {key.__qualname__} itself")
            if not isinstance(key, kinds):
                raise DTypeError(f"{where}, such as {example}, found {key!r}")
        if not keys:
            raise DTypeError(f"{where}, as in @...({example}), found none")

    def find(self, thing: object) -> EntryT | None:
        """Return the entry for the class of an op or type, else for its nearest base class that has one."""
        return _find(self.maps, thing)


def flat(table: Mapping[KeyT, EntryT]) -> dict[KeyT, EntryT]:
    """Return a copy of a mapping as one dictionary, even if it is made of several."""
    if not isinstance(table, ChainMap):
        return dict(table)
    found: dict[KeyT, EntryT] = {}
    for part in reversed(table.maps):
        found.update(flat(part))
    return found


def entered_by_others() -> bool:
    """Return whether any module that is not of relex or xDSL has made an entry in any table."""
    return any(table.of_others for table in TABLES)


def is_own(module: str) -> bool:
    """Return whether a module, by name, is one of relex or xDSL."""
    return module.partition(".")[0] in ("relex", "xdsl")


def find(table: Mapping[Any, EntryT], thing: object) -> EntryT | None:
    """Return the entry of any mapping for the class of an op or type, else for its nearest base class that has one."""
    return table.find(thing) if isinstance(table, Table) else _find((table,), thing)


def _find(parts: Sequence[Mapping[Any, EntryT]], thing: object) -> EntryT | None:
    # A search in the parts themselves: `in` and `[]` of a `ChainMap` take several calls each.
    for kind in type(thing).__mro__:
        for part in parts:
            if kind in part:
                return part[kind]
    return None


def parts_of(entry: Any) -> Iterator[Any]:
    """Yield the parts of an entry: functions, classes, and values that are bound to them."""
    if isinstance(entry, FunctionType | type):
        yield entry
    elif isinstance(entry, partial):
        yield from parts_of((entry.func, entry.args, entry.keywords))
    elif isinstance(entry, Mapping):
        yield from parts_of(tuple(cast("Mapping[Any, Any]", entry).values()))
    elif isinstance(entry, tuple | list):
        for part in cast("Sequence[Any]", entry):
            yield from parts_of(part)
    elif is_dataclass(entry):
        yield from parts_of([type(entry), *(getattr(entry, field.name) for field in fields(entry))])
    else:
        yield entry


def packages_of(table: Table[Any, Any], key: Any) -> set[str]:
    """Return the packages other than relex and its dependencies that an entry comes from: of the module that made it,
    and of its parts."""
    modules = [table.entered_by.get(key, "relex")]
    modules += [getattr(part, "__module__", None) or "builtins" for part in (*parts_of(key), *parts_of(table[key]))]
    return {module.partition(".")[0] for module in modules} - {"relex", "xdsl", "builtins"}


def is_same_definition(a: object, b: object) -> bool:
    """Return whether two entries are made by executing the same lines of the same file, once or twice."""
    return a is b or [_definition(part) for part in parts_of(a)] == [_definition(part) for part in parts_of(b)]


def _definition(part: Any) -> object:
    code = getattr(part, "__code__", None)
    if code is not None and part.__closure__ is None:
        return os.path.realpath(code.co_filename), code.co_firstlineno, part.__qualname__
    file = getattr(sys.modules.get(part.__module__), "__file__", None) if isinstance(part, type) else None
    return part if file is None else (os.path.realpath(file), part.__qualname__)


def describe(entry: object) -> str:
    """Return the name of an entry or a key for messages: its functions, with their lines, and classes."""
    return ", ".join(map(_name, parts_of(entry)))


def _name(part: Any) -> str:
    if not hasattr(part, "__qualname__"):
        return repr(part)
    code = getattr(part, "__code__", None)
    return f"{part.__module__}.{part.__qualname__}" + (f" (line {code.co_firstlineno})" if code else "")


_BETWEEN = (__name__, "collections", "collections.abc", "_collections_abc")


def _caller() -> str:
    """Return the name of the module that makes an entry."""
    frame: FrameType | None = sys._getframe()  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_globals.get("__name__") in _BETWEEN:
        frame = frame.f_back
    return frame.f_globals.get("__name__", "") if frame is not None else ""
