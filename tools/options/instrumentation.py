"""Pass instrumentation: prints the program before and after passes, and measures their time."""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import unified_diff
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from relex.dialects.errors import Diagnostic, describe
from relex.passes.driver.activity import doing, watched_by
from relex.passes.driver.base import steps_of
from relex.tools.shell.diagnostics import make_folder, write_bytes

AsText = Callable[[ModuleOp], str]
"""Prints a module."""


class Instrumentation:
    """Callbacks around passes. A pass composed of other passes encloses them: its `before` comes first and its `after`
    last."""

    def start(self, module: ModuleOp) -> None:
        """Called after the program has been read, before any pass."""

    def before(self, p: ModulePass, module: ModuleOp) -> None:
        """Called before a pass runs."""

    def after(self, p: ModulePass, module: ModuleOp) -> None:
        """Called after a pass has run and its result has been verified."""

    def failed(self, p: ModulePass, module: ModuleOp) -> None:
        """Called after a pass has failed, or its result is invalid."""

    def finish(self, module: ModuleOp) -> None:
        """Called after all passes have run."""


class ReportOfPasses(Instrumentation, ABC):
    """What the tools ask of the report that `--html` writes."""

    @abstractmethod
    def remark(self, diagnostic: Diagnostic) -> None:
        """Take down what a pass says about an op."""

    @abstractmethod
    def checked(self, verdicts: Iterable[Any]) -> None:
        """Take down what `--check-each` has found out about the last pass."""

    @abstractmethod
    def stopped(self, error: Exception) -> None:
        """Take down why no pass runs any more."""

    @abstractmethod
    def write(self, module: ModuleOp, name: str, text: str) -> None:
        """Write the report of the module, which was read from a file of this name and text."""


@dataclass(frozen=True)
class Selection:
    """A set of passes by name, or all passes; for a composed pass, `all` selects the passes it consists of."""

    names: frozenset[str] = frozenset()
    all: bool = False

    def __contains__(self, p: ModulePass) -> bool:
        return p.name in self.names or (self.all and not steps_of(p))

    def __bool__(self) -> bool:
        return self.all or bool(self.names)


@dataclass
class PrintIr(Instrumentation):
    """Prints the program before and after passes on stderr, as MLIR's `--mlir-print-ir-...` do."""

    as_text: AsText
    before_passes: Selection
    after_passes: Selection
    only_changes: bool
    """Print a diff of the changes instead of the program after a pass."""
    only_failures: bool
    """Print only after passes that fail."""
    _before: list[str] = field(default_factory=list[str])
    """The program before each of the running passes, innermost last."""

    def before(self, p: ModulePass, module: ModuleOp) -> None:
        if p in self.before_passes:
            self._print("Before", p, self.as_text(module))
        if self.only_changes and p in self.after_passes:
            self._before.append(self.as_text(module))

    def after(self, p: ModulePass, module: ModuleOp) -> None:
        if p not in self.after_passes:
            return
        text = self.as_text(module)
        if self.only_changes:
            text = _diff(self._before.pop(), text)
        if text and not self.only_failures:
            self._print("After", p, text)

    def failed(self, p: ModulePass, module: ModuleOp) -> None:
        if p not in self.after_passes:
            return
        try:
            text = self.as_text(module)
        except Exception as e:
            text = f"the program cannot be printed: {describe(e)}\n"
        self._print("After", p, text, " Failed")

    def _print(self, when: str, p: ModulePass, text: str, how: str = "") -> None:
        print(f"// -----// IR Dump {when} {type(p).__name__}{how} ({p.name}) //----- //\n{text}\n", file=sys.stderr)


def _diff(before: str, after: str) -> str:
    lines = unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="")
    return "".join(f"{line}\n" for line in lines)


@dataclass
class PrintBetween(Instrumentation):
    """xDSL's `--print-between-passes`: prints the program to the output between consecutive passes."""

    as_text: AsText
    _last: ModulePass | None = None

    def start(self, module: ModuleOp) -> None:
        self._last = None

    def before(self, p: ModulePass, module: ModuleOp) -> None:
        if self._last is not None and not steps_of(p):
            print(f"IR after {self._last.name}:\n{self.as_text(module)}\n\n", flush=True)

    def after(self, p: ModulePass, module: ModuleOp) -> None:
        if not steps_of(p):
            self._last = p


