"""`prefetch`: fetch what a block reads some iterations ahead."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, i64

from relex.dialects.errors import fail, name_of
from relex.dialects.function_arguments import PREFETCH_ATTR
from relex.dialects.index.expr import values_in
from relex.dialects.schedule.block_primitives import PrefetchReadsOp
from relex.dialects.tir import BlockOp, ForOp
from relex.passes.analysis.buffers import pick_buffer
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.loop_tree import blocks_in, check_serial, label_of, loops_of, name_of_block
from relex.passes.schedule.primitive_table import primitive


@primitive(PrefetchReadsOp)
def prefetch(block: BlockOp, index: int, loop: ForOp, ahead: int) -> None:
    """
    Prefetch the buffer that is number `index` among those that a block reads, in a loop around the block: each
    iteration asks for the elements that are read `ahead` iterations later, a row of them if loops inside read several.
    Nothing is computed differently. It pays where elements come from memory, and the processor does not ask for them
    early enough by itself.
    """
    check_serial(loop)
    if list(blocks_in(loop)) != [block]:
        fail(loop, f"expected {label_of(loop)} to be around {name_of_block(block)} alone")
    buffer, loops = pick_buffer(block, "read", index), loops_of(block)
    inside = loops[loops.index(loop) + 1 :]
    element = next(access.element for access in block_accesses(block, buffer))
    if not any(loop.variable in values_in(form) for form in element):
        fail(loop, f"expected {label_of(loop)} to index {name_of(buffer)}")
    for inner in inside:
        if not isinstance(inner.extent, int):
            fail(inner, f"expected {label_of(inner)} to have a known number of iterations")
    loop.attributes[PREFETCH_ATTR] = DenseArrayBase.from_list(i64, [index, ahead])
