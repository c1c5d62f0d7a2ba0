"""`cache_read` and `cache_write`: let a block access a copy of a buffer."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from relex.dialects.errors import fail, name_of
from relex.dialects.schedule.block_primitives import CacheReadOp, CacheWriteOp
from relex.dialects.tir import BlockOp
from relex.dialects.tir.indices import sizes_of
from relex.dialects.upstream.hints import isa
from relex.dialects.walks import ancestors
from relex.passes.analysis.buffers import buffer_name, check_aliases, check_only_writer, pick_buffer, statement_of
from relex.passes.analysis.dependence import block_accesses, statement_accesses
from relex.passes.analysis.loop_tree import function_of, guard_of, name_of_block, runs_for_all_values
from relex.passes.rewriting.buffer_edits import emit_sizes, make_buffer, replace_buffer
from relex.passes.rewriting.loop_edits import insert_nest, new_loop, spatial_block
from relex.passes.schedule.arguments import NewNames
from relex.passes.schedule.code_motion import check_unshared
from relex.passes.schedule.compute_inline import extent_of_index
from relex.passes.schedule.primitive_table import primitive


@primitive(CacheReadOp)
def cache_read(block: BlockOp, index: int, names: NewNames) -> BlockOp:
    """
    Let a block read a copy of the buffer that is number `index` among those it reads. The copy of `X` is made by a
    block `X_local` in loops `ax0`, `ax1`, ..., before all loops around the block. Return the block that makes the copy.
    """
    buffer, statement = pick_buffer(block, "read", index), statement_of(block)
    check_aliases(buffer, statement)
    for access in statement_accesses(statement):
        if access.buffer is buffer and access.is_write:
            fail(block, f"expected {name_of(buffer)} to stay the same in the loops around {name_of_block(block)}, "
                        f"found {name_of_block(access.block)}, which writes it")  # fmt: skip
    return _use_copy(block, buffer, names, is_written=False)


@primitive(CacheWriteOp)
def cache_write(block: BlockOp, index: int, names: NewNames) -> BlockOp:
    """
    Let a block write a new buffer instead of the one that is number `index` among those it writes. A block `Y_local` in
    loops `ax0`, `ax1`, ... copies it to `Y`, after all loops around the block. Return the block that copies it back.
    """
    buffer, statement = pick_buffer(block, "write", index), statement_of(block)
    check_aliases(buffer, statement)
    check_only_writer(function_of(block), buffer, block)
    for access in statement_accesses(statement):
        if access.buffer is buffer and access.block is not block:
            fail(block, f"expected {name_of(buffer)} to be read after the loops around {name_of_block(block)}, "
                        f"found {name_of_block(access.block)} in them")  # fmt: skip
    if not _writes_all(block, buffer):
        check_unshared(buffer, block)
    return _use_copy(block, buffer, names, is_written=True)


def _writes_all(block: BlockOp, buffer: SSAValue) -> bool:
    """Return whether a block certainly writes every element of a buffer."""
    conditions = [scope for scope in ancestors(block) if isinstance(scope, scf.IfOp) and scope is not guard_of(block)]
    if conditions or not runs_for_all_values(block):
        return False
    stores = [access for access in block_accesses(block) if access.is_write and access.op.parent_op() is block]
    sizes = sizes_of(buffer)
    return any(
        access.buffer is buffer
        and len(set(access.indices)) == len(sizes)
        and all(extent_of_index(i, block) == size for i, size in zip(access.indices, sizes, strict=True))
        for access in stores
    )


def _use_copy(block: BlockOp, buffer: SSAValue, names: NewNames, *, is_written: bool) -> BlockOp:
    """Let a block use a local copy of a buffer, which is made before the loops around it, or copied back after them."""
    statement, name = statement_of(block), f"{buffer_name(buffer)}_local"
    if statement.is_ancestor(buffer.owner):
        fail(block, f"expected {name_of(buffer)} to live outside of the loops around {name_of_block(block)}")
    assert isa(buffer.type, MemRefType)
    (copying,), labels = names.take([name], [f"ax{i}" for i in range(buffer.type.get_num_dims())])
    sizes, before = emit_sizes(buffer, statement), InsertPoint.before(statement)
    local = make_buffer(buffer.type.element_type, sizes, name, before, block)
    source, target, at = (local, buffer, InsertPoint.after(statement)) if is_written else (buffer, local, before)
    loops = [new_loop(size, label, block) for size, label in zip(sizes, labels, strict=True)]
    copy = spatial_block(copying, loops, lambda at: _copy(source, target, at), block)
    insert_nest(loops, copy, at)
    replace_buffer(block, buffer, local)
    return copy


def _copy(source: SSAValue, target: SSAValue, indices: Sequence[SSAValue]) -> list[Operation]:
    load = memref.LoadOp.get(source, indices)
    return [load, memref.StoreOp.get(load, target, indices)]
