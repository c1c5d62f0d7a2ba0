"""Blocks as rules see them: reductions, their loops and operands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, FixedBitwidthType, MemRefType
from xdsl.ir import SSAValue

from relex.dialects.errors import fail, name_of
from relex.dialects.index.expr import Index, depends_on, terms_of
from relex.dialects.tir import BlockOp, ForOp, IterKind
from relex.dialects.tir.accesses import Access, Element
from relex.dialects.upstream.hints import isa
from relex.passes.analysis import loop_tree
from relex.passes.analysis.buffers import buffers_written, statement_of
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.kept import once
from relex.passes.cpu import cost
from relex.passes.schedule import Block, Loop


@dataclass(frozen=True)
class ReductionNest:
    """A reduction block alone in serial loops: `terms` are the loops of the reduction, `spatial` the others."""

    block: BlockOp
    spatial: list[ForOp]
    terms: list[ForOp]
    result: SSAValue
    """The buffer that the block writes."""

    reads: list[Access]
    """The accesses that read other buffers."""

    @classmethod
    def of(cls, block: BlockOp) -> ReductionNest:
        """Return a block as such a reduction; fail with the reason if it is none."""
        return once((cls, block), lambda: cls._of(block))

    @classmethod
    def _of(cls, block: BlockOp) -> ReductionNest:
        loops = loops_alone(block)
        driven = loop_tree.variables_of_kind(block, IterKind.REDUCE)
        terms = [loop for loop in loops if loop.variable in driven]
        if block.init is None or not terms:
            fail(block, f"expected {loop_tree.name_of_block(block)} to be a reduction in loops")
        results = buffers_written(block)
        if len(results) != 1:
            fail(block, f"expected {loop_tree.name_of_block(block)} to write one buffer")
        accesses = [access for access in block_accesses(block) if not access.in_init]
        reads = [access for access in accesses if access.buffer is not results[0]]
        return cls(block, [loop for loop in loops if loop not in terms], terms, results[0], reads)

    @cached_property
    def written(self) -> Element:
        """The indices of the element that the block writes. Fails if it writes several."""
        return element_written(self.block)

    @cached_property
    def bits(self) -> int:
        """The size of a result in bits. Fails for sizes that CPUs do not compute with directly."""
        bits = bits_of(self.result)
        if bits not in (32, 64):
            fail(self.block, f"expected {name_of(self.result)} to have elements of 32 or 64 bits, found {bits}")
        return bits

    def check_side_by_side(self, loop: ForOp) -> None:
        """Fail unless the operands that vary along a loop are contiguous along it."""
        for access in self.reads:
            if uses(access, loop) and not is_side_by_side(access, loop):
                name = name_of(access.buffer)
                fail(self.block, f"expected elements of {name} that lie side by side along {loop_tree.label_of(loop)}")

    def is_along_columns(self, loop: ForOp) -> bool:
        """Return whether results are contiguous along a loop, and some operand varies."""
        is_used = any(uses(access, loop) for access in self.reads)
        return is_used and all(is_side_by_side(access, loop) for access in block_accesses(self.block, self.result))

    def columns(self) -> ForOp:
        """Return the loop along which the results are contiguous, and some operand varies; fail if there is none."""
        for loop in self.spatial:
            if self.is_along_columns(loop):
                return loop
        name = loop_tree.name_of_block(self.block)
        fail(self.block, f"expected a loop along which {name} writes elements side by side")


def loops_alone(block: BlockOp) -> list[ForOp]:
    """Return the loops of a block that is alone in them. Fail if it is not, or if they are scheduled already."""
    loops = loop_tree.loops_of(block)
    if not loops:
        fail(block, f"expected {loop_tree.name_of_block(block)} to be inside loops")
    if loop_tree.guard_of(block) is not None or statement_of(block) is not loops[0]:
        fail(block, f"expected no condition around {loop_tree.name_of_block(block)}")
    loop_tree.check_nested(loops)
    for loop in loops:
        loop_tree.check_serial(loop)
    return loops


def spatial_loops(block: BlockOp) -> list[ForOp]:
    """Return the loops of a block that is alone in them, and no reduction; fail if it is none such."""
    loops = loops_alone(block)
    if loop_tree.is_reduction(block):
        fail(block, f"expected {loop_tree.name_of_block(block)} to be no reduction")
    return loops


def named(loop: ForOp) -> Loop:
    """Return a loop by name, as steps of a schedule take it."""
    assert loop.label is not None
    return Loop(loop_tree.function_of(loop).sym_name.data, loop.label.data)


def block_named(block: BlockOp) -> Block:
    """Return a block by name, as steps of a schedule take it."""
    return Block(loop_tree.function_of(block).sym_name.data, block.block_name.data)


def bits_of(buffer: SSAValue) -> int:
    """Return the size of an element in bits, in memory, where it is a byte at least; 0 if it depends on the CPU."""
    kind = buffer.type
    assert isa(kind, MemRefType)
    return max(kind.element_type.bitwidth, 8) if isinstance(kind.element_type, FixedBitwidthType) else 0


def bytes_of(buffer: SSAValue) -> int | None:
    """Return the size of a buffer in memory; None if it is only known at run time."""
    assert isa(buffer.type, MemRefType)
    shape = buffer.type.get_shape()
    return None if DYNAMIC_INDEX in shape else prod(shape) * bits_of(buffer) // 8


def is_side_by_side(access: Access, loop: ForOp) -> bool:
    """Return whether a block accesses neighbouring elements in consecutive iterations of a loop."""
    *outer, last = access.element or (0,)
    return terms_of(last).get(loop.variable) == 1 and not any(depends_on(form, loop.variable) for form in outer)


def position_of(access: Access) -> Index | None:
    """Return how many elements of the buffer come before the one that is accessed; None if that depends on dynamic
    sizes."""
    shape = access.shape
    if DYNAMIC_INDEX in shape[1:]:
        return None
    position: Index = 0
    for size, form in zip(shape, access.element, strict=True):
        position = position * size + form
    return position


def uses(access: Access, loop: ForOp) -> bool:
    """Return whether the element that is accessed depends on a loop."""
    variable = loop.variable
    return any(depends_on(form, variable) for form in access.element)


def count(loops: Iterable[ForOp], unknown: int = cost.MANY) -> int:
    """Return the number of iterations of nested loops. Loops whose extent is only known at run time have `unknown`."""
    extents = [loop.extent for loop in loops]
    return prod(extent if isinstance(extent, int) else unknown for extent in extents)


def divisors(loop: ForOp, most: int) -> list[int]:
    """Return the numbers up to `most` that divide the extent of a loop; only 1 if it is only known at run time."""
    extent = loop.extent
    return [n for n in range(1, most + 1) if extent % n == 0] if isinstance(extent, int) else [1]


def element_written(block: BlockOp) -> Element:
    """Return the indices of the element that a block writes; fail if it writes several."""
    found = {access.element for access in block_accesses(block) if access.is_write and not access.in_init}
    if len(found) != 1:
        fail(block, f"expected {loop_tree.name_of_block(block)} to write one element a step")
    return found.pop()


def check_at_least(block: BlockOp, least: int, found: int, things: str) -> None:
    """Fail unless a block has that many things."""
    if found < least:
        fail(block, f"expected {least} {things} or more, found {found}")
