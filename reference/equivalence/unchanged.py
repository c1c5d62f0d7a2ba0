"""Whether a pass has changed a function at all."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.traits import SymbolTable

from relex.dialects.symbols import symbols_used
from relex.dialects.tir import PrimFuncOp


def is_unchanged(name: str, before: ModuleOp, after: ModuleOp, *, but_for_attributes: bool = False) -> bool:
    """Return whether a function and everything that it uses is unchanged, but for attributes of functions, if those may
    change: they say something about a function, and nothing that it does."""
    seen: set[str] = set()
    pending = [name]
    while pending:
        symbol = pending.pop()
        if symbol in seen:
            continue
        seen.add(symbol)
        old, new = SymbolTable.lookup_symbol(before, symbol), SymbolTable.lookup_symbol(after, symbol)
        if old is None or new is None or old.parent is None or new.parent is None:
            return False
        context: dict[Any, Any] = {old.parent: new.parent}
        if but_for_attributes and isinstance(old, _FUNCTIONS) and type(old) is type(new):
            same = [a.is_structurally_equivalent(b, context) for a, b in zip(old.regions, new.regions, strict=True)]
            if not all(same) or old.properties != new.properties:
                return False
        elif not old.is_structurally_equivalent(new, context):
            return False
        pending.extend(symbols_used(old))
    return True


_FUNCTIONS = (func.FuncOp, PrimFuncOp)
