"""Passes on graphs in any order leave what a program computes."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes

from relex.reference.fuzzing.structures import random_program
from relex.tools.campaign.comparing import difference_after, skip_unused_sizes
from relex.tools.campaign.subject import Case, Subject
from relex.tools.options.pipelines import find_pass, instantiate, parse_passes
from relex.tools.universe import make_universe

PASSES = (
    "canonicalize",
    "cse",
    "dce",
    "cancel-transposes",
    "fold-batch-norm",
    "fold-constants",
    "fold-constants{strict=true}",
    "fuse-dense-add",
    "fuse-ewise-fma",
    "infer-sizes",
    "move-bytes",
    "remove-unused",
    "split-windows",
    "trim-windows",
)
"""Passes on graphs."""

LATER = ("fuse-ops", "legalize-ops", "fuse-tir", "inline-blocks", "schedule-cpu")
"""Passes that follow each other, of which a program runs as many as are drawn."""


class PassOrdersSubject(Subject):
    """Random programs through passes on graphs in any order, and then some of those that follow."""

    name = "pass-orders"
    weight = 2

    def make(self, random: Random) -> Case:
        first = [random.choice(PASSES) for _ in range(random.randint(1, 6))]
        order = [*first, *LATER[: random.choice([0, 0, 1, 3, len(LATER)])]]
        return Case(random_program(random), {"passes": ",".join(order), "seed": str(random.randrange(2**31))})

    def check(self, case: Case) -> str | None:
        skip_unused_sizes(case.module)
        return difference_after([passes_of(case.options["passes"])], case.module, int(case.options["seed"]))


def passes_of(text: str) -> Sequence[ModulePass]:
    """Return the passes of a text."""
    known = {**get_all_passes(), **make_universe().all_passes}
    return [instantiate("pass", find_pass(spec.name, known), spec) for spec in parse_passes(text)]
