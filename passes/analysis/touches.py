"""The reads and writes of buffers, in program order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from relex.dialects.index.expr import Index
from relex.dialects.symbols import lookup
from relex.dialects.tir import AllocBufferOp, CallOp, PrimFuncOp
from relex.passes.analysis.instances import Instance


@dataclass(frozen=True)
class Touch:
    """A read or write of one element of a buffer, or of every element if `indices` is None."""

    op: Operation
    buffer: SSAValue
    indices: tuple[SSAValue, ...] | None
    is_write: bool
    is_sure: bool = True
    """Whether every element is accessed; otherwise some are, and it is unknown which."""

    def place(self, instance: Instance) -> list[Index]:
        """Return the indices of the element that is accessed in a run of the op."""
        if self.indices is None:
            return instance.element(self.buffer)
        return [instance.form(index) for index in self.indices]


def touches(function: PrimFuncOp) -> list[Touch]:
    """Return the accesses of a function in program order."""
    return [touch for op in function.body.walk() for touch in _touches_of(op)]


def _touches_of(op: Operation) -> Iterator[Touch]:
    match op:
        case memref.LoadOp():
            yield Touch(op, op.memref, tuple(op.indices), False)
        case memref.StoreOp():
            yield Touch(op, op.memref, tuple(op.indices), True)
        case memref.CopyOp():
            yield Touch(op, op.source, None, False)
            yield Touch(op, op.destination, None, True)
        case CallOp():
            callee = lookup(op, op.callee)
            if isinstance(callee, PrimFuncOp):
                inputs, outputs = op.arguments[: callee.num_inputs], op.arguments[callee.num_inputs :]
                yield from (Touch(op, buffer, None, False, is_sure=False) for buffer in _buffers(inputs))
                yield from (Touch(op, buffer, None, True) for buffer in _buffers(outputs))
        case _:
            return


def _buffers(values: Sequence[SSAValue]) -> list[SSAValue]:
    return [value for value in values if isinstance(value.type, MemRefType)]


_HARMLESS = (AllocBufferOp, memref.AllocOp, memref.AllocaOp, memref.DeallocOp, memref.DimOp, memref.RankOp)


def strangers(function: PrimFuncOp) -> list[tuple[Operation, SSAValue]]:
    """Return the ops with unknown effects on a buffer, each with the buffer."""
    known = {touch.op for touch in touches(function)}
    return [
        (op, buffer)
        for op in function.body.walk()
        if op not in known and not isinstance(op, _HARMLESS)
        for buffer in _buffers(op.operands)
    ]
