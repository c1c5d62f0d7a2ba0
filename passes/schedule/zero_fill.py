"""`zero_fill`: store zeros where the guard of a block does not hold."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from relex.dialects.errors import fail
from relex.dialects.index.expr import values_in
from relex.dialects.index.from_ir import index_of
from relex.dialects.schedule.blocks import ZeroFillOp
from relex.dialects.tir import BlockOp
from relex.dialects.upstream.attributes import number_attr
from relex.dialects.walks import reachable
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.loop_tree import conditions_of, is_reduction, loops_of, name_of_block
from relex.passes.editing.index_arithmetic import Emitter
from relex.passes.schedule.guards import check_bounds, check_guard, check_own_elements, take_out, variables_beyond
from relex.passes.schedule.rebind import bind_to_loops, is_bound_to_loops
from relex.passes.schedule.table import primitive


@primitive(ZeroFillOp)
def zero_fill(block: BlockOp) -> None:
    """Let a block store zeros, in place of what it computes, where its guard does not hold.

    No other block writes the additional elements, so they had no defined contents.
    """
    guard = check_guard(block)
    if is_reduction(block):
        fail(block, f"expected {name_of_block(block)} not to be a reduction")
    store = _only_store(block)
    comparisons = [part.owner for part in conditions_of(block)]
    loops = {loop.variable for loop in loops_of(block)}
    replaced = variables_beyond(block, loops)
    check_bounds(block, [access for access in block_accesses(block) if access.is_write], loops)
    check_own_elements(block)
    sums = [v.variable for v in block.iter_vars if not isinstance(v.binding, BlockArgument)]
    replaced += [v for v in sums if v not in replaced and is_bound_to_loops(block, [v])]
    block, variables = bind_to_loops(block, replaced)
    emitter = Emitter(store)
    holds: list[SSAValue] = []
    for op in comparisons:
        if not isinstance(op, arith.CmpiOp) or not isinstance(op.lhs.type, IndexType):
            fail(guard, f"expected comparisons of indices around {name_of_block(block)}")
        left, right = (index_of(side, lambda value: variables.get(value)) for side in (op.lhs, op.rhs))
        if not loops.isdisjoint([*values_in(left), *values_in(right)]):
            fail(guard, f"expected the condition around {name_of_block(block)} to depend on its variables only")
        comparison = arith.CmpiOp(emitter.emit(left), emitter.emit(right), op.predicate.value.data)
        holds.append(emitter.add(comparison))
    condition, *others = holds
    for other in others:
        condition = emitter.add(arith.AndIOp(condition, other))
    _choose(store, condition)
    take_out(block, guard)


def _only_store(block: BlockOp) -> memref.StoreOp:
    """Return the store that a block ends with; fail if it is not the only one."""
    stores = [op for op in block.walk() if isinstance(op, memref.StoreOp)]
    last = block.body.block.last_op
    if len(stores) != 1 or stores[0] is not last:
        fail(block, f"expected {name_of_block(block)} to store one element, at its end")
    return stores[0]


def _choose(store: memref.StoreOp, condition: SSAValue) -> None:
    """Compute what is stored, with all loads, if a condition holds; else store zero."""
    body, kind = store.parent_block(), store.value.type
    assert body is not None
    outside = {op for value in (condition, *store.indices) for op in reachable(value.owner, _operands_of)}
    then, otherwise = Block(), Block()
    for op in [op for op in body.ops if op is not store and op not in outside]:
        op.detach()
        then.add_op(op)
    zero = arith.ConstantOp(number_attr(0, kind))
    then.add_op(scf.YieldOp(store.value))
    otherwise.add_ops([zero, scf.YieldOp(zero)])
    chosen = scf.IfOp(condition, [kind], [then], [otherwise])
    chosen.location = zero.location = store.location
    body.insert_op_before(chosen, store)
    store.operands[0] = chosen.results[0]


def _operands_of(op: Operation | Block) -> Sequence[Operation | Block]:
    """Return the ops that compute the operands of an op."""
    return [operand.owner for operand in op.operands] if isinstance(op, Operation) else []
