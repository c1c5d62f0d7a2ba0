"""`compute_at`: move a block into a loop of its consumers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from relex.dialects.errors import fail, name_of
from relex.dialects.index.expr import IndexExpr, span_of, terms_of
from relex.dialects.index.from_ir import index_of
from relex.dialects.schedule.blocks import ComputeAtOp
from relex.dialects.tir import BlockOp, ForOp, IterKind, IterVar, loops_around
from relex.passes.analysis.buffers import accesses_in, buffers_written, check_only_writer, local_buffer
from relex.passes.analysis.dependence import Element, block_accesses
from relex.passes.analysis.footprints import Interval, Region, covers, region_of
from relex.passes.analysis.loop_tree import (
    check_serial,
    check_structure,
    function_of,
    is_reduction,
    label_of,
    name_of_block,
    variables_of_kind,
)
from relex.passes.schedule.code_motion import (
    Placement,
    accesses_from,
    branches,
    check_independent,
    check_reduces_in_order,
    check_runs_anywhere,
    find_late_values,
    move_before,
    stands_before,
)
from relex.passes.schedule.new_names import NewNames
from relex.passes.schedule.rebind import with_variables
from relex.passes.schedule.table import primitive


@primitive(ComputeAtOp)
def compute_at(block: BlockOp, loop: ForOp, names: NewNames) -> None:
    """Move a block into a loop of its consumers: each iteration computes what it reads, in loops `ax0`, `ax1`, ..."""
    check_structure(loop)
    branch, other = branches(block, loop)
    if not stands_before(branch, other):
        fail(block, f"expected {name_of_block(block)} to stand before {label_of(loop)}")
    for around in (loop, *loops_around(loop)):
        check_serial(around)
    func = function_of(block)
    buffer, element = written_element(block)
    local_buffer(buffer, block)
    check_only_writer(func, buffer, block)
    check_runs_anywhere(block)
    check_reduces_in_order(block)
    _check_whole_reduction(block, other)
    readers = [access for access in accesses_in(func, buffer) if access.block is not block]
    for reader in readers:
        if not loop.is_ancestor(reader.block):
            fail(block, f"expected all that read {name_of(buffer)} to stand in {label_of(loop)}, "
                        f"found {name_of_block(reader.block)} elsewhere")  # fmt: skip
    if not readers:
        fail(block, f"expected {name_of(buffer)} to be read in {label_of(loop)}")
    check_independent(block, list(accesses_from(branch, other)), exempt=[buffer])
    region = region_of([reader.element for reader in readers], loop)
    variables = _variables_read(block, element, region)
    placement = Placement(block, loop, _ranges(variables, element, region))
    first = next(op for op in loop.body.block.ops if any(op.is_ancestor(reader.block) for reader in readers))
    late, labels = find_late_values(block, other), placement.labels(names)
    move_before(late, other)
    replace(placement, block=with_variables(block, variables)).move(InsertPoint.before(first), labels)


def written_element(block: BlockOp) -> tuple[SSAValue, Element]:
    """Return the buffer that a block writes and the indices of the element: each spatial variable once, and constants.
    Fail if the block accesses other elements of the buffer."""
    name = name_of_block(block)
    buffers = buffers_written(block)
    accesses = [access.access for access in block_accesses(block) if access.buffer in buffers]
    elements = {tuple(map(index_of, access.indices)) for access in accesses}
    if len(buffers) != 1 or len(elements) != 1:
        fail(block, f"expected {name} to write one element, and to read no others of its buffer")
    (element,) = elements
    spatial = [IndexExpr.of(v.variable) for v in block.iter_vars if v.kind is IterKind.SPATIAL]
    variables = [index for index in element if terms_of(index)]
    if set(variables) != set(spatial) or len(variables) != len(spatial):
        fail(block, f"expected the spatial variables of {name} as indices of {name_of(buffers[0])}, each once")
    if block.init is None and is_reduction(block):
        fail(block, f"expected the reduction {name} to have an init")
    return buffers[0], element


def _check_whole_reduction(block: BlockOp, other: Operation) -> None:
    """Fail if a reduction shares loops of its own with its consumers, which would then see partial results."""
    shared = {loop.variable for loop in loops_around(other)}
    if variables_of_kind(block, IterKind.REDUCE) & shared:
        fail(block, f"expected the loops of the reduction {name_of_block(block)} around it alone")


def _variables_read(block: BlockOp, element: Element, region: Region) -> list[IterVar]:
    """Return the variables of a block, with extents that end where nothing beyond is read."""
    needed = {index: interval for index, interval in zip(element, region, strict=True) if interval is not None}
    return [_up_to(v, needed.get(IndexExpr.of(v.variable))) for v in block.iter_vars]


def _up_to(v: IterVar, interval: Interval | None) -> IterVar:
    if interval is None or not isinstance(v.extent, int):
        return v
    end = span_of(interval.base).high + interval.extent
    return replace(v, extent=int(end)) if end < v.extent else v


def _ranges(variables: Sequence[IterVar], element: Element, region: Region) -> list[Interval | None]:
    """Return for each variable of a block the values that a region of its buffer needs."""
    ranges: list[Interval | None] = []
    for v in variables:
        index = IndexExpr.of(v.variable)
        interval = region[element.index(index)] if index in element else None
        ranges.append(interval if interval is not None and _is_part(interval, v.extent) else None)
    return ranges


def _is_part(interval: Interval, extent: int | SSAValue) -> bool:
    """Return whether an interval is smaller than the range up to `extent`, but covers it as the outer loops run."""
    return isinstance(extent, SSAValue) or (interval.extent < extent and covers(interval, extent))
