"""Accesses of loop functions stay in bounds: the requirements on dynamic sizes that follow.

If an index is a sum of loop variables with factors, its extreme values follow from the trip counts of the loops, and
must lie inside the dimension. Other indices imply no requirement, nor do accesses under a condition or in loops that
have no iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from math import prod

from xdsl.dialects import arith, memref
from xdsl.ir import BlockArgument, Operation, SSAValue

from relex.dialects.index.atoms import factors_of
from relex.dialects.index.expr import Index, IndexExpr, constant_of, has_values, never_negative, terms_of
from relex.dialects.index.from_ir import index_of, index_reader
from relex.dialects.sizes.analysis import SIZES, SizeAnalysis
from relex.dialects.sizes.expressions import Size, count
from relex.dialects.sizes.implied import always_holds
from relex.dialects.sizes.requirements import Requirement
from relex.dialects.tir import BlockOp, CallLoopsOp, ForOp, InitOp, PrimFuncOp
from relex.dialects.tir.verification import executes
from relex.dialects.walks import ancestors


@SIZES.rule(memref.LoadOp, memref.StoreOp)
def _require_in_bounds(op: memref.LoadOp | memref.StoreOp, analysis: SizeAnalysis) -> None:
    if not analysis.knows(op.memref) or not _runs_always(op):
        analysis.unchecked.append(op)
        return
    if not executes(op):
        return
    in_loops = _reader_in_loops(analysis)
    for index, size in zip(op.indices, analysis.sizes(op.memref), strict=True):
        if not _require_inside(in_loops(index), size, analysis, _never_below_zero(index)):
            analysis.unchecked.append(op)


def _reader_in_loops(analysis: SizeAnalysis) -> Callable[[SSAValue], Index]:
    """Return what reads indices in terms of loop variables and named sizes."""

    def lookup(value: SSAValue) -> Index | None:
        if analysis.knows(value):
            return analysis.number(value)
        scope = value.block.parent_op() if isinstance(value, BlockArgument) else None
        if isinstance(value, BlockArgument) and isinstance(scope, BlockOp):
            return read(scope.binding_of(value))
        return None

    read = index_reader(lookup)
    return read


def _require_inside(index: Index, size: Size, analysis: SizeAnalysis, is_natural: bool) -> bool:
    """Require that an index, `is_natural` if it is never negative, stays inside a dimension. Returns whether that could
    be expressed."""
    constant, factors = constant_of(index), dict[BlockArgument, Index]()
    for atom, factor in terms_of(index).items():
        parts = factors_of(atom)
        variables = [part for part in parts if isinstance(part, BlockArgument)]
        known = prod((IndexExpr.of(part) for part in parts if part not in variables), start=factor)
        if len(variables) > 1 or has_values(known):
            return False
        if variables:
            factors[variables[0]] = factors.get(variables[0], 0) + known
        else:
            constant += known
    extents = {variable: _extent(variable, analysis) for variable in factors}
    low = high = constant
    for variable, factor in factors.items():
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
        return True  # All is static: the verifier of blocks has checked it.
    # Nothing is accessed if a loop has no iterations: both sides are multiplied by the trip counts.
    trips = tuple(extent for extent in extents.values() if extent is not None)
    runs = count(trips)
    bounds = [(high + 1, size)] if is_natural else [(0, low), (high + 1, size)]
    for lhs, rhs in bounds:
        plain = Requirement(lhs, "<=", rhs)
        if always_holds(plain, analysis.required, positive=trips):
            continue
        says_it_all = constant == 0
        analysis.require(plain if says_it_all else Requirement(lhs * runs, "<=", rhs * runs))
    return True


def _never_below_zero(index: SSAValue) -> bool:
    """Return whether an index is a sum, a product, or a quotient of what is never negative: then nothing need be known
    of sizes."""
    owner = index.owner
    if isinstance(index, BlockArgument):
        scope = index.block.parent_op()
        if isinstance(scope, BlockOp):
            return _never_below_zero(scope.binding_of(index))
        return isinstance(scope, ForOp)
    if isinstance(owner, arith.AddiOp | arith.MuliOp):
        return all(map(_never_below_zero, owner.operands))
    if isinstance(owner, arith.FloorDivSIOp):
        divisor = index_of(owner.rhs)
        return isinstance(divisor, int) and divisor > 0 and _never_below_zero(owner.lhs)
    return never_negative(index_of(index))


def _extent(variable: BlockArgument, analysis: SizeAnalysis) -> Size | None:
    """Return the trip count of a variable's loop."""
    loop = variable.owner.parent_op()
    if not isinstance(loop, ForOp):
        return None
    if isinstance(loop.extent, int):
        return loop.extent
    return analysis.number(loop.extent) if analysis.knows(loop.extent) else None


def _runs_always(op: Operation) -> bool:
    """Return whether only loops and blocks surround an op of a loop function, so that no condition guards it."""
    inside = takewhile(lambda scope: not isinstance(scope, PrimFuncOp), ancestors(op))
    return all(isinstance(scope, ForOp | BlockOp | InitOp) for scope in inside)


@SIZES.rule(memref.CopyOp)
def _require_equal_shapes(op: memref.CopyOp, analysis: SizeAnalysis) -> None:
    if analysis.knows(op.source) and analysis.knows(op.destination):
        for read, written in zip(analysis.sizes(op.source), analysis.sizes(op.destination), strict=True):
            analysis.require(Requirement(read, "==", written))


@SIZES.rule(CallLoopsOp)
def _require_fitting_arguments(op: CallLoopsOp, analysis: SizeAnalysis) -> None:
    if all(map(analysis.knows, op.arguments)):
        analysis.enter(analysis.callee(op.callee), [analysis.sizes(value) for value in op.arguments])
