"""Queries that rules make about the loops of a block."""

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
    """A reduction block alone in serial loops: `terms` are the loops of the reduction, `spatial` the others."""

    block: BlockOp
    spatial: list[ForOp]
    terms: list[ForOp]
    result: SSAValue
    """The buffer that the block writes."""

    reads: list[BlockAccess]
    """The accesses that read other buffers."""

    @classmethod
    def of(cls, block: BlockOp) -> Reduction:
        """Return a block as such a reduction; fail with the reason if it is none."""
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
        """The size of a result in bits."""
        return result_bits(self.block, self.result)


def loops_alone(block: BlockOp) -> list[ForOp]:
    """Return the loops of a block that is alone in them. Fail if it is not, or if they are scheduled already."""
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
    """Return a loop by name, as steps of a schedule take it."""
    assert loop.label is not None
    return Loop(function_of(loop).sym_name.data, loop.label.data)


def block_named(block: BlockOp) -> Block:
    """Return a block by name, as steps of a schedule take it."""
    return Block(function_of(block).sym_name.data, block.block_name.data)


def bits_of(buffer: SSAValue) -> int:
    """Return the size of an element in bits; 0 if it depends on the CPU."""
    kind = buffer.type
    assert isa(kind, MemRefType)
    return kind.element_type.bitwidth if isinstance(kind.element_type, FixedBitwidthType) else 0


def result_bits(block: BlockOp, result: SSAValue) -> int:
    """Return the size of a result of a block in bits. Fail for sizes that CPUs do not compute with directly."""
    bits = bits_of(result)
    if bits not in (32, 64):
        fail(block, f"expected {name_of(result)} to have elements of 32 or 64 bits, found {bits}")
    return bits


def is_side_by_side(access: BlockAccess, loop: ForOp) -> bool:
    """Return whether a block accesses neighbouring elements in consecutive iterations of a loop."""
    *outer, last = access.element or (0,)
    return terms_of(last).get(loop.variable) == 1 and not any(loop.variable in values_in(form) for form in outer)


def uses(access: BlockAccess, loop: ForOp) -> bool:
    """Return whether the element that is accessed depends on a loop."""
    return any(loop.variable in values_in(form) for form in access.element)


MANY = 2**40
"""The assumed trip count of a loop whose extent is only known at run time."""


def count(loops: Iterable[ForOp]) -> int:
    """Return the number of iterations of nested loops."""
    return prod(loop.extent if isinstance(loop.extent, int) else MANY for loop in loops)
