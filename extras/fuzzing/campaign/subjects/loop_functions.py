"""Every level of the compilation computes what a loop function says."""

from __future__ import annotations

from random import Random

from xdsl.dialects.builtin import ModuleOp

from relex.reference.fuzzing.loop_functions import random_loops
from relex.tools.campaign.subjects.levels import LevelsSubject


class LoopsSubject(LevelsSubject):
    """Random loop functions, as no operator has them, through the default compilation, as in levels."""

    name = "loops"
    weight = 1

    def program(self, random: Random) -> ModuleOp:
        return random_loops(random)
