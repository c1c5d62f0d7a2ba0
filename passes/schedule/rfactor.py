"""`rfactor`: factor a reduction into partial results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.hints import isa

from relex.dialects.errors import fail, name_of
from relex.dialects.index.expr import Index, values_in
from relex.dialects.schedule.blocks import RfactorOp
from relex.dialects.tir import BlockOp, ForOp, IterKind
from relex.dialects.upstream.attributes import number_attr
from relex.passes.analysis.buffers import buffer_name, buffers_written, check_aliases
from relex.passes.analysis.dependence import check_bindings_differ
from relex.passes.analysis.loop_tree import (
    base_name,
    blocks_in,
    check_structure,
    label_of,
    name_of_block,
    variables_of_kind,
)
from relex.passes.analysis.reductions import combiner_of, identity_of
from relex.passes.editing.buffer_edits import make_buffer
from relex.passes.editing.index_arithmetic import substitute
from relex.passes.editing.loop_edits import new_loop, spatial_block
from relex.passes.schedule.decompose_reduction import add_nest, loops_from, spatial_conditions
from relex.passes.schedule.new_names import NewNames
from relex.passes.schedule.rebind import bind_to_loops, is_bound_to_loops, set_indices, with_variables
from relex.passes.schedule.table import primitive


@primitive(RfactorOp)
def rfactor(block: BlockOp, along: ForOp, at: ForOp, names: NewNames) -> BlockOp:
    """
    Let a block compute partial results in a loop `at` that holds the whole reduction, one for each iteration of `along`
    and of the spatial loops from `at` inwards. `Y_rf_init` initializes them before the loop, `Y_rf` does what the block
    did so far, and the block itself, after the loop, combines them with the result.
    """
    combine = combiner_of(block)
    check_structure(at)
    inside = loops_from(at, block)
    reduce = variables_of_kind(block, IterKind.REDUCE)
    if along not in inside or along.variable not in reduce:
        fail(block, f"expected {label_of(along)} to be a loop of the reduction {name_of_block(block)}")
    _check_may_wait(block, at)
    conditions = spatial_conditions(block, at, reduce)
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
    init = _init_block(new_blocks[0], partial, combine, kept)
    inits, partials = labels[: len(kept)], labels[len(kept) :]
    add_nest(_copies(kept, inits), init, InsertPoint.before(at), [])
    add_nest(_copies(kept, partials), combining, InsertPoint.after(at), conditions)
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


def _init_block(name: str, partial: SSAValue, combine: Operation, loops: Sequence[ForOp]) -> BlockOp:
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
