"""Elements that loops prefetch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, MemRefType
from xdsl.ir import SSAValue

from relex.dialects.dtypes import size_in_bytes
from relex.dialects.function_arguments import PREFETCH_ATTR
from relex.dialects.index.atoms import Atom
from relex.dialects.index.expr import Index, IndexExpr, span_of, values_in
from relex.dialects.index.values import replace_atoms
from relex.dialects.target.processors import Processor
from relex.dialects.tir import ForOp
from relex.dialects.upstream.hints import isa
from relex.passes.analysis.buffers import buffers_read
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.loop_tree import blocks_in, loops_of
from relex.passes.cpu.reduction_nest import count

LOCALITY = 2
"""The first-level cache need not hold what is prefetched: it is larger than that where it pays."""


def prefetched(loop: ForOp) -> Iterator[tuple[SSAValue, Sequence[Index]]]:
    """Yield the elements that each iteration of a loop prefetches, one on each cache line: the buffers and the indices
    in terms of the loop and those around it. There are none if the loop has become another one than `prefetch` was
    applied to: with several blocks, for instance."""
    if (attribute := loop.attributes.get(PREFETCH_ATTR)) is None:
        return
    blocks = list(blocks_in(loop))
    if not isa(attribute, DenseArrayBase[IntegerType]) or len(attribute) != 2 or len(blocks) != 1:
        return
    (number, ahead), (block,) = map(int, attribute.iter_values()), blocks
    buffers, loops = buffers_read(block), loops_of(block)
    inside = loops[loops.index(loop) + 1 :]
    if number not in range(len(buffers)) or not all(isinstance(inner.extent, int) for inner in inside):
        return
    buffer = buffers[number]
    assert isa(buffer.type, MemRefType)
    *first, last = element = next(access.element for access in block_accesses(block, buffer))
    along = {inner.variable for inner in inside}
    row = span_of(replace_atoms(last, lambda atom: None if atom in along else 0))
    rows = [inner for inner in inside if any(inner.variable in values_in(form) for form in first)]
    for numbers in product(*(range(count([inner])) for inner in rows)):
        values: dict[Atom, Index] = dict.fromkeys(along, 0)
        values |= {inner.variable: n for inner, n in zip(rows, numbers, strict=True)}
        values[loop.variable] = IndexExpr.of(loop.variable) + ahead
        *at, start = (replace_atoms(form, values.get) for form in element)
        for place in range(0, int(row.high) + 1, Processor.line_bytes // size_in_bytes(buffer.type.element_type)):
            yield buffer, (*at, start + place)
