"""`decompose_reduction` and `rfactor`: make the init of a reduction a separate block, or factor it into partial
results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, MemRefType, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.errors import fail, name_of
from relex.dialects.index.expr import Index, IndexExpr, values_in
from relex.dialects.schedule.block_primitives import DecomposeReductionOp, RfactorOp
from relex.dialects.tir import BlockOp, ForOp, InitOp, IterKind
from relex.dialects.tir.accesses import variables_in
from relex.dialects.upstream.attributes import number_attr
from relex.dialects.upstream.hints import isa
from relex.dialects.walks import ancestors, walk
from relex.passes.analysis.buffers import buffer_name, buffers_written, check_aliases
from relex.passes.analysis.dependence import carrying, check_bindings_differ, may_alias, statement_accesses
from relex.passes.analysis.loop_tree import (
    base_name,
    blocks_in,
    check_structure,
    conditions_of,
    function_of,
    guard_of,
    label_of,
    loops_of,
    name_of_block,
    variables_of_kind,
)
from relex.passes.analysis.reduction_order import combiner_of, identity_of
from relex.passes.rewriting.buffer_edits import make_buffer
from relex.passes.rewriting.index_arithmetic import substitute
from relex.passes.rewriting.loop_edits import add_condition, insert_nest, new_loop, spatial_block
from relex.passes.schedule.arguments import NewNames
from relex.passes.schedule.primitive_table import primitive
from relex.passes.schedule.rebind import bind_to_loops, is_bound_to_loops, set_indices, with_variables


@primitive(DecomposeReductionOp)
def decompose_reduction(block: BlockOp, loop: ForOp, names: NewNames) -> BlockOp:
    """
    Move the init of a block `Y` into a separate block `Y_init`, before a loop that holds the whole reduction. The new
    block gets copies of those loops, from that one inwards, that its variables need: `j` becomes `j_init`.
    """
    init = block.init or fail(block, f"expected {name_of_block(block)} to have an init, found none")
    check_structure(loop)
    inside = _loops_from(loop, block)
    reduce = variables_of_kind(block, IterKind.REDUCE)
    spatial = variables_of_kind(block, IterKind.SPATIAL)
    conditions = _spatial_conditions(block, loop, reduce)
    spatial |= {v for condition in conditions for v in variables_in(condition, function_of(block))}
    if both := [around for around in inside if around.variable in spatial & reduce]:
        fail(both[0], f"expected {label_of(both[0])} to drive either spatial or reduce variables of "
                      f"{name_of_block(block)}, found both")  # fmt: skip
    check_bindings_differ(block, inside)
    _check_init_may_move(init, block, loop)
    copied = [around for around in inside if around.variable in spatial]
    (name,), labels = names.take([f"{block.block_name.data}_init"], [f"{base_name(around)}_init" for around in copied])

    substitute(loop)
    start = _init_block(block, init, name)
    copies = [new_loop(old.extent, label, old, old.kind.data) for old, label in zip(copied, labels, strict=True)]
    _add_nest(dict(zip(copied, copies, strict=True)), start, InsertPoint.before(loop), conditions)
    if not copies:
        substitute(loop)
    Rewriter.erase_op(init)
    return start


def _add_nest(copies: Mapping[ForOp, ForOp], block: BlockOp, at: InsertPoint, conditions: Sequence[SSAValue]) -> None:
    """Insert a block that is bound to some loops into copies of them, guarded by conditions on them."""
    insert_nest(list(copies.values()), block, at)
    for condition in conditions:
        add_condition(block, condition)
    if copies:
        substitute(
            next(iter(copies.values())), {old.variable: IndexExpr.of(new.variable) for old, new in copies.items()}
        )


def _loops_from(loop: ForOp, block: BlockOp) -> list[ForOp]:
    """Return the loops around a block from `loop` inwards; fail if a loop of the reduction is outside of them."""
    around = loops_of(block)
    if loop not in around:
        fail(block, f"expected {name_of_block(block)} to be inside {label_of(loop)}")
    start = around.index(loop)
    reduce = variables_of_kind(block, IterKind.REDUCE)
    for outer in around[:start]:
        if outer.variable in reduce:
            fail(outer, f"expected the loops of the reduction {name_of_block(block)} to be inside {label_of(loop)}, "
                        f"found {label_of(outer)} around it")  # fmt: skip
    return around[start:]


def _spatial_conditions(block: BlockOp, loop: ForOp, reduce: set[SSAValue]) -> list[SSAValue]:
    """Return the conjuncts of a block's guard that do not depend on the reduction: the init runs under these alone."""
    around = ancestors(guard_of(block) or block)
    if next((scope for scope in around if not isinstance(scope, ForOp) or scope is loop), None) is not loop:
        fail(block, f"expected conditions directly around {name_of_block(block)} only")
    kept: list[SSAValue] = []
    for condition in conditions_of(block):
        variables = variables_in(condition, function_of(block))
        if not variables & reduce:
            kept.append(condition)
        elif not variables <= reduce:
            fail(block, f"expected no condition around {name_of_block(block)} on spatial and reduce variables together")
    return kept


