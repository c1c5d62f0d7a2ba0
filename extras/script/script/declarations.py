"""Declarations of buffers and tensors: `T.Buffer((1, 784), "float32")`, `R.Tensor((1, 784), dtype="float32")`."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, TensorType, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from relex.dialects.dtypes import buffer_of, is_unsigned
from relex.dialects.relex.types import shape_str
from relex.dialects.sizes import MAX_SIZE
from relex.frontend.script.dtypes import NO_UNSIGNED, element_type_of, name_of_type
from relex.frontend.script.scope import Unit, arguments, expect_neutral
from relex.frontend.script.source import ScriptError, shown

_NEUTRAL: dict[str, tuple[object, ...]] = {
    "data": (None,),
    "strides": ((), None),
    "elem_offset": (0, None),
    "scope": ("global", "local", ""),
    "offset_factor": (1, 0),
    "buffer_type": ("default", ""),
    "axis_separators": ((), None),
    "layout": ("default", None),
}
"""Options of TVM's buffers, with the values that describe every relex buffer. A processor has no memory for a group of
threads; memory for one thread is like any other."""


_IGNORED = ("align", "annotations")
"""Options of TVM's buffers that are hints."""


@dataclass(frozen=True)
class Declaration:
    """A declared buffer or tensor. Anything not declared is None."""

    node: ast.expr
    element_type: Attribute | None = None
    shape: tuple[int, ...] | None = None
    sizes: Sequence[ast.expr] | None = None
    """The sizes as written."""
    dims: Sequence[str] = ()
    """For each size its name if it is a single dynamic size, else ""."""

    @property
    def tensor(self) -> TensorType:
        """The type of a tensor. Raises `ScriptError` unless shape and dtype are declared."""
        if self.shape is None:
            raise ScriptError(self.node, "expected a shape or ndim for a tensor, found none")
        if self.element_type is None:
            raise ScriptError(self.node, "expected a dtype for a tensor, found none")
        return TensorType(self.element_type, self.shape)

    type = tensor

    @property
    def buffer(self) -> MemRefType:
        """The type of a buffer, which always has a shape and a dtype."""
        if is_unsigned(self.tensor.element_type):
            raise ScriptError(self.node, NO_UNSIGNED.format(name_of_type(self.tensor.element_type)))
        return buffer_of(self.tensor)

    @property
    def dynamic_sizes(self) -> Sequence[ast.expr]:
        """The dynamic sizes as written. Raises `ScriptError` if only the number of sizes is declared."""
        if self.sizes is None:
            raise ScriptError(self.node, "expected a shape for the result of a call, found none")
        return [node for node, size in zip(self.sizes, self.shape or (), strict=True) if size == DYNAMIC_INDEX]

    def fits(self, t: Attribute) -> bool:
        """Return whether a type matches the declaration, as far as sizes are static."""
        if not isa(t, TensorType) or self.element_type not in (None, t.element_type):
            return False
        found = t.get_shape()
        if self.shape is None:
            return True
        pairs = zip(self.shape, found, strict=False)
        return len(found) == len(self.shape) and all(a == b or DYNAMIC_INDEX in (a, b) for a, b in pairs)

    def __str__(self) -> str:
        return shown(self.node)


def read_buffer(unit: Unit, node: ast.expr) -> Declaration:
    """Return the buffer declared by `T.Buffer((1, 128), "float32")` or the older `T.Buffer[(1, 128), "float32"]`."""
    match node:
        case ast.Call():
            return read_allocation(unit, node, "T.Buffer")
        case ast.Subscript(slice=ast.Tuple(elts=[shape, ast.Constant(value=str()) as dtype])):
            return declare(unit, node, shape, dtype)
        case ast.Subscript(slice=shape):
            return declare(unit, node, shape)
        case _:
            raise ScriptError(node, f"expected T.Buffer(shape, dtype), found '{shown(node)}'")


def read_allocation(unit: Unit, call: ast.Call, what: str) -> Declaration:
    """Return the buffer that a call declares by shape, dtype and options, all of which must have their neutral
    values."""
    bound = arguments(call, what, ("shape",), ("dtype",), neutral=(*_NEUTRAL, *_IGNORED))
    return _declared(unit, call, bound)


