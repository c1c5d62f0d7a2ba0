"""Loop nests that may run on whole arrays, as far as the program shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref
from xdsl.ir import Operation, SSAValue

from relex.dialects.index.domains import constant_value
from relex.dialects.tir import BlockOp, ForOp, InitOp, IterKind
from relex.dialects.tir.accesses import accesses, variables_in
from relex.reference.interpreter.scalars import is_scalar_op


@dataclass(frozen=True)
class Nest:
    """Nested loops with scalar ops between them, and a block of scalar ops and accesses in the innermost."""

    loops: Sequence[ForOp]
    between: Sequence[Operation]
    block: BlockOp

    @classmethod
    def around_block(cls, loop: ForOp) -> Nest | None:
        """Return the nest with outermost loop `loop`, if it has this form and its extents do not depend on its
        loops."""
        loops: list[ForOp] = []
        between: list[Operation] = []
        scope: Operation | None = loop
        while isinstance(scope, ForOp):
            if isinstance(scope.extent, SSAValue) and loop.is_ancestor(scope.extent.owner):
                return None
            loops.append(scope)
            between.extend(op for op in scope.body.block.ops if op is not scope.body.block.last_op)
            scope = scope.body.block.last_op
        if not isinstance(scope, BlockOp) or not all(map(_is_scalar, between)):
            return None
        nest = cls(loops, between, scope)
        return nest if all(_is_scalar(op) or _is_access(op) for op in (*nest.body, *nest.init)) else None

    @property
    def init(self) -> list[Operation]:
        """The ops of the block's init."""
        return list(self.block.init.body.block.ops) if self.block.init is not None else []

    @property
    def body(self) -> list[Operation]:
        """The ops of the block without its init."""
        return [op for op in self.block.body.block.ops if not isinstance(op, InitOp)]


def _is_scalar(op: Operation) -> bool:
    return is_scalar_op(op) or isinstance(op, arith.ConstantOp)


def _is_access(op: Operation) -> bool:
    return isinstance(op, memref.LoadOp | memref.StoreOp)


@dataclass(frozen=True)
class Kinds:
    """The spatial loops, the loops that drive a reduction, and the values that depend on the latter."""

    spatial: Sequence[ForOp]
    reducing: Sequence[ForOp]
    varying: set[SSAValue]

    @classmethod
    def of(cls, nest: Nest) -> Kinds | None:
        """Classify the loops of a nest. None if no loop is spatial, one is of both kinds, or one is of neither."""
        scope = nest.loops[0].parent_op()
        if scope is None:
            return None
        used: dict[IterKind, set[SSAValue]] = {kind: set() for kind in IterKind}
        for v in nest.block.iter_vars:
            used[v.kind] |= variables_in(v.binding, scope)
        spatial = [loop for loop in nest.loops if loop.variable in used[IterKind.SPATIAL] or loop.extent == 1]
        reducing = [loop for loop in nest.loops if loop not in spatial]
        if not spatial or any(loop.variable in used[IterKind.REDUCE] for loop in spatial if loop.extent != 1):
            return None
        if any(loop.variable not in used[IterKind.REDUCE] for loop in reducing):
            return None  # The loop repeats the same step.
        return cls(spatial, reducing, _varying(nest, {loop.variable for loop in reducing}))


def _varying(nest: Nest, start: set[SSAValue]) -> set[SSAValue]:
    """Return the values that depend on `start`, or on memory that the block writes."""
    varying: set[SSAValue] = set(start)
    written = {access.buffer for access in accesses(nest.block) if access.is_write}

    def visit(ops: Sequence[Operation]) -> None:
        for op in ops:
            is_written = isinstance(op, memref.LoadOp) and op.memref in written
            if is_written or not varying.isdisjoint(op.operands):
                varying.update(op.results)

    visit(nest.between)
    varying.update(v.variable for v in nest.block.iter_vars if v.binding in varying)
    visit(nest.body)
    return varying


def accesses_fit(nest: Nest, varying: set[SSAValue]) -> bool:
    """Return whether the block writes, and accesses each written buffer at one index, which no reduction changes."""
    index: dict[SSAValue, Sequence[SSAValue]] = {}
    for access in accesses(nest.block):
        if access.is_write:
            index.setdefault(access.buffer, access.indices)
    for access in accesses(nest.block):
        if access.buffer not in index:
            continue
        if not varying.isdisjoint(access.indices) or any(_is_made_in(nest.block.init, i) for i in access.indices):
            return False
        if not all(map(_is_same, access.indices, index[access.buffer])):
            return False
    return bool(index)


def _is_made_in(init: InitOp | None, index: SSAValue) -> bool:
    """Return whether an init computes an index, which is then unknown before it runs."""
    return init is not None and constant_value(index) is None and init.is_ancestor(index.owner)


def _is_same(a: SSAValue, b: SSAValue) -> bool:
    return a is b or ((value := constant_value(a)) is not None and value == constant_value(b))
