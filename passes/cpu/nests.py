"""What rules ask of the loops of a block."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import FixedBitwidthType, MemRefType
from xdsl.ir import SSAValue
from xdsl.utils.hints import isa

from relex.dialects.errors import fail, name_of
from relex.dialects.index.expr import terms_of, values_in
from relex.dialects.tir import BlockOp, ForOp, IterKind
from relex.passes.analysis.buffers import buffers_written, statement_of
from relex.passes.analysis.dependence import BlockAccess, block_accesses
from relex.passes.analysis.loop_tree import (
    check_nested,
    check_serial,
    function_of,
    guard_of,
    loops_of,
    name_of_block,
)
from relex.passes.schedule import Block, Loop
from relex.passes.schedule.decompose_reduction import variables_of_kind


@dataclass(frozen=True)
class Reduction:
    """A block that is alone in serial loops: `terms` are those of the reduction, `spatial` all others."""

    block: BlockOp
    spatial: list[ForOp]
    terms: list[ForOp]
    result: SSAValue
    """The buffer that it writes."""

    reads: list[BlockAccess]
    """What it reads but its own results."""

    @classmethod
    def of(cls, block: BlockOp) -> Reduction:
        """What a block is. Fails, and says why, if it is no such reduction."""
        loops = loops_alone(block)
        driven = variables_of_kind(block, IterKind.REDUCE)
        terms = [loop for loop in loops if loop.variable in driven]
        if block.init is None or not terms:
            fail(block, f"expected {name_of_block(block)} to be a reduction in loops")
        results = buffers_written(block)
        if len(results) != 1:
            fail(block, f"expected {name_of_block(block)} to write one buffer")
        accesses = [access for access in block_accesses(block) if not access.in_init]
        reads = [access for access in accesses if access.buffer is not results[0]]
        return cls(block, [loop for loop in loops if loop not in terms], terms, results[0], reads)

    @property
    def bits(self) -> int:
        return result_bits(self.block, self.result)


def loops_alone(block: BlockOp) -> list[ForOp]:
    """The loops of a block that is alone in them. Fails if it is not, or if somebody has scheduled them already."""
    loops = loops_of(block)
    if not loops:
        fail(block, f"expected {name_of_block(block)} to stand in loops")
    if guard_of(block) is not None or statement_of(block) is not loops[0]:
        fail(block, f"expected no condition around {name_of_block(block)}")
    check_nested(loops)
    for loop in loops:
        check_serial(loop)
    return loops


def named(loop: ForOp) -> Loop:
    """A loop as steps of a schedule take it."""
    assert loop.label is not None
    return Loop(function_of(loop).sym_name.data, loop.label.data)


def block_named(block: BlockOp) -> Block:
    """A block as steps of a schedule take it."""
    return Block(function_of(block).sym_name.data, block.block_name.data)


def bits_of(buffer: SSAValue) -> int:
    """The size of an element; 0 if that depends on the CPU."""
    kind = buffer.type
    assert isa(kind, MemRefType)
    return kind.element_type.bitwidth if isinstance(kind.element_type, FixedBitwidthType) else 0


def result_bits(block: BlockOp, result: SSAValue) -> int:
    """The size of a result of a block. Fails for those that CPUs do not compute with as they are."""
    bits = bits_of(result)
    if bits not in (32, 64):
        fail(block, f"expected {name_of(result)} to have elements of 32 or 64 bits, found {bits}")
    return bits


def is_side_by_side(access: BlockAccess, loop: ForOp) -> bool:
    """Whether the elements that a block accesses in an iteration of a loop and the next are neighbours."""
    *outer, last = access.element or (0,)
    return terms_of(last).get(loop.variable) == 1 and not any(loop.variable in values_in(form) for form in outer)


def uses(access: BlockAccess, loop: ForOp) -> bool:
    """Whether a block accesses other elements in other iterations of a loop."""
    return any(loop.variable in values_in(form) for form in access.element)


MANY = 2**40
"""What the iterations of a loop count as that are known at run time only."""


def count(loops: Iterable[ForOp]) -> int:
    """The iterations of loops inside each other."""
    return prod(loop.extent if isinstance(loop.extent, int) else MANY for loop in loops)
