"""The default schedule of loop functions for the CPU that a module targets."""

from __future__ import annotations

import warnings
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter

from relex.dialects.errors import CompileRemark, Diagnostic, PassError, diagnose
from relex.dialects.function_arguments import FINITE_ATTR, SCHEDULED_ATTR, remove_argument_attr
from relex.dialects.schedule import PrimitiveOp, SequenceOp
from relex.dialects.sizes.attributes import has_unknown
from relex.dialects.target.processors import Processor
from relex.dialects.target.target_attribute import processor_in
from relex.dialects.tir import BlockOp, LoopKind, PrimFuncOp
from relex.dialects.upstream.printer import printed
from relex.passes.analysis.kept import Kept, keeping
from relex.passes.analysis.loop_tree import blocks_in, function_of, loops_of, name_of_block
from relex.passes.cpu.rule import Plan
from relex.passes.cpu.rule_table import RULES
from relex.passes.driver.activity import parts
from relex.passes.driver.base import RelexPass
from relex.passes.rewriting.common_subexpressions import share_equal_values
from relex.passes.rewriting.constant_marks import mark_constants, unmark_constants
from relex.passes.rewriting.equal_sizes import name_sizes
from relex.passes.rewriting.memoize import rewrite_once
from relex.passes.rewriting.stated_sizes import state_sizes
from relex.passes.schedule import Block, Schedule