def _check_init_may_move(init: InitOp, block: BlockOp, loop: ForOp) -> None:
    """Fail if an access in the loop could observe that the init has moved before it."""
    accesses = list(statement_accesses(loop))
    own = [access for access in accesses if access.block is block and access.in_init]
    for mine in own:
        if loop.is_ancestor(mine.buffer.owner):
            fail(block, f"expected {name_of(mine.buffer)} to live outside of {label_of(loop)}")
        for other in accesses:
            if (other.block is block and other.in_init) or not may_alias(mine.buffer, other.buffer, function_of(block)):
                continue
            spatial = variables_of_kind(block, IterKind.SPATIAL)
            shared = [around for around in loops_of(block) if around.is_ancestor(other.block)]
            shared = [around for around in shared if loop.is_ancestor(around) and around.variable in spatial]
            carried = carrying(shared, mine, other, conditions=False)
            meets = bool(carried) if shared else mine.buffer is not other.buffer
            if other.block is block:
                harmless = mine.is_write and not meets
            else:
                harmless = not other.is_write and (
                    not mine.is_write or (not meets and _is_after(other.block, block, loop))
                )
            if not harmless:
                fail(block, f"expected {name_of(other.buffer)} to be left alone in {label_of(loop)} until "
                            f"{name_of_block(block)} has started, found {name_of_block(other.block)}")  # fmt: skip
    for op in init.walk():
        for operand in op.operands:
            if loop.is_ancestor(operand.owner) and not block.is_ancestor(operand.owner):
                fail(op, f"expected {name_of(operand)} to be computed outside of {label_of(loop)}")


def _is_after(block: BlockOp, other: BlockOp, scope: Operation) -> bool:
    order = [op for op in walk(scope) if op is block or op is other]
    return order[-1] is block


def _init_block(block: BlockOp, init: InitOp, name: str) -> BlockOp:
    """Return a block over the spatial variables that performs the init; it is still bound to the old loops."""
    spatial = [v for v in block.iter_vars if v.kind is IterKind.SPATIAL]
    body = Block(arg_types=[IndexType()] * len(spatial))
    values: dict[SSAValue, SSAValue] = {}
    for v, variable in zip(spatial, body.args, strict=True):
        variable.name_hint = v.variable.name_hint
        values[v.variable] = variable
    for op in init.body.block.ops:
        body.add_op(op.clone(values))
    kinds = [v.kind for v in spatial]
    new = BlockOp(name, kinds, [v.extent for v in spatial], [v.binding for v in spatial], Region(body))
    new.location = init.location
    return new


@primitive(RfactorOp)
def rfactor(block: BlockOp, along: ForOp, at: ForOp, names: NewNames) -> BlockOp:
    """
    Let a block compute partial results in a loop `at` that holds the whole reduction, one for each iteration of `along`
    and of the spatial loops from `at` inwards. `Y_rf_init` initializes them before the loop, `Y_rf` does what the block
    did so far, and the block itself, after the loop, combines them with the result.
    """
    combine = combiner_of(block)
    check_structure(at)
    inside = _loops_from(at, block)
    reduce = variables_of_kind(block, IterKind.REDUCE)
    if along not in inside or along.variable not in reduce:
        fail(block, f"expected {label_of(along)} to be a loop of the reduction {name_of_block(block)}")
    _check_may_wait(block, at)
    conditions = _spatial_conditions(block, at, reduce)
    check_bindings_differ(block, inside)
    sums = [v.variable for v in block.iter_vars if v.binding not in {loop.variable for loop in inside}]
    if not is_bound_to_loops(block, sums):
        fail(block, f"expected the variables of {name_of_block(block)} to be sums of loops")
    kept = [loop for loop in inside if loop is along or loop.variable in variables_of_kind(block, IterKind.SPATIAL)]
    new_blocks = [f"{block.block_name.data}_{part}" for part in ("rf_init", "rf")]
    labels = [f"{base_name(loop)}_{part}" for part in ("init", "rf") for loop in kept]
    new_blocks, labels = names.take(new_blocks, labels)

    substitute(at)
    (result,) = buffers_written(block)
    assert isa(result.type, MemRefType)
    sizes, before = [loop.extent for loop in kept], InsertPoint.before(at)
    partial = make_buffer(result.type.element_type, sizes, f"{buffer_name(result)}_rf", before, block)
    block, variables = bind_to_loops(block, sums)
    place = [variables[loop.variable] for loop in kept]
    combining = _combining_block(block, along, partial, place)
    init = _identity_block(new_blocks[0], partial, combine, kept)
    inits, partials = labels[: len(kept)], labels[len(kept) :]
    _add_nest(_copies(kept, inits), init, InsertPoint.before(at), [])
    _add_nest(_copies(kept, partials), combining, InsertPoint.after(at), conditions)
    block = _make_partial(block, along, partial, place, new_blocks[1])
    return block


