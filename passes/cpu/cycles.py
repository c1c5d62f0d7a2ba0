"""An estimate of the time that a loop nest takes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType
from xdsl.ir import Operation, SSAValue

from relex.dialects.target.processors import Processor
from relex.dialects.tir import BlockOp, ForOp
from relex.dialects.tir.accesses import Access
from relex.dialects.walks import holds, walk
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.loop_tree import blocks_in, loops_of
from relex.passes.cpu import cost
from relex.passes.cpu.reduction_nest import bits_of, count, uses


def cycles_of(nest: ForOp, processor: Processor, unknown: int) -> float:
    """
    Return the cycles that a nest takes on one core if it runs well: the cycles of its operations if all of them are in
    vectors, or the cycles that it takes to read and write its buffers once, if that is more. Loops whose extent is only
    known at run time have `unknown` iterations.
    """
    steps, touched = 0.0, dict[SSAValue, int]()
    for block in blocks_in(nest):
        loops = [loop for loop in loops_of(block) if holds(nest, loop)]
        accesses = block_accesses(block)
        steps += count(loops, unknown) * _cycles_of_step(block, accesses, processor)
        for access in accesses:
            if not holds(nest, access.buffer.owner):
                touched[access.buffer] = max(touched.get(access.buffer, 0), _bytes(access, loops, unknown))
    return max(steps, sum(touched.values()) / cost.BYTES_PER_CYCLE)


def _cycles_of_step(block: BlockOp, accesses: Sequence[Access], processor: Processor) -> float:
    """Return the cycles of a step that is one of the lanes of a vector."""
    bits = max((bits_of(access.buffer) for access in accesses), default=0)
    steps = (inner for op in block.body.block.ops if op is not block.init for inner in walk(op))
    return sum(map(_cycles_of_vector, steps)) / processor.lanes(bits or 64)


def _cycles_of_vector(op: Operation) -> float:
    dialect = op.name.partition(".")[0]
    if dialect not in ("arith", "math") or type(op) is arith.ConstantOp or type(op.results[0].type) is IndexType:
        return 0
    if isinstance(op, arith.MulfOp) and all(isinstance(use.operation, arith.AddfOp) for use in op.result.uses):
        return 0  # One instruction with the addition.
    is_function = dialect == "math" and not isinstance(op, math.FmaOp | math.AbsFOp | math.FloorOp | math.CeilOp)
    return cost.CYCLES_OF_A_FUNCTION if is_function else 1 / cost.PER_CYCLE


def _bytes(access: Access, loops: Sequence[ForOp], unknown: int) -> int:
    """Return the bytes of the elements that an access touches in loops, at most all of its buffer."""
    shape = access.shape
    elements = count([loop for loop in loops if uses(access, loop)], unknown) if count(loops, unknown) else 0
    if DYNAMIC_INDEX not in shape:
        elements = min(elements, prod(shape))
    return elements * bits_of(access.buffer) // 8
