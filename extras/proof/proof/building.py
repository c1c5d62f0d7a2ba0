"""Proof that the default compilation keeps what a program computes, pass by pass, for `build(..., proof=True)`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from relex.dialects.errors import CompileError, diagnose
from relex.dialects.target.target_attribute import Target
from relex.passes.driver.extension import AnyExtension
from relex.reference.equivalence.check import Checker, CheckReport
from relex.reference.equivalence.verdicts import Certainty
from relex.runtime.compilation import lower_program


def prove_compilation(
    program: ModuleOp,
    *,
    strict: bool = False,
    target: Target | None = None,
    passes: Iterable[AnyExtension] = (),
    approximate: bool = False,
) -> CheckReport:
    """
    Compile a program as `build` does, and prove or check every pass. Raises `NotEquivalentError` for a pass that
    changes what a function computes, and `CompileError` if a function can be neither proved nor checked.
    """
    checker = Checker(proof=True)
    before: list[ModulePass] = []
    watching = ExitStack()

    def follow(p: ModulePass | None, module: ModuleOp) -> None:
        watching.close()
        if not before:
            checker.start(module)
        else:
            checker.expect_same(before[-1], module)
        before[:] = [p] if p is not None else []
        if p is not None:
            watching.enter_context(checker.watching(p))

    with watching:
        lowered = lower_program(
            program, strict=strict, target=target, instrument=follow, passes=passes, approximate=approximate
        )
        follow(None, lowered.module)
    for where, function, why in _unknown(checker.report):
        message = f"expected every pass to be proved or checked, found @{function}, which is neither {where}: {why}"
        raise CompileError(diagnose(program, message))
    return checker.report


def _unknown(report: CheckReport) -> Iterator[tuple[str, str, str]]:
    """Yield when, which function, and why, for functions of which nothing is known at the end. What could not be run
    after one pass is compared again after the next, with what it was before."""
    for (pass_name, function), why in report.skipped.items():
        if not pass_name:
            yield "before all passes", function, why
    last = {finding.function: finding for finding in report.findings if finding.verdict.kind is not Certainty.UNCHANGED}
    for finding in last.values():
        if finding.verdict.kind is Certainty.OPEN:
            yield f"after pass '{finding.pass_name}'", finding.function, finding.verdict.why
