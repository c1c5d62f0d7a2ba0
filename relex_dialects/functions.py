"""Argument attributes and argument names of functions: `func.func` and `tir.prim_func` alike."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.ir import Attribute, Operation

NAME_ATTR = "relex.name"
"""The name of an argument, for binding and error messages. Without it, the name of the SSA value counts."""

DIMS_ATTR = "relex.dims"
"""Names for the sizes of an argument, "" for none: sizes of one name are equal."""


def argument_attr(function: Operation, index: int, name: str) -> Attribute | None:
    """An attribute of an argument, if it has it."""
    arg_attrs = function.properties.get("arg_attrs")
    if not isinstance(arg_attrs, ArrayAttr):
        return None
    attrs = arg_attrs.data[index]
    return attrs.data.get(name) if isinstance(attrs, DictionaryAttr) else None


def set_argument_attr(function: Operation, index: int, name: str, value: Attribute) -> None:
    """Give an argument an attribute; those that it has stay."""
    arg_attrs = function.properties.get("arg_attrs")
    count = len(function.regions[0].blocks[0].args)
    old = arg_attrs.data if isinstance(arg_attrs, ArrayAttr) else (DictionaryAttr({}),) * count
    changed = DictionaryAttr({**_data(old[index]), name: value})
    function.properties["arg_attrs"] = ArrayAttr([*old[:index], changed, *old[index + 1 :]])


def argument_names(function: Operation) -> list[str]:
    """The names of a function's arguments: attribute `relex.name`, else the SSA name, else `argN`."""
    names: list[str] = []
    for i, arg in enumerate(function.regions[0].blocks[0].args):
        attr = argument_attr(function, i, NAME_ATTR)
        names.append(attr.data if isinstance(attr, StringAttr) else arg.name_hint or f"arg{i}")
    return names


def _data(attrs: Attribute) -> dict[str, Attribute]:
    return dict(attrs.data) if isinstance(attrs, DictionaryAttr) else {}
