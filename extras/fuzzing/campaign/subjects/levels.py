"""Every level of the compilation computes what the program says."""

from __future__ import annotations

from random import Random

from xdsl.dialects.builtin import ModuleOp

from relex.lowering.relex_pipeline import pipeline
from relex.passes import SetTargetPass
from relex.reference.fuzzing.structures import random_program
from relex.tools.campaign.comparing import difference_after, skip_unused_sizes
from relex.tools.campaign.subject import Case, Subject

FOREIGN = {
    "": {},
    "avx2": {"triple": "x86_64-unknown-linux-gnu", "cpu": "haswell"},
    "avx512": {"triple": "x86_64-unknown-linux-gnu", "cpu": "skylake-avx512"},
    "neon": {"triple": "aarch64-unknown-linux-gnu", "cpu": "neoverse-n1"},
}
"""Targets by name; "" is this machine, for which machine code is compared, too."""


class LevelsSubject(Subject):
    """Random programs through the default compilation: each level is compared with the one above, and machine code."""

    name = "levels"
    weight = 4

    def make(self, random: Random) -> Case:
        target = random.choice(["", "", *FOREIGN])
        strict = "strict" if random.random() < 0.25 else ""
        options = {"target": target, "strict": strict, "seed": str(random.randrange(2**31))}
        return Case(self.program(random), options)

    def program(self, random: Random) -> ModuleOp:
        """Return a program."""
        return random_program(random)

    def check(self, case: Case) -> str | None:
        target = FOREIGN[case.options["target"]]
        skip_unused_sizes(case.module)
        module = SetTargetPass(**target)(case.module)
        levels = pipeline("core" if target else "llvm", strict=bool(case.options["strict"]))
        return difference_after([passes for _, passes in levels], module, int(case.options["seed"]))
