"""Partial results of long reductions, which threads may compute."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block as Body
from xdsl.ir import Region
from xdsl.rewriter import Rewriter

from relex.dialects.errors import CompileError, fail
from relex.dialects.function_arguments import SCHEDULED_ATTR
from relex.dialects.target.processors import Processor
from relex.dialects.target.target_attribute import processor_in
from relex.dialects.tir import BlockOp, ForOp, InitOp, PrimFuncOp
from relex.passes.analysis.loop_tree import blocks_in, find_block, loops_of, name_of_block
from relex.passes.analysis.reduction_order import combiner_of
from relex.passes.cpu import cost
from relex.passes.cpu.cycles import cycles_of
from relex.passes.cpu.reduction_nest import ReductionNest, count, divisors, named, uses
from relex.passes.driver.base import RelexPass
from relex.passes.schedule import Block, Schedule


class SplitReductionsPass(RelexPass):
    """
    Lets a long reduction with few results, or with results that lie side by side, compute some partial results, which
    are independent of each other, and combines them at the end: so `share-loops` finds a loop that threads can share.
    How many they are depends on the sizes alone, so that results do not depend on the number of threads.

    Sums that must keep their order stay as they are, and so do reductions that use elements of all operands again and
    again, such as products of matrices, and those that take less than some 40 microseconds on the module's target.

    ```mlir
    tir.for %k, %l in (4000, 1000) {
      ... // y += x[k, l]
    }
    // split-reductions
    %y_rf = tir.alloc_buffer : memref<16xf32>
    tir.for %k0, %k1, %l in (16, 250, 1000) {
      ... // y_rf[k0] += x[250 k0 + k1, l]
    }
    tir.for %k0 in (16) {
      ... // y += y_rf[k0]
    }
    ```
    """

    name = "split-reductions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        processor = processor_in(op)
        if processor is None:
            return
        for function in [f for f in op.ops if isinstance(f, PrimFuncOp) and SCHEDULED_ATTR not in f.attributes]:
            for name in [block.block_name.data for block in blocks_in(function)]:
                function = _split(function, name, processor)


def _split(function: PrimFuncOp, name: str, processor: Processor) -> PrimFuncOp:
    """Split a reduction if that is worth it, and return the function."""
    block = Block(function.sym_name.data, name)
    try:
        _check_worth_it(ReductionNest.of(find_block(function, name)), processor)
        schedule = Schedule(ModuleOp([function.clone()]), sizes_are_stated=True)
        schedule.get_loops(block)  # gives all loops labels
        reduction = ReductionNest.of(schedule.block_op(block))
        loop, parts = _parts(reduction)
        outer, inner = schedule.split(named(loop), [parts, None])
        others = [inner if other is loop else named(other) for other in (*reduction.spatial, *reduction.terms)]
        schedule.reorder(outer, *others)
        partial = schedule.rfactor(block, outer, outer)
    except CompileError:
        return function
    new = schedule.function(block.func)
    _initialize(find_block(new, partial.name), find_block(new, f"{partial.name}_init"))
    new.detach()
    Rewriter.replace_op(function, new)
    return new


def _initialize(block: BlockOp, first: BlockOp) -> None:
    """Let a block set its results to what another one stores in a separate nest, so that it is a reduction again, for
    which the default schedule has rules."""
    (store,) = [op for op in first.body.block.ops if isinstance(op, memref.StoreOp)]
    (place,) = [op for op in block.body.block.ops if isinstance(op, memref.StoreOp)]
    value = store.value.owner
    assert isinstance(value, arith.ConstantOp)
    new = value.clone()
    init = InitOp(Region(Body([new, memref.StoreOp.get(new, place.memref, place.indices)])))
    init.location = block.location
    body = block.body.block
    body.insert_op_before(init, next(iter(body.ops)))
    Rewriter.erase_op(loops_of(first)[0])


def _check_worth_it(reduction: ReductionNest, processor: Processor) -> None:
    """Fail unless a reduction takes long, uses each element of an operand once, and has no other loop for threads to
    share."""
    block = reduction.block
    combiner_of(block)
    if cycles_of(loops_of(block)[0], processor, 0) < cost.MIN_CYCLES_TO_SPLIT:
        fail(block, f"expected {name_of_block(block)} to take longer")
    loops = [loop for loop in reduction.spatial if loop.extent != 1]
    if not any(all(uses(access, loop) for loop in loops) for access in reduction.reads):
        fail(block, f"expected {name_of_block(block)} to use elements of an operand once")
    if count(_shared_anyway(reduction)) >= cost.FEW_PARTS:
        fail(block, f"expected {name_of_block(block)} to have few results")


def _shared_anyway(reduction: ReductionNest) -> Sequence[ForOp]:
    """Return the loops that threads can share as it is: those around results that are computed one after the other."""
    try:
        columns = reduction.columns()
        reduction.check_side_by_side(columns)
    except CompileError:
        return reduction.spatial
    return [loop for loop in reduction.spatial if loop is not columns]


def _parts(reduction: ReductionNest) -> tuple[ForOp, int]:
    """Return the loop to split, and into how many parts."""
    for loop in reduction.terms:
        parts = [n for n in divisors(loop, cost.MAX_PARTS) if n >= cost.ENOUGH_PARTS]
        if parts:
            return loop, parts[0]
    fail(reduction.block, f"expected a number of terms that divides into {cost.ENOUGH_PARTS} parts or more")
