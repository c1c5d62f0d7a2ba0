"""Loops of an imported graph that end when the program runs: what they carry may change its sizes from trip to trip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IndexType, TensorType, i1, i64
from xdsl.ir import Block, BlockArgument, Region, SSAValue

from relex.dialects.errors import RelexError
from relex.dialects.sizes import IndexExpr, Size
from relex.frontend import op
from relex.frontend.graph_expressions import Operand
from relex.frontend.importing.builder import Builder
from relex.frontend.importing.graph_importer import ReportedError
from relex.frontend.importing.regions import (
    LateSizes,
    as_index,
    as_tensor,
    branch,
    cast_to,
    end,
    index,
    insert,
    is_like,
    shown,
    type_of,
    zeros,
)
from relex.frontend.importing.values import Computed, Known, Tensor, refuse

Trip = Callable[[Tensor, Sequence[Tensor]], tuple[Sequence[Operand], Sequence["Row"]]]
"""From the number of a trip and what a loop carries to what it carries next, and the rows that the trip adds to
results."""

ConditionalTrip = Callable[[Tensor, Tensor, Sequence[Tensor]], tuple[Operand, Sequence[Operand], Sequence["Row"]]]
"""The same with a condition: the one that let the trip run, and the one for the next."""

Changing = set[tuple[int, int]]
"""Of tensors that a loop carries, by number, the dimensions whose sizes a trip changes."""


class Row:
    """A part of a result of a loop: what a trip writes at a place along a new dimension; without a place, after what
    trips before have written."""

    def __init__(self, x: Operand, place: Operand | None = None, axis: int = 0):
        self.x = x
        self.place = place
        self.axis = axis


def counted(builder: Builder, count: Size, trip: Trip, first: Sequence[Operand]) -> list[Tensor]:
    """Run a loop as often as a size says. Return what it carries at the end, and the rows of its trips together."""
    zero, one, most = index(builder, 0), index(builder, 1), as_index(builder, Known(count))

    def attempt(number: Tensor, state: Sequence[Tensor]) -> tuple[list[Tensor], list[Row]]:
        values, rows = trip(number, state)
        return [builder.tensor(x) for x in values], [*rows]

    carried, block = _until_stable(builder, first, attempt, count)
    made = scf.ForOp(zero, most, one, carried.values(), Region(block))
    end(builder, block, carried.given, carried.types)
    builder.add(made)
    return carried.tensors(made.results)


def conditional(
    builder: Builder, count: Operand | None, running: Operand, trip: ConditionalTrip, first: Sequence[Operand]
) -> list[Tensor]:
    """Run a loop while a condition holds, as each trip finds it anew, and at most as often as a number says. Return
    what it carries at the end, and the rows of its trips together."""
    start, most = index(builder, 0), None if count is None else as_index(builder, count)

    def attempt(number: Tensor, state: Sequence[Tensor]) -> tuple[list[Tensor], list[Row]]:
        goes_on, values, rows = trip(number, state[0], state[1:])
        return [builder.tensor(x) for x in (op.reshape(goes_on, []), *values)], [*rows]

    carried, after = _until_stable(builder, [op.reshape(running, []), *first], attempt, None)
    with builder.region(after):
        following = insert(builder, arith.AddiOp(after.args[0], index(builder, 1)))
    end(builder, after, carried.given, carried.types, [following])
    before = Block(arg_types=[IndexType(), *carried.types])
    with builder.region(before):
        holds = insert(builder, tensor.ExtractOp(before.args[1], [], i1))
        if most is not None:
            more = insert(builder, arith.CmpiOp(before.args[0], most, "slt"))
            holds = insert(builder, arith.AndIOp(holds, more))
        builder.add(scf.ConditionOp(holds, *before.args))
    operands = [start, *carried.values()]
    made = scf.WhileOp(operands, [value.type for value in operands], Region(before), Region(after))
    builder.add(made)
    return carried.tensors(made.results[1:])[1:]


@dataclass
class _Carried:
    """The tensors that a loop carries."""

    builder: Builder
    first: list[Tensor]
    """What they are before the loop."""
    changing: Changing
    given: list[Tensor] = field(default_factory=list[Tensor])
    """What they are after a trip."""

    @property
    def types(self) -> list[TensorType]:
        """Their types."""
        return [type_of(x, self._sizes(i)) for i, x in enumerate(self.first)]

    def values(self) -> list[SSAValue]:
        """Return their values before the loop."""
        return [cast_to(self.builder, x, t) for x, t in zip(self.first, self.types, strict=True)]

    def tensors(self, values: Sequence[SSAValue]) -> list[Tensor]:
        """Return values of these types, in a trip or after the loop, as tensors."""
        return [self.builder.with_late(value, self._sizes(i)) for i, value in enumerate(values)]

    def changed(self) -> Changing:
        """Return what a trip changes. Refuses other types."""
        found = Changing()
        for i, (x, y) in enumerate(zip(self.first, self.given, strict=True)):
            if not is_like(x, y):
                before, after = shown(x, y)
                refuse(
                    f"a loop that ends at run time and changes what it carries, {before} to {after}; give both the "
                    "same number of dimensions and the same type"
                )
            found |= {(i, d) for d, size in enumerate(x.sizes) if size != y.sizes[d]}
        return found

    def add_row(self, block: Block, row: Row, x: Tensor, count: Size | None) -> None:
        """Carry a tensor of rows, too, to which each trip adds `x`: all rows if their number is known before the loop,
        else the rows so far."""
        builder, axis, number = self.builder, row.axis, len(self.first)
        late = {d + (d >= axis) for d, size in enumerate(x.sizes) if builder.is_found_in(block, size)}
        if row.place is not None and (late or count is None):
            refuse("a loop that ends at run time whose results differ in size from trip to trip; pad them")
        rows = None if late else count
        sizes = [*x.sizes[:axis], 0 if rows is None else rows, *x.sizes[axis:]]
        self.first.append(builder.tensor(zeros([0 if d in late else s for d, s in enumerate(sizes)], x.element_type)))
        self.changing |= {(number, d) for d in (late if rows is not None else {*late, axis})}
        argument = block.insert_arg(self.types[-1], len(block.args))
        whole = builder.with_late(argument, self._sizes(number))
        with builder.region(block):
            self.given.append(self._with_row(block, row, x, whole, argument, rows))

    def _with_row(
        self, block: Block, row: Row, x: Tensor, whole: Tensor, argument: BlockArgument, rows: Size | None
    ) -> Tensor:
        """Return a tensor of rows after a trip."""
        builder = self.builder
        if rows is not None:
            place = block.args[0] if row.place is None else as_index(builder, row.place)
            return Computed(_written(builder, x, argument, place, row.axis), whole.sizes)
        new = builder.tensor(op.expand_dims(x, row.axis))
        more = op.concat(whole, new, axis=row.axis)
        if len({d for number, d in self.changing if number == len(self.first) - 1}) == 1:
            return builder.tensor(more)
        # Only the first trip finds out how large its row is.
        is_first = op.equal(as_tensor(builder, block.args[0]), Known(0))
        return branch(builder, is_first, lambda: [new], lambda: [more])[0]

    def _sizes(self, i: int) -> LateSizes:
        return [None if (i, d) in self.changing else size for d, size in enumerate(self.first[i].sizes)]


def _until_stable(
    builder: Builder,
    first: Sequence[Operand],
    trip: Callable[[Tensor, Sequence[Tensor]], tuple[list[Tensor], list[Row]]],
    count: Size | None,
) -> tuple[_Carried, Block]:
    """Import a trip under the assumption that it changes only some sizes; if it changes more, or what is empty before
    the loop is no right input, start again."""
    carried = _Carried(builder, [builder.tensor(x) for x in first], set())
    while True:
        before, block = builder.state(), Block(arg_types=[IndexType(), *carried.types])
        try:
            with builder.region(block):
                carried.given, rows = trip(as_tensor(builder, block.args[0]), carried.tensors(block.args[1:]))
                parts = [builder.tensor(row.x) for row in rows]
        except (ReportedError, RelexError):
            more = {(i, d) for i, x in enumerate(carried.first) for d, size in enumerate(x.sizes) if size == 0}
            if more <= carried.changing:
                raise
        else:
            more = carried.changed()
            if more <= carried.changing:
                break
        builder.restore(before)
        carried.changing |= more
    for row, x in zip(rows, parts, strict=True):
        carried.add_row(block, row, x, count)
    return carried, block


def _written(builder: Builder, x: Tensor, whole: BlockArgument, place: SSAValue, axis: int) -> SSAValue:
    """Write a tensor to a place along a dimension of a larger one."""
    value = builder.value(x)
    rank, dynamic = len(x.sizes) + 1, list[SSAValue]()
    sizes: list[int] = []
    for d in range(rank):
        size = 1 if d == axis else x.sizes[d - (d > axis)]
        if isinstance(size, IndexExpr):
            dynamic.append(insert(builder, tensor.DimOp(value, index(builder, d - (d > axis)))))
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
    return insert(builder, made)
