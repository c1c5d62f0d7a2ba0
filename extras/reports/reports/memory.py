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

_VIEWS = (
    memref.CastOp,
    memref.CollapseShapeOp,
    memref.DimOp,
    memref.ExpandShapeOp,
    memref.ReinterpretCastOp,
    memref.SubviewOp,
    memref.ViewOp,
)
"""Ops that access no elements."""


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
class Arena:
    """The arena of a function for some sizes."""

    function: str
    bytes: int
    steps: tuple[str, ...]
    """The calls and other ops that access its buffers, in order."""
    buffers: tuple[ArenaPart, ...]
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    """The dynamic sizes that all numbers refer to."""


@dataclass(frozen=True)
class PlannedBuffer:
    """A buffer of a plan: its offset and its bytes, and the first and the last step that access it."""

    name: str
    type: str
    offset: Size
    bytes: Size
    first: int
    last: int

    def at(self, sizes: Mapping[str, int]) -> ArenaPart:
        """Return the place of the buffer for some sizes."""
        is_dynamic = names_in(self.offset) or names_in(self.bytes)
        text = f"{self.bytes} bytes at {self.offset}" if is_dynamic else ""
        numbers = evaluate(self.offset, sizes), evaluate(self.bytes, sizes)
        return ArenaPart(self.name, self.type, *numbers, self.first, self.last, text)


@dataclass(frozen=True)
class MemoryPlan:
    """The places of a function's buffers, and the steps that access them."""

    function: str
    steps: tuple[str, ...]
    buffers: tuple[PlannedBuffer, ...]

    def at(self, sizes: Mapping[str, int]) -> Arena:
        """Return the arena for some sizes; for others, what `plan-memory` guesses."""
        names = sorted({name for b in self.buffers for size in (b.offset, b.bytes) for name in names_in(size)})
        known = {name: sizes.get(name, LIKELY_SIZE) for name in names}
        parts = tuple(buffer.at(known) for buffer in self.buffers)
        return Arena(self.function, max(part.offset + part.bytes for part in parts), self.steps, parts, known)


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
    position = {op: i for i, op in enumerate(steps)}
    buffers: list[PlannedBuffer] = []
    for op, place in placed.items():
        if at := [position[statement] for statement in accesses[op]]:
            name, kind = op.results[0].name_hint or "", str(op.results[0].type)
            buffers.append(PlannedBuffer(name, kind, *place, min(at), max(at)))
    return MemoryPlan(function.sym_name.data, tuple(map(_name, steps)), tuple(buffers))


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
    return [op for op in outer if op is not None and op.operands and not isinstance(op, _VIEWS)]


def _name(op: Operation) -> str:
    callee = op.properties.get("callee")
    return str(callee) if isinstance(callee, SymbolRefAttr) else op.name
