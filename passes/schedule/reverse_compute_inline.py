"""`reverse_compute_inline`: fold a block into the producer of its input."""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from relex.dialects.errors import fail, name_of
from relex.dialects.index.expr import IndexExpr, terms_of
from relex.dialects.index.from_ir import index_of
from relex.dialects.schedule.blocks import ReverseComputeInlineOp
from relex.dialects.tir import BlockOp
from relex.passes.analysis.buffers import (
    accesses_in,
    buffers_read,
    buffers_written,
    check_only_writer,
    local_buffer,
    statement_of,
)
from relex.passes.analysis.loop_tree import function_of, name_of_block
from relex.passes.schedule.code_motion import (
    accesses_from,
    check_independent,
    check_runs_anywhere,
    find_late_values,
    move_before,
    stands_before,
)
from relex.passes.schedule.compute_inline import check_whole_buffer, elementwise_store, extent_of_index, remove_block
from relex.passes.schedule.table import primitive


@primitive(ReverseComputeInlineOp)
def reverse_compute_inline(block: BlockOp) -> None:
    """Let the elementwise producer of a block's input do the work of the block as well, and remove the block and the
    buffer between them."""
    func = function_of(block)
    elementwise_store(block)
    for written in buffers_written(block):
        check_only_writer(func, written, block)
    check_runs_anywhere(block)
    producer, load = _producer(block)
    store = elementwise_store(producer)
    check_whole_buffer(producer, store, local_buffer(store.memref, block))
    _check_reads_all(block, load, producer, store)
    place, statement = statement_of(producer), statement_of(block)
    if place is not statement and not stands_before(place, statement):
        fail(block, f"expected {name_of_block(producer)} to stand before {name_of_block(block)}")
    check_independent(block, list(accesses_from(place, statement)), exempt=[store.memref])

    move_before(find_late_values(block, place), place)
    values: dict[SSAValue, SSAValue] = {load.res: store.value}
    values.update(zip(load.indices, store.indices, strict=True))
    for op in block.body.block.ops:
        if op is not load:
            producer.body.block.insert_op_before(op.clone(values), store)
    alloc = local_buffer(store.memref, block)
    Rewriter.erase_op(store)
    remove_block(block, alloc)


def _producer(block: BlockOp) -> tuple[BlockOp, memref.LoadOp]:
    """Return the block that computes the one element of a local buffer that only `block` reads, and the load of it."""
    func = function_of(block)
    for buffer in buffers_read(block):
        accesses = list(accesses_in(func, buffer))
        writers = {access.block for access in accesses if access.is_write}
        loads = [access for access in accesses if access.block not in writers]
        if len(writers) != 1 or len(loads) != 1 or loads[0].block is not block:
            continue
        load = loads[0].access.op
        if isinstance(load, memref.LoadOp) and load.parent_op() is block:
            return writers.pop(), load
    fail(block, f"expected {name_of_block(block)} to read one element of a buffer that one block computes for it alone")


def _check_reads_all(block: BlockOp, load: memref.LoadOp, producer: BlockOp, store: memref.StoreOp) -> None:
    """Fail unless a block reads each element that its producer writes exactly once, at its own variables."""
    variables = [index for index in load.indices if terms_of(index_of(index))]
    own = set(map(IndexExpr.of, block.body.block.args))
    if own != set(map(index_of, variables)) or len(variables) != len(block.kinds):
        fail(block, f"expected the variables of {name_of_block(block)} as indices of {name_of(load.memref)}, each once")
    for read, written in zip(load.indices, store.indices, strict=True):
        if extent_of_index(read, block) != extent_of_index(written, producer):
            fail(block, f"expected {name_of_block(block)} to read all of {name_of(load.memref)}")
