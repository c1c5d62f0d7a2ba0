"""Unique names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from relex.dialects.symbols import symbol_of


def identifier(name: str) -> str:
    """Convert a name to ASCII letters, digits and underscores, as names of sizes are."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    return plain if plain.isidentifier() else f"_{plain}"


def name_value(value: SSAValue, name: str) -> None:
    """Give a value without a name one for printed text, if text can have that name."""
    if value.name_hint is None and name.isascii() and SSAValue.is_valid_name(name):
        value.name_hint = name


class Names:
    """A set of names in use. A name that is taken gets a number: `dense`, `dense1`, `dense2`."""

    def __init__(self, taken: Iterable[str] = ()):
        self._taken = set(taken)
        self._next: dict[str, int] = {}
        """For each name, the number to try next."""

    @classmethod
    def of_symbols(cls, module: ModuleOp, reserved: Iterable[str] = ()) -> Names:
        """Collect the names of a module's functions and globals, and those in `reserved`."""
        return cls((*reserved, *(name for op in module.ops if (name := symbol_of(op)) is not None)))

    def copy(self) -> Names:
        """Return the same names, to which others are added."""
        result = Names(self._taken)
        result._next |= self._next
        return result

    def fresh(self, name: str) -> str:
        """Return `name`, or the first of `name1`, `name2`, ... that is free, and mark it as taken."""
        if name in self._taken:
            return self.numbered(name, start=1)
        self._taken.add(name)
        return name

    def numbered(self, name: str, start: int = 0) -> str:
        """Return the first of `name0`, `name1`, ... that is free, and mark it as taken."""
        count = max(self._next.get(name, 0), start)
        while (chosen := f"{name}{count}") in self._taken:
            count += 1
        self._next[name] = count + 1
        self._taken.add(chosen)
        return chosen
