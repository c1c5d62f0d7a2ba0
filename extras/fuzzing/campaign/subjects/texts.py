"""Printed programs are read back, and print the same."""

from __future__ import annotations

from random import Random
from typing import cast, get_args

from relex.dialects.parser import parse_module
from relex.dialects.upstream.printer import printed
from relex.lowering import RelexPipelinePass
from relex.lowering.relex_pipeline import Level
from relex.reference.fuzzing.structures import random_program
from relex.tools.campaign.comparing import read_back
from relex.tools.campaign.subject import Case, Subject


class TextsSubject(Subject):
    """Random programs at a level, as MLIR in both forms."""

    name = "texts"

    def make(self, random: Random) -> Case:
        form = random.choice(["custom", "generic"])
        return Case(random_program(random), {"level": random.choice(["", *get_args(Level)]), "form": form})

    def check(self, case: Case) -> str | None:
        level = case.options["level"]
        module = RelexPipelinePass(cast("Level", level))(case.module) if level else case.module
        is_generic = case.options["form"] == "generic"
        again = read_back(parse_module, printed(module, print_generic_format=is_generic))
        if not again.is_structurally_equivalent(module):
            return f"it is another program when its text at level '{level or 'graph'}' is read back"
        return None