def _check_may_wait(block: BlockOp, loop: ForOp) -> None:
    """Fail if anything could observe that a block's results are written only after a loop."""
    if others := [other for other in blocks_in(loop) if other is not block]:
        fail(block, f"expected {name_of_block(block)} to be alone in {label_of(loop)}, "
                    f"found {name_of_block(others[0])}")  # fmt: skip
    (buffer,) = buffers_written(block)
    check_aliases(buffer, loop)
    if loop.is_ancestor(buffer.owner):
        fail(block, f"expected {name_of(buffer)} to live outside of {label_of(loop)}")


def _accesses(block: BlockOp) -> tuple[memref.LoadOp, memref.StoreOp]:
    """Return the load and the store of a reduction's result."""
    (store,) = [op for op in block.body.block.ops if isinstance(op, memref.StoreOp)]
    loads = [op for op in block.body.block.ops if isinstance(op, memref.LoadOp) and op.memref is store.memref]
    return loads[0], store


def _combining_block(block: BlockOp, along: ForOp, partial: SSAValue, place: Sequence[Index]) -> BlockOp:
    """Return the reduction of the partial results. It is still bound to the same loops."""
    new = block.clone()
    variables = dict[SSAValue, SSAValue](zip(block.body.block.args, new.body.block.args, strict=True))
    load, store = _accesses(new)
    combine = store.value.owner
    assert isinstance(combine, Operation)
    indices = [variables[variable] for form in place for variable in values_in(form)]
    term = memref.LoadOp.get(partial, indices)
    term.location = block.location
    new.body.block.insert_op_before(term, combine)
    combine.operands = [operand if operand is load.res else term.res for operand in combine.operands]
    for op in reversed(list(new.body.block.ops)):
        if op.results and not any(result.uses for result in op.results):
            Rewriter.erase_op(op)  # The computation of the terms.
    columns = [v for v in new.iter_vars if v.kind is IterKind.SPATIAL or v.binding is along.variable]
    columns = [replace(v, extent=along.extent) if v.kind is IterKind.REDUCE else v for v in columns]
    return with_variables(new, columns)


def _identity_block(name: str, partial: SSAValue, combine: Operation, loops: Sequence[ForOp]) -> BlockOp:
    """Return a block that sets partial results to the identity of the reduction. It is still bound to the old loops."""
    identity = identity_of(combine)
    assert identity is not None
    value = arith.ConstantOp(number_attr(identity, combine.results[0].type))
    return spatial_block(name, loops, lambda at: [value, memref.StoreOp.get(value, partial, at)], combine)


def _copies(loops: Sequence[ForOp], labels: Sequence[str]) -> dict[ForOp, ForOp]:
    return {loop: new_loop(loop.extent, label, loop) for loop, label in zip(loops, labels, strict=True)}


def _make_partial(block: BlockOp, along: ForOp, partial: SSAValue, place: Sequence[Index], name: str) -> BlockOp:
    """Let a reduction write partial results, with `along` as a spatial loop."""
    for access in _accesses(block):
        set_indices(access, partial, place)
    if (init := block.init) is not None:
        Rewriter.erase_op(init)
    columns = [replace(v, kind=IterKind.SPATIAL) if v.binding is along.variable else v for v in block.iter_vars]
    new = with_variables(block, columns)
    new.block_name = StringAttr(name)
    return new
