"""Bounds checks: accesses stay in their buffers, and the variables of blocks in their ranges."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from xdsl.ir import Operation

from relex.dialects.errors import name_of
from relex.dialects.index.constraints import Point, at, outside, unknowns
from relex.dialects.index.expr import Index, constant_of
from relex.dialects.index.ranges import Range
from relex.dialects.tir import BlockOp, PrimFuncOp
from relex.dialects.tir.accesses import Access
from relex.passes.analysis.buffer_accesses import touches
from relex.passes.analysis.iteration_systems import Instance
from relex.passes.checking.findings import Finding, finding_of, when
from relex.passes.checking.verdicts import judge


def check_bounds(function: PrimFuncOp) -> Iterator[Finding]:
    """Yield a finding for each access and block that may be out of range."""
    for op in function.body.walk():
        if isinstance(op, BlockOp):
            checked = _check_block(op, Instance(op, Instance(function), function))
            yield from islice(filter(None, checked), 1)
    for touch in touches(function):
        checked = _check_access(touch, Instance(touch.op, Instance(function), function))
        yield from islice(filter(None, checked), 1)


def _check_block(block: BlockOp, run: Instance) -> Iterator[Finding | None]:
    for v in block.iter_vars:
        size = v.extent if isinstance(v.extent, int) else run.form(v.extent)
        yield _check(block, run, run.form(v.binding), size, name_of(v.variable))


def _check_access(touch: Access, run: Instance) -> Iterator[Finding | None]:
    for dimension, index in enumerate(touch.indices):
        size = run.size(touch.buffer, dimension)
        yield _check(touch.op, run, run.form(index), size, f"index {dimension} of {name_of(touch.buffer)}")


def _check(op: Operation, run: Instance, index: Index, size: Index, what: str) -> Finding | None:
    domain = run.whole_system

    def beyond(point: Point) -> str:
        return f"{what} in {_range(size)}, found {at(index, point)}{when(run, point)}"

    return finding_of(op, judge(domain, domain & outside(index, size)), beyond, f"{what} stays in {_range(size)}")


def _range(size: Index) -> str:
    return f"0..{size - 1}" if unknowns(size) else str(Range(0, constant_of(size) - 1))
