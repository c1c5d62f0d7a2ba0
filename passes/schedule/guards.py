"""`unguard` and `zero_fill`: remove the guard of a block, or store zeros where it does not hold."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.errors import fail, name_of
from relex.dialects.index.expr import Index, constant_of, span_of, terms_of, values_in
from relex.dialects.index.from_ir import index_of
from relex.dialects.schedule.block_primitives import UnguardOp, ZeroFillOp
from relex.dialects.tir import AllocBufferOp, BlockOp, IterKind, IterVar
from relex.dialects.tir.accesses import Access, Element, variables_in
from relex.dialects.upstream.attributes import number_attr
from relex.dialects.walks import ancestors, owners_of_operands, reachable, walk_of
from relex.passes.analysis.buffers import accesses_in
from relex.passes.analysis.dependence import block_accesses, equal_atoms
from relex.passes.analysis.loop_tree import (
    check_conditions,
    comparison_of,
    conditions_of,
    function_of,
    guard_of,
    is_reduction,
    label_of,
    loops_of,
    may_trap,
    name_of_block,
    variables_of_kind,
)
from relex.passes.rewriting.index_arithmetic import IndexArithmetic, substitute
from relex.passes.schedule.code_motion import check_unshared_outputs
from relex.passes.schedule.primitive_table import primitive
from relex.passes.schedule.rebind import bind_to_loops, is_bound_to_loops


@primitive(UnguardOp)
def unguard(block: BlockOp) -> None:
    """Remove the guard of a block whose additional iterations stay in bounds, and write separate elements.

    No other block writes the additional elements, or none has before, so they had no defined contents.
    """
    guard = _check_guard(block)
    if variables_of_kind(block, IterKind.REDUCE) & variables_in(guard.cond, function_of(block)):
        fail(block, f"expected a condition around {name_of_block(block)} that does not depend on its reduction")
    changes = _variables_of(guard, block)
    beyond = _variables_beyond(block, changes)
    _check_bounds(block, block_accesses(block), changes)
    if any(may_trap(op) for op in block.walk()):
        fail(block, f"expected {name_of_block(block)} to run without its condition, found a division")
    _check_own_elements(block)
    if beyond:
        block, _ = bind_to_loops(block, beyond)
    _take_out(block, guard)


def _variables_of(guard: scf.IfOp, block: BlockOp) -> AbstractSet[SSAValue]:
    """Return the variables of loops on which it depends what a block accesses without its guard. If the guard holds in
    some iteration, accesses that do not depend on its variables are made anyway."""
    holds_at_first = all(map(_holds_at_zero, conditions_of(block)))
    return variables_in(guard.cond, function_of(block)) if holds_at_first else {o.variable for o in loops_of(block)}


def _holds_at_zero(condition: SSAValue) -> bool:
    """Return whether a condition holds in the first iteration of all loops."""
    match comparison_of(condition):
        case "slt", difference:
            return constant_of(difference) < 0 and all(isinstance(atom, BlockArgument) for atom in terms_of(difference))
        case _:
            return False


@primitive(ZeroFillOp)
def zero_fill(block: BlockOp) -> None:
    """Let a block store zeros, in place of what it computes, where its guard does not hold.

    No other block writes the additional elements, so they had no defined contents.
    """
    guard = _check_guard(block)
    if is_reduction(block):
        fail(block, f"expected {name_of_block(block)} not to be a reduction")
    store = _only_store(block)
    comparisons = [part.owner for part in conditions_of(block)]
    loops = {loop.variable for loop in loops_of(block)}
    replaced = _variables_beyond(block, loops)
    written = [access for access in block_accesses(block) if access.is_write]
    _check_bounds(block, written, _variables_of(guard, block))
    _check_own_elements(block)
    sums = [v.variable for v in block.iter_vars if not isinstance(v.binding, BlockArgument)]
    replaced += [v for v in sums if v not in replaced and is_bound_to_loops(block, [v])]
    block, variables = bind_to_loops(block, replaced)
    emitter = IndexArithmetic(store)
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
    _take_out(block, guard)


def _only_store(block: BlockOp) -> memref.StoreOp:
    """Return the store that a block ends with; fail if it is not the only one."""
    stores = walk_of(block, memref.StoreOp)
    last = block.body.block.last_op
    if len(stores) != 1 or stores[0] is not last:
        fail(block, f"expected {name_of_block(block)} to store one element, at its end")
    return stores[0]


def _choose(store: memref.StoreOp, condition: SSAValue) -> None:
    """Compute what is stored, with all loads, if a condition holds; else store zero."""
    body, kind = store.parent_block(), store.value.type
    assert body is not None
    outside = {op for value in (condition, *store.indices) for op in reachable(value.owner, owners_of_operands)}
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


def _check_guard(block: BlockOp) -> scf.IfOp:
    """Return the guard of a block. Fail if there is none, or if elements beyond it may have defined contents, because
    other blocks write them, or an input has them."""
    guard = guard_of(block) or fail(block, f"expected a condition around {name_of_block(block)}, found none")
    for access in block_accesses(block):
        if access.is_write:
            _check_apart(access)
    check_conditions(block)
    check_unshared_outputs(block)
    return guard


def _check_apart(write: Access) -> None:
    """Fail if another block may write the same elements as a block does without its guard, and may have done so
    before."""
    accesses = list(accesses_in(function_of(write.block), write.buffer))
    if _is_first(write.block, accesses):
        return
    for other in accesses:
        if other.is_write and other.block is not write.block and _may_meet(write.element, other.element):
            fail(write.block, f"expected {name_of_block(write.block)} alone to write its elements of "
                              f"{name_of(write.buffer)}, found {name_of_block(other.block)} as well")  # fmt: skip


def _is_first(block: BlockOp, accesses: Sequence[Access]) -> bool:
    """Return whether a block comes before all others that access a local buffer, whose contents are then undefined."""
    made = accesses[0].buffer.owner
    if not isinstance(made, AllocBufferOp):
        return False
    steps = {a.block: _step_of(a.block, made) for a in accesses}
    first = steps[block]
    return all(other is block or first.is_before_in_block(step) for other, step in steps.items())


def _step_of(block: BlockOp, made: AllocBufferOp) -> Operation:
    """Return the op next to a buffer that is, or contains, a block."""
    return next(op for op in (block, *ancestors(block)) if op.parent is made.parent)


def _may_meet(one: Element, other: Element) -> bool:
    """Return whether elements may be the same one in some iterations, guarded or not."""
    return all(span_of(i).overlaps(span_of(j)) for i, j in zip(one, other, strict=True))


def _variables_beyond(block: BlockOp, changes: AbstractSet[SSAValue]) -> list[BlockArgument]:
    """Return the variables of a block that leave their range when the loops of `changes` run beyond the guard. Fail
    unless variables of loops can replace them."""
    beyond = [v.variable for v in block.iter_vars if not _stays_in_range(v, changes, block)]
    if beyond and not is_bound_to_loops(block, beyond):
        variable = f"{name_of(beyond[0])} of {name_of_block(block)}"
        fail(block, f"expected {variable} to be a sum of loops, or to stay in its range without the condition")
    return beyond


def _stays_in_range(v: IterVar, changes: AbstractSet[SSAValue], block: BlockOp) -> bool:
    form = index_of(v.binding)
    span = span_of(form)
    if not _depends(form, changes, block):
        return True
    return 0 <= span.low and isinstance(v.extent, int) and span.high < v.extent


def _depends(form: Index, variables: AbstractSet[SSAValue], block: BlockOp) -> bool:
    """Return whether an index in a block depends on some variables, also through numbers that are loaded."""
    function = function_of(block)
    return any(not variables.isdisjoint(variables_in(value, function)) for value in values_in(form))


def _check_bounds(block: BlockOp, accesses: Sequence[Access], changes: AbstractSet[SSAValue]) -> None:
    """Fail unless accesses stay in bounds when the loops of `changes` run beyond the guard."""
    for access in accesses:
        for form, size in zip(access.element, access.shape, strict=True):
            span = span_of(form)
            if not (0 <= span.low and span.high < size) and _depends(form, changes, block):
                fail(block, f"expected {name_of_block(block)} to stay in {name_of(access.buffer)} without its "
                            "condition")  # fmt: skip


def _check_own_elements(block: BlockOp) -> None:
    """Fail if two iterations of the spatial loops may write the same element."""
    reduce = variables_of_kind(block, IterKind.REDUCE)
    loops = loops_of(block)
    if not loops:
        fail(block, f"expected {name_of_block(block)} to be inside a loop")
    for access in block_accesses(block):
        if not access.is_write:
            continue
        private = {loop.variable for loop in loops if loop.is_ancestor(access.buffer.owner)}
        same = equal_atoms([(index, index) for index in access.element], loops[0], private)
        for loop in loops:
            if loop.variable not in same | reduce and loop.extent != 1:
                fail(block, f"expected {name_of_block(block)} to write other elements in each iteration of "
                            f"{label_of(loop)}")  # fmt: skip


def _take_out(block: BlockOp, guard: scf.IfOp) -> None:
    """Put a block in the place of its guard."""
    block.detach()
    Rewriter.insert_op(block, InsertPoint.before(guard))
    Rewriter.erase_op(guard)
    substitute(loops_of(block)[-1])
