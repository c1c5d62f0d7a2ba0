"""`partition` and `dispatch`: run consecutive loops in two parts, first the first part of each, then the second."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, pairwise
from math import gcd

from xdsl.dialects import memref
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.errors import fail, name_of
from relex.dialects.index.expr import Index, IndexExpr, constant_of, divide_factors, smaller, terms_of
from relex.dialects.index.from_ir import index_of
from relex.dialects.names import Names
from relex.dialects.schedule.loop_primitives import DispatchOp, PartitionOp
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, loops_around
from relex.dialects.tir.accesses import Access
from relex.dialects.tir.indices import known_size
from relex.dialects.tir.indices import sizes_of as known_sizes
from relex.dialects.walks import ancestors
from relex.passes.analysis.buffers import allocated_sizes, buffer_name, size_asked, statement_of
from relex.passes.analysis.dependence import may_conflict, statement_accesses
from relex.passes.analysis.kept import resumed
from relex.passes.analysis.loop_tree import (
    base_name,
    blocks_in,
    check_serial,
    check_structure,
    following,
    function_of,
    is_scalar,
    label_of,
    loops_in,
    structures_in,
)
from relex.passes.rewriting.buffer_edits import make_buffer, remove_buffer, replace_buffer, replace_sizes
from relex.passes.rewriting.index_arithmetic import IndexArithmetic
from relex.passes.rewriting.loop_edits import set_extent
from relex.passes.schedule.arguments import NewNames
from relex.passes.schedule.code_motion import is_available
from relex.passes.schedule.primitive_table import primitive
from relex.passes.schedule.rebind import with_variables

Size = int | SSAValue

MANY_ITERATIONS = 2**15
"""Iterations, times what divides their number: few enough that the product with any size does not overflow."""


@primitive(PartitionOp)
def partition(loops: Sequence[ForOp], multiple: int, names: NewNames) -> list[BlockOp]:
    """
    Let loops with the same extent, in consecutive nests, run in two parts: first all nests for the largest number of
    iterations that is a multiple of `multiple`, then copies of the nests for the rest. The copy of a block `Y` is
    `Y_rest`, the copy of a loop `i` is `i_rest`. Local buffers of which every iteration uses its own elements are split
    as well. Return the blocks of the copies.
    """
    return _Group.of(loops).divide(lambda group: group.sizes(multiple), names)


@primitive(DispatchOp)
def dispatch(loops: Sequence[ForOp], loop: ForOp, least: int, names: NewNames) -> list[BlockOp]:
    """
    Make a second version of consecutive nests, whose loops have the same extent. At run time, all iterations of these
    loops are in the first version if `loop` has at least `least` iterations, and in the second one if it has fewer;
    loops of more than 32768 iterations may be divided between both. Names, local buffers and what is returned are as
    for `partition`.
    """
    group, extent = _Group.of(loops), loop.extent
    if isinstance(extent, int):
        fail(loop, f"expected an extent of {label_of(loop)} that is only known at run time, found {extent}")
    if not is_available(extent.owner, group.nests[0]):
        fail(loop, f"expected the extent of {label_of(loop)} to be known before the loops of the first nest")
    return group.divide(lambda group: group.all_or_none(extent, least), names)


def _rename_inside(block: BlockOp) -> None:
    """Give the blocks inside of a copied one new names. Loops inside lose their labels."""
    names = Names(op.block_name.data for op in structures_in(function_of(block)) if type(op) is BlockOp)
    for op in block.body.walk():
        if isinstance(op, ForOp):
            op.label = None
        elif isinstance(op, BlockOp):
            op.block_name = StringAttr(names.fresh(f"{op.block_name.data}_rest"))


@dataclass(frozen=True)
class _Group:
    """Consecutive nests, a loop of each, and their own local buffers, with the dimension that the loops index."""

    loops: Sequence[ForOp]
    nests: Sequence[Operation]
    own: Mapping[AllocBufferOp, int]

    @classmethod
    @resumed()
    def of(cls, loops: Sequence[ForOp]) -> _Group:
        """Return the group of some loops. Fail if the second part of a loop could observe that the first part of a
        later one has already run."""
        nests = _nests(loops)
        for loop in loops:
            _check_loop(loop, loops[0])
        for before, after in pairwise(nests):
            _check_follows(before, after)
        found = [(access, loop) for loop, nest in zip(loops, nests, strict=True) for access in statement_accesses(nest)]
        for (a, first), (b, second) in combinations_with_replacement(found, 2):
            _check_meet(a, first, b, second, nests[0])
        buffers = dict.fromkeys(access.buffer.owner for access, _ in found)
        allocs = [op for op in buffers if isinstance(op, AllocBufferOp) and op.parent is nests[0].parent]
        own = {alloc: _own_dimension(alloc, found) for alloc in allocs}
        return cls(loops, nests, {alloc: dimension for alloc, dimension in own.items() if dimension is not None})

    @property
    def blocks(self) -> list[BlockOp]:
        """The blocks in the nests."""
        return [block for nest in self.nests for block in blocks_in(nest)]

    @property
    def all_loops(self) -> list[ForOp]:
        """The loops in the nests."""
        return [loop for nest in self.nests for loop in loops_in(nest)]

    def sizes(self, multiple: int) -> tuple[Size, Size]:
        """Return the extents of the first part and of the rest."""
        extent = self.loops[0].extent
        if isinstance(extent, int):
            first = extent // multiple * multiple
            if first in (0, extent):
                fail(self.loops[0], f"expected the extent of {label_of(self.loops[0])} to be above {multiple} and no "
                                    f"multiple of it, found {extent}")  # fmt: skip
            return first, extent - first
        emitter, whole = IndexArithmetic(self.nests[0]), index_of(extent)
        first = whole // multiple * multiple
        return emitter.emit(first), emitter.emit(whole - first)

    def all_or_none(self, deciding: SSAValue, least: int) -> tuple[Size, Size]:
        """Return the extent of the first part, all iterations if a number is at least as large as another one, else
        none, and of the rest."""
        emitter, extent = IndexArithmetic(self.nests[0]), self.loops[0].extent
        whole = extent if isinstance(extent, int) else index_of(extent)
        # What divides all iterations divides the iterations of each part. The rest does iterations beyond that limit.
        factor = gcd(constant_of(whole), *terms_of(whole).values())
        first = smaller(divide_factors(whole, factor), index_of(deciding) // least * MANY_ITERATIONS) * factor
        return emitter.emit(first), emitter.emit(whole - first)

    def divide(self, sizes: Callable[[_Group], tuple[Size, Size]], names: NewNames) -> list[BlockOp]:
        """Let the nests, and then copies of them, run for as many iterations as `sizes` says; return the blocks of the
        copies."""
        new_blocks = [f"{block.block_name.data}_rest" for block in self.blocks]
        new_loops = [f"{base_name(loop)}_rest" for loop in self.all_loops]
        new_blocks, new_loops = names.take(new_blocks, new_loops)
        for alloc in self.own:
            replace_sizes(alloc)
        first, rest = sizes(self)
        copy = self.copy()
        self.restrict(first, 0)
        copy.restrict(rest, IndexExpr.of(first) if isinstance(first, SSAValue) else first)
        for block, name in zip(copy.blocks, new_blocks, strict=True):
            block.block_name = StringAttr(name)
        for loop, label in zip(copy.all_loops, new_loops, strict=True):
            loop.label = StringAttr(label)
        for block in copy.blocks:
            _rename_inside(block)
        for alloc in self.own:
            remove_buffer(alloc)
        return copy.blocks

    def copy(self) -> _Group:
        """Return a copy of the group, inserted after the nests."""
        values: dict[SSAValue, SSAValue] = {}
        nests = [nest.clone(values) for nest in self.nests]
        Rewriter.insert_op(nests, InsertPoint.after(self.nests[-1]))
        copied: dict[SSAValue, ForOp] = {loop.variable: loop for nest in nests for loop in loops_in(nest)}
        return _Group([copied[values[loop.variable]] for loop in self.loops], nests, self.own)

    def restrict(self, size: Size, start: Index) -> None:
        """Restrict the loops to `size` iterations, starting from the one that was at `start`."""
        parts = {alloc.buffer: self._part(alloc, dimension, size) for alloc, dimension in self.own.items()}
        shifted = {parts[alloc.buffer]: dimension for alloc, dimension in self.own.items()}
        for nest in self.nests:
            for old, new in parts.items():
                replace_buffer(nest, old, new)
        for loop in self.loops:
            set_extent(loop, size)
            for block in list(blocks_in(loop)):
                _restrict(block, loop, start, shifted)

    def _part(self, alloc: AllocBufferOp, dimension: int, size: Size) -> SSAValue:
        """Allocate a buffer for `size` elements of another one along `dimension`."""
        shape = allocated_sizes(alloc)
        shape[dimension] = size
        # Its other sizes are known where it was, that along `dimension` before the first nest.
        at = InsertPoint.before(self.nests[0] if alloc.is_before_in_block(self.nests[0]) else alloc)
        return make_buffer(alloc.buffer.type.element_type, shape, buffer_name(alloc.buffer), at, alloc)


def _restrict(block: BlockOp, loop: ForOp, start: Index, own: Mapping[SSAValue, int]) -> None:
    """Let the variables of a block that are bound to a loop start at 0, as the indices of the split buffers do; other
    uses are offset by `start`."""
    bound = [v for v in block.iter_vars if v.binding is loop.variable]
    for v in bound:
        for use in [use for use in v.variable.uses if not _is_own_index(use, own)]:
            use.operation.operands[use.index] = IndexArithmetic(use.operation).emit(IndexExpr.of(v.variable) + start)
    if bound:
        with_variables(block, [replace(v, extent=loop.extent) if v in bound else v for v in block.iter_vars])


def _is_own_index(use: Use, own: Mapping[SSAValue, int]) -> bool:
    op = use.operation
    if not isinstance(op, memref.LoadOp | memref.StoreOp) or op.memref not in own:
        return False
    return use.index == len(op.operands) - len(op.indices) + own[op.memref]


def _nests(loops: Sequence[ForOp]) -> list[Operation]:
    """Return the nests of some loops: what is around each of them in the innermost loop around all; if there is one
    loop, or if there is no loop around all of them, in the function."""
    around = [list(loops_around(loop)) for loop in loops]
    shared = [loop for loop in around[0] if all(loop in others for others in around)] if len(loops) > 1 else []
    if not shared:
        return [statement_of(loop) for loop in loops]
    return [next(op for op in (loop, *ancestors(loop)) if op.parent_op() is shared[0]) for loop in loops]


def _check_loop(loop: ForOp, first: ForOp) -> None:
    """Fail unless a loop only drives variables of blocks and has the same trip count as the first one."""
    check_serial(loop)
    check_structure(loop)
    if known_size(loop.extent) != known_size(first.extent):
        fail(loop, f"expected {label_of(loop)} to run as often as {label_of(first)}")
    for use in loop.variable.uses:
        if not isinstance(use.operation, BlockOp) or use.index >= len(use.operation.bindings):
            fail(
                loop,
                f"expected variables of blocks to be bound to {label_of(loop)} itself, found '{use.operation.name}'",
            )


def _check_follows(before: Operation, after: Operation) -> None:
    """Fail if anything with effects stands between two nests."""
    for op in following(before):
        if op is after:
            return
        if not is_scalar(op) and not isinstance(op, AllocBufferOp | memref.DimOp):
            fail(op, "expected nests that follow each other")
    fail(before, "expected nests that follow each other, in their order")


def _check_meet(a: Access, first: ForOp, b: Access, second: ForOp, nest: Operation) -> None:
    """Fail unless two accesses reach the same element only in iterations of the same number, within one run of what is
    around a nest."""
    scope = nest.parent_op()
    assert scope is not None
    if may_conflict(a, b, scope, [(first.variable, second.variable)]):
        fail(a.block, f"expected each iteration of {label_of(first)} to use its own elements of {name_of(a.buffer)}")


def _own_dimension(alloc: AllocBufferOp, found: Sequence[tuple[Access, ForOp]]) -> int | None:
    """Return the dimension of a buffer that the loops index completely and in every use, with variables of blocks that
    are bound to them; None if there is none."""
    uses = [(access, loop) for access, loop in found if access.buffer is alloc.buffer]
    sizes = [use.operation for use in alloc.buffer.uses if size_asked(use.operation) is not None]
    if len(uses) + len(sizes) < len(list(alloc.buffer.uses)):
        return None
    extent = known_size(uses[0][1].extent)
    for dimension, size in enumerate(known_sizes(alloc.buffer)):
        if size == extent and all(_is_bound(access.indices[dimension], access.block, loop) for access, loop in uses):
            return dimension
    return None


def _is_bound(index: SSAValue, block: BlockOp, loop: ForOp) -> bool:
    return any(v.variable is index and v.binding is loop.variable for v in block.iter_vars)
