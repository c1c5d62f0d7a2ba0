"""Type declarations in graph functions: `R.Tensor((1, 784), dtype="float32")`, and tuples of them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from relex.frontend.script.buffers import make_buffer
from relex.frontend.script.dtypes import element_type_of
from relex.frontend.script.source import ScriptError, shown
from relex.frontend.script.unit import Unit, arguments


@dataclass(frozen=True)
class Tensor:
    """A declared tensor. Anything not declared is None."""

    node: ast.expr
    sizes: Sequence[ast.expr] | None
    dims: tuple[str, ...]
    """For each size its name if it is a single dynamic size, else ""."""
    shape: tuple[int, ...] | None
    element_type: Attribute | None

    @property
    def type(self) -> TensorType:
        """The type. Raises `ScriptError` unless shape and dtype are declared."""
        if self.shape is None:
            raise ScriptError(self.node, "expected a shape or ndim for a tensor, found none")
        if self.element_type is None:
            raise ScriptError(self.node, "expected a dtype for a tensor, found none")
        return TensorType(self.element_type, self.shape)

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


def read_tensors(unit: Unit, node: ast.expr) -> Sequence[Tensor]:
    """Return the tensors of a type: one, or the elements of a tuple or list."""
    if unit.vocabulary.calls(node, "R.Tuple") and isinstance(node, ast.Call):
        return [read_tensor(unit, part) for part in _parts(node.args)]
    if isinstance(node, ast.List | ast.Tuple):
        return [read_tensor(unit, part) for part in node.elts]
    return [read_tensor(unit, node)]


def _parts(args: Sequence[ast.expr]) -> Sequence[ast.expr]:
    match args:
        case [ast.List(elts=parts) | ast.Tuple(elts=parts)]:
            return parts
        case _:
            return args


def read_tensor(unit: Unit, node: ast.expr) -> Tensor:
    """Return the tensor declared by `R.Tensor(shape, dtype, ndim)`."""
    if not isinstance(node, ast.Call) or not unit.vocabulary.calls(node, "R.Tensor"):
        raise ScriptError(node, f"expected R.Tensor(shape, dtype), found '{shown(node)}'")
    bound = arguments(node, "R.Tensor", (), ("shape", "dtype"), more=("ndim",))
    shape, dtype = bound.get("shape"), bound.get("dtype")
    if isinstance(shape, ast.Constant) and isinstance(shape.value, str) and dtype is None:
        shape, dtype = None, shape  # R.Tensor("float32", ndim=2)
    element_type = None
    if dtype is not None and (name := unit.constants.value(dtype)) not in ("", None):
        element_type = element_type_of(dtype, name)
    if shape is not None and not (isinstance(shape, ast.Constant) and shape.value is None):
        buffer = make_buffer(unit, shape, None)
        return Tensor(node, buffer.sizes, buffer.dims, buffer.type.get_shape(), element_type)
    rank = unit.constants.integer(bound["ndim"], "a rank") if "ndim" in bound else -1
    open_shape = (DYNAMIC_INDEX,) * rank if rank >= 0 else None
    return Tensor(node, None, ("",) * max(rank, 0), open_shape, element_type)


def make_tensor(unit: Unit, node: ast.expr, shape: ast.expr, dtype: ast.expr) -> Tensor:
    """Return the tensor for a dtype and a shape, which may be written as `R.shape`."""
    if isinstance(shape, ast.Call) and unit.vocabulary.calls(shape, "R.shape"):
        (shape,) = arguments(shape, "R.shape", ("value",)).values()
    buffer = make_buffer(unit, shape, dtype)
    return Tensor(node, buffer.sizes, buffer.dims, buffer.type.get_shape(), buffer.element_type)
