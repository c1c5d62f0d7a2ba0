"""Sequentialization of parallel loops."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from relex.passes.driver.base import RelexPass


class ScfParallelForToNestedForsPass(RelexPass):
    """
    Turns every `scf.parallel` into a nest of `scf.for`, one for each dimension. Reductions become loop-carried values:
    they are computed in the order of the iterations, the first dimension outermost.

    ```mlir
    %sum = scf.parallel (%i) = (%a) to (%b) step (%c) init (%zero) -> f32 {
      %x = memref.load %m[%i] : memref<?xf32>
      scf.reduce(%x : f32) {
      ^bb0(%lhs: f32, %rhs: f32):
        %s = arith.addf %lhs, %rhs : f32
        scf.reduce.return %s : f32
      }
    }
    // scf-parallel-for-to-nested-fors
    %sum = scf.for %i = %a to %b step %c iter_args(%lhs = %zero) -> (f32) {
      %x = memref.load %m[%i] : memref<?xf32>
      %s = arith.addf %lhs, %x : f32
      scf.yield %s : f32
    }
    ```
    """

    name = "scf-parallel-for-to-nested-fors"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(SequentializeParallel()).rewrite_module(op)


class SequentializeParallel(RewritePattern):
    """Replace an `scf.parallel` by a nest of `scf.for`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ParallelOp, rewriter: PatternRewriter) -> None:
        if not op.lowerBound:
            return
        loops = _nest(op)
        innermost = loops[-1].body.block
        reduce = op.body.block.last_op
        assert isinstance(reduce, scf.ReduceOp)
        indices = [loop.body.block.args[0] for loop in loops]
        rewriter.inline_block(op.body.block, InsertPoint.at_end(innermost), indices)
        results: list[SSAValue] = []
        for region, carried, value in zip(reduce.reductions, innermost.args[1:], reduce.args, strict=True):
            leave = region.block.last_op
            assert isinstance(leave, scf.ReduceReturnOp)
            rewriter.inline_block(region.block, InsertPoint.at_end(innermost), [carried, value])
            results.append(leave.result)
            rewriter.erase(leave)
        rewriter.erase(reduce)
        rewriter.insert(scf.YieldOp(*results), InsertPoint.at_end(innermost))
        rewriter.replace(op, loops[0])


def _nest(op: scf.ParallelOp) -> list[scf.ForOp]:
    """Build the loop nest; each loop but the innermost ends with its yield."""
    loops: list[scf.ForOp] = []
    carried: Sequence[SSAValue] = op.initVals
    for lower, upper, step in zip(op.lowerBound, op.upperBound, op.step, strict=True):
        body = Block(arg_types=[lower.type, *(value.type for value in carried)])
        loop = scf.ForOp(lower, upper, step, carried, body)
        loop.location = op.location
        if loops:
            outer = loops[-1].body.block
            outer.add_op(loop)
            outer.add_op(scf.YieldOp(*loop.results))
        loops.append(loop)
        carried = body.args[1:]
    return loops
