"""`split` and `pad`: split a loop into several, or round up its extent."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.errors import fail
from relex.dialects.index.expr import Index, IndexExpr
from relex.dialects.index.from_ir import index_of
from relex.dialects.schedule.loop_primitives import PadLoopOp, SplitOp
from relex.dialects.tir import ForOp
from relex.passes.analysis.loop_tree import base_name, blocks_in, check_serial, check_structure, label_of
from relex.passes.rewriting.index_arithmetic import IndexArithmetic, constant, substitute
from relex.passes.rewriting.loop_edits import add_guard, insert_nest, new_loop, take_body
from relex.passes.schedule.arguments import NewNames
from relex.passes.schedule.primitive_table import primitive


@primitive(SplitOp)
def split(loop: ForOp, factors: Sequence[int | None], names: NewNames) -> list[ForOp]:
    """
    Split a loop into nested loops with the given extents; one factor may be None, and is inferred. If the product is
    not the extent, the blocks inside are guarded. `j` becomes `j_0`, `j_1`, ...
    """
    check_serial(loop)
    check_structure(loop)
    extents = _extents(loop, factors)
    _, labels = names.take(loops=[f"{base_name(loop)}_{i}" for i in range(len(factors))])
    sizes = [_dynamic_extent(loop, factors) if extent is None else extent for extent in extents]
    loops = [new_loop(size, label, loop) for size, label in zip(sizes, labels, strict=True)]
    form: Index = 0
    stride: Index = 1
    for part in reversed(loops):
        form = IndexExpr.of(part.variable) * stride + form
        stride *= part.extent if isinstance(part.extent, int) else IndexExpr.of(part.extent)
    replace_loop(loop, loops, form, exact=_is_exact(loop, factors, extents))
    return loops


def replace_loop(loop: ForOp, loops: Sequence[ForOp], form: Index, *, exact: bool) -> None:
    """Replace a loop by new loops, and its variable by `form`; if not `exact`, `form` may exceed the extent, and the
    blocks inside are guarded."""
    insert_nest(loops, take_body(loop), InsertPoint.before(loop))
    for block in [] if exact else list(blocks_in(loops[0])):
        add_guard(block, form, loop.extent)
    substitute(loops[0], {loop.variable: form})
    Rewriter.erase_op(loop)


def _extents(loop: ForOp, factors: Sequence[int | None]) -> list[int | None]:
    """Return the extents of the new loops; None for one that is only known at run time."""
    given = _given(factors)
    if isinstance(loop.extent, SSAValue):
        if None not in factors:
            fail(loop, f"expected one factor of {label_of(loop)} to be left open, as its extent is known at run time")
        return list(factors)
    inferred = -(-loop.extent // given)
    if None not in factors and given < loop.extent:
        fail(loop, f"expected factors of {label_of(loop)} whose product is {loop.extent} or more, found {given}")
    return [inferred if factor is None else factor for factor in factors]


def _is_exact(loop: ForOp, factors: Sequence[int | None], extents: Sequence[int | None]) -> bool:
    """Return whether the new loops run exactly as often as the one they replace."""
    if isinstance(loop.extent, SSAValue):
        return index_of(loop.extent) % _given(factors) == 0
    return prod(extent or 0 for extent in extents) == loop.extent


def _given(factors: Sequence[int | None]) -> int:
    return prod(factor for factor in factors if factor is not None)


def _dynamic_extent(loop: ForOp, factors: Sequence[int | None]) -> SSAValue:
    given = _given(factors)
    assert isinstance(loop.extent, SSAValue)
    if _is_exact(loop, factors, factors):
        return IndexArithmetic(loop).emit(index_of(loop.extent) // given)
    return IndexArithmetic(loop).add(arith.CeilDivSIOp(loop.extent, constant(given, loop)))


@primitive(PadLoopOp)
def pad(loop: ForOp, multiple: int) -> None:
    """Round up the extent of a loop to a multiple of a number, and guard the blocks inside."""
    check_serial(loop)
    check_structure(loop)
    padded = new_loop(_round_up(loop, multiple), base_name(loop), loop)
    replace_loop(loop, [padded], IndexExpr.of(padded.variable), exact=padded.extent == loop.extent)


def _round_up(loop: ForOp, multiple: int) -> int | SSAValue:
    if isinstance(loop.extent, int):
        return -(-loop.extent // multiple) * multiple
    emitter, factor = IndexArithmetic(loop), constant(multiple, loop)
    return emitter.add(arith.MuliOp(emitter.add(arith.CeilDivSIOp(loop.extent, factor)), factor))
