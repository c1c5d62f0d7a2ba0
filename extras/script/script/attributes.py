"""Attributes of functions, blocks and loops: TVM's are mapped to relex's where it has them, others are kept as they
are."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, StringAttr, UnitAttr, f64, i1, i64
from xdsl.ir import Attribute, Operation

from relex.dialects.errors import fail
from relex.frontend.script.source import ScriptError
from relex.frontend.script.writing import CANNOT

PATTERN_ATTR = "tir.op_pattern"

PATTERNS = {"elementwise": 0, "broadcast": 1, "injective": 2, "reduction": 3, "out-elementwise-fusable": 4, "opaque": 8}
"""TVM's numbers for the operator patterns of loop functions."""

_FOREIGN = "tvm."
"""Prefix of attributes that have a meaning only in TVM."""


def read_attributes(node: ast.AST, found: Mapping[str, object]) -> dict[str, Attribute]:
    """Return the attributes for a dictionary. Raises `ScriptError` for a value that cannot be an attribute."""
    return dict(_read(node, name, value) for name, value in found.items())


def _read(node: ast.AST, name: str, value: object) -> tuple[str, Attribute]:
    if name == "op_pattern":
        patterns = {number: pattern for pattern, number in PATTERNS.items()}
        if not isinstance(value, int) or value not in patterns:
            raise ScriptError(node, f"expected op_pattern to be among {', '.join(map(str, patterns))}, found {value!r}")
        return PATTERN_ATTR, StringAttr(patterns[value])
    attribute = _attribute(value)
    if attribute is None:
        raise ScriptError(node, f"expected '{name}' to be a number, a string or a list of them, found {value!r}")
    return (name if name.startswith(("relex.", "tir.")) else _FOREIGN + name), attribute


def _attribute(value: object) -> Attribute | None:
    match value:
        case True:
            return UnitAttr()
        case False:
            return IntegerAttr(0, i1)
        case int() if -(1 << 63) <= value < 1 << 63:
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f64)
        case str():
            return StringAttr(value)
        case tuple():
            parts = [_attribute(part) for part in cast("tuple[object, ...]", value)]
            return None if None in parts else ArrayAttr(part for part in parts if part is not None)
        case _:
            return None


def write_attributes(op: Operation, attributes: Mapping[str, Attribute]) -> dict[str, object]:
    """Return attributes of `op` as a dictionary of a script. Fails for one that scripts cannot express."""
    return dict(_write(op, name, attribute) for name, attribute in sorted(attributes.items()))


def _write(op: Operation, name: str, attribute: Attribute) -> tuple[str, object]:
    if name == PATTERN_ATTR and isinstance(attribute, StringAttr) and attribute.data in PATTERNS:
        return "op_pattern", PATTERNS[attribute.data]
    value = _value(attribute)
    if value is None:
        fail(op, f"{CANNOT}: expected attributes that are numbers, strings or lists of them")
    return name.removeprefix(_FOREIGN), value


def _value(attribute: Attribute) -> object | None:
    match attribute:
        case UnitAttr():
            return True
        case IntegerAttr(value=number, type=type):
            return False if type == i1 and not number.data else number.data
        case FloatAttr(value=number):
            return number.data
        case StringAttr(data=text):
            return text
        case ArrayAttr(data=parts):
            values = [_value(part) for part in parts]
            return None if None in values else values
        case _:
            return None
