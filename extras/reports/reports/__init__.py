"""A report of a compilation: one HTML file that shows each pass, its changes, graphs, schedules, memory and times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relex.lazy import lazy_exports

if TYPE_CHECKING:
    from relex.tools.reports.compilation import CompilationReport as CompilationReport
    from relex.tools.reports.compilation import report as report
    from relex.tools.reports.recorder import Recorder as Recorder
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__)