@dataclass(frozen=True)
class ScheduleCpuPass(RelexPass):
    """
    Reorders, vectorizes and tiles loops for the module's target. It goes by what the loops do, not by the operator
    they come from, and takes the steps that a schedule consists of. For each block it asks the rules in `cpu/table.py`,
    one after the other: reductions that reuse their operands, such as a dense layer, become tiles that fit into the
    vector registers, other reductions become loops that LLVM vectorizes. Blocks that no rule applies to are left as
    they are, and so are blocks that have been scheduled already, and all blocks for targets other than x86-64 and
    AArch64.

    A reduction whose order matters keeps it, so that its results stay the same bit for bit.

    With `explain`, a remark at each block says which rule was chosen, and why none of the earlier rules was, and one at
    each function shows the steps as a `schedule.sequence`.

    ```mlir
    tir.for %i, %j, %k in (256, 128, 784) {
      ... // y[i, j] += x[i, k] * w[j, k]
    }
    // schedule-cpu
    %w_local = tir.alloc_buffer : memref<4x784x32xf32>
    tir.for %panel, %k, vectorized %column in (4, 784, 32) {
      ... // w_local[panel, k, column] = w[32 panel + column, k]
    }
    tir.for %panel, %tile in (4, 18) {
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
        processor = processor_in(op)
        if processor is None:
            return
        state_sizes(op, of_private=False)
        name_sizes(op)
        mark_constants(op)
        functions = [f for f in op.ops if isinstance(f, PrimFuncOp)]
        for func in parts(functions, lambda f: f.sym_name.data):
            if func.attributes.pop(SCHEDULED_ATTR, None) is not None:
                continue
            if any(map(has_unknown, func.function_type.inputs)):
                share_equal_values(func)  # Fused functions ask for the same sizes again.
            if self.explain:
                found = scheduled(func, processor)
                for diagnostic in found.diagnostics:
                    warnings.warn(CompileRemark(diagnostic), stacklevel=2)
                found.replace(func)
            else:
                rewrite_once(func, f"{self.name} {processor}", lambda func: schedule_function(func, processor))
        unmark_constants(op)
        for func in (f for f in op.ops if isinstance(f, PrimFuncOp)):
            remove_argument_attr(func, FINITE_ATTR)  # Nothing else uses it.


@dataclass(frozen=True)
class Decision:
    """The decision about a block."""

    block: BlockOp
    """The block before it was scheduled."""

    rule: str | None
    """The rule that was applied, if any."""

    summary: str
    """A summary of what the rule did."""

    refusals: dict[str, str]
    """The rules that were tried before, each with the reason why it does not apply to the block."""

    steps: Sequence[PrimitiveOp] = ()
    """The primitives that the rule has applied."""

    @property
    def diagnostic(self) -> Diagnostic:
        """The decision as a diagnostic."""
        chosen = f"{self.rule}: {self.summary}" if self.rule else self.summary
        said = diagnose(
            self.block, f"{name_of_block(self.block)} of @{function_of(self.block).sym_name.data}: {chosen}"
        )
        notes = tuple(f"skipped {rule}: {reason}" for rule, reason in self.refusals.items())
        return replace(said, notes=notes, steps=tuple(map(str, self.steps)))


@dataclass(frozen=True)
class Scheduled:
    """A function after its default schedule, the steps, and the decisions, block by block."""

    function: PrimFuncOp
    steps: Sequence[PrimitiveOp]
    decisions: Sequence[Decision]

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """The decisions as diagnostics, and the steps as a schedule in the form that programs have."""
        decided = [decision.diagnostic for decision in self.decisions]
        if not self.steps:
            return decided
        name = self.function.sym_name.data
        sequence = printed(SequenceOp(name, [op.clone() for op in self.steps], final=True))
        said = diagnose(self.function, f"@{name}: schedule of {len(self.steps)} step{'s' * (len(self.steps) != 1)}")
        return [*decided, replace(said, notes=(f"to change it, paste this into the program:\n{sequence}",))]

    def replace(self, func: PrimFuncOp) -> None:
        """Put the function in the place of what it was made from."""
        if self.function is not func:
            Rewriter.replace_op(func, self.function)


def schedule_function(func: PrimFuncOp, processor: Processor) -> Sequence[Decision]:
    """Schedule each block of a function by the first rule that applies to it. Return the decisions, block by block."""
    found = scheduled(func, processor)
    found.replace(func)
    return found.decisions


def scheduled(func: PrimFuncOp, processor: Processor, *, without: Container[str] = ()) -> Scheduled:
    """Return a function with each block scheduled by the first rule that applies to it, leaving out some rules. The
    function is not modified; it is returned if there is nothing to do."""
    name = func.sym_name.data
    schedule = first = Schedule(ModuleOp([]), sizes_are_stated=True)
    schedule.module.body.block.add_op(func.clone())
    decisions: list[Decision] = []
    steps: list[PrimitiveOp] = []
    for block in [b.block_name.data for b in blocks_in(func)]:
        before = schedule
        schedule, decision = _schedule_block(schedule, Block(name, block), processor, without)
        decisions.append(decision)
        if schedule is not before:
            steps += before.steps_of(name)
    if schedule is first:
        return Scheduled(func, (), decisions)
    new = schedule.function(name)
    if any(map(has_unknown, new.function_type.inputs)):
        share_equal_values(new)  # The steps recompute sizes wherever they need them.
    new.detach()
    return Scheduled(new, [*steps, *schedule.steps_of(name)], decisions)


def _schedule_block(
    schedule: Schedule, name: Block, processor: Processor, without: Container[str]
) -> tuple[Schedule, Decision]:
    """Return the schedule with the steps for a block added, and the decision."""
    schedule.get_loops(name)  # gives all loops labels
    block = schedule.block_op(name)
    if any(loop.kind.data is not LoopKind.SERIAL for loop in loops_of(block)):
        return schedule, Decision(block, None, "scheduled already", {})
    refusals: dict[str, str] = {}
    kept: Kept = {}  # Steps change copies: all rules see the block as it is.
    for rule, match in RULES.items():
        if rule in without:
            continue
        try:
            with keeping(kept):
                plan = match(block, processor)
            trial = _carried_out(plan, schedule)
        except PassError as e:
            refusals[rule] = e.reason
        else:
            steps = trial.steps_of(name.func) if trial is not schedule else ()
            return trial, Decision(block, rule, plan.summary, refusals, steps)
    return schedule, Decision(block, None, "left as it is", refusals)


def _carried_out(plan: Plan, schedule: Schedule) -> Schedule:
    """Return the schedule with the steps of a plan added. If a step is refused, none of them are applied."""
    if plan.steps is None:
        return schedule
    trial = Schedule(schedule.module, sizes_are_stated=True)
    with keeping({}):  # Between two steps, nothing changes.
        plan.steps(trial)
    return trial
