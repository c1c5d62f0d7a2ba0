"""Sums of products with weights in bytes, which another sum scales and adds up."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType, i8
from xdsl.ir import SSAValue

from relex.dialects.errors import PassError, fail
from relex.dialects.tir import BlockOp
from relex.dialects.upstream.hints import isa
from relex.passes.analysis.buffers import buffers_read, only_reader
from relex.passes.analysis.loop_tree import is_reduction, name_of_block


def bytes_of_weights(block: BlockOp) -> SSAValue:
    """Return the matrix of bytes that a reduction reads; fail if it is no reduction, or reads none or several."""
    if not is_reduction(block):
        fail(block, f"expected {name_of_block(block)} to be a reduction")
    found = [buffer for buffer in buffers_read(block) if _is_matrix_of_bytes(buffer)]
    if len(found) != 1:
        fail(block, f"expected {name_of_block(block)} to read one matrix of bytes, found {len(found)}")
    return found[0]


def _is_matrix_of_bytes(buffer: SSAValue) -> bool:
    kind = buffer.type
    return isa(kind, MemRefType) and kind.element_type == i8 and len(kind.get_shape()) == 2


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
