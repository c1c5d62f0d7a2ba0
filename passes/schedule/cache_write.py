"""`cache_write`: let a block write to a local buffer that is copied to its destination afterwards."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.rewriter import InsertPoint
from xdsl.utils.hints import isa

from relex.dialects.errors import fail, name_of
from relex.dialects.schedule import CacheWriteOp
from relex.dialects.tir import BlockOp, PrimFuncOp
from relex.passes.analysis.buffers import (
    Copy,
    buffer_name,
    buffers_written,
    check_aliases,
    check_only_writer,
    make_buffer,
    names_of_copy,
    pick_buffer,
    replace_buffer,
    sizes_of,
    statement_accesses,
    statement_of,
)
from relex.passes.analysis.loop_tree import find_block, function_of, name_of_block
from relex.passes.schedule.table import primitive


@primitive(CacheWriteOp)
def apply_cache_write(op: CacheWriteOp, func: PrimFuncOp) -> None:
    """Apply `schedule.cache_write` to a function."""
    op.new_names = cache_write(find_block(func, op.block.root_reference.data), op.index.value.data, op.new_names)


def cache_write(block: BlockOp, index: int, names: Sequence[str] = ()) -> list[str]:
    """
    Let a block write a new buffer instead of the one that is number `index` among those it writes. A block `Y_local` in
    loops `ax0`, `ax1`, ... copies it to `Y`, after all loops around the block.
    """
    buffer = pick_buffer(block, buffers_written(block), index, "write")
    statement = statement_of(block)
    check_aliases(buffer, statement)
    check_only_writer(function_of(block), buffer, block)
    for access in statement_accesses(statement):
        if access.buffer is buffer and access.block is not block:
            fail(block, f"expected {name_of(buffer)} to be read behind the loops around {name_of_block(block)}, "
                        f"found {name_of_block(access.block)} in them")  # fmt: skip
    name, *labels = names_of_copy(buffer, block, names)
    assert isa(buffer.type, MemRefType)
    sizes = sizes_of(buffer, statement)
    local = make_buffer(
        buffer.type.element_type, sizes, f"{buffer_name(buffer)}_local", InsertPoint.before(statement), block
    )
    Copy(local, buffer, sizes, name, labels).insert(InsertPoint.after(statement), block)
    replace_buffer(block, buffer, local)
    return [name, *labels]
