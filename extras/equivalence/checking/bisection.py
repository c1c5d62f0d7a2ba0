"""`relex-opt --bisect`: the rule that changes a result, or after which the program is invalid."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from relex.dialects.errors import CompileError
from relex.passes.driver.base import apply_pass, verify_after
from relex.passes.tracing import observe
from relex.passes.tracing.records import RuleApplication
from relex.passes.tracing.trace import RulesStopped, Trace
from relex.reference.equivalence.differences import FunctionChange, NotEquivalentError, explain
from relex.reference.equivalence.interface import find_function, function_names
from relex.reference.equivalence.reduction import reduce_module
from relex.tools.checking.check_each import checker_of
from relex.tools.opt.check_options import CheckOptions
from relex.tools.opt.reproducer import write_reproducer
from relex.tools.shell.diagnostics import Source, stage


@dataclass(frozen=True)
class Fault:
    """A fault of a program after passes: an error of the verifier or of a pass, or a different result."""

    error: CompileError | None = None
    difference: FunctionChange | None = None

    @property
    def kind(self) -> object:
        """The kind of fault, which a smaller number of rules must show as well to be to blame."""
        if self.difference is None:
            return "error"
        return self.difference.function, self.difference.sample is None

    def told(self, rule: RuleApplication) -> str:
        """Return the fault as one of a rule."""
        who = f"rule {rule}"
        if self.difference is None:
            assert self.error is not None
            return f"{who} breaks the program: {self.error.diagnostics[0].message}"
        what = "computes" if self.difference.sample else "is"
        return f"{who} changes what @{self.difference.function} {what}: {self.difference.mismatch}"


@dataclass(frozen=True)
class Section:
    """Consecutive passes of a pipeline, with the program before them and the number of rules applied to it."""

    passes: Sequence[ModulePass]
    module: ModuleOp
    applied: int


@dataclass
class Bisection:
    """
    Searches for the rule that is to blame for what is wrong after a pipeline.

    The passes run once, each checked as by `--check-each`, up to the first fault. Its passes then run again and again
    on the same program, with half as many rules each time.
    """

    context: Context
    options: CheckOptions
    folder: Callable[[], Path]
    """Returns the directory for a program that shows the fault."""
    source: Source
    arguments: Sequence[str]
    """The tool's arguments that the passes depend on."""

    def run(self, passes: Sequence[ModulePass], module: ModuleOp) -> int:
        """Apply passes to a module and return the number of rules that were applied. Raises `CompileError` with the
        rule that is to blame for the first fault."""
        checker = checker_of(self.options, module)
        before: list[Section] = []
        trace = Trace()
        for p in passes:
            before.append(Section([p], module.clone(), len(trace.applications)))
            fault = self._fault_of(p, module, trace)
            if fault is None and (difference := checker.after(p, module)) is not None:
                fault = Fault(difference=difference)
            if fault is not None:
                break
        else:
            return len(trace.applications)
        # It may be a pass before that could not be checked.
        first = p if fault.difference is None else fault.difference.passes[0]
        start = next(i for i, section in enumerate(before) if section.passes[0] is first)
        section = replace(before[start], passes=[section.passes[0] for section in before[start:]])
        raise self._blame(section, fault, len(trace.applications) - section.applied, trace.failed)

    def _fault_of(self, p: ModulePass, module: ModuleOp, trace: Trace) -> Fault | None:
        """Apply a pass, as far as a trace allows, and return the error of the pass or the verifier."""
        try:
            # Checks run passes too, which do not count.
            with observe(trace), stage(f"pass '{p.name}'", self.source), suppress(RulesStopped):
                apply_pass(p, self.context, module)
            with stage("the verifier", self.source):
                verify_after(p, module)
        except CompileError as e:
            return Fault(e)
        return None

    def _blame(self, section: Section, fault: Fault, count: int, failed: RuleApplication | None) -> CompileError:
        """Return the error for a fault after `count` rules, which names the rule to blame. `failed` is the rule that
        raised it, if one did."""
        low, high = 0, count
        found = self._after(section, count) if count else None
        if found is None or found.kind != fault.kind:
            return self._outside(section, fault, count, failed)
        while high - low > 1:
            middle = (low + high) // 2
            shown = self._after(section, middle)
            if shown is not None and shown.kind == fault.kind:
                high, found = middle, shown
            else:
                low = middle
        trace = Trace(with_texts=True, stop_after=high)
        self._apply(section, section.module.clone(), trace)
        return self._error(section, found, trace.applications[-1])

    def _apply(self, section: Section, module: ModuleOp, trace: Trace) -> Fault | None:
        """Apply passes as far as a trace allows."""
        with warnings.catch_warnings(action="ignore"):
            for p in section.passes:
                fault = self._fault_of(p, module, trace)
                if fault is not None or len(trace.applications) == trace.stop_after:
                    return fault
        return None

    def _after(self, section: Section, count: int) -> Fault | None:
        """Return what is wrong after the first `count` rules of a section."""
        module = section.module.clone()
        if (fault := self._apply(section, module, Trace(stop_after=count))) is not None:
            return fault
        difference = checker_of(self.options, section.module).after(section.passes[-1], module)
        return None if difference is None else Fault(difference=difference)

    def _error(self, section: Section, fault: Fault, rule: RuleApplication) -> CompileError:
        number = section.applied + rule.number
        notes = [
            f"it is rule {number}: --stop-after-rule {number - 1} is the last program without the fault",
            *(f"matched: {text}" for text in rule.matched),
            *(f"before: {text}" for text in rule.before),
            *(f"after: {text}" for text in rule.after),
            *(explain(fault.difference) if fault.difference is not None else ()),
            self._reproduce(section, fault),
        ]
        return CompileError(replace(rule.place, message=fault.told(rule), severity="error", notes=tuple(notes)))

    def _outside(self, section: Section, fault: Fault, count: int, failed: RuleApplication | None) -> CompileError:
        """Return the error for what a pass does by itself, or for a rule that raises an error."""
        if fault.difference is not None:
            function = find_function(section.module, fault.difference.function)
            assert function is not None
            error = NotEquivalentError(fault.difference, function).diagnostics[0]
        else:
            assert fault.error is not None
            error = fault.error.diagnostics[0]
        who = f"rule {failed} raises it" if failed else "it is not one of its rules, but the pass itself"
        if failed is not None and not error.line:
            error = replace(error, file=failed.place.file, line=failed.place.line, column=failed.place.column)
        notes = (*error.notes, f"{who}, after {count} rules", self._reproduce(section, fault))
        return CompileError(replace(error, notes=notes))

    def _reproduce(self, section: Section, fault: Fault) -> str:
        """Write the program before the passes, reduced if possible, and return a note with the command that shows the
        fault in it."""
        p = section.passes[-1]
        path = self.folder() / f"{p.name}.bisect.mlir"
        options = [*self.arguments, "--bisect", f"--check-each={self.options}"]
        command = write_reproducer(path, self._reduced(section, fault), self.context, section.passes, options)
        return f"a smaller program that shows it: {command}"

    def _reduced(self, section: Section, fault: Fault) -> ModuleOp:
        def shows(module: ModuleOp) -> bool:
            found = self._after(replace(section, module=module), 1 << 62)
            return found is not None and found.kind == fault.kind

        names = list(function_names(section.module))
        name = fault.difference.function if fault.difference is not None else next(iter(names), "")
        return reduce_module(section.module, name, shows)
