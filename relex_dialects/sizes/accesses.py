"""Loop functions read and write inside of their buffers: what that means for sizes that are known at run time.

Where an index is a sum of loop variables with factors, the largest and the smallest place that it takes follow from the
extents of the loops, and must lie in the buffer. Of other indices, and of accesses under a condition, nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects import arith, memref
from xdsl.ir import BlockArgument, Operation, SSAValue

from relex.dialects.sizes.analysis import SIZES, SizeAnalysis
from relex.dialects.sizes.expressions import Size, count, never_negative
from relex.dialects.sizes.requirements import Requirement
from relex.dialects.tir import BlockOp, CallOp, ForOp, InitOp, PrimFuncOp


@dataclass(frozen=True)
class _Linear:
    """A sum of variables, each with a factor, and a constant."""

    constant: Size
    factors: Mapping[BlockArgument, Size]

    def __add__(self, other: _Linear) -> _Linear:
        variables = {**self.factors, **other.factors}
        factors = {v: self.factors.get(v, 0) + other.factors.get(v, 0) for v in variables}
        return _Linear(self.constant + other.constant, factors)

    def __mul__(self, factor: Size) -> _Linear:
        return _Linear(self.constant * factor, {v: old * factor for v, old in self.factors.items()})


@SIZES.rule(memref.LoadOp, memref.StoreOp)
def _(op: memref.LoadOp | memref.StoreOp, analysis: SizeAnalysis) -> None:
    if not analysis.knows(op.memref) or not _runs_always(op):
        analysis.unchecked.append(op)
        return
    for index, size in zip(op.indices, analysis.sizes(op.memref), strict=True):
        form = _linear(index, analysis)
        if form is None or not _require_inside(form, size, analysis):
            analysis.unchecked.append(op)


def _require_inside(form: _Linear, size: Size, analysis: SizeAnalysis) -> bool:
    """Require that an index stays in a dimension. Returns whether it was possible to say so."""
    extents = {v: _extent(v, analysis) for v in form.factors}
    low = high = form.constant
    for variable, factor in form.factors.items():
        extent = extents[variable]
        if extent is None:
            return False
        if never_negative(factor):
            high = high + factor * (extent - 1)
        elif never_negative(-factor):
            low = low + factor * (extent - 1)
        else:
            return False
    if all(isinstance(s, int) for s in (low, high, size)):
        return True  # Types say it all: the verifier of blocks has looked at them.
    # Where a loop runs for nothing, nothing is read or written.
    runs = count([extent for extent in extents.values() if extent is not None])
    for lhs, rhs in ((0, low), (high + 1, size)):
        plain = Requirement(lhs, "<=", rhs)
        says_it_all = form.constant == 0 or plain.holds
        analysis.require(plain if says_it_all else Requirement(lhs * runs, "<=", rhs * runs))
    return True


def _linear(value: SSAValue, analysis: SizeAnalysis) -> _Linear | None:
    if analysis.knows(value):
        return _Linear(analysis.number(value), {})
    if isinstance(value, BlockArgument):
        scope = value.owner.parent_op()
        if isinstance(scope, BlockOp):
            return _linear(scope.bindings[value.index], analysis)
        return _Linear(0, {value: 1}) if isinstance(scope, ForOp) else None
    match value.owner:
        case arith.AddiOp(lhs=lhs, rhs=rhs):
            left, right = _linear(lhs, analysis), _linear(rhs, analysis)
            return left + right if left and right else None
        case arith.SubiOp(lhs=lhs, rhs=rhs):
            left, right = _linear(lhs, analysis), _linear(rhs, analysis)
            return left + right * -1 if left and right else None
        case arith.MuliOp(lhs=lhs, rhs=rhs):
            left, right = _linear(lhs, analysis), _linear(rhs, analysis)
            if left is None or right is None or (left.factors and right.factors):
                return None
            return left * right.constant if left.factors else right * left.constant
        case _:
            return None


def _extent(variable: BlockArgument, analysis: SizeAnalysis) -> Size | None:
    """How often the loop of a variable runs."""
    loop = variable.owner.parent_op()
    if not isinstance(loop, ForOp):
        return None
    if isinstance(loop.extent, int):
        return loop.extent
    return analysis.number(loop.extent) if analysis.knows(loop.extent) else None


def _runs_always(op: Operation) -> bool:
    """Whether nothing but loops decides how often an op of a loop function runs."""
    return all(isinstance(scope, ForOp | BlockOp | InitOp) for scope in _scopes(op))


def _scopes(op: Operation) -> Iterator[Operation]:
    scope = op.parent_op()
    while scope is not None and not isinstance(scope, PrimFuncOp):
        yield scope
        scope = scope.parent_op()


@SIZES.rule(memref.CopyOp)
def _(op: memref.CopyOp, analysis: SizeAnalysis) -> None:
    if analysis.knows(op.source) and analysis.knows(op.destination):
        for read, written in zip(analysis.sizes(op.source), analysis.sizes(op.destination), strict=True):
            analysis.require(Requirement(read, "==", written))


@SIZES.rule(CallOp)
def _(op: CallOp, analysis: SizeAnalysis) -> None:
    if all(map(analysis.knows, op.arguments)):
        analysis.enter(analysis.callee(op.callee), [analysis.sizes(value) for value in op.arguments])
