"""Bounds checks: accesses stay in their buffers, and the variables of blocks in their ranges."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation

from relex.dialects.errors import name_of
from relex.dialects.index.bounds import Range
from relex.dialects.index.constraints import at, outside, unknowns
from relex.dialects.index.expr import Index, constant_of
from relex.dialects.tir import BlockOp, PrimFuncOp
from relex.passes.analysis.instances import Instance
from relex.passes.analysis.touches import Touch, touches
from relex.passes.checking.findings import Finding, when
from relex.passes.checking.verdicts import Wrong, judge


def check_bounds(function: PrimFuncOp) -> Iterator[Finding]:
    """Yield a finding for each access and block that may be out of range."""
    for op in function.body.walk():
        if isinstance(op, BlockOp):
            yield from _check_block(op, Instance(op, Instance(function), function))
    for touch in touches(function):
        yield from _check_access(touch, Instance(touch.op, Instance(function), function))


def _check_block(block: BlockOp, run: Instance) -> Iterator[Finding]:
    for v in block.iter_vars:
        size = v.extent if isinstance(v.extent, int) else run.form(v.extent)
        if (found := _check(block, run, run.form(v.binding), size, name_of(v.variable))) is not None:
            yield found
            return


def _check_access(touch: Touch, run: Instance) -> Iterator[Finding]:
    for dimension, index in enumerate(touch.indices or ()):
        size = run.size(touch.buffer, dimension)
        what = f"index {dimension} of {name_of(touch.buffer)}"
        if (found := _check(touch.op, run, run.form(index), size, what)) is not None:
            yield found
            return


def _check(op: Operation, run: Instance, index: Index, size: Index, what: str) -> Finding | None:
    domain = run.whole_system
    verdict = judge(domain, domain & outside(index, size))
    if verdict is None:
        return None
    if not isinstance(verdict, Wrong):
        return Finding(op, f"cannot decide whether {what} stays in {_range(size)}: {verdict.reason}", certain=False)
    point = verdict.point
    return Finding(op, f"expected {what} in {_range(size)}, found {at(index, point)}{when(run, point)}")


def _range(size: Index) -> str:
    return f"0..{size - 1}" if unknowns(size) else str(Range(0, constant_of(size) - 1))
