"""Names that are given once."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.symbol_table import get_name_if_symbol


class Names:
    """Names in use. A name that is taken gets a number: `dense`, `dense1`, `dense2`."""

    def __init__(self, taken: Iterable[str] = ()):
        self._taken = set(taken)

    @classmethod
    def of_symbols(cls, module: ModuleOp, reserved: Iterable[str] = ()) -> Names:
        """The names of a module's functions and globals, and those that are `reserved`."""
        return cls((*reserved, *(name for op in module.ops if (name := get_name_if_symbol(op)) is not None)))

    def fresh(self, name: str) -> str:
        """`name`, or the first of `name1`, `name2`, ... that is free; it is taken from now on."""
        chosen, count = name, 0
        while chosen in self._taken:
            count += 1
            chosen = f"{name}{count}"
        self._taken.add(chosen)
        return chosen
