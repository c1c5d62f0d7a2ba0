"""Tensor expressions: what an operator computes, element by element.

A computed tensor is a shape and a function from its indices to an expression:

    k = reduce_axis(x.shape[-1])
    compute((x.shape[0], w.shape[0]), lambda i, j: sum(x[i, k] * w[j, k], axis=k))

Sizes of shapes and extents of axes may be dynamic. `relex.lowering.te.emit` lowers tensor expressions to a
`tir.prim_func`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, overload

from xdsl.dialects.builtin import IndexType, f32
from xdsl.ir import Attribute

from relex.dialects.dtypes import is_emulated
from relex.dialects.errors import DTypeError, RangeError
from relex.dialects.sizes import MAX_SIZE, Size, Sizes
from relex.dialects.tir import IterKind
from relex.lowering.te.expressions import Axis, Element, Number, PrimExpr, Procedure, Reduce, as_expr, cast, walk

if TYPE_CHECKING:
    from relex.lowering.te.statements import Code


class OfIndices(Protocol):
    """A function from any number of indices to an expression: `lambda *i: ...`."""

    def __call__(self, *indices: Axis) -> PrimExpr: ...


OfSomeIndices = (
    Callable[[Axis], PrimExpr]
    | Callable[[Axis, Axis], PrimExpr]
    | Callable[[Axis, Axis, Axis], PrimExpr]
    | Callable[[Axis, Axis, Axis, Axis], PrimExpr]
)
"""A function from a fixed number of indices to an expression: `lambda i, j: ...`."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor: an input, or computed if it has a `body`, which is an expression in its `axes`."""

    name: str
    shape: Sizes
    type: Attribute
    axes: tuple[Axis, ...] = ()
    body: PrimExpr | None = field(default=None)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __getitem__(self, indices: PrimExpr | Number | Sequence[PrimExpr | Number]) -> PrimExpr:
        chosen = tuple(indices) if isinstance(indices, Sequence) else (indices,)
        if len(chosen) != self.ndim:
            raise ValueError(f"expected {self.ndim} indices for {self.name}, found {len(chosen)}")
        return Element(self.type, self, tuple(as_expr(index, IndexType()) for index in chosen))


@dataclass(frozen=True, eq=False)
class Widened(Tensor):
    """A tensor whose elements are converted to another type where they are read."""

    stored: Tensor = field(kw_only=True)

    def __getitem__(self, indices: PrimExpr | Number | Sequence[PrimExpr | Number]) -> PrimExpr:
        return cast(self.stored[indices], self.type)


def widened(tensor: Tensor) -> Tensor:
    """Return a tensor to compute with: with elements of f32 in place of floats without arithmetic."""
    return Widened(tensor.name, tensor.shape, f32, stored=tensor) if is_emulated(tensor.type) else tensor


def rounded(tensor: Tensor, type: Attribute) -> Tensor:
    """Return a computed tensor with its elements converted to a type."""
    if tensor.type == type:
        return tensor
    if tensor.body is None or isinstance(tensor.body, Reduce | Procedure):
        total = replace(tensor, name="total")
        return compute(tensor.shape, lambda *i: cast(total[*i], type), name=tensor.name)
    return replace(tensor, type=type, body=cast(tensor.body, type))


def placeholder(name: str, shape: Sequence[Size], type: Attribute) -> Tensor:
    """Declare an input. Raises `RangeError` or `DTypeError` for a size that no tensor has."""
    return Tensor(name, _checked(name, shape), type)


def _checked(name: str, shape: Sequence[Size]) -> tuple[Size, ...]:
    for size in shape:
        if isinstance(size, bool | float | str):
            raise DTypeError(f"expected sizes of '{name}' to be integers or expressions of sizes, found {size!r}")
        if isinstance(size, int) and not 0 <= size <= MAX_SIZE:
            raise RangeError(f"expected sizes of '{name}' from 0 to {MAX_SIZE}, found {size}")
    return tuple(shape)


@overload
def compute(shape: Sequence[Size], function: OfIndices, name: str = "compute", axes: Sequence[str] = ()) -> Tensor: ...
@overload
def compute(
    shape: Sequence[Size], function: OfSomeIndices, name: str = "compute", axes: Sequence[str] = ()
) -> Tensor: ...
def compute(
    shape: Sequence[Size], function: Callable[..., object], name: str = "compute", axes: Sequence[str] = ()
) -> Tensor:
    """Compute a tensor whose element at some indices is `function` of them.

    The function's parameter names become the names of the axes, unless `axes` has some. A reduction must be the whole
    result: anything applied to the reduced value is a separate computation.
    """
    shape = _checked(name, shape)
    names = axes or _axis_names(function, len(shape))
    if len(names) != len(shape):
        raise ValueError(f"expected a function of {len(shape)} indices for '{name}', found one of {len(names)}")
    variables = tuple(Axis(IndexType(), *named, IterKind.SPATIAL) for named in zip(names, shape, strict=True))
    body = function(*variables)
    if not isinstance(body, PrimExpr):
        raise ValueError(f"expected an expression for '{name}', found {body}; write `Const(type, {body})`")
    if any(isinstance(e, Reduce) for e in walk(body) if e is not body):
        raise ValueError(f"expected the reduction to be the whole of '{name}'; compute what follows it from its result")
    return Tensor(name, shape, body.type, variables, body)


def procedure(
    shape: Sequence[Size],
    type: Attribute,
    reads: Sequence[Tensor],
    emit: Callable[[Code, Tensor], None],
    name: str = "procedure",
) -> Tensor:
    """Compute a tensor by statements: `emit` is called with a builder of statements and the tensor, all of whose
    elements it must store."""
    return Tensor(name, tuple(shape), type, (), Procedure(type, tuple(reads), emit))


def _axis_names(function: Callable[..., object], count: int) -> list[str]:
    names: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            return names + [f"{parameter.name}{i}" for i in range(count - len(names))]
        names.append(parameter.name)
    return names