def read_match(unit: Unit, call: ast.Call) -> tuple[ast.expr, Declaration]:
    """Return the parameter and the buffer of `T.match_buffer(parameter, shape, dtype)`, with options as for others."""
    bound = arguments(call, "T.match_buffer", ("param", "shape"), ("dtype",), neutral=(*_NEUTRAL, *_IGNORED))
    return bound["param"], _declared(unit, call, bound)


def _declared(unit: Unit, call: ast.Call, bound: Mapping[str, ast.expr]) -> Declaration:
    expect_neutral(unit, bound, _NEUTRAL, ": buffers are dense, row-major and do not alias")
    return declare(unit, call, bound["shape"], bound.get("dtype"))


def read_tensors(unit: Unit, node: ast.expr) -> Sequence[Declaration]:
    """Return the tensors of a type: one, or the elements of a tuple or list."""
    parts = node.args if unit.vocabulary.calls(node, "R.Tuple") else [node]
    if len(parts) == 1 and isinstance(parts[0], ast.List | ast.Tuple):
        parts = parts[0].elts
    return [read_tensor(unit, part) for part in parts]


def read_tensor(unit: Unit, node: ast.expr) -> Declaration:
    """Return the tensor declared by `R.Tensor(shape, dtype, ndim)`."""
    if not unit.vocabulary.calls(node, "R.Tensor"):
        raise ScriptError(node, f"expected R.Tensor(shape, dtype), found '{shown(node)}'")
    # A vdevice is where TVM puts a tensor.
    bound = arguments(node, "R.Tensor", (), ("shape", "dtype", "vdevice"), more=("ndim",))
    shape, dtype = bound.get("shape"), bound.get("dtype")
    if isinstance(shape, ast.Constant) and isinstance(shape.value, str) and dtype is None:
        shape, dtype = None, shape  # R.Tensor("float32", ndim=2)
    element_type = None
    if dtype is not None and (name := unit.constants.value(dtype)) not in ("", None):
        element_type = element_type_of(dtype, name)
    if shape is not None and not (isinstance(shape, ast.Constant) and shape.value is None):
        return Declaration(node, element_type, *_read_shape(unit, shape))
    rank = unit.constants.integer(bound["ndim"], "a rank") if "ndim" in bound else -1
    return Declaration(node, element_type, (DYNAMIC_INDEX,) * rank if rank >= 0 else None, None, ("",) * rank)


def declare(unit: Unit, node: ast.expr, shape: ast.expr, dtype: ast.expr | None = None) -> Declaration:
    """Return the declaration of a shape and a dtype, float32 by default. A single size stands for one dimension."""
    element_type = f32 if dtype is None else element_type_of(dtype, unit.constants.value(dtype))
    return Declaration(node, element_type, *_read_shape(unit, shape))


def _read_shape(unit: Unit, node: ast.expr) -> tuple[tuple[int, ...], Sequence[ast.expr], Sequence[str]]:
    """Return the static sizes of a shape, all sizes as written, and the names of dynamic ones."""
    sizes = [_unquoted(size) for size in shape_parts(unit, node)]
    static = tuple(_static_size(unit, size) for size in sizes)
    dims = [
        size.id if known == DYNAMIC_INDEX and isinstance(size, ast.Name) else ""
        for size, known in zip(sizes, static, strict=True)
    ]
    return static, sizes, dims


def shape_parts(unit: Unit, shape: ast.expr) -> Sequence[ast.expr]:
    """Return the sizes of a shape: a tuple, also as `R.shape([...])`, the name of one, or a single size."""
    if unit.vocabulary.calls(shape, "R.shape"):
        (shape,) = arguments(shape, "R.shape", ("value",)).values()
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


def _static_size(unit: Unit, node: ast.expr) -> int:
    """Return a static size, or `DYNAMIC_INDEX`."""
    if not unit.constants.is_constant(node):
        return DYNAMIC_INDEX
    size = unit.constants.integer(node, "a size")
    if not 0 <= size <= MAX_SIZE:
        raise ScriptError(node, f"expected a size from 0 to {MAX_SIZE}, found {size}")
    return size


def expect_extent(node: ast.AST, extent: int | SSAValue) -> int | SSAValue:
    """Return the extent of a loop or an axis. Raises `ScriptError` if it is negative or too large."""
    if isinstance(extent, int) and not 0 <= extent <= MAX_SIZE:
        raise ScriptError(node, f"expected an extent from 0 to {MAX_SIZE}, found {extent}")
    return extent


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
