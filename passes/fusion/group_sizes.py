"""Sizes of the results of a group, computed at its call."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.func import FuncOp
from xdsl.dialects.tensor import DimOp
from xdsl.ir import Operation, OpResult, SSAValue

from relex.dialects.errors import fail
from relex.dialects.index.domains import constant_value
from relex.dialects.op_edits import index_constant
from relex.dialects.relex import CallOp, CallTirOp
from relex.dialects.relex.types import shape_of
from relex.passes.fusion.primitive import is_size


class GroupSizes:
    """The sizes of values of a group without dataflow blocks in terms of the arguments of a call. `ops` compute them,
    before the call."""

    def __init__(self, group: FuncOp, call: CallOp):
        self.ops: list[Operation] = []
        self._group = group
        self._outside: dict[SSAValue, SSAValue] = dict(zip(group.args, call.arguments, strict=True))

    def of(self, value: SSAValue) -> list[SSAValue]:
        """Return a size for each `?` in the type of a value."""
        shape = shape_of(value)
        return [self._size(value, d) for d, size in enumerate(shape) if size == DYNAMIC_INDEX]

    def _size(self, value: SSAValue, dimension: int) -> SSAValue:
        """Return a size of a tensor: the size of an argument, or the one passed to the call that computes the
        tensor."""
        static = shape_of(value)[dimension]
        if static != DYNAMIC_INDEX:
            return self._constant(static)
        if value in self._outside:
            return self._add(DimOp(self._outside[value], self._constant(dimension)))
        if not isinstance(value.owner, CallTirOp):
            fail(self._group, f"expected results of calls of loop functions, found another result of type {value.type}")
        told = dict(zip(_unknown(value.owner), value.owner.sizes, strict=True))
        return self._copy(told[value, dimension])

    def _copy(self, size: SSAValue) -> SSAValue:
        """Recompute outside a size that the group computes."""
        if size not in self._outside:
            if not isinstance(size, OpResult) or not is_size(size.op):
                fail(self._group, "expected sizes that are computed from its arguments")
            self._outside[size] = self._compute(size.op)
        return self._outside[size]

    def _compute(self, op: Operation) -> SSAValue:
        if isinstance(op, DimOp) and (dimension := constant_value(op.index)) is not None:
            return self._size(op.source, dimension)
        for operand in op.operands:
            self._copy(operand)
        return self._add(op.clone(self._outside))

    def _constant(self, value: int) -> SSAValue:
        return self._add(index_constant(value))

    def _add(self, op: Operation) -> SSAValue:
        self.ops.append(op)
        return op.results[0]


def _unknown(call: CallTirOp) -> Iterator[tuple[SSAValue, int]]:
    """Yield the dimensions of a call's results that it has size operands for, in their order."""
    for result in call.results:
        for dimension, size in enumerate(shape_of(result)):
            if size == DYNAMIC_INDEX:
                yield result, dimension
