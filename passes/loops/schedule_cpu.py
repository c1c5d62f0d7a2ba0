"""The default schedule of loop functions for the CPU of a module."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.transforms.common_subexpression_elimination import cse

from relex.dialects.errors import CompileError, CompileRemark, Diagnostic, PassError, diagnose
from relex.dialects.sizes.attributes import has_unknown
from relex.dialects.target import get_target
from relex.dialects.tir import BlockOp, ForOp, LoopKind, PrimFuncOp
from relex.passes.analysis.constant_inputs import mark_constants, unmark_constants
from relex.passes.analysis.loop_tree import (
    blocks_in,
    find_block,
    find_loop,
    function_of,
    loops_of,
    name_of_block,
)
from relex.passes.base import RelexPass
from relex.passes.cpu.equal_sizes import name_sizes
from relex.passes.cpu.nests import named
from relex.passes.cpu.rule import Plan
from relex.passes.cpu.shared_loops import loops_to_share
from relex.passes.cpu.table import RULES
from relex.passes.cpu.tiles import VectorUnit
from relex.passes.schedule import Block, Schedule, reason_of


@dataclass(frozen=True)
class ScheduleCpuPass(RelexPass):
    """
    Brings loops to an order, and to vectors and tiles, that suit the module's target. It goes by what the loops do, not
    by what operator they come from, and takes the steps that a schedule consists of. For each block it asks the rules
    in `rules/table.py`, one after the other: reductions that use their operands again and again, such as a dense layer,
    go to tiles that fit into the vector registers, other reductions to loops that LLVM makes vectors of. What no rule
    suits stays as it is, and so does what has been scheduled already, and everything for targets other than x86-64 and
    AArch64.

    A reduction whose order matters keeps it, so that its results stay the same bit for bit. Loops that take some 100
    microseconds or more are `parallel` in the end, if their iterations do not depend on each other.

    With `explain`, a remark at each block says which rule was chosen, and why none of those before was.

    ```mlir
    tir.for %i, %j, %k in (256, 128, 784) {
      ... // y[i, j] += x[i, k] * w[j, k]
    }
    // schedule-cpu
    %w_local = tir.alloc_buffer : memref<4x784x32xf32>
    tir.for %panel, %k, vectorized %column in (4, 784, 32) {
      ... // w_local[panel, k, column] = w[32 panel + column, k]
    }
    tir.for parallel %panel, %tile in (4, 18) {
      %sums = tir.alloc_buffer : memref<14x32xf32>
      tir.for %k, unrolled %row, unrolled %vector, vectorized %lane in (784, 14, 2, 16) {
        ... // sums[row, 16 vector + lane] += x[14 tile + row, k] * w_local[panel, k, 16 vector + lane]
      }
      ... // y[14 tile + row, 32 panel + 16 vector + lane] = sums[row, 16 vector + lane]
    }
    ... // the last 4 rows
    ```
    """

    name = "schedule-cpu"

    explain: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        unit = VectorUnit.of(get_target(op))
        if unit is None:
            return
        name_sizes(op)
        mark_constants(op)
        for func in [f for f in op.ops if isinstance(f, PrimFuncOp)]:
            for decision in schedule_function(func, unit):
                if self.explain:
                    warnings.warn(CompileRemark(decision.diagnostic), stacklevel=2)
        unmark_constants(op)


@dataclass(frozen=True)
class Decision:
    """What was done about a block."""

    block: BlockOp
    """As it was."""

    rule: str | None
    """The one that it was scheduled by, if any."""

    summary: str
    """What that has done."""

    refusals: dict[str, str]
    """The rules that were tried before, and why they did not suit the block."""

    @property
    def diagnostic(self) -> Diagnostic:
        """All of it, in words."""
        chosen = f"{self.rule}: {self.summary}" if self.rule else self.summary
        said = diagnose(
            self.block, f"{name_of_block(self.block)} of @{function_of(self.block).sym_name.data}: {chosen}"
        )
        return replace(said, notes=tuple(f"not {rule}: {reason}" for rule, reason in self.refusals.items()))


def schedule_function(func: PrimFuncOp, unit: VectorUnit) -> list[Decision]:
    """Schedule each block of a function by the first rule that suits it. Returns what was decided, block by block."""
    name = func.sym_name.data
    schedule = first = Schedule(ModuleOp([func.clone()]))
    decisions: list[Decision] = []
    for block in [b.block_name.data for b in blocks_in(func)]:
        schedule, decision = _schedule_block(schedule, Block(name, block), unit)
        decisions.append(decision)
    shared = _share_loops(schedule, name)
    if shared or schedule is not first:
        new = schedule.function(name)
        if any(map(has_unknown, new.function_type.inputs)):
            cse(new)  # The steps compute sizes anew wherever they need them.
        new.detach()
        Rewriter.insert_op(new, InsertPoint.before(func))
        func.detach()
        func.erase()
    return [*decisions, *shared]


def _share_loops(schedule: Schedule, name: str) -> list[Decision]:
    """Let threads share what is large enough."""
    shared = [_share_first(schedule, loops) for loops in loops_to_share(schedule.function(name))]
    return [decision for decision in shared if decision is not None]


def _share_first(schedule: Schedule, candidates: Sequence[ForOp]) -> Decision | None:
    """Let threads share the first of these loops whose iterations do not depend on each other."""
    for loop, extent in [(named(loop), loop.extent) for loop in candidates]:
        try:
            schedule.parallel(loop)
        except CompileError:
            continue
        blocks = blocks_in(find_loop(schedule.function(loop.func), loop.label))
        block = max(blocks, key=lambda block: len(loops_of(block)))
        return Decision(block, "threads", f"they share the {extent} iterations of @{loop.label}", {})
    return None


def _schedule_block(schedule: Schedule, name: Block, unit: VectorUnit) -> tuple[Schedule, Decision]:
    """The schedule with the steps for a block added."""
    schedule.get_loops(name)  # gives all loops labels
    block = find_block(schedule.function(name.func), name.name)
    if any(loop.kind.data is not LoopKind.SERIAL for loop in loops_of(block)):
        return schedule, Decision(block, None, "scheduled already", {})
    refusals: dict[str, str] = {}
    for rule, match in RULES.items():
        try:
            plan = match(block, unit)
            trial = _carried_out(plan, schedule)
        except PassError as e:
            refusals[rule] = reason_of(e)
        else:
            return trial, Decision(block, rule, plan.summary, refusals)
    return schedule, Decision(block, None, "left as it is", refusals)


def _carried_out(plan: Plan, schedule: Schedule) -> Schedule:
    """The schedule with the steps of a plan added. A step that is refused leaves those before it undone as well."""
    if plan.steps is None:
        return schedule
    trial = Schedule(schedule.module)
    plan.steps(trial)
    return trial
