"""Check whether a pass has changed a function at all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.traits import SymbolTable

from relex.dialects.symbols import symbols_used
from relex.dialects.tir import PrimFuncOp
from relex.dialects.walks import reachable


def is_unchanged(name: str, before: ModuleOp, after: ModuleOp, *, but_for_attributes: bool = False) -> bool:
    """Return whether a function and everything that it uses is unchanged, except for attributes of functions, if those
    may change: they say something about a function, and nothing that it does."""

    def used(symbol: str) -> Iterable[str]:
        op = SymbolTable.lookup_symbol(before, symbol)
        return symbols_used(op) if op is not None else ()

    return all(_is_same(symbol, before, after, but_for_attributes) for symbol in reachable(name, used))


def _is_same(symbol: str, before: ModuleOp, after: ModuleOp, but_for_attributes: bool) -> bool:
    old, new = SymbolTable.lookup_symbol(before, symbol), SymbolTable.lookup_symbol(after, symbol)
    if old is None or new is None or old.parent is None or new.parent is None:
        return False
    context: dict[Any, Any] = {old.parent: new.parent}
    if not (but_for_attributes and isinstance(old, _FUNCTIONS) and type(old) is type(new)):
        return old.is_structurally_equivalent(new, context)
    same = [a.is_structurally_equivalent(b, context) for a, b in zip(old.regions, new.regions, strict=True)]
    return all(same) and old.properties == new.properties


_FUNCTIONS = (func.FuncOp, PrimFuncOp)
