"""Sums of products with weights in bytes, or in words of them, which another sum scales and adds up."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType, i8, i32
from xdsl.ir import SSAValue

from relex.dialects.errors import PassError, fail
from relex.dialects.tir import BlockOp
from relex.dialects.upstream.hints import isa
from relex.passes.analysis.buffers import buffers_read, only_reader
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.loop_tree import is_reduction, name_of_block


def bytes_of_weights(block: BlockOp) -> SSAValue:
    """Return the matrix of bytes, or of words of them, that a reduction reads, with a row for each column of results;
    fail if it is no reduction, or reads none or several."""
    if not is_reduction(block):
        fail(block, f"expected {name_of_block(block)} to be a reduction")
    columns = {access.element[-1] for access in block_accesses(block) if access.is_write and access.element}
    found = [
        buffer
        for buffer in buffers_read(block)
        if _is_matrix(buffer) and {access.element[0] for access in block_accesses(block, buffer)} == columns
    ]
    if len(found) != 1:
        fail(block, f"expected {name_of_block(block)} to read one matrix of bytes, found {len(found)}")
    return found[0]


def _is_matrix(buffer: SSAValue) -> bool:
    kind = buffer.type
    return isa(kind, MemRefType) and kind.element_type in (i8, i32) and len(kind.get_shape()) == 2


def scaling_block(block: BlockOp) -> BlockOp:
    """Return the only reader of what a block computes from weights in bytes, which reads bytes, too: scales. Fail if
    there is none."""
    bytes_of_weights(block)
    reader = only_reader(block) or fail(block, f"expected one block that reads what {name_of_block(block)} computes")
    bytes_of_weights(reader)
    return reader


def is_scaled_later(block: BlockOp) -> bool:
    """Return whether a block computes such sums of products."""
    try:
        scaling_block(block)
    except PassError:
        return False
    return True
