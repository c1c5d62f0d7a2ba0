"""Buffer declarations in loop functions: types and names of sizes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, f32
from xdsl.ir import Attribute

from relex.dialects.relex.types import shape_str
from relex.frontend.script.dtypes import element_type_of
from relex.frontend.script.source import ScriptError, shown
from relex.frontend.script.unit import Unit, arguments

_NEUTRAL: dict[str, tuple[object, ...]] = {
    "data": (None,),
    "strides": (None, ()),
    "elem_offset": (None, 0),
    "scope": ("global",),
    "align": (-1, 0, 64),
    "offset_factor": (0, 1),
    "buffer_type": ("", "default"),
    "axis_separators": (None, ()),
    "layout": (None, "default"),
}
"""Options of TVM's buffers, with the values that describe every relex buffer."""


@dataclass(frozen=True)
class Buffer:
    """A buffer declaration: the sizes as written, and the element type."""

    sizes: tuple[ast.expr, ...]
    element_type: Attribute
    dims: tuple[str, ...]
    """For each size its name if it is a single dynamic size, else ""."""
    type: MemRefType


def read_buffer(unit: Unit, node: ast.expr) -> Buffer:
    """Return the buffer declared by `T.Buffer((1, 128), "float32")` or the older `T.Buffer[(1, 128), "float32"]`."""
    match node:
        case ast.Call():
            return read_declaration(unit, node, "T.Buffer")
        case ast.Subscript(slice=ast.Tuple(elts=[shape, dtype])) if _is_string(dtype):
            return make_buffer(unit, shape, dtype)
        case ast.Subscript(slice=shape):
            return make_buffer(unit, shape, None)
        case _:
            raise ScriptError(node, f"expected T.Buffer(shape, dtype), found '{shown(node)}'")


def read_declaration(unit: Unit, call: ast.Call, what: str) -> Buffer:
    """Return the buffer that a call declares by shape, dtype and options, all of which must have their neutral
    values."""
    bound = arguments(call, what, ("shape",), ("dtype",), neutral=tuple(_NEUTRAL))
    for name, allowed in _NEUTRAL.items():
        if name in bound and (value := unit.constants.value(bound[name])) not in allowed:
            raise ScriptError(bound[name], f"expected {name} to be {allowed[-1]!r}, found {value!r}: "
                                           "buffers are dense, row-major and of their own")  # fmt: skip
    return make_buffer(unit, bound["shape"], bound.get("dtype"))


def make_buffer(unit: Unit, shape: ast.expr, dtype: ast.expr | None) -> Buffer:
    """Return a buffer for a shape (a single size stands for one dimension) and a dtype, float32 by default."""
    element_type = f32 if dtype is None else element_type_of(dtype, unit.constants.value(dtype))
    sizes = tuple(_unquoted(part) for part in _parts(unit, shape))
    static = [_static_size(unit, size) for size in sizes]
    dims = tuple(
        size.id if known is None and isinstance(size, ast.Name) else ""
        for size, known in zip(sizes, static, strict=True)
    )
    shape_attr = [DYNAMIC_INDEX if known is None else known for known in static]
    return Buffer(sizes, element_type, dims, MemRefType(element_type, shape_attr))


def _parts(unit: Unit, shape: ast.expr) -> Sequence[ast.expr]:
    """Return the sizes of a shape: a tuple, the name of one, or a single size."""
    if isinstance(shape, ast.Tuple | ast.List):
        return shape.elts
    value = unit.constants.value(shape) if unit.constants.is_constant(shape) else None
    if not isinstance(value, tuple):
        return [shape]
    return [ast.copy_location(ast.Constant(size), shape) for size in cast("tuple[int, ...]", value)]


def expected_indices(type: MemRefType) -> str:
    """Return the text of an error message for the number of indices of a buffer."""
    rank = len(type.get_shape())
    return f"{rank} {'index' if rank == 1 else 'indices'} for a buffer of shape {shape_str(type.get_shape())}"


def _static_size(unit: Unit, node: ast.expr) -> int | None:
    """Return a static size, or None for a dynamic one."""
    if not unit.constants.is_constant(node):
        return None
    size = unit.constants.integer(node, "a size")
    if size < 0:
        raise ScriptError(node, f"expected a size of 0 or more, found {size}")
    return size


def _unquoted(node: ast.expr) -> ast.expr:
    """Parse a string in a shape: `"n + 1"` becomes `n + 1`."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return node
    try:
        inner = ast.parse(node.value, mode="eval").body
    except (SyntaxError, ValueError):
        raise ScriptError(node, f"expected a size, found {node.value!r}") from None
    for part in ast.walk(inner):
        ast.copy_location(part, node)
    return inner


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
