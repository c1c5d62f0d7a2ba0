"""The reads and writes of buffers, in program order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from relex.dialects.index.expr import Index
from relex.dialects.symbols import lookup
from relex.dialects.tir import AllocBufferOp, CallLoopsOp, PrimFuncOp
from relex.dialects.tir.accesses import Access
from relex.passes.analysis.iteration_systems import Instance
from relex.passes.analysis.sharing import is_only_view


def element_in(access: Access, instance: Instance) -> list[Index]:
    """Return the indices of the element that is accessed in a run of the op."""
    return instance.element(access.buffer) if access.whole else [instance.form(index) for index in access.indices]


def touches(function: PrimFuncOp) -> list[Access]:
    """Return the accesses of a function in program order, also by copies and calls."""
    return [access for op in function.body.walk() for access in _accesses_of(op)]


def _accesses_of(op: Operation) -> Iterator[Access]:
    match op:
        case memref.LoadOp() | memref.StoreOp():
            yield Access.of(op)
        case memref.CopyOp():
            yield Access(op, (), op.source, False, whole=True)
            yield Access(op, (), op.destination, True, whole=True)
        case CallLoopsOp():
            callee = lookup(op, op.callee)
            if isinstance(callee, PrimFuncOp):
                inputs, outputs = op.arguments[: callee.num_inputs], op.arguments[callee.num_inputs :]
                yield from (Access(op, (), buffer, False, whole=True, is_sure=False) for buffer in _buffers(inputs))
                yield from (Access(op, (), buffer, True, whole=True) for buffer in _buffers(outputs))
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
        if op not in known and not isinstance(op, _HARMLESS) and not is_only_view(op)
        for buffer in _buffers(op.operands)
    ]
