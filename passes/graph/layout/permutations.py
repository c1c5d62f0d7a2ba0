"""Regions of operators that can be computed with their dimensions in another order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.dtypes import has_dtype
from relex.dialects.relex import BatchNormOp, ConcatOp, ConstantOp, Elementwise, LogSoftmaxOp, PermuteDimsOp, SoftmaxOp
from relex.dialects.relex.operator import AlongAxis
from relex.dialects.relex.properties import integer
from relex.dialects.relex.tensor_ops import array_of
from relex.dialects.relex.types import rank_of, shape_of, tensor_type
from relex.dialects.table import Table

Order = tuple[int, ...]
"""Dimensions in an order: dimension `i` of a permuted tensor is dimension `order[i]` of the tensor itself."""

Reorder = Callable[[Operation, Order], tuple[Sequence[int], Mapping[str, Attribute]]]
"""Maps an operator, and the order of its dimensions, to the indices of the operands that are permuted as its result is,
and to the properties with which it computes the same without the permutation."""

REORDERS = Table[type[Operation], Reorder]("operators for dimensions in another order")
"""The operators with one result that can be computed with their dimensions in another order. Other packages add
theirs."""


@REORDERS.rule(Elementwise)
def _elementwise(op: Operation, order: Order) -> tuple[Sequence[int], Mapping[str, Attribute]]:
    return range(len(op.operands)), op.properties


@REORDERS.rule(BatchNormOp, SoftmaxOp, LogSoftmaxOp)
def _along_axis(op: Operation, order: Order) -> tuple[Sequence[int], Mapping[str, Attribute]]:
    assert isinstance(op, AlongAxis)
    return [0], {**op.properties, "axis": integer(order[op.normal_axis])}


@REORDERS.rule(ConcatOp)
def _all_along_axis(op: Operation, order: Order) -> tuple[Sequence[int], Mapping[str, Attribute]]:
    _, properties = _along_axis(op, order)
    return range(len(op.operands)), properties


def inverse(order: Order) -> Order:
    """Return the order that undoes another one."""
    return tuple(order.index(i) for i in range(len(order)))


@dataclass
class Region:
    """
    Operators of one block, whose results all have their dimensions in one order. What enters the region is a
    permutation with that order, a constant, or another value; what leaves it is permuted back, or used as it is.
    """

    order: Order
    members: dict[Operation, None] = field(default_factory=dict[Operation, None])

    @classmethod
    def around(cls, op: Operation, order: Order) -> Region:
        """Return the largest region with an operator; it is empty if the operator cannot be in one."""
        region, waiting = cls(order), [op]
        while waiting:
            found = waiting.pop()
            if found not in region.members and found.parent is op.parent and region._can_have(found):
                region.members[found] = None
                waiting += region._neighbours(found)
        return region

    @property
    def gain(self) -> int:
        """The number of permutations fewer if the region is computed in the other order, after those in a row have been
        merged."""
        gain = 0
        for value in self._entering:
            is_merged = isinstance(value.owner, PermuteDimsOp) and all(map(self._is_inside, value.uses))
            gain += is_merged if self._is_permuted(value) else is_merged - 1
        for value in self._results:
            outside = [use.operation for use in value.uses if not self._is_inside(use)]
            gain += sum(map(self._undoes, outside)) - any(not isinstance(op, PermuteDimsOp) for op in outside)
        return gain

    def reorder(self) -> None:
        """Compute the region in the other order."""
        assert self.members
        block = next(iter(self.members)).parent
        assert block is not None
        new: dict[SSAValue, SSAValue] = {}
        members = [op for op in block.ops if op in self.members]
        before = {value.owner for op in members for value in self._operands(op) if value.owner not in self.members}
        for op in members:
            self._reorder(op, new)
        for op in (*reversed(members), *before):
            if isinstance(op, Operation) and (op in self.members or _is_unused(op)):
                Rewriter.erase_op(op)

    def _reorder(self, op: Operation, new: dict[SSAValue, SSAValue]) -> None:
        """Replace an operator by one in the other order, and its uses outside of the region."""
        place = InsertPoint.before(op)
        indices, properties = self._reordered(op)
        operands = list(op.operands)
        for i in indices:
            if operands[i] not in new:
                new[operands[i]] = self._entered(operands[i], rank_of(op.results[0]), place)
            operands[i] = new[operands[i]]
        t = tensor_type(op.results[0].type)
        shape = [t.get_shape()[i] for i in inverse(self.order)]
        made = type(op).create(
            operands=operands,
            result_types=[TensorType(t.element_type, shape)],
            properties=dict(properties),
            attributes=op.attributes,
        )
        made.location, made.results[0].name_hint = op.location, op.results[0].name_hint
        Rewriter.insert_op(made, place)
        old, new[op.results[0]] = op.results[0], made.results[0]
        for use in list(old.uses):
            if self._undoes(use.operation):
                Rewriter.replace_op(use.operation, [], [made.results[0]])
        if self._leaves(old):
            again = _permuted(made.results[0], self.order, op)
            Rewriter.insert_op(again, place)
            old.replace_uses_with_if(again.result, lambda use: not self._is_inside(use))

    def _entered(self, value: SSAValue, rank: int, place: InsertPoint) -> SSAValue:
        """Return a value that enters the region in the other order."""
        if isinstance(value.owner, PermuteDimsOp) and self._is_permuted(value):
            return value.owner.operand
        if not _is_fixed(value, rank):
            made = _permuted(value, inverse(self.order), place.insert_before)
        elif all(size == 1 for size in shape_of(value)) or (array := array_of(value)) is None:
            return value
        else:
            made = ConstantOp(array.reshape([1] * (rank - array.ndim) + [*array.shape]).transpose(inverse(self.order)))
            made.location = value.owner.location if isinstance(value.owner, Operation) else made.location
        made.result.name_hint = value.name_hint
        Rewriter.insert_op(made, place)
        return made.result

    def _can_have(self, op: Operation) -> bool:
        rank = len(self.order)
        if REORDERS.find(op) is None or len(op.results) != 1 or rank_of(op.results[0]) != rank:
            return False
        return all(_is_fixed(value, rank) or rank_of(value) == rank for value in self._operands(op))

    def _neighbours(self, op: Operation) -> Iterator[Operation]:
        yield from (value.owner for value in self._operands(op) if isinstance(value.owner, Operation))
        yield from (use.operation for use in op.results[0].uses if use.index in self._indices(use.operation))

    def _reordered(self, op: Operation) -> tuple[Sequence[int], Mapping[str, Attribute]]:
        """Return the indices of the operands of an operator that are permuted as its result is, none if it cannot be in
        a region, and its properties in the other order."""
        reorder = REORDERS.find(op)
        return ((), op.properties) if reorder is None else reorder(op, self.order)

    def _indices(self, op: Operation) -> Sequence[int]:
        return self._reordered(op)[0]

    def _operands(self, op: Operation) -> list[SSAValue]:
        return [op.operands[i] for i in self._indices(op)]

    @property
    def _results(self) -> list[SSAValue]:
        return [op.results[0] for op in self.members]

    @property
    def _entering(self) -> list[SSAValue]:
        """The values that enter the region, other than those that are the same in each order."""
        values = dict.fromkeys(value for op in self.members for value in self._operands(op))
        return [v for v in values if v.owner not in self.members and not _is_fixed(v, len(self.order))]

    def _is_permuted(self, value: SSAValue) -> bool:
        return isinstance(value.owner, PermuteDimsOp) and value.owner.order == self.order

    def _undoes(self, op: Operation) -> bool:
        return isinstance(op, PermuteDimsOp) and op.order == inverse(self.order)

    def _is_inside(self, use: Use) -> bool:
        return use.operation in self.members and use.index in self._indices(use.operation)

    def _leaves(self, value: SSAValue) -> bool:
        """Return whether something needs a result of the region in the order that it has."""
        return any(not self._is_inside(use) and not self._undoes(use.operation) for use in value.uses)


def _is_unused(op: Operation) -> bool:
    return isinstance(op, PermuteDimsOp | ConstantOp) and op.results[0].first_use is None


def _is_fixed(value: SSAValue, rank: int) -> bool:
    """Return whether a value is a constant that can be transposed now, or the same in any order."""
    t = tensor_type(value.type)
    is_one = all(size == 1 for size in t.get_shape())
    is_array = isinstance(value.owner, ConstantOp) and has_dtype(t.element_type)
    return rank_of(value) <= rank and (is_array or is_one)


def _permuted(value: SSAValue, order: Order, source: Operation | None) -> PermuteDimsOp:
    made = PermuteDimsOp(value, order)
    if source is not None:
        made.location = source.location
    return made
