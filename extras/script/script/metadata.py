"""Constants that printed modules leave out: `metadata["relax.expr.Constant"][0]`."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from relex.dialects.arrays import Array
from relex.dialects.dlpack import as_array
from relex.dialects.errors import DTypeError
from relex.dialects.readers import METADATA
from relex.frontend.script.source import ScriptError, shown

NAMES = ("metadata", "meta")
"""The names that versions of TVM give to the dictionary of constants."""


@dataclass(frozen=True)
class MetadataReference:
    """A reference to a constant: `metadata[key][number]`."""

    node: ast.AST
    key: str
    number: int

    @property
    def name(self) -> str:
        """The name of the constant among named arrays."""
        return f"{METADATA}{self.number}"

    def find(self, params: Mapping[str, Any]) -> Array | None:
        """Return the constant: the array of its name, or that in the list under its key; None if there is neither.
        Raises `ScriptError` for one that is no array."""
        found = params.get(self.key)
        listed = cast("Sequence[Any]", found) if isinstance(found, list | tuple) else ()
        is_listed = 0 <= self.number < len(listed)
        if not is_listed and self.name not in params:
            return None
        try:
            return as_array(listed[self.number] if is_listed else params[self.name])
        except DTypeError as e:
            raise ScriptError(self.node, f"'{self.name}': {e}") from e


def dictionary_of(node: ast.expr) -> str | None:
    """Return the key of `metadata["relax.expr.Constant"]` or `meta[relay.Constant]`; None for any other expression."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))) if name in NAMES:
            return key
        case ast.Subscript(value=ast.Name(id=name), slice=key) if name in NAMES:
            return ast.unparse(key)
        case _:
            return None


def missing(reference: MetadataReference) -> ScriptError:
    """Return the error for a constant that is not given."""
    expected = f"expected an array '{reference.name}' among the parameters"
    return ScriptError(reference.node, f"{shown(reference.node)} is not in the script; {expected}")


def in_scope(names: Mapping[str, object]) -> Mapping[str, Any]:
    """Return the dictionary of constants of a running program: the variable `metadata`, if it is one."""
    found = [name for name in NAMES if isinstance(names.get(name), Mapping)]
    return cast("Mapping[str, Any]", names[found[0]]) if found else {}
