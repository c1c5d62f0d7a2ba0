"""Emission of index arithmetic, and its rewriting when loops change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.index.domains import constant_value
from relex.dialects.index.expr import Index, IndexExpr
from relex.dialects.index.from_ir import index_of
from relex.dialects.index.to_ir import IndexBuilder
from relex.dialects.tir import BlockOp, ForOp, loops_around
from relex.dialects.upstream.attributes import INDEX, index_attr
from relex.dialects.walks import holds
from relex.passes.analysis.loop_tree import function_of, is_scalar, may_trap, steps_in


def constant(value: int, user: Operation) -> SSAValue:
    """Return an index constant at the top of the function around `user`; equal constants are shared."""
    top = function_of(user).body.block
    attr = index_attr(value)
    for op in top.ops:
        if type(op) is not arith.ConstantOp:
            break
        if op.properties["value"] == attr:
            return op.result
    op = arith.ConstantOp.create(properties={"value": attr}, result_types=(INDEX,), location=user.location)
    op.result.name_hint = f"c{value}" if value >= 0 else None
    top.insert_op_before(op, top.first_op) if top.first_op is not None else top.add_op(op)
    return op.result


class IndexArithmetic(IndexBuilder):
    """Emits index arithmetic before an op, each subexpression once, with constants at the top of the function."""

    def __init__(self, before: Operation):
        super().__init__()
        self.before = before
        self._builder = Builder(InsertPoint.before(before))

    def insert(self, op: Operation) -> None:
        op.location = self.before.location
        self._builder.insert(op)

    def constant(self, value: int) -> SSAValue:
        return constant(value, self.before)


_SEEN = "_relex_substituted"
"""The attribute of the object of a loop around which nothing is and in which arithmetic is in its place."""


def substitute(loop: ForOp, values: Mapping[SSAValue, Index] | None = None) -> None:
    """
    Replace values in the extents, conditions and bindings in a loop.

    Index arithmetic in the loop is emitted again, before each op that needs it, and loop-invariant arithmetic before
    the nest around it, so that the loops hold nothing in between; the first time that a nest is seen, all arithmetic in
    it. The bodies of blocks use no loop variables and are left alone.
    """
    nest = [loop, *loops_around(loop)][-1]
    is_seen = vars(nest).get(_SEEN, False)
    vars(nest)[_SEEN] = True
    loops = [nest, *(op for op in steps_in(nest) if type(op) is ForOp)]
    outside: dict[SSAValue, Index] = {inner.variable: IndexExpr.of(inner.variable) for inner in loops}
    inside = outside | dict(values or {})
    rebuilders: dict[Operation, _Rebuilder] = {}
    for op in list(steps_in(nest)):
        if type(op) not in (BlockOp, ForOp, scf.IfOp):
            continue
        is_inside = holds(loop, op)
        if is_seen and not is_inside:
            continue
        place = _place_of(op)
        if place not in rebuilders:
            rebuilders[place] = _Rebuilder(place, inside if is_inside else outside)
        for i, operand in enumerate(op.operands):
            new = rebuilders[place].rebuild(operand)
            if new is not operand:
                op.operands[i] = new
    remove_unused(list(steps_in(nest)))
    for op in list(steps_in(nest)):
        changes = is_scalar(op) and any(holds(nest, operand.owner) for operand in op.operands)
        if is_scalar(op) and not changes and not may_trap(op):
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(nest))


def _place_of(op: Operation) -> Operation:
    """Return the op before which index arithmetic for `op` is emitted: a block shares it with the condition around
    it."""
    around = op.parent_op()
    is_guarded = type(op) is BlockOp and type(around) is scf.IfOp
    return around if is_guarded and around is not None and not any(map(may_trap, steps_in(around))) else op


def remove_unused(ops: Sequence[Operation]) -> None:
    """Erase the unused arithmetic among `ops`."""
    for op in reversed(ops):
        if is_scalar(op) and not any(result.uses for result in op.results):
            Rewriter.erase_op(op)


class _Rebuilder:
    """Emits the operands of an op again before it, with values replaced by index expressions."""

    def __init__(self, user: Operation, forms: Mapping[SSAValue, Index]):
        self._forms = forms
        self._emitter = IndexArithmetic(user)
        self._done: dict[SSAValue, SSAValue] = {}

    def rebuild(self, value: SSAValue) -> SSAValue:
        """Return the replacement of a value of the original program."""
        if not self._changes(value):
            return value
        if value not in self._done:
            if type(value.type) is IndexType:
                form = index_of(value, self._lookup, lambda opaque: IndexExpr.of(self._clone(opaque)))
                self._done[value] = self._emitter.emit(form, value.name_hint)
            else:
                self._done[value] = self._clone(value)
        return self._done[value]

    def _lookup(self, value: SSAValue) -> Index | None:
        if value in self._forms:
            return self._forms[value]
        return None if self._changes(value) or constant_value(value) is not None else IndexExpr.of(value)

    def _clone(self, value: SSAValue) -> SSAValue:
        op = value.owner
        if not isinstance(op, Operation):
            return value
        new = op.clone({operand: self.rebuild(operand) for operand in op.operands})
        return self._emitter.add(new)

    def _changes(self, value: SSAValue) -> bool:
        if value in self._forms:
            return True
        return type(value) is OpResult and is_scalar(value.op) and any(map(self._changes, value.op.operands))
