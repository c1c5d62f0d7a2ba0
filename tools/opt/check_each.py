"""Checks of relex-opt after each pass: functions still compute the same results, and the program round-trips as
text."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from relex.dialects.errors import CompileError, Diagnostic, diagnose
from relex.dialects.parser import parse_module
from relex.dialects.upstream.printer import as_text
from relex.passes.driver.base import steps_of
from relex.tools.opt.reproducer import write_reproducer
from relex.tools.options.arguments import parse_numbers
from relex.tools.options.instrumentation import Instrumentation
from relex.tools.shell.diagnostics import ToolError, print_diagnostic

if TYPE_CHECKING:
    from relex.reference.equivalence.check import Checker
    from relex.reference.equivalence.differences import FunctionChange
    from relex.reference.equivalence.verdicts import FunctionVerdict


PROOF = "proof"
"""The option of `--check-each` that asks for proofs."""

TERMS = "terms"
"""The option of `--check-each` that prints terms that differ in full."""


@dataclass(frozen=True)
class CheckOptions:
    """The options of `--check-each`."""

    seed: int = 0
    samples: int = 3
    seconds: int = 60
    """The processor time that the proofs of a function may take."""
    proof: bool = False
    terms: bool = False
    """Whether terms that differ in a proof are printed in full."""

    @classmethod
    def parse(cls, text: str) -> CheckOptions:
        """Read `proof,terms,seed:0,samples:3,seconds:60`, any of which may be missing. Raises `ToolError`."""
        parts = text.split(",")
        numbers = parse_numbers(
            "--check-each", ",".join(p for p in parts if p not in (PROOF, TERMS)), ("seed", "samples", "seconds")
        )
        if numbers.get("samples") == 0:
            raise ToolError("expected --check-each with one sample or more, found 0")
        if TERMS in parts and PROOF not in parts:
            raise ToolError(f"expected --check-each={PROOF},{TERMS}, found '{TERMS}' alone: only proofs have terms")
        return cls(**numbers, proof=PROOF in parts, terms=TERMS in parts)

    def checker(self, module: ModuleOp, *, proof: bool = False) -> Checker:
        """Return what follows a program from pass to pass, which starts with this one."""
        from relex.reference.equivalence.check import Checker

        checker = Checker(self.seed, self.samples, proof=proof, seconds=self.seconds)
        checker.start(module)
        return checker

    def __str__(self) -> str:
        words = [word for word, given in ((PROOF, self.proof), (TERMS, self.terms)) if given]
        seconds = f",seconds:{self.seconds}" if self.seconds != CheckOptions.seconds else ""
        return f"{''.join(f'{word},' for word in words)}seed:{self.seed},samples:{self.samples}{seconds}"


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
        self._checker = self.options.checker(module, proof=self.options.proof)
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
        from relex.reference.equivalence.verdicts import Certainty

        counts = Counter(found.verdict.kind for found in self._checker.report.findings)
        found = ", ".join(f"{counts[kind]} {kind}" for kind in Certainty)
        digest = sha256(as_text(module, self.context).encode()).hexdigest()
        what = f"functions over all passes: {found}; the result has the SHA-256 {digest}"
        print_diagnostic(Diagnostic(what, self.source, severity="note"))

    def _note_findings(self, p: ModulePass) -> None:
        """Report what was found out about a pass, and print what is not proved."""
        from relex.reference.equivalence.verdicts import Certainty, FunctionVerdict, Verdict

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
        from relex.reference.equivalence.reduction import reduce_module

        def shows(module: ModuleOp) -> bool:
            again = self.options.checker(module)
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


@dataclass
class VerifyRoundtrip(Instrumentation):
    """Prints the program after each pass and parses it again, which must give the same program. The same text is not
    parsed twice: many passes change nothing."""

    context: Context
    _last: tuple[str, ModuleOp] | None = None
    """The text that was parsed last, and what it says."""

    def start(self, module: ModuleOp) -> None:
        self._verify(module, "the input")

    def after(self, p: ModulePass, module: ModuleOp) -> None:
        if not steps_of(p):
            self._verify(module, f"the program after pass '{p.name}'")

    def _verify(self, module: ModuleOp, what: str) -> None:
        if (found := find_difference(module, self._read_back(module, what))) is not None:
            op, difference = found
            raise CompileError(
                diagnose(op, f"expected {what} to be printed and read back as it is, found {difference}")
            )

    def _read_back(self, module: ModuleOp, what: str) -> ModuleOp:
        text = as_text(module, self.context)
        if self._last is None or self._last[0] != text:
            self._last = text, self._parse(text, module, what)
        return self._last[1]

    def _parse(self, text: str, module: ModuleOp, what: str) -> ModuleOp:
        try:
            return parse_module(text, "<printed>", context=self.context, verify=False)
        except CompileError as e:
            problem = e.diagnostics[0]
            line = (text.splitlines() or [""])[max(problem.line - 1, 0)].strip()
            message = f"expected the text of {what} to be readable, found {problem.message} in '{line}'"
            raise CompileError(diagnose(module, message)) from e


def find_difference(module: ModuleOp, again: ModuleOp) -> tuple[Operation, str] | None:
    """Return the first op that differs in a module that was parsed again, and a description of the difference, or
    None."""
    same: dict[SSAValue, SSAValue] = {}
    for old, new in zip_longest(module.walk(), again.walk()):
        if old is None or new is None:
            return module, "more ops" if old is None else f"no '{old.name}' op at its place"
        for a, b in _values(old, new):
            same[a] = b
        if (how := _how_it_differs(old, new)) is not None:
            return old, how
    for old, new in zip(module.walk(), again.walk(), strict=True):
        for i, (a, b) in enumerate(zip(old.operands, new.operands, strict=True)):
            if same.get(a) is not b:
                return old, f"another value as operand {i}"
    return None


def _values(old: Operation, new: Operation) -> list[tuple[SSAValue, SSAValue]]:
    """Return pairs of corresponding results and block arguments of two ops."""
    pairs: list[tuple[SSAValue, SSAValue]] = list(zip(old.results, new.results, strict=False))
    for regions in zip(old.regions, new.regions, strict=False):
        for blocks in zip(regions[0].blocks, regions[1].blocks, strict=False):
            pairs += zip(blocks[0].args, blocks[1].args, strict=False)
    return pairs


def _how_it_differs(old: Operation, new: Operation) -> str | None:
    if old.name != new.name:
        return f"'{new.name}'"
    for kind, a, b in (
        ("operands", len(old.operands), len(new.operands)),
        ("results", tuple(old.result_types), tuple(new.result_types)),
        ("blocks", [len(r.blocks) for r in old.regions], [len(r.blocks) for r in new.regions]),
        (
            "block arguments",
            [block.arg_types for r in old.regions for block in r.blocks],
            [block.arg_types for r in new.regions for block in r.blocks],
        ),
        ("successors", _positions(old), _positions(new)),
    ):
        if a != b:
            return f"other {kind}"
    for kind, before, after in (
        ("property", old.properties, new.properties),
        ("attribute", old.attributes, new.attributes),
    ):
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name):
                return f"{kind} '{name}' as {after.get(name, 'nothing')}, which was {before.get(name, 'nothing')}"
    return None


def _positions(op: Operation) -> list[int]:
    """Return the positions of an op's successors in their region."""
    region = op.parent_region()
    blocks = list(region.blocks) if region is not None else []
    return [blocks.index(successor) for successor in op.successors]
