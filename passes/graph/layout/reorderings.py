"""Blocks that copy an input into another layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr
from xdsl.ir import BlockArgument, SSAValue
from xdsl.rewriter import Rewriter

from relex.dialects.dtypes import array_from_dense, mapped_dense
from relex.dialects.errors import PassError
from relex.dialects.tir import AllocBufferOp, BlockOp, PrimFuncOp
from relex.dialects.tir.accesses import Access
from relex.passes.analysis import loop_tree
from relex.passes.analysis.buffers import buffers_read
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.transposed_terms import copied_by
from relex.passes.graph.layout.gathers import AxisIndex, Gather, Limit
from relex.passes.rewriting.loop_edits import erase_empty


@dataclass(frozen=True)
class Reordering:
    """A block that only copies elements of an input to a local buffer, which is only read otherwise."""

    block: BlockOp
    source: BlockArgument
    buffer: AllocBufferOp
    gather: Gather

    @classmethod
    def of(cls, block: BlockOp) -> Reordering | None:
        """Return a block as a reordering, if copying is all it does, and always the same element to the same place."""
        found = copied_by(block)
        if found is None or loop_tree.is_reduction(block):
            return None
        load, store = found
        argument, buffer = load.memref, store.memref.owner
        if not isinstance(argument, BlockArgument) or not isinstance(buffer, AllocBufferOp):
            return None
        if not _is_filled_by(block, buffer):
            return None
        try:
            loop_tree.check_conditions(block)
            of_op = {access.op: access for access in block_accesses(block)}
        except PassError:
            return None
        gather = _gather_of(block, of_op[load], of_op[store])
        return cls(block, argument, buffer, gather) if gather is not None else None

    def packed(self, constant: DenseIntOrFPElementsAttr) -> DenseIntOrFPElementsAttr:
        """Return the elements of the input in their new order; 0 where none is copied to."""
        elements = array_from_dense(constant)
        return mapped_dense(
            constant.get_element_type(), self.gather.shape, lambda packed: self.gather.apply(elements, packed)
        )

    def replace_by(self, copy: SSAValue) -> None:
        """Replace the block and its buffer by an existing copy."""
        copy.name_hint = self.buffer.buffer.name_hint
        scope = self.block.parent_op()
        Rewriter.erase_op(self.block)
        erase_empty(scope)
        self.buffer.buffer.replace_all_uses_with(copy)
        Rewriter.erase_op(self.buffer)


def reorderings(func: PrimFuncOp, source: SSAValue) -> Iterator[Reordering]:
    """Yield the blocks of a function that only copy elements of a buffer."""
    for block in list(loop_tree.blocks_in(func)):
        found = Reordering.of(block) if buffers_read(block) == [source] else None
        if found is not None:
            yield found


def _is_filled_by(block: BlockOp, buffer: AllocBufferOp) -> bool:
    """Return whether a block writes a buffer of static size that all other ops only read."""
    users = [use.operation for use in buffer.buffer.uses if not block.is_ancestor(use.operation)]
    return not buffer.sizes and all(isinstance(op, memref.LoadOp | memref.DimOp) for op in users)


def _gather_of(block: BlockOp, load: Access, store: Access) -> Gather | None:
    """Return the elements that a block copies in all its iterations; None if they are unknown, or not always the
    same."""
    loops = loop_tree.loops_of(block)
    extents: dict[SSAValue, int] = {loop.variable: loop.extent for loop in loops if isinstance(loop.extent, int)}
    limits = [_limit(condition) for condition in loop_tree.conditions_of(block)]
    known = [limit for limit in limits if limit is not None]
    if len(extents) < len(loops) or len(known) < len(limits) or DYNAMIC_INDEX in load.shape:
        return None
    return Gather.of(extents, _indices(load), _indices(store), known)


def _indices(access: Access) -> list[AxisIndex]:
    return [AxisIndex(form, size) for form, size in zip(access.element, access.shape, strict=True)]


_HOLDS: dict[str, Callable[[Any], Any]] = {"slt": lambda difference: difference < 0, "sge": lambda d: d >= 0}
"""The comparisons that schedules emit, as conditions on the difference of the operands."""


def _limit(condition: SSAValue) -> Limit | None:
    """Return a condition as an index expression and a predicate on its value."""
    match loop_tree.comparison_of(condition):
        case predicate, difference if predicate in _HOLDS:
            return Limit(difference, _HOLDS[predicate])
        case _:
            return None
