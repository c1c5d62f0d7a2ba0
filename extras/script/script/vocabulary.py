"""Resolves the names in a script, whatever they are imported as.

TVMScript has three vocabularies: `I` for modules, `T` for loop functions, `R` for graphs. Scripts import them from
different modules and under different names, so a name like `tvm.script.tir.grid` is resolved to its meaning, `T.grid`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from typing import TypeGuard

from relex.dialects.spelling import advice
from relex.frontend.script.source import ScriptError

_TVM = re.compile(r"relex\.frontend(\.tvm)+(?=\.|$)")
"""The place of the names that `relex.frontend.tvm` has for TVM's modules."""

_MEANINGS = {
    "tvm.script.tirx": "T",
    "tvm.script.tir": "T",
    "tvm.tirx": "T",
    "tvm.tir": "T",
    "tvm.script.relax": "R",
    "tvm.relax.op": "R",
    "tvm.relax": "R",
    "tvm.script.ir": "I",
    "tvm.script": "I",
    "tvm.T": "T",
    "tvm.R": "R",
    "tvm.I": "I",
    "relex.frontend.script.T": "T",
    "relex.frontend.script.R": "R",
    "relex.frontend.script.I": "I",
    "relex.frontend.script.Tensor": "R.Tensor",
    "relex.frontend": "R",
}
"""From modules of TVM and relex to vocabularies; submodules precede the modules that contain them."""

_DEFAULTS = {
    "T": "tvm.script.tir",
    "R": "tvm.script.relax",
    "I": "tvm.script.ir",
    "relax": "tvm.relax",
    "tvm": "tvm",
    "Tensor": "tvm.relax.Tensor",
}
"""Names that need no import, as in printed modules."""


class Vocabulary:
    """The meanings of the names that a file imports, and of aliases assigned to them. `bound` has the qualified names
    of those defined in a live program, which take precedence."""

    def __init__(self, tree: ast.Module, bound: Mapping[str, str] | None = None):
        self._places = dict(_DEFAULTS)
        for statement in tree.body:
            match statement:
                case ast.Import(names=names):
                    for name in names:
                        root = name.name.partition(".")[0]
                        self._places[name.asname or root] = name.name if name.asname else root
                case ast.ImportFrom(module=str(module), names=names):
                    for name in names:
                        self._places[name.asname or name.name] = f"{module}.{name.name}"
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name() | ast.Attribute() as value):
                    if (place := self._place(value)) is not None:
                        self._places[name] = place
                case _:
                    pass
        self._places.update(bound or {})

    def _place(self, node: ast.AST) -> str | None:
        """Return the qualified name of a dotted name, or None."""
        root, *rest = dotted(node) or ("",)
        return ".".join((self._places[root], *rest)) if root in self._places else None

    def meaning(self, node: ast.AST) -> str | None:
        """Return the meaning of a dotted name, such as `T.grid`; None for a name outside of the vocabularies."""
        path = _TVM.sub("tvm", self._place(node) or "").replace("tvm.script.parser.", "tvm.script.", 1)
        for place, meaning in _MEANINGS.items():
            if f"{path}.".startswith(f"{place}."):
                name = f"{meaning}{path.removeprefix(place)}"
                return name.replace("R.op.", "R.", 1)
        return None

    def calls(self, node: ast.AST, *names: str) -> TypeGuard[ast.Call]:
        """Return whether a node is a call of one of these functions."""
        return isinstance(node, ast.Call) and self.meaning(node.func) in names


def dotted(node: ast.AST) -> tuple[str, ...] | None:
    """Return the parts of `a.b.c`, or None for any other expression."""
    match node:
        case ast.Name(id=name):
            return (name,)
        case ast.Attribute(value=value, attr=attr):
            front = dotted(value)
            return None if front is None else (*front, attr)
        case _:
            return None


def unknown(node: ast.AST, name: str, known: Iterable[str], hint: str = "") -> ScriptError:
    """Return the error for a name that relex's vocabulary lacks."""
    advised = advice(name, known, hint)
    return ScriptError(node, f"'{name}' is not supported{advised and '; '}{advised}")
