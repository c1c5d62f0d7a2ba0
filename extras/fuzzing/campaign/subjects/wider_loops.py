"""Ops on numbers compute what they do in wider precision, up to their own rounding."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from relex.dialects.context import make_context
from relex.lowering import LegalizeOpsPass
from relex.lowering.support.signatures import signatures
from relex.passes.driver.base import apply_pass
from relex.reference.fuzzing.loop_functions import random_loops
from relex.reference.fuzzing.structures import random_program
from relex.reference.interpreter.api import Interpretation
from relex.reference.interpreter.program import Program
from relex.reference.intervals.graphs import Agreement
from relex.reference.intervals.held_numbers import HeldNumbers
from relex.tools.campaign.calling import called, first_difference
from relex.tools.campaign.comparing import skip_unused_sizes
from relex.tools.campaign.subject import Case, Subject, count

OF_OPERATORS = 0.7
"""The probability that loops are the loops of operators."""


class WiderLoopsSubject(Subject):
    """Loop functions, random ones and the loops of operators, compared with intervals in wider precision: each op of
    `arith` and `math` as it is interpreted, on its own operands."""

    name = "wider-loops"

    def make(self, random: Random) -> Case:
        of_operators = random.random() < OF_OPERATORS
        module = random_program(random) if of_operators else random_loops(random)
        return Case(module, {"seed": str(random.randrange(2**31))})

    def check(self, case: Case) -> str | None:
        skip_unused_sizes(case.module)
        held = Held()
        interpreted = interpreted_with(held, case.module)

        def compare(arguments: Sequence[Any]) -> str | int:
            called(interpreted, arguments)
            return held.wrong or held.decided

        return first_difference(case, interpreted.signature.inputs, compare)


class Held:
    """The agreement of the ops of a run with their functions of intervals."""

    def __init__(self) -> None:
        self.wrong: str | None = None
        self.decided = 0

    def __call__(self, op: Operation, verdict: Agreement) -> None:
        if verdict.wrong and self.wrong is None:
            self.wrong = f"'{op.name}' is interpreted in another way than in wider precision: {verdict.wrong}"
        count(op.name, verdict.decided, verdict.elements)
        self.decided += verdict.decided


def interpreted_with(held: Held, module: ModuleOp) -> Any:
    """Return the function @main of a program as loops, whose ops are compared with intervals when it is called."""
    module = module.clone()
    interface = signatures(module)
    apply_pass(LegalizeOpsPass(), make_context(), module)
    return Interpretation(Program(module, numbers=HeldNumbers(held)), interface, None)["main"]