@dataclass
class DumpFiles(Instrumentation):
    """Writes the program to a file after each pass: `00_input.mlir`, `01_cse.mlir` and so on."""

    folder: Path
    as_text: AsText
    _count: int = 0

    def start(self, module: ModuleOp) -> None:
        make_folder(self.folder)
        self._write("input", module)

    def after(self, p: ModulePass, module: ModuleOp) -> None:
        if not steps_of(p):
            self._write(p.name, module)

    def _write(self, name: str, module: ModuleOp) -> None:
        write_bytes(str(self.folder / f"{self._count:02}_{name}.mlir"), self.as_text(module).encode())
        self._count += 1


class Timing:
    """Wall time of each stage, in order of first use, and of each kernel that stages tell apart. The time of a stage
    within another one counts once; what belongs to none is the rest."""

    def __init__(self, started: float | None = None):
        """`started` is when the process began to import the tool, if that counts."""
        self._start = self._since = time.perf_counter() if started is None else started
        self._stages = ["Rest"]
        self._parts = [""]
        self.seconds = {"Imports": 0.0}
        self.seconds_of_parts: dict[str, float] = {}
        if started is not None:
            self._stages.append("Imports")
            self._parts.append("")
            self.end()

    def begin(self, stage: str) -> None:
        """Charge the time to another stage, from now on; it may be part of the one before."""
        self._charge()
        self.seconds.setdefault(stage, 0.0)
        self._stages.append(stage)
        self._parts.append(self._parts[-1])

    def reach(self, name: str, done: int, count: int) -> None:
        """Charge the time to a part of the innermost stage, too. One without a name belongs to the part around it."""
        self._charge()
        self._parts[-1] = name or self._parts[-2]

    def end(self) -> None:
        """Charge the time to the stage around the innermost one again."""
        self._charge()
        self._stages.pop()
        self._parts.pop()

    def _charge(self) -> None:
        now, stage = time.perf_counter(), self._stages[-1]
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._since
        if part := self._parts[-1]:
            self.seconds_of_parts[part] = self.seconds_of_parts.get(part, 0.0) + now - self._since
        self._since = now

    def report(self) -> str:
        """Return a table in MLIR's format, with the unmeasured time as the rest."""
        self._charge()
        rows = dict(self.seconds)
        total = sum(rows.values())
        rows |= {"Rest": rows.pop("Rest", 0.0), "Total": total}
        parts = sorted(self.seconds_of_parts.items(), key=lambda part: -part[1])
        by_part = [*parts, ("All of them", total - sum(self.seconds_of_parts.values())), ("Total", total)]
        tables = {"Name": list(rows.items()), **({"Kernel": by_part} if parts else {})}
        lines = [*report_title("Execution time report"), f"  Total Execution Time: {total:.4f} seconds"]
        for title, table in tables.items():
            lines += ["", f"  ----Wall Time----  ----{title}----"]
            lines += (f"  {seconds:8.4f} ({seconds / total:6.1%})  {name}" for name, seconds in table)
        return "\n".join(lines)


@contextmanager
def imports_apart() -> Generator[None]:
    """Make the import of each module in the body a separate stage: passes are imported on first use."""
    load = SourceFileLoader.exec_module

    def exec_module(self: SourceFileLoader, module: ModuleType) -> None:
        with doing("Imports"):
            load(self, module)

    SourceFileLoader.exec_module = exec_module
    try:
        yield
    finally:
        SourceFileLoader.exec_module = load


@contextmanager
def timed(timing: Timing | None) -> Generator[None]:
    """Measure the stages of the body, and print the table at the end, also after an error."""
    if timing is None:
        yield
        return
    try:
        with watched_by(timing), imports_apart():
            yield
    finally:
        print(timing.report(), file=sys.stderr)


def report_title(title: str) -> list[str]:
    """Return the head of a report as MLIR prints it."""
    line = f"==={'-' * 73}==="
    return [line, f"... {title} ...".center(len(line)).rstrip(), line]
