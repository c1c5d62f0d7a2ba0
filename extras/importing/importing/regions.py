"""Branches and loops of an imported graph that are decided when the program runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IndexType, IntegerAttr, TensorType, i1, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from relex.dialects.dtypes import numpy_dtype
from relex.dialects.relex.types import without_names
from relex.dialects.sizes import IndexExpr, Size, Sizes
from relex.frontend import op
from relex.frontend.graph_expressions import Operand
from relex.frontend.importing.builder import Builder
from relex.frontend.importing.values import Computed, Known, Tensor, Unsupported, refuse

Trip = Callable[[Tensor, Sequence[Tensor]], tuple[Sequence[Operand], Sequence["Row"]]]
"""From the number of a trip and what a loop carries to what it carries next, and the rows that the trip adds to
results."""


class Row:
    """A part of a result of a loop: what a trip writes at a place along a dimension."""

    def __init__(self, x: Operand, place: Operand, axis: int = 0):
        self.x = x
        self.place = place
        self.axis = axis


class ShapesDifferError(Unsupported):
    """The branches of a condition that is known at run time give tensors of different types: `then` and `otherwise`."""

    def __init__(self, then: Tensor, otherwise: Tensor):
        self.then, self.otherwise = then, otherwise
        x, y = self.shown
        super().__init__(
            f"a condition that is known at run time, between results of different shapes, {x} and {y}; pad them"
        )

    @property
    def shown(self) -> tuple[str, str]:
        """The sizes of both results, and their element types if these differ."""
        return _shown(self.then, self.otherwise)


def branch(
    builder: Builder,
    condition: Tensor,
    then: Callable[[], Sequence[Operand]],
    otherwise: Callable[[], Sequence[Operand]],
) -> list[Tensor]:
    """Return what `then` returns where a condition holds when the program runs, or else what `otherwise` returns.

    Raises `ShapesDifferError`.
    """
    holds = _element(builder, op.reshape(condition, []), i1)
    blocks, found = [Block(), Block()], list[list[Tensor]]()
    for block, emit in zip(blocks, (then, otherwise), strict=True):
        with builder.region(block):
            found.append([builder.tensor(x) for x in emit()])
    for x, y in zip(*found, strict=True):
        if (x.sizes, x.element_type) != (y.sizes, y.element_type):
            raise ShapesDifferError(x, y)
    for block, values in zip(blocks, found, strict=True):
        _end(builder, block, values)
    made = scf.IfOp(holds, [_type(x) for x in found[0]], Region(blocks[0]), Region(blocks[1]))
    builder.add(made)
    return [Computed(value, x.sizes) for value, x in zip(made.results, found[0], strict=True)]


def counted(builder: Builder, count: Size, trip: Trip, first: Sequence[Operand]) -> list[Tensor]:
    """Run a loop as often as a size says. Return what it carries at the end, and the rows of its trips together."""
    initial = [builder.tensor(x) for x in first]
    outside = [*map(builder.value, initial)]
    zero, one, most = _index(builder, 0), _index(builder, 1), _as_index(builder, Known(count))
    block = Block(arg_types=[IndexType(), *map(_type, initial)])
    with builder.region(block):
        inside = [Computed(value, x.sizes) for value, x in zip(block.args[1:], initial, strict=True)]
        values, rows = trip(_as_tensor(builder, block.args[0]), inside)
        given = [builder.tensor(x) for x in values]
        parts = [(builder.tensor(row.x), _as_index(builder, row.place), row.axis) for row in rows]
    _expect_same(initial, given)
    wholes: list[Tensor] = []
    for x, place, axis in parts:
        sizes: Sizes = (*x.sizes[:axis], count, *x.sizes[axis:])
        first_rows = builder.tensor(zeros(sizes, x.element_type))
        outside.append(builder.value(first_rows))
        argument = block.insert_arg(TensorType(x.element_type, without_names(sizes)), len(block.args))
        with builder.region(block):
            wholes.append(Computed(_written(builder, x, argument, place, axis), sizes))
    _end(builder, block, [*given, *wholes])
    made = scf.ForOp(zero, most, one, outside, Region(block))
    builder.add(made)
    return [Computed(value, x.sizes) for value, x in zip(made.results, [*initial, *wholes], strict=True)]


def conditional(
    builder: Builder,
    count: Operand | None,
    running: Operand,
    trip: Callable[[Tensor, Tensor, Sequence[Tensor]], tuple[Sequence[Operand], Operand]],
    first: Sequence[Operand],
) -> list[Tensor]:
    """Run a loop while a condition holds, as each trip finds it anew, and at most as often as a number says. Return
    what it carries at the end."""
    start, most = _index(builder, 0), None if count is None else _as_index(builder, count)
    initial = [builder.tensor(x) for x in (op.reshape(running, []), *first)]
    operands = [start, *map(builder.value, initial)]
    before, after = (Block(arg_types=[IndexType(), *map(_type, initial)]) for _ in range(2))
    with builder.region(before):
        holds = _insert(builder, tensor.ExtractOp(before.args[1], [], i1))
        if most is not None:
            more = _insert(builder, arith.CmpiOp(before.args[0], most, "slt"))
            holds = _insert(builder, arith.AndIOp(holds, more))
        builder.add(scf.ConditionOp(holds, *before.args))
    with builder.region(after):
        number, flag, *state = after.args
        inside = [Computed(value, x.sizes) for value, x in zip((flag, *state), initial, strict=True)]
        values, goes_on = trip(_as_tensor(builder, number), inside[0], inside[1:])
        following = _insert(builder, arith.AddiOp(number, _index(builder, 1)))
        given = [builder.tensor(x) for x in (op.reshape(goes_on, []), *values)]
    _expect_same(initial, given)
    _end(builder, after, given, [following])
    made = scf.WhileOp(operands, [value.type for value in operands], Region(before), Region(after))
    builder.add(made)
    return [Computed(value, x.sizes) for value, x in zip(made.results[2:], initial[1:], strict=True)]


def _written(builder: Builder, x: Tensor, whole: BlockArgument, place: SSAValue, axis: int) -> SSAValue:
    """Write a tensor to a place along a dimension of a larger one."""
    value = builder.value(x)
    rank, dynamic = len(x.sizes) + 1, list[SSAValue]()
    sizes: list[int] = []
    for d in range(rank):
        size = 1 if d == axis else x.sizes[d - (d > axis)]
        if isinstance(size, IndexExpr):
            dynamic.append(_insert(builder, tensor.DimOp(value, _index(builder, d - (d > axis)))))
        sizes.append(size if isinstance(size, int) else DYNAMIC_INDEX)
    made = tensor.InsertSliceOp.build(
        operands=[value, whole, [place], dynamic, []],
        properties={
            "static_offsets": DenseArrayBase.from_list(i64, [DYNAMIC_INDEX if d == axis else 0 for d in range(rank)]),
            "static_sizes": DenseArrayBase.from_list(i64, sizes),
            "static_strides": DenseArrayBase.from_list(i64, [1] * rank),
        },
        result_types=[whole.type],
    )
    return _insert(builder, made)


def zeros(sizes: Sizes, element_type: Attribute) -> Operand:
    """Return a tensor of zeros."""
    zero = Known(np.zeros((), numpy_dtype(element_type)))
    return op.broadcast_to(zero, [size if isinstance(size, int) else str(size) for size in sizes])


def _expect_same(initial: Sequence[Tensor], given: Sequence[Tensor]) -> None:
    for x, y in zip(initial, given, strict=True):
        if (x.sizes, x.element_type) != (y.sizes, y.element_type):
            before, after = _shown(x, y)
            refuse(
                f"a loop that ends at run time and changes what it carries, {before} to {after}; pad it to the largest "
                "size, and carry how much is used"
            )


def _shown(x: Tensor, y: Tensor) -> tuple[str, str]:
    """Return the sizes of two tensors, and their element types if these differ."""
    first, second = (" x ".join(map(str, t.sizes)) or "a scalar" for t in (x, y))
    if x.element_type == y.element_type:
        return first, second
    return f"{first} of {x.element_type}", f"{second} of {y.element_type}"


def _type(x: Tensor) -> TensorType:
    return TensorType(x.element_type, without_names(x.sizes))


def _end(builder: Builder, block: Block, values: Sequence[Tensor], numbers: Sequence[SSAValue] = ()) -> None:
    with builder.region(block):
        ends = [*numbers]
        for x in values:
            value = builder.value(x)
            ends.append(value if value.type == _type(x) else _insert(builder, tensor.CastOp(value, _type(x))))
        builder.add(scf.YieldOp(*ends))


def _insert(builder: Builder, made: Operation) -> SSAValue:
    builder.add(made)
    return made.results[0]


def _index(builder: Builder, number: int) -> SSAValue:
    return _insert(builder, arith.ConstantOp(IntegerAttr(number, IndexType())))


def _element(builder: Builder, x: Operand, kind: Attribute) -> SSAValue:
    return _insert(builder, tensor.ExtractOp(builder.value(x), [], kind))


def _as_index(builder: Builder, x: Operand) -> SSAValue:
    """Return the only element of a tensor as a number."""
    whole = builder.tensor(op.reshape(x, []))
    return _insert(builder, arith.IndexCastOp(_element(builder, whole, whole.element_type), IndexType()))


def _as_tensor(builder: Builder, number: SSAValue) -> Tensor:
    """Return a number as a tensor of i64."""
    element = _insert(builder, arith.IndexCastOp(number, i64))
    return Computed(_insert(builder, tensor.FromElementsOp(element, result_type=TensorType(i64, []))), ())
