"""Caches of the processor that a module is compiled for: what stays in the second level, and competes for the first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, ShapedType
from xdsl.ir import SSAValue

from relex.dialects.target.processors import Processor
from relex.dialects.target.target_attribute import processor_in
from relex.dialects.tir import ForOp
from relex.dialects.tir.accesses import Element
from relex.passes.analysis.footprints import region_of
from relex.passes.cpu import cost
from relex.passes.cpu.reduction_nest import bits_of


def bytes_nearby(module: ModuleOp) -> int:
    """Return the size of buffers that stay in the second-level cache, besides everything else that a nest reads; 0 if
    `schedule-cpu` does not know the target."""
    processor = processor_in(module)
    return int(cost.L2_SIZES_OF_A_BLOCK * processor.l2_bytes) if processor else 0


def bytes_used(buffer: SSAValue, elements: Sequence[Element], loop: ForOp, unknown: int = cost.LIKELY_SIZE) -> int:
    """Return the size in bytes of the part of a buffer that one iteration of a loop uses, given the elements that are
    accessed. Sizes that are only known at run time count as `unknown`."""
    assert isinstance(buffer.type, ShapedType)
    sizes = [unknown if size == DYNAMIC_INDEX else size for size in buffer.type.get_shape()]
    extents = [
        size if interval is None else interval.extent
        for interval, size in zip(region_of(elements, loop), sizes, strict=True)
    ]
    return prod(extents) * bits_of(buffer) // 8


def lines_in_a_set(rows: int, distance: int, processor: Processor) -> int:
    """Return how many lines, one of each of some rows that are `distance` bytes apart, share a set of the first-level
    cache."""
    sets = processor.l1_bytes // processor.l1_ways // processor.line_bytes
    return max(Counter(row * distance // processor.line_bytes % sets for row in range(rows)).values())
