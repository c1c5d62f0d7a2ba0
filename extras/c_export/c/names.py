"""Identifiers for C and C++."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count

from relex.dialects.signature import Signature
from relex.dialects.target.machine import PACKED_PREFIX
from relex.runtime.callbacks import LibraryUse

KEYWORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const constexpr
    const_cast continue decltype default delete do double dynamic_cast else enum explicit export extern false float for
    friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected
    public register reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast
    struct switch template this thread_local throw true try typedef typeid typename typeof union unsigned using virtual
    void volatile wchar_t while xor xor_eq linux unix
""".split()
"""Words that cannot be identifiers in C or C++."""

_NO_NAME = r"[^A-Za-z0-9_]"


class CNames:
    """The C names of everything in one header, all starting with `prefix`."""

    def __init__(self, prefix: str, signatures: Iterable[Signature], libraries: Iterable[LibraryUse]):
        self.prefix = identifier(prefix)
        self._taken: set[str] = set()
        self.functions = {s.name: self._claim(s.name) for s in signatures}
        self.libraries = {use.symbol: self._claim(use.name) for use in libraries}
        self.symbols = {f"{PACKED_PREFIX}{s}": f"{name}_code" for s, name in self.functions.items()} | self.libraries
        """New names for the symbols of the object code, valid in C."""

    def _claim(self, name: str) -> str:
        base = f"{self.prefix}_{re.sub(_NO_NAME, '_', name)}"
        numbered = (f"{base}{i or ''}" for i in count())
        chosen = next(name for name in numbered if not _derived(name) & self._taken)
        self._taken |= _derived(chosen)
        return chosen


def _derived(name: str) -> set[str]:
    """Return the names that the header defines for a function."""
    return {f"{name}{suffix}" for suffix in ("", "_arrays", "_check", "_code", "_message")}


def identifier(text: str) -> str:
    """Return a C identifier that resembles a text."""
    name = re.sub(_NO_NAME, "_", text)
    return f"_{name}" if not name or name[0].isdigit() else name
