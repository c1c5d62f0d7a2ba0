"""A script that is printed is read back as the program that it was."""

from __future__ import annotations

from random import Random

from relex.frontend.script import parse_script, print_script
from relex.lowering import LegalizeOpsPass
from relex.passes.graph.infer_sizes import infer_sizes
from relex.reference import check_equivalent
from relex.reference.equivalence.differences import NotEquivalentError
from relex.reference.fuzzing.structures import random_program
from relex.tools.campaign.comparing import read_back
from relex.tools.campaign.subject import Case, Skip, Subject


class ScriptsSubject(Subject):
    """Random graphs and their loop functions, as TVMScript: what is read back computes the same and is printed the
    same."""

    name = "scripts"

    def make(self, random: Random) -> Case:
        level = random.choice(["graph", "loops"])
        return Case(random_program(random), {"level": level, "seed": str(random.randrange(2**31))})

    def check(self, case: Case) -> str | None:
        module = LegalizeOpsPass()(case.module) if case.options["level"] == "loops" else case.module
        # The reader infers sizes: those that never fit are refused.
        infer_sizes(module.clone())
        again = read_back(parse_script, print_script(module))
        # The reader infers sizes that the program left open, once.
        text = print_script(again)
        if print_script(read_back(parse_script, text)) != text:
            return "its script is another one when it is read back"
        try:
            check_equivalent(module, again, seed=int(case.options["seed"]), samples=1)
        except NotEquivalentError as e:
            if e.difference.sample is None:
                raise Skip("the reader infers sizes that the program leaves open") from e
            return str(e)
        return None
