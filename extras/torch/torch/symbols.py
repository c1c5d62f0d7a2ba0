"""Sizes of torch that are only known at run time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from importlib import import_module
from typing import Any

from relex.dialects.index.atoms import MAX_FACTORS
from relex.dialects.sizes import Size, count, larger, smaller
from relex.frontend.importing.graph_importer import size_name
from relex.frontend.importing.values import refuse
from relex.frontend.torch.library import torch

_symbolic: Any = import_module("torch.fx.experimental.symbolic_shapes")


def size_names(placeholders: Any) -> dict[Any, str]:
    """Return names for the symbols in the sizes of inputs: the names of `torch.export.Dim` where torch remembers
    them."""
    symbols: dict[Any, str] = {}
    for node in placeholders:
        for size in getattr(node.meta.get("val"), "shape", ()):
            if isinstance(size, torch.SymInt):
                env = size.node.shape_env
                for symbol in sorted(size.node.expr.free_symbols, key=str):
                    symbols.setdefault(symbol, size_name(str(_given_name(env, symbol) or symbol)))
    return symbols


def _given_name(env: Any, symbol: Any) -> str | None:
    names: Mapping[str, str] = getattr(env, "source_name_to_debug_name", {})
    for source in getattr(env, "var_to_sources", {}).get(symbol, ()):
        text = source.name if isinstance(source.name, str) else source.name()
        if text in names:
            return names[text]
    return None


def size_of(size: Any, names: Mapping[Any, Size]) -> Size:
    """Return a size of torch: a number, or an expression of symbols."""
    return _index(size.node.expr, names) if isinstance(size, torch.SymInt) else int(size)


def _index(expr: Any, names: Mapping[Any, Size]) -> Size:
    if expr.is_Integer:
        return int(expr)
    if expr in names:
        return names[expr]
    parts = [_index(part, names) for part in expr.args]
    match type(expr).__name__:
        case "Add":
            return sum(parts[1:], parts[0])
        case "Mul":
            return count(parts)
        case "FloorDiv" if isinstance(parts[1], int):
            return parts[0] // parts[1]
        case "Mod" | "PythonMod" if isinstance(parts[1], int):
            return parts[0] % parts[1]
        case "Pow" if isinstance(parts[1], int) and 0 < parts[1] <= MAX_FACTORS:
            return count([parts[0]] * parts[1])
        case "Max":
            return reduce(larger, parts)
        case "Min":
            return reduce(smaller, parts)
        case "Symbol":
            refuse("a size that depends on data")
        case _:
            refuse(f"the size {expr}; fix its sizes with `shapes=`")


DATA_SIZE = 4096
"""What is taken for a size that depends on data where sizes are put in order."""


def depends_on_data(size: Any) -> bool:
    """Return whether a number of torch depends on data, so that torch cannot say what it is."""
    return isinstance(size, torch.SymInt | torch.SymFloat | torch.SymBool) and bool(
        _symbolic.free_unbacked_symbols(size)
    )


def hint(size: Any) -> int:
    """Return a number for a size of torch: where it depends on data, one that is large."""
    if not isinstance(size, torch.SymInt):
        return size
    if not depends_on_data(size):
        return size.node.hint or 0
    known = size.node.shape_env.backed_var_to_val
    expression = size.node.expr
    return int(expression.xreplace({symbol: known.get(symbol, DATA_SIZE) for symbol in expression.free_symbols}))


def are_equal(size: Any, other: Any) -> bool:
    """Return whether sizes are equal; where they depend on data, whether they are so in every call."""
    if not (depends_on_data(size) or depends_on_data(other)):
        return bool(size == other)
    return bool(_without_least(size) == _without_least(other))


def _without_least(size: Any) -> Any:
    """Return the expression of a size without the least size of 1 by which torch computes strides."""
    if not isinstance(size, torch.SymInt):
        return size

    def is_least(part: Any) -> bool:
        return type(part).__name__ == "Max" and len(part.args) == 2 and 1 in part.args

    def without(part: Any) -> Any:
        return next(x for x in part.args if x != 1)

    return size.node.expr.replace(is_least, without)
