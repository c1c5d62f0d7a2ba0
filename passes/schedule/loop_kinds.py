"""`parallel`, `vectorize`, `unroll` and `label_loops`: change the kind of a loop, or give it a label."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import StringAttr

from relex.dialects.errors import fail, name_of
from relex.dialects.schedule.loop_primitives import LabelLoopsOp, ParallelOp, UnrollOp, VectorizeOp
from relex.dialects.tir import BlockOp, ForOp, LoopKind, LoopKindAttr, PrimFuncOp
from relex.dialects.walks import walk_of
from relex.passes.analysis.dependence import dependences
from relex.passes.analysis.kept import resumed
from relex.passes.analysis.loop_tree import check_serial, check_structure, label_of, name_of_block
from relex.passes.analysis.reduction_order import order_matters
from relex.passes.cpu import cost
from relex.passes.schedule.arguments import NewNames
from relex.passes.schedule.primitive_table import primitive


@primitive(ParallelOp)
def parallel(loop: ForOp) -> None:
    """Mark a loop as parallel: its iterations may run at the same time."""
    _check_independent(loop)
    loop.kind = LoopKindAttr(LoopKind.PARALLEL)


@primitive(VectorizeOp)
def vectorize(loop: ForOp) -> None:
    """Mark a loop as vectorized: its iterations become the lanes of vectors. Their number must be known, and they must
    be independent, or steps of a reduction that may be reordered and whose init is elsewhere."""
    _check_length(loop)
    _check_independent(loop, except_for=_sums_up_lanes)
    loop.kind = LoopKindAttr(LoopKind.VECTORIZED)


@primitive(UnrollOp)
def unroll(loop: ForOp) -> None:
    """Mark a loop to be unrolled."""
    check_serial(loop)
    loop.kind = LoopKindAttr(LoopKind.UNROLLED)


def _check_length(loop: ForOp) -> None:
    """Fail if a loop is too long for a vector, or may be."""
    most = cost.MAX_VECTOR_LENGTH
    if not isinstance(loop.extent, int):
        fail(
            loop, f"expected at most {most} iterations of {label_of(loop)}, found a number known at run time; split it"
        )
    if loop.extent > most:
        fail(loop, f"expected at most {most} iterations of {label_of(loop)}, found {loop.extent}; split it")


def _sums_up_lanes(block: BlockOp) -> bool:
    return block.init is None and order_matters(block) is None


@resumed()
def _check_independent(loop: ForOp, except_for: Callable[[BlockOp], bool] = lambda block: False) -> None:
    """Fail if an iteration writes what another one accesses, except within a block that `except_for` accepts."""
    check_serial(loop)
    check_structure(loop)
    for a, b, _ in dependences([loop]):
        if a.block is b.block and a.buffer is b.buffer and except_for(a.block):
            continue
        who = name_of_block(a.block) if a.block is b.block else f"{name_of_block(a.block)} and {name_of_block(b.block)}"
        fail(loop, f"expected iterations of {label_of(loop)} that do not depend on each other, found elements of "
                   f"{name_of(a.buffer)} that {who} may touch in several")  # fmt: skip


@primitive(LabelLoopsOp)
def label_loops(func: PrimFuncOp, names: NewNames) -> None:
    """Give a label to each loop that has none, in program order."""
    loops = [op for op in walk_of(func, ForOp) if op.label is None]
    _, labels = names.take(loops=[f"loop{i}" for i in range(len(loops))])
    for loop, label in zip(loops, labels, strict=True):
        loop.label = StringAttr(label)
