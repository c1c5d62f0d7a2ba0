"""Functions of each element of a tensor, as elementwise operators compute them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import integer_limits, numpy_dtype
from relex.dialects.op_edits import insert_before, with_types
from relex.dialects.relex import ConstantOp, Elementwise, Exactness, array_of
from relex.dialects.relex.types import is_bytes, shape_of, tensor_type

_MOST_OPS = 32
"""The number of operators of a function that is looked at."""


@dataclass(frozen=True)
class ElementFunction:
    """A function of one number that elementwise operators apply to each element of a tensor."""

    data: SSAValue
    ops: tuple[Elementwise, ...]
    """In the order of the program; the last one has the result."""

    @classmethod
    def of(cls, result: SSAValue, is_data: Callable[[SSAValue], bool]) -> ElementFunction | None:
        """Return the function of a tensor that `is_data` names which a value is; None if it is none, or depends on
        other tensors, too."""
        search = _Search(is_data)
        if not search.visit(result, is_result=True) or search.data is None:
            return None
        shape = shape_of(search.data)
        is_same = all(shape_of(op.result) == shape for op in search.ops)
        return cls(search.data, tuple(search.ops)) if is_same else None

    @classmethod
    def of_bytes(cls, result: SSAValue, *, through: type[Elementwise] | None = None) -> ElementFunction | None:
        """Return the function of bytes that are no constant which a value is, and not made of bytes by an operator."""

        def is_data(value: SSAValue) -> bool:
            return is_bytes(value) and (through is None or not isinstance(value.owner, through))

        found = cls.of(result, is_data)
        return None if found is None or isinstance(found.data.owner, ConstantOp) else found

    @property
    def is_cheap(self) -> bool:
        """Whether the function may be computed again in place of keeping its results."""
        return len(self.ops) <= _MOST_OPS // 2 and all(op.EXACTNESS is not Exactness.ROUNDED for op in self.ops)

    @property
    def is_used_once(self) -> bool:
        """Whether the data, and all results but the last one, have no other users."""
        values = (self.data, *(op.result for op in self.ops[:-1]))
        return all(use.operation in self.ops for value in values for use in value.uses)

    def numbers(self, array: Array) -> Array:
        """Return the results for an array, by the definitions of the operators."""
        known = {self.data: array}
        with np.errstate(all="ignore"):
            for op in self.ops:
                known[op.result] = op.evaluate(*(known[v] if v in known else _number(v) for v in op.operands))
        return np.asarray(known[self.ops[-1].result], numpy_dtype(tensor_type(self.ops[-1].result.type).element_type))

    def table(self) -> Array:
        """Return the results for all bytes, the least one first."""
        return self.numbers(all_bytes(self.data))

    def applied(self, data: SSAValue, before: Operation) -> SSAValue:
        """Insert the operators for other data, and return the result."""
        new = {self.data: data}
        for op in self.ops:
            kind = TensorType(tensor_type(op.result.type).element_type, shape_of(data))
            operands = [new[v] if v in new else _broadcasting_to(data, v, before) for v in op.operands]
            clone = with_types(op, operands, [kind])
            Rewriter.insert_op(clone, InsertPoint.before(before))
            new[op.result] = clone.results[0]
        return new[self.ops[-1].result]


def all_bytes(data: SSAValue) -> Array:
    """Return all integers of the type of some bytes, the least one first."""
    kind = tensor_type(data.type).element_type
    low, high = integer_limits(kind)
    return np.arange(low, high + 1).astype(numpy_dtype(kind))


def _broadcasting_to(data: SSAValue, value: SSAValue, before: Operation) -> SSAValue:
    """Return a number as a tensor that has no more dimensions than the data."""
    if len(shape_of(value)) <= len(shape_of(data)):
        return value
    return insert_before(before, ConstantOp(_number(value))).result


def _number(value: SSAValue) -> Array:
    number = array_of(value)
    assert number is not None
    return number.reshape(())


class _Search:
    """The search for the operators of a function, from its result backwards."""

    def __init__(self, is_data: Callable[[SSAValue], bool]):
        self._is_data = is_data
        self.data: SSAValue | None = None
        self.ops: dict[Elementwise, None] = {}

    def visit(self, value: SSAValue, *, is_result: bool = False) -> bool:
        """Return whether a value is a number, the data, or a function of the data."""
        op = value.owner
        if op in self.ops:
            return True
        if isinstance(op, ConstantOp):
            number = array_of(value)
            return number is not None and number.size == 1
        if not is_result and self._is_data(value):
            self.data = self.data or value
            return self.data is value
        if not isinstance(op, Elementwise) or len(self.ops) == _MOST_OPS or not all(map(self.visit, op.operands)):
            return False
        self.ops[op] = None
        return True
