"""The decisions of plan-memory: the places of a function's buffers in its arena, and their lifetimes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp, SymbolRefAttr
from xdsl.ir import Operation
from xdsl.utils.hints import isa

from relex.dialects.index.values import evaluate
from relex.dialects.sizes import Size, names_in
from relex.dialects.sizes.limits import bytes_of
from relex.lowering.memory.lifetimes import uses_of_memory
from relex.lowering.memory.needs import BufferSizes
from relex.passes.cpu.cost import LIKELY_SIZE


@dataclass(frozen=True)
class ArenaPart:
    """A part of an arena. It holds what the steps from `first` to `last` write and read."""

    name: str
    type: str
    offset: int
    bytes: int
    first: int
    last: int
    size: str = ""
    """The bytes and the offset as expressions of dynamic sizes, if they are."""


@dataclass(frozen=True)
class MemoryPlan:
    """The arena of a function."""

    function: str
    bytes: int
    steps: tuple[str, ...]
    """The calls and other ops that access its buffers, in order."""
    buffers: tuple[ArenaPart, ...]
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    """The dynamic sizes that all numbers refer to: those for which `plan-memory` packs the buffers."""


def memory_plans(module: ModuleOp) -> list[MemoryPlan]:
    """Return the arenas of a module after `plan-memory`, as far as their sizes are known."""
    functions = (op for op in module.ops if isinstance(op, func.FuncOp) and op.body.blocks)
    return [plan for f in functions if (plan := _plan(f)) is not None]


def _plan(function: func.FuncOp) -> MemoryPlan | None:
    block, known = function.body.blocks[0], BufferSizes(function)
    views = [op for op in block.ops if isinstance(op, memref.ViewOp)]
    placed = {op: place for op in views if (place := _place(op, known)) is not None}
    accesses = {op: _accesses(op) for op in placed}
    touching = {statement for statements in accesses.values() for statement in statements}
    steps = [op for op in block.ops if op in touching]
    if not steps:
        return None
    sizes = {name: LIKELY_SIZE for place in placed.values() for size in place for name in names_in(size)}
    position = {op: i for i, op in enumerate(steps)}
    buffers: list[ArenaPart] = []
    for op, (offset, size) in placed.items():
        if at := [position[statement] for statement in accesses[op]]:
            name, kind = op.results[0].name_hint or "", str(op.results[0].type)
            text = f"{size} bytes at {offset}" if names_in(offset) or names_in(size) else ""
            numbers = evaluate(offset, sizes), evaluate(size, sizes)
            buffers.append(ArenaPart(name, kind, *numbers, min(at), max(at), text))
    end = max(buffer.offset + buffer.bytes for buffer in buffers)
    return MemoryPlan(function.sym_name.data, end, tuple(map(_name, steps)), tuple(buffers), sizes)


def _place(view: memref.ViewOp, known: BufferSizes) -> tuple[Size, Size] | None:
    """Return the offset of a buffer in its arena and its bytes, if they follow from the sizes of arguments."""
    offset, *given = map(known.of, (view.byte_shift, *view.sizes))
    kind = view.results[0].type
    if offset is None or None in given or not isa(kind, MemRefType):
        return None
    numbers = iter([sizes[0] for sizes in given if sizes is not None])
    shape = [next(numbers) if size == DYNAMIC_INDEX else size for size in kind.get_shape()]
    return offset[0], bytes_of(kind, shape)


def _accesses(view: memref.ViewOp) -> Sequence[Operation]:
    """Return the ops of the function's block that access a buffer, or in whose regions something does."""
    block = view.parent_block()
    found = [use.operation for use in uses_of_memory(view.results[0]) or ()]
    outer = [block.find_ancestor_op_in_block(op) for op in found] if block is not None else []
    return [op for op in outer if op is not None and op.operands and not isinstance(op, memref.ViewOp)]


def _name(op: Operation) -> str:
    callee = op.properties.get("callee")
    return str(callee) if isinstance(callee, SymbolRefAttr) else op.name
