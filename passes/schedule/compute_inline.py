"""`compute_inline`: compute a block where its result is read."""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.errors import fail, name_of
from relex.dialects.index.domains import constant_value
from relex.dialects.schedule.blocks import ComputeInlineOp
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, IterKind
from relex.passes.analysis.alias import may_alias
from relex.passes.analysis.buffers import (
    accesses_in,
    buffers_read,
    buffers_written,
    check_only_writer,
    local_buffer,
    statement_of,
)
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.loop_tree import blocks_in, check_conditions, function_of, guard_of, name_of_block
from relex.passes.schedule.table import primitive
from relex.passes.support.loop_edits import erase_empty


@primitive(ComputeInlineOp)
def compute_inline(block: BlockOp) -> None:
    """Compute the elements that a block writes where they are read, and remove the block and its buffer."""
    func = function_of(block)
    store = elementwise_store(block)
    buffer = store.memref
    alloc = local_buffer(buffer, block)
    check_only_writer(func, buffer, block)
    check_whole_buffer(block, store, alloc)
    readers = [access for access in accesses_in(func, buffer) if access.block is not block]
    _check_inputs_last(block, [reader.block for reader in readers])
    for reader in readers:
        _replace_load(reader.access.op, block, store)
    remove_block(block, alloc)


def elementwise_store(block: BlockOp) -> memref.StoreOp:
    """Return the only store of a block that writes one element for each combination of its variables, with each
    variable as an index once; fail if the block is not of this form."""
    name = name_of_block(block)
    if any(kind.data is IterKind.REDUCE for kind in block.kinds):
        fail(block, f"expected {name} to have spatial variables only, found a reduction")
    stores = [access.access.op for access in block_accesses(block) if access.is_write]
    if len(stores) != 1 or not isinstance(stores[0], memref.StoreOp) or stores[0].parent_op() is not block:
        fail(block, f"expected {name} to write one element")
    store = stores[0]
    variables = [index for index in store.indices if constant_value(index) is None]
    if set(variables) != set(block.body.block.args) or len(variables) != len(set(variables)):
        fail(store, f"expected the variables of {name} as indices, each once")
    if any(isinstance(op, ForOp | BlockOp | AllocBufferOp) for op in block.walk() if op is not block):
        fail(block, f"expected {name} to hold no loops, blocks and buffers of its own")
    if any(access.buffer is store.memref and not access.is_write for access in block_accesses(block)):
        fail(block, f"expected {name} not to read {name_of(store.memref)}, which it writes")
    return store


def check_whole_buffer(block: BlockOp, store: memref.StoreOp, alloc: AllocBufferOp) -> None:
    """Fail unless a block is known to write every element of its buffer."""
    check_conditions(block)
    if guard_of(block) is not None:
        fail(block, f"expected {name_of_block(block)} to run without a condition")
    sizes = iter(alloc.sizes)
    shape = [next(sizes) if size == DYNAMIC_INDEX else size for size in alloc.buffer.type.get_shape()]
    for index, size in zip(store.indices, shape, strict=True):
        extent = block.extent_of(index) if isinstance(index, BlockArgument) else 1
        if extent != size:
            fail(block, f"expected {name_of_block(block)} to write all of {name_of(alloc.buffer)}")


def _check_inputs_last(block: BlockOp, readers: list[BlockOp]) -> None:
    """Fail if the inputs of a block may change before its result is read."""
    func = function_of(block)
    everything = list(blocks_in(func))
    start = everything.index(block)
    end = max((everything.index(reader) for reader in readers), default=start)
    # Blocks that share loops with the block or its readers run again in the next iteration.
    statement = {statement_of(block), *(statement_of(reader) for reader in readers)}
    between = [b for i, b in enumerate(everything) if start < i <= end or statement_of(b) in statement]
    for other in between:
        for written in buffers_written(other):
            if other is not block and any(may_alias(written, read, func) for read in buffers_read(block)):
                fail(block, f"expected what {name_of_block(block)} reads not to change before its result is read, "
                            f"found {name_of_block(other)}, which writes {name_of(written)}")  # fmt: skip


def _replace_load(load: Operation, block: BlockOp, store: memref.StoreOp) -> None:
    """Replace a load by the computation of the element that it reads."""
    assert isinstance(load, memref.LoadOp)
    values: dict[SSAValue, SSAValue] = {}
    for variable, index in zip(store.indices, load.indices, strict=True):
        if isinstance(variable, BlockArgument):
            values[variable] = index
    copies = [op.clone(values) for op in block.body.block.ops if op is not store]
    for copy in copies:
        copy.location = load.location
    Rewriter.insert_op(copies, InsertPoint.before(load))
    load.res.replace_all_uses_with(values.get(store.value, store.value))
    load.detach()
    load.erase()


def remove_block(block: BlockOp, alloc: AllocBufferOp) -> None:
    """Remove a block, the loops that hold nothing else, and its buffer, which must be unused."""
    scope = block.parent_op()
    block.detach()
    block.erase()
    erase_empty(scope)
    alloc.detach()
    alloc.erase()
