"""Branches of an imported graph that are decided when the program runs, and what is emitted in branches and loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, TensorType, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from relex.dialects.dtypes import numpy_dtype
from relex.dialects.op_edits import index_constant
from relex.dialects.relex.types import without_names
from relex.dialects.sizes import Size
from relex.frontend import op
from relex.frontend.graph_expressions import Operand
from relex.frontend.importing.builder import Builder
from relex.frontend.importing.values import Computed, Known, Tensor, Unsupported, size_argument

LateSizes = Sequence[Size | None]
"""The sizes of a tensor, None for those that only a run finds out."""


class ShapesDifferError(Unsupported):
    """The branches of a condition that is known at run time give tensors that cannot be one: `then` and `otherwise`."""

    def __init__(self, then: Tensor, otherwise: Tensor):
        self.then, self.otherwise = then, otherwise
        x, y = self.shown
        super().__init__(
            f"a condition that is known at run time, between results of different shapes, {x} and {y}; give both the "
            "same number of dimensions and the same type"
        )

    @property
    def shown(self) -> tuple[str, str]:
        """The sizes of both results, and their element types if these differ."""
        return shown(self.then, self.otherwise)


def branch(
    builder: Builder,
    condition: Operand,
    then: Callable[[], Sequence[Operand]],
    otherwise: Callable[[], Sequence[Operand]],
    may_differ: Callable[[], bool] = lambda: True,
) -> list[Tensor]:
    """Return what `then` returns where a condition holds when the program runs, or else what `otherwise` returns. Where
    their sizes differ, the result has a late size, if they `may_differ`.

    Raises `ShapesDifferError`.
    """
    holds = element_of(builder, op.reshape(condition, []), i1)
    blocks, found = [Block(), Block()], list[list[Tensor]]()
    for block, emit in zip(blocks, (then, otherwise), strict=True):
        with builder.region(block):
            found.append([builder.tensor(x) for x in emit()])
    pairs = list(zip(*found, strict=True))
    unlike = [pair for pair in pairs if not is_like(*pair)]
    results = [[_shared(builder, blocks, *sizes) for sizes in zip(x.sizes, y.sizes, strict=False)] for x, y in pairs]
    differ = unlike or [pair for pair, sizes in zip(pairs, results, strict=True) if None in sizes]
    if differ and (unlike or not may_differ()):
        raise ShapesDifferError(*differ[0])
    types = [type_of(x, sizes) for x, sizes in zip(found[0], results, strict=True)]
    for block, values in zip(blocks, found, strict=True):
        end(builder, block, values, types)
    made = scf.IfOp(holds, types, Region(blocks[0]), Region(blocks[1]))
    builder.add(made)
    return [builder.with_late(value, sizes) for value, sizes in zip(made.results, results, strict=True)]


def _shared(builder: Builder, blocks: Sequence[Block], x: Size, y: Size) -> Size | None:
    """Return a size that both branches give and that is known before, None if there is none."""
    return x if x == y and not any(builder.is_found_in(block, x) for block in blocks) else None


def end(
    builder: Builder,
    block: Block,
    values: Sequence[Tensor],
    types: Sequence[TensorType],
    numbers: Sequence[SSAValue] = (),
) -> None:
    """End a block with numbers and tensors of these types."""
    with builder.region(block):
        casts = [cast_to(builder, x, t) for x, t in zip(values, types, strict=True)]
        builder.add(scf.YieldOp(*numbers, *casts))


def is_like(x: Tensor, y: Tensor) -> bool:
    """Return whether tensors have the same element type and number of dimensions."""
    return (x.element_type, len(x.sizes)) == (y.element_type, len(y.sizes))


def shown(x: Tensor, y: Tensor) -> tuple[str, str]:
    """Return the sizes of two tensors, and their element types if these differ."""
    first, second = (" x ".join(map(str, t.sizes)) or "a scalar" for t in (x, y))
    if x.element_type == y.element_type:
        return first, second
    return f"{first} of {x.element_type}", f"{second} of {y.element_type}"


def zeros(sizes: Sequence[Size], element_type: Attribute) -> Operand:
    """Return a tensor of zeros."""
    zero = Known(np.zeros((), numpy_dtype(element_type)))
    return op.broadcast_to(zero, [size_argument(size) for size in sizes])


def type_of(x: Tensor, sizes: LateSizes) -> TensorType:
    """Return the type of a tensor of which some sizes are known."""
    unknown = without_names(x.sizes)
    return TensorType(
        x.element_type, [DYNAMIC_INDEX if size is None else n for size, n in zip(sizes, unknown, strict=True)]
    )


def cast_to(builder: Builder, x: Tensor, to: TensorType) -> SSAValue:
    """Return the value of a tensor as one of a type that says less, or more, of its sizes."""
    value = builder.value(x)
    return value if value.type == to else insert(builder, tensor.CastOp(value, to))


def insert(builder: Builder, made: Operation) -> SSAValue:
    """Emit an op of one result."""
    builder.add(made)
    return made.results[0]


def index(builder: Builder, number: int) -> SSAValue:
    """Emit a number."""
    return insert(builder, index_constant(number))


def element_of(builder: Builder, x: Operand, kind: Attribute) -> SSAValue:
    """Return the element of a tensor without dimensions."""
    return insert(builder, tensor.ExtractOp(builder.value(x), [], kind))


def as_index(builder: Builder, x: Operand) -> SSAValue:
    """Return the only element of a tensor as a number."""
    whole = builder.tensor(op.reshape(x, []))
    return insert(builder, arith.IndexCastOp(element_of(builder, whole, whole.element_type), IndexType()))


def as_tensor(builder: Builder, number: SSAValue) -> Tensor:
    """Return a number as a tensor of i64."""
    element = insert(builder, arith.IndexCastOp(number, i64))
    return Computed(insert(builder, tensor.FromElementsOp(element, result_type=TensorType(i64, []))), ())
