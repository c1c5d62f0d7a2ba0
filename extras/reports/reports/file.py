"""`--html` of the tools."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from relex.tools.options.instrumentation import ReportOfPasses
from relex.tools.reports.comparison import read_page
from relex.tools.reports.compilation import finished
from relex.tools.reports.recorder import CheckResult, Recorder

if TYPE_CHECKING:
    from relex.reference.equivalence.verdicts import FunctionVerdict


class ReportFile(Recorder, ReportOfPasses):
    """Records passes, and writes the report to a file, also if one of them fails; beside another one, if there is."""

    def __init__(self, path: str, beside: str | None = None):
        super().__init__()
        self._path, self._beside = path, beside
        if beside is not None:
            read_page(Path(beside))

    def checked(self, verdicts: Iterable[FunctionVerdict]) -> None:
        self.found(map(self._finding, verdicts))

    def write(self, module: ModuleOp, name: str, text: str) -> None:
        finished(self, module, name, {name: text}).save(self._path, beside=self._beside)

    def _finding(self, found: FunctionVerdict) -> CheckResult:
        """Return a verdict as the page shows it. Those on the steps of a schedule are named after pass and step."""
        whole = self.steps[-1].name
        kind = str(found.verdict.kind)
        why = str(found.verdict).removeprefix(kind).lstrip(": ")
        step = "" if found.pass_name == whole else found.pass_name.removeprefix(f"{whole}: ")
        return CheckResult(found.function, kind, why, step)
