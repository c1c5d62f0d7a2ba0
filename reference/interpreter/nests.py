"""Loop nests around one block, and what is known about them without running them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref, scf
from xdsl.ir import Operation, SSAValue

from relex.dialects.index.domains import constant_value
from relex.dialects.tir import BlockOp, ForOp, InitOp, IterKind
from relex.dialects.tir.accesses import accesses, in_loops, variables_in
from relex.passes.analysis.reduction_order import update_of
from relex.reference.interpreter.program import SCALARS


@dataclass(frozen=True)
class ArrayNest:
    """Nested loops with scalar ops between them, and a block of scalar ops, accesses, and choices between values in the
    innermost, perhaps under a condition that depends on a reduction."""

    loops: Sequence[ForOp]
    between: Sequence[Operation]
    block: BlockOp
    condition: SSAValue | None

    @classmethod
    def of(cls, loop: ForOp) -> ArrayNest | None:
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
        condition = scope.cond if isinstance(scope, scf.IfOp) else None
        block = _guarded(scope) if isinstance(scope, scf.IfOp) else scope
        if not isinstance(block, BlockOp) or not all(map(_is_scalar, between)):
            return None
        nest = cls(loops, between, block, condition)
        inside = (*nest.body, *nest.init)
        return nest if all(_is_simple(op) or isinstance(op, memref.StoreOp) for op in inside) else None

    @property
    def init(self) -> list[Operation]:
        """The ops of the block's init."""
        return list(self.block.init.body.block.ops) if self.block.init is not None else []

    @property
    def body(self) -> list[Operation]:
        """The ops of the block without its init."""
        return [op for op in self.block.body.block.ops if not isinstance(op, InitOp)]

    def reducing(self) -> list[ForOp] | None:
        """Return the loops that drive a reduction. None if one is of both kinds or neither."""
        used: dict[IterKind, set[SSAValue]] = {kind: set() for kind in IterKind}
        for v in self.block.iter_vars:
            used[v.kind] |= variables_in(v.binding, self.loops[0].parent_op() or self.loops[0])
        spatial = [loop for loop in self.loops if loop.variable in used[IterKind.SPATIAL] or loop.extent == 1]
        reducing = [loop for loop in self.loops if loop not in spatial]
        is_mixed = any(loop.variable in used[IterKind.REDUCE] for loop in spatial if loop.extent != 1)
        repeats = any(loop.variable not in used[IterKind.REDUCE] for loop in reducing)
        return None if is_mixed or repeats else reducing

    def update(self) -> Operation | None:
        """Return the op that combines the element that the block writes with a term, if that is all the block does."""
        update = update_of(self.block) if self.condition is None else None
        return update if isinstance(update, Operation) else None

    def guarded_loads(self) -> set[SSAValue]:
        """Return what the block loads under a condition: it loads for the iterations for which that holds, again in
        each step of a reduction."""
        ops = self.body if self.condition is not None else ()
        return {inner.res for op in ops for inner in op.walk() if isinstance(inner, memref.LoadOp)}

    def varying(self, start: set[SSAValue]) -> set[SSAValue]:
        """Return the values that depend on `start`, or on memory that the block writes."""
        varying = set(start)
        written = {access.buffer for access in accesses(self.block) if access.is_write}
        for op in (*self.between, None, *self.body):
            if op is None:
                varying.update(v.variable for v in self.block.iter_vars if v.binding in varying)
            elif any(_loads_from(inner, written) or not varying.isdisjoint(inner.operands) for inner in op.walk()):
                varying.update(op.results)
        return varying

    def accesses_fit(self, varying: set[SSAValue]) -> bool:
        """Return whether the block writes, and accesses each written buffer at one index, which no reduction
        changes."""
        index = self.written()
        return bool(index) and all(
            access.op.parent_op() in (self.block, self.block.init)
            and varying.isdisjoint(index[access.buffer])
            and not any(_is_made_in(self.block.init, i) for i in index[access.buffer])
            and in_loops(access.indices) == in_loops(index[access.buffer])
            for access in accesses(self.block)
            if access.buffer in index
        )

    def written(self) -> dict[SSAValue, tuple[SSAValue, ...]]:
        """Return the buffers that the block writes with the indices of a store: one of its body, if there is one."""
        stores = [op for op in (*self.init, *self.body) if isinstance(op, memref.StoreOp)]
        return {op.memref: tuple(op.indices) for op in stores}


def _guarded(guard: scf.IfOp) -> BlockOp | None:
    """Return the block that is all that a guard holds, if it has no init, whose steps would be other ones."""
    ops = [op for op in guard.true_region.block.ops if not isinstance(op, scf.YieldOp)]
    is_alone = len(ops) == 1 and not guard.results and not guard.false_region.blocks
    return ops[0] if is_alone and isinstance(ops[0], BlockOp) and ops[0].init is None else None


def _is_simple(op: Operation) -> bool:
    """Return whether an op computes numbers, loads one, or chooses between such."""
    if isinstance(op, scf.IfOp):
        inside = (inner for region in op.regions for block in region.blocks for inner in block.ops)
        return bool(op.results) and all(isinstance(inner, scf.YieldOp) or _is_simple(inner) for inner in inside)
    return _is_scalar(op) or isinstance(op, memref.LoadOp)


def _loads_from(op: Operation, buffers: Container[SSAValue]) -> bool:
    return isinstance(op, memref.LoadOp) and op.memref in buffers


def _is_scalar(op: Operation) -> bool:
    return SCALARS.find(op) is not None or isinstance(op, arith.ConstantOp)


def _is_made_in(init: InitOp | None, index: SSAValue) -> bool:
    """Return whether an init computes an index, which is then unknown before it runs."""
    return init is not None and constant_value(index) is None and init.is_ancestor(index.owner)
