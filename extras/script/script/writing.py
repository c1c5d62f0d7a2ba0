"""Utilities of the script printers: lines, names, numbers and types."""

from __future__ import annotations

import keyword
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

from xdsl.ir import Attribute, Operation, SSAValue

from relex.dialects.dtypes import has_dtype, numpy_dtype
from relex.dialects.errors import fail
from relex.dialects.symbols import symbol_of
from relex.frontend.script.dtypes import NAMES

RESERVED = ("T", "R", "I", "cls", "metadata", "meta", "range", "float")
"""Names with a meaning in every script."""


CANNOT = "cannot be written in TVMScript"
"""Error message for ops that scripts cannot express."""


class Writer:
    """The indented lines of a script, and its names. A name is unique in its scope and the scopes inside it."""

    def __init__(self, reserved: Sequence[str] = ()):
        self.lines: list[str] = []
        self.texts: dict[SSAValue, str] = {}
        """The name or expression of each value."""
        self._depth = 0
        self._scopes = [{*RESERVED, *reserved}]

    def line(self, text: str) -> None:
        """Add a line at the current indentation."""
        self.lines.append("    " * self._depth + text if text else "")

    @contextmanager
    def indented(self, head: str) -> Generator[None]:
        """Add a line, and indent those that follow, in a new scope."""
        self.line(head)
        self._depth += 1
        with self.scope():
            yield
        self._depth -= 1

    @contextmanager
    def scope(self) -> Generator[None]:
        """Open a scope, whose names are free again after it."""
        self._scopes.append(set())
        yield
        self._scopes.pop()

    def name(self, hint: str | None, default: str) -> str:
        """Take an unused name as close to the hint as possible."""
        return self.use(self.free_name(hint, default))

    def use(self, name: str) -> str:
        """Take a name."""
        self._scopes[-1].add(name)
        return name

    def free_name(self, hint: str | None, default: str) -> str:
        """Return an unused name as close to the hint as possible, without taking it."""
        # xDSL strips a numeric suffix after an underscore: such a name would not survive a round trip.
        base = re.sub(r"_\d+$", "", re.sub(r"\W", "_", hint or default, flags=re.ASCII)) or default
        return self.free(f"v{base}" if base[0].isdigit() else base)

    def free(self, base: str) -> str:
        """Return `base` if it is unused, else `base` with the first number that makes it so."""
        taken = (*self._scopes, keyword.kwlist)
        chosen, count = base, 0
        while any(chosen in names for names in taken):
            count += 1
            chosen = f"{base}{count}"
        return chosen

    def argument(self, name: str) -> str:
        """Take the name of an argument, unchanged if it is an unused identifier."""
        return self.use(self.free(name)) if name.isidentifier() else self.name(name, "x")

    def define(self, value: SSAValue, default: str) -> str:
        """Give a value a name."""
        self.texts[value] = self.name(value.name_hint, default)
        return self.texts[value]


def symbol_name(function: Operation) -> str:
    """Return the name of a function. Fails if it is not a Python identifier."""
    name = symbol_of(function)
    if name is None or not name.isidentifier() or keyword.iskeyword(name):
        fail(function, f"{CANNOT}: expected a name, found {name!r}")
    return name


def dtype_name(op: Operation, t: Attribute) -> str:
    """Return the dtype of an element type. Fails at `op` for a type without one."""
    if t not in NAMES:
        fail(op, f"{CANNOT}: found a number of type {t}")
    return NAMES[t]


def python_number(value: float, t: Attribute) -> str:
    """Return a number as the shortest Python text that reads back as the same number of its type."""
    import numpy as np

    if isinstance(value, int):
        return repr(value)
    if not np.isfinite(value):
        return f'float("{special(value)}")'
    return repr(float(str(numpy_dtype(t).type(value))) if has_dtype(t) else value)


def special(value: float) -> str:
    """Return Python's spelling of an infinity or NaN."""
    import numpy as np

    if value != value:
        return "-nan" if np.signbit(value) else "nan"
    return "inf" if value > 0 else "-inf"


def python_value(value: object) -> str:
    """Return the text of a value in an attribute dictionary."""
    match value:
        case str():
            plain = value.isprintable() and not set(value) & {'"', "\\"}
            return f'"{value}"' if plain else repr(value)
        case float() if value - value != 0:  # Python has no literal of it.
            return f'float("{special(value)}")'
        case list():
            return f"[{', '.join(map(python_value, cast('list[object]', value)))}]"
        case _:
            return repr(value)


def dictionary(values: Mapping[str, object]) -> str:
    """Return the text of a dictionary, `{"a": 1}`."""
    return "{" + ", ".join(f'"{name}": {python_value(value)}' for name, value in values.items()) + "}"


def tuple_of(parts: Sequence[str]) -> str:
    """Return the text of a tuple: `(1, 784)`, `(128,)`, `()`."""
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
