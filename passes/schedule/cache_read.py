"""`cache_read`: let a block read from a copy of a buffer."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.rewriter import InsertPoint
from xdsl.utils.hints import isa

from relex.dialects.errors import fail, name_of
from relex.dialects.schedule import CacheReadOp
from relex.dialects.tir import BlockOp, PrimFuncOp
from relex.passes.analysis.buffers import (
    Copy,
    buffer_name,
    buffers_read,
    check_aliases,
    make_buffer,
    names_of_copy,
    pick_buffer,
    replace_buffer,
    sizes_of,
    statement_accesses,
    statement_of,
)
from relex.passes.analysis.loop_tree import find_block, name_of_block
from relex.passes.schedule.table import primitive


@primitive(CacheReadOp)
def apply_cache_read(op: CacheReadOp, func: PrimFuncOp) -> None:
    """Apply `schedule.cache_read` to a function."""
    op.new_names = cache_read(find_block(func, op.block.root_reference.data), op.index.value.data, op.new_names)


def cache_read(block: BlockOp, index: int, names: Sequence[str] = ()) -> list[str]:
    """
    Let a block read a copy of the buffer that is number `index` among those it reads. The copy of `X` is made by a
    block `X_local` in loops `ax0`, `ax1`, ..., before all loops around the block.
    """
    buffer = pick_buffer(block, buffers_read(block), index, "read")
    statement = statement_of(block)
    check_aliases(buffer, statement)
    for access in statement_accesses(statement):
        if access.buffer is buffer and access.is_write:
            fail(block, f"expected {name_of(buffer)} to stay the same in the loops around {name_of_block(block)}, "
                        f"found {name_of_block(access.block)}, which writes it")  # fmt: skip
    name, *labels = names_of_copy(buffer, block, names)
    assert isa(buffer.type, MemRefType)
    sizes, before = sizes_of(buffer, statement), InsertPoint.before(statement)
    copy = make_buffer(buffer.type.element_type, sizes, f"{buffer_name(buffer)}_local", before, block)
    Copy(buffer, copy, sizes, name, labels).insert(before, block)
    replace_buffer(block, buffer, copy)
    return [name, *labels]
