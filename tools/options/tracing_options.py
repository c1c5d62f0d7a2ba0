"""Options of the tools that show what passes do: `--trace-rules`, `--statistics` and `--remarks`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from relex.dialects.errors import Diagnostic
from relex.tools.options.arguments import JSON, REFUSED, TEXT
from relex.tools.shell.diagnostics import ToolError, print_diagnostic, write_bytes

if TYPE_CHECKING:
    from relex.passes.tracing.records import PassRecord, Remark, RuleApplication
    from relex.passes.tracing.trace import Trace


@dataclass
class Observing:
    """The values of the options."""

    trace_rules: str | None
    statistics: str | None
    remarks: bool
    stop_after: int | None = None

    def __post_init__(self) -> None:
        if self.statistics not in (None, TEXT, JSON) and not self.statistics.endswith(".json"):
            raise ToolError(f"expected --statistics, --statistics=json or a file *.json, found '{self.statistics}'")
        self._show: Callable[[Diagnostic], None] = _print

    @cached_property
    def trace(self) -> Trace:
        """The recorded events."""
        # Imported with the first pass.
        from relex.passes.tracing.trace import Trace

        return Trace(
            with_texts=self.trace_rules is not None,
            stop_after=self.stop_after,
            on_application=_print_application if self.trace_rules else _nothing,
            on_refusal=_print_refusal if self.trace_rules == REFUSED else _nothing,
            on_remark=self._show_remark if self.remarks or self.statistics == TEXT else _nothing,
        )

    @classmethod
    def of(cls, args: argparse.Namespace, stop_after: int | None = None) -> Observing:
        """Read the options. Raises `ToolError`."""
        return cls(args.trace_rules, args.statistics, args.remarks, stop_after)

    def __bool__(self) -> bool:
        return (
            self.trace_rules is not None or self.statistics is not None or self.remarks or self.stop_after is not None
        )

    @contextmanager
    def observing(self, show: Callable[[Diagnostic], None]) -> Generator[None]:
        """Observe the passes that run on a program in the body, if any option asks for it; `show` prints remarks."""
        if not self:
            yield
            return
        from relex.passes.tracing import observe

        self._show = show
        with observe(self.trace):
            yield

    def restart(self) -> None:
        """Count rules from 1 again, for another program."""
        if self:
            self.trace.restart()

    def report(self) -> None:
        """Print or write the statistics, if they are asked for."""
        if self.statistics == TEXT:
            print(statistics_text(self.trace.passes), file=sys.stderr)
        elif self.statistics is not None:
            import json

            text = json.dumps(statistics_json(self.trace), indent=2) + "\n"
            if self.statistics == JSON:
                sys.stderr.write(text)
            else:
                write_bytes(self.statistics, text.encode())

    def _show_remark(self, remark: Remark) -> None:
        self._show(remark.diagnostic)


def _print_application(application: RuleApplication) -> None:
    rule = f"rule {application.number}" if application.number else "rule"
    _print(replace(application.place, message=f"{rule}: {application}"), *application.lines())


def _print_refusal(attempt: RuleApplication, reason: str) -> None:
    _print(
        replace(attempt.place, message=f"refused: {attempt}: {reason}"),
        *(f"    {text}" for text in (*attempt.matched, *attempt.before)),
    )


def _print(diagnostic: Diagnostic, *more: str) -> None:
    print_diagnostic(diagnostic)
    print(*more, sep="\n", end="\n" if more else "", file=sys.stderr)


def _nothing(*_: object) -> None:
    pass


def statistics_text(passes: Mapping[str, PassRecord]) -> str:
    """Return counters of passes and rules in MLIR's format."""
    from relex.tools.options.instrumentation import report_title

    lines = report_title("Pass statistics report")
    for name, record in passes.items():
        rows = list(_rows(record))
        width = max((len(str(count)) for count, _ in rows), default=0)
        lines += [name, *(f"  (S) {count:{width}} {what}" for count, what in rows)] if rows else []
    return "\n".join(lines)


def _rows(record: PassRecord) -> Iterator[tuple[int, str]]:
    yield from ((count, name) for name, count in record.statistics.items())
    yield from ((count, f"applied '{rule}'") for rule, count in record.applied.items())
    for rule, reasons in record.refused.items():
        yield from ((count, f"refused '{rule}': {reason}") for reason, count in reasons.items())


def statistics_json(trace: Trace) -> object:
    """Return counters of passes and rules, and remarks, as values for JSON."""
    passes = [
        {"pass": name, "statistics": record.statistics, "applied": record.applied, "refused": record.refused}
        for name, record in trace.passes.items()
    ]
    remarks = [
        {"pass": remark.pass_name, "file": d.file, "line": d.line, "column": d.column, "message": remark.message}
        for remark in trace.remarks
        for d in [remark.diagnostic]
    ]
    return {"passes": passes, "remarks": remarks}
