"""A step of a schedule is refused, or leaves what a loop function computes."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from relex.dialects.errors import RelexError
from relex.dialects.schedule import PrimitiveOp, SequenceOp
from relex.dialects.tir import BlockOp, PrimFuncOp
from relex.lowering import LegalizeOpsPass, RelexPipelinePass
from relex.passes import ApplySchedulePass, FuseOpsPass, FuseTirPass
from relex.passes.schedule import Schedule
from relex.reference.fuzzing.loop_functions import random_loops
from relex.reference.fuzzing.steps import RandomStep
from relex.reference.fuzzing.structures import random_program
from relex.tools.campaign.comparing import difference_after
from relex.tools.campaign.subject import Case, Skip, Subject


class SchedulesSubject(Subject):
    """Random steps on a loop function, of an operator, of a fused group, or a random one: applied from text, they
    leave what it computes, and so does the rest of the compilation."""

    name = "schedules"
    weight = 2

    def make(self, random: Random) -> Case:
        strict = "strict" if random.random() < 0.25 else ""
        if random.random() < 0.4:
            module = random_loops(random)
        else:
            module = LegalizeOpsPass(bool(strict))(random_program(random))
            if random.random() < 0.5:
                module = FuseTirPass()(FuseOpsPass()(module))
        functions = [op for op in module.ops if isinstance(op, PrimFuncOp) and _has_blocks(op)]
        if not functions:
            raise Skip("it has no loops")
        function = random.choice(functions)
        function.detach()
        function.sym_visibility = None
        name = function.sym_name.data
        steps = random_steps(ModuleOp([function]), name, random)
        return Case(ModuleOp([function.clone(), *steps]), {"strict": strict, "seed": str(random.randrange(2**31))})

    def check(self, case: Case) -> str | None:
        rest = RelexPipelinePass("llvm", bool(case.options["strict"])).steps()
        return difference_after([[ApplySchedulePass()], rest], case.module, int(case.options["seed"]))


def random_steps(module: ModuleOp, name: str, random: Random) -> list[Operation]:
    """Return random steps that a function accepts. One that raises anything but a refusal is the last of them, so that
    the program shows it."""
    schedule = _Schedule(module)
    try:
        for _ in range(random.randint(1, 8)):
            with suppress(RelexError):
                RandomStep(schedule, name, random).apply()
    except Exception:
        if schedule.failing is None:
            raise
        return [SequenceOp(name, [*schedule.steps_of(name), schedule.failing.clone()])]
    return [op.clone() for op in schedule.trace().ops]


class _Schedule(Schedule):
    """A schedule that remembers the step that went wrong."""

    failing: PrimitiveOp | None = None

    def apply(self, func: str, op: PrimitiveOp) -> Any:
        try:
            return super().apply(func, op)
        except RelexError:
            raise
        except Exception:
            self.failing = op
            raise


def _has_blocks(function: PrimFuncOp) -> bool:
    return any(isinstance(op, BlockOp) for op in function.walk())
