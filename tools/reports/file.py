"""`--html` of the tools."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from relex.tools.reports.compilation import finished
from relex.tools.reports.recorder import Recorder


class ReportFile(Recorder):
    """Records passes, and writes the report to a file, also if one of them fails."""

    def __init__(self, path: str):
        super().__init__()
        self._path = path

    def write(self, module: ModuleOp, name: str, text: str) -> None:
        """Write the report of the module, which was read from a file of this name and text."""
        finished(self, module, name, {name: text}).save(self._path)
