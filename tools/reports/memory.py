"""What plan-memory decided: where the buffers of a function lie in its arena, and from when to when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, ModuleOp, SymbolRefAttr
from xdsl.ir import Operation, SSAValue
from xdsl.utils.hints import isa

from relex.dialects.dtypes import size_in_bytes
from relex.lowering.memory.lifetimes import uses_of_memory


@dataclass(frozen=True)
class Buffer:
    """A part of an arena. It holds what the steps from `first` to `last` write and read."""

    name: str
    type: str
    offset: int
    bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class MemoryPlan:
    """The arena of a function."""

    function: str
    bytes: int
    steps: tuple[str, ...]
    """The calls and other ops that access its buffers, in order."""
    buffers: tuple[Buffer, ...]


def memory_plans(module: ModuleOp) -> list[MemoryPlan]:
    """Return the arenas of a module after `plan-memory`, as far as their sizes are known."""
    functions = (op for op in module.ops if isinstance(op, func.FuncOp) and op.body.blocks)
    return [plan for f in functions if (plan := _plan(f)) is not None]


def _plan(function: func.FuncOp) -> MemoryPlan | None:
    block = function.body.blocks[0]
    views = [op for op in block.ops if isinstance(op, memref.ViewOp) and _bytes(op.source.type)]
    placed = [(op, offset) for op in views if (offset := _constant(op.byte_shift)) is not None]
    accesses = {op: _accesses(op) for op, _ in placed}
    touching = {statement for statements in accesses.values() for statement in statements}
    steps = [op for op in block.ops if op in touching]
    if not steps:
        return None
    position = {op: i for i, op in enumerate(steps)}
    buffers = [
        Buffer(
            op.results[0].name_hint or "", str(op.results[0].type), offset, _bytes(op.results[0].type), min(at), max(at)
        )
        for op, offset in placed
        if (at := [position[statement] for statement in accesses[op]])
    ]
    size = max(_bytes(op.source.type) for op, _ in placed)
    return MemoryPlan(function.sym_name.data, size, tuple(map(_name, steps)), tuple(buffers))


def _accesses(view: memref.ViewOp) -> Sequence[Operation]:
    """Return the ops of the function's block that access a buffer, or in whose regions something does."""
    block = view.parent_block()
    found = [use.operation for use in uses_of_memory(view.results[0]) or ()]
    outer = [block.find_ancestor_op_in_block(op) for op in found] if block is not None else []
    return [op for op in outer if op is not None and op.operands and not isinstance(op, memref.ViewOp)]


def _name(op: Operation) -> str:
    callee = op.properties.get("callee")
    return str(callee) if isinstance(callee, SymbolRefAttr) else op.name


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def _bytes(t: object) -> int:
    """Return the size of a buffer; 0 if it is not known."""
    if not isa(t, MemRefType) or DYNAMIC_INDEX in t.get_shape():
        return 0
    return prod(t.get_shape()) * size_in_bytes(t.element_type)
