"""`--check-each`: after each pass, functions still compute the same results."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from relex.dialects.errors import Diagnostic
from relex.dialects.upstream.printer import as_text
from relex.passes.driver.base import steps_of
from relex.reference.equivalence.check import Checker
from relex.reference.equivalence.differences import FunctionChange
from relex.reference.equivalence.reduction import reduce_module
from relex.reference.equivalence.verdicts import Certainty, FunctionVerdict, Verdict
from relex.tools.opt.check_options import CheckOptions
from relex.tools.opt.reproducer import write_reproducer
from relex.tools.options.instrumentation import Instrumentation
from relex.tools.shell.diagnostics import print_diagnostic


def checker_of(options: CheckOptions, module: ModuleOp, *, proof: bool = False) -> Checker:
    """Return what follows a program from pass to pass, which starts with this one."""
    checker = Checker(options.seed, options.samples, proof=proof, seconds=options.seconds)
    checker.start(module)
    return checker


@dataclass
class CheckEach(Instrumentation):
    """Runs the functions of the program before and after each pass, and stops at the first pass that changes a
    result."""

    options: CheckOptions
    context: Context
    source: str
    """The name of the program, for notes."""
    folder: Callable[[], Path]
    """Returns the directory for a reduced program that shows a difference."""
    arguments: Sequence[str]
    """The tool's arguments that the passes depend on."""
    report: Callable[[Iterable[FunctionVerdict]], None] = lambda findings: None
    """Called with what was found out about each pass."""
    _checker: Checker = field(init=False)
    _told: int = 0
    _found: int = 0
    _compared: int = 0
    _watching: ExitStack = field(default_factory=ExitStack)

    def start(self, module: ModuleOp) -> None:
        self._checker = checker_of(self.options, module, proof=self.options.proof)
        self._told = self._found = self._compared = 0
        self._tell()

    def before(self, p: ModulePass, module: ModuleOp) -> None:
        if not steps_of(p):
            self._watching.enter_context(self._checker.watching(p))

    def failed(self, p: ModulePass, module: ModuleOp) -> None:
        self._watching.__exit__(*sys.exc_info())

    def after(self, p: ModulePass, module: ModuleOp) -> None:
        if steps_of(p):
            return
        self._watching.close()
        difference = self._checker.after(p, module)
        self._tell()
        if difference is not None:
            raise self._checker.error(difference, self._reduce(difference), terms_in_full=self.options.terms)
        self._note_findings(p)

    def finish(self, module: ModuleOp) -> None:
        if not self.options.proof:
            return
        counts = Counter(found.verdict.kind for found in self._checker.report.findings)
        found = ", ".join(f"{counts[kind]} {kind}" for kind in Certainty)
        digest = sha256(as_text(module, self.context).encode()).hexdigest()
        what = f"functions over all passes: {found}; the result has the SHA-256 {digest}"
        print_diagnostic(Diagnostic(what, self.source, severity="note"))

    def _note_findings(self, p: ModulePass) -> None:
        """Report what was found out about a pass, and print what is not proved."""
        findings = self._checker.report.findings[self._found :]
        compared = self._checker.report.compared[self._compared :]
        self._found += len(findings)
        self._compared += len(compared)
        checked = (FunctionVerdict(p.name, function, Verdict(Certainty.CHECKED)) for _, function in compared)
        skipped = self._checker.report.skipped.items()
        is_open = (
            FunctionVerdict(p.name, name, Verdict(Certainty.OPEN, why)) for (at, name), why in skipped if at == p.name
        )
        self.report(findings or [*checked, *is_open])
        for found in findings:
            if found.verdict.kind is not Certainty.OPEN and found.verdict.why:
                about = f"@{found.function} is not proved after pass '{found.pass_name}', only checked"
                print_diagnostic(Diagnostic(f"{about}: {found.verdict.why}", self.source, severity="note"))

    def _tell(self) -> None:
        """Report the functions that are not checked."""
        skipped = list(self._checker.report.skipped.items())
        for (name, function), why in skipped[self._told :]:
            when = f" after pass '{name}'" if name else ""
            what = f"@{function} is not checked{when}: {why}"
            print_diagnostic(Diagnostic(what, self.source, severity="note"))
        self._told = len(skipped)

    def _reduce(self, difference: FunctionChange) -> list[str]:
        """Write the smallest program that shows a difference. Return the notes for the error."""

        def shows(module: ModuleOp) -> bool:
            again = checker_of(self.options, module)
            for p in difference.passes:
                p.apply(self.context, module)
            found = again.after(difference.passes[-1], module)
            return found is not None and (found.function, bool(found.sample)) == (
                difference.function,
                bool(difference.sample),
            )

        before = self._checker.module_before(difference.function)
        reduced = reduce_module(before, difference.function, lambda module: shows(module.clone()))
        path = self.folder() / f"{difference.passes[-1].name}.{difference.function}.mlir"
        options = [*self.arguments, f"--check-each={self.options}"]
        command = write_reproducer(path, reduced, self.context, difference.passes, options)
        return [f"a smaller program that shows it: {command}"]
