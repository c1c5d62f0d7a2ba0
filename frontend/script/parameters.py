"""Parameters, common to loop functions and graph functions."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, BlockArgument, SSAValue

from relex.dialects.functions import DIMS_ATTR, NAME_ATTR
from relex.frontend.script.source import ScriptError

LAYOUT_FREE_ATTR = "tir.layout_free"
"""On an argument: its layout may be changed, as it is not visible outside of the module."""


def plain_parameters(function: ast.FunctionDef) -> Sequence[ast.arg]:
    """Return the parameters of a function that has plain ones only. Raises `ScriptError`."""
    args = function.args
    for extra in (args.vararg, args.kwarg, *args.kwonlyargs, *args.defaults, *args.posonlyargs):
        if extra is not None:
            raise ScriptError(extra, "expected plain parameters, each a name and a type")
    return args.args


def argument_attributes(
    arguments: Mapping[BlockArgument, str], dims: Mapping[SSAValue, Sequence[str]], layout_free: Collection[int] = ()
) -> ArrayAttr[DictionaryAttr] | None:
    """Return the attributes of arguments: names that SSA values cannot keep, names of sizes, and free layouts."""
    hints: set[str | None] = set()
    result: list[DictionaryAttr] = []
    for position, (value, name) in enumerate(arguments.items()):
        attrs: dict[str, Attribute] = {}
        # xDSL strips numeric suffixes from names and renames duplicates.
        if value.name_hint != name or value.name_hint in hints:
            attrs[NAME_ATTR] = StringAttr(name)
        if any(dims.get(value, ())):
            attrs[DIMS_ATTR] = ArrayAttr(StringAttr(dim) for dim in dims[value])
        if position in layout_free:
            attrs[LAYOUT_FREE_ATTR] = UnitAttr()
        hints.add(value.name_hint)
        result.append(DictionaryAttr(attrs))
    return ArrayAttr(result) if any(attrs.data for attrs in result) else None
