"""`compact_buffer`: shrink a local buffer to the footprint of its uses."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, SSAValue
from xdsl.rewriter import InsertPoint

from relex.dialects.errors import fail, name_of
from relex.dialects.index.expr import Index, terms_of, values_in
from relex.dialects.index.from_ir import index_of
from relex.dialects.index.values import replace_atoms
from relex.dialects.schedule.blocks import CompactBufferOp
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp
from relex.dialects.walks import walk
from relex.passes.analysis.buffers import accesses_in, allocated_sizes, local_buffer, pick_buffer
from relex.passes.analysis.dependence import BlockAccess, block_accesses, carrying
from relex.passes.analysis.footprints import region_of
from relex.passes.analysis.loop_tree import (
    function_of,
    label_of,
    loops_of,
    name_of_block,
    runs_for_all_values,
    steps_in,
)
from relex.passes.editing.buffer_edits import make_buffer, remove_buffer
from relex.passes.schedule.rebind import bind_to_loops, is_bound_to_loops, redirect
from relex.passes.schedule.table import primitive


@primitive(CompactBufferOp)
def compact_buffer(block: BlockOp, index: int) -> None:
    """
    Move a local buffer that a block writes into the innermost loop around all its uses, and shrink it to the footprint
    of one iteration. Blocks that index the buffer by values that vary outside of the loop are rebound, with one
    variable per loop.
    """
    buffer = pick_buffer(block, "write", index)
    alloc = local_buffer(buffer, block)
    accesses = list(accesses_in(function_of(block), buffer))
    loop = _innermost_loop(accesses, alloc, block)
    _check_private(accesses, loop, alloc, block)
    footprint = _footprint(accesses, loop, alloc)
    bases = [base for base, _ in footprint]
    changed = {access.block: _variables_to_bind(access.block, buffer, bases) for access in accesses}
    for user, variables in changed.items():
        if not is_bound_to_loops(user, variables):
            fail(user, f"expected variables of {name_of_block(user)} that are sums of loops")

    sizes = [size for _, size in footprint]
    first = next(op for op in loop.body.block.ops if any(op.is_ancestor(user) for user in changed))
    at = InsertPoint.before(first)
    local = make_buffer(alloc.buffer.type.element_type, sizes, buffer.name_hint or "buffer", at, alloc)
    for user, variables in changed.items():
        _shift(user, variables, buffer, local, bases)
    remove_buffer(alloc)


def _innermost_loop(accesses: Sequence[BlockAccess], alloc: AllocBufferOp, block: BlockOp) -> ForOp:
    """Return the innermost loop around all accesses."""
    around = loops_of(block)
    shared = [loop for loop in around if all(loop.is_ancestor(access.block) for access in accesses)]
    if not shared or shared[-1].is_ancestor(alloc):
        fail(block, f"expected all uses of {name_of(alloc.buffer)} in one loop, inside of its scope")
    return shared[-1]


def _check_private(accesses: Sequence[BlockAccess], loop: ForOp, alloc: AllocBufferOp, block: BlockOp) -> None:
    """Fail if elements are carried from one iteration to another."""
    around = [outer for outer in loops_of(block) if outer.is_ancestor(loop) and not outer.is_ancestor(alloc)]
    for write in (access for access in accesses if access.is_write):
        for read in (access for access in accesses if not access.is_write):
            carried = carrying(around, write, read)
            if carried and not any(_is_computed_anew(read, again) for again in accesses if again.is_write):
                fail(block, f"expected {name_of(alloc.buffer)} to hand on nothing from one iteration of "
                            f"{label_of(carried[-1])} to another")  # fmt: skip


def _is_computed_anew(read: BlockAccess, write: BlockAccess) -> bool:
    """Return whether a write precedes a read in every iteration of the innermost loop around both, and covers all
    elements that are read there."""
    loop = [around for around in loops_of(write.block) if around.is_ancestor(read.block)][-1]
    steps = list(steps_in(loop))
    if steps.index(write.block) >= steps.index(read.block) or not runs_for_all_values(write.block):
        return False
    if write.in_init or any(isinstance(op, scf.IfOp) for op in walk(write.block)):
        return False
    wanted, given = region_of([read.element], loop), region_of([write.element], loop)
    return all(w is not None and g is not None and g.holds(w) for w, g in zip(wanted, given, strict=True))


def _footprint(
    accesses: Sequence[BlockAccess], loop: ForOp, alloc: AllocBufferOp
) -> list[tuple[Index, int | SSAValue]]:
    """Return where the footprint of one iteration begins and its size, by dimension; all of a dimension where no bounds
    are known."""
    region = region_of([access.element for access in accesses], loop)
    return [
        (0, size) if interval is None else (interval.base, interval.extent)
        for interval, size in zip(region, allocated_sizes(alloc), strict=True)
    ]


def _variables_to_bind(block: BlockOp, buffer: SSAValue, bases: Sequence[Index]) -> list[BlockArgument]:
    """Return the variables of a block that appear in indices to be shifted."""
    found: dict[BlockArgument, None] = {}
    for access in block_accesses(block, buffer):
        for index, base in zip(access.access.indices, bases, strict=True):
            if terms_of(base):
                found.update(dict.fromkeys(v for v in values_in(index_of(index)) if isinstance(v, BlockArgument)))
    return [v for v in found if v.owner is block.body.block]


def _shift(
    block: BlockOp, variables: Sequence[BlockArgument], old: SSAValue, new: SSAValue, bases: Sequence[Index]
) -> None:
    """Redirect the accesses of a block to the new buffer, with indices relative to `bases`."""
    block, loops = bind_to_loops(block, variables)
    starts = [replace_atoms(base, lambda atom: loops.get(atom)) for base in bases]  # In variables of the block.
    redirect(block, old, new, lambda indices: [index - start for index, start in zip(indices, starts, strict=True)])
