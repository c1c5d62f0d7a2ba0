"""The overview of a report: what the passes made of the program, and where a measured call loses time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from relex.tools.notebook.fragment import count
from relex.tools.run.roofline import least_seconds, least_seconds_of, vector_bytes

if TYPE_CHECKING:
    from relex.runtime.profile import KernelCalls, Profile
    from relex.tools.reports.compilation import CompilationReport
    from relex.tools.reports.recorder import PassStep

CLOSE = 0.7
"""The share of the limit from which a kernel has little to gain."""

SHORT = 2e-6
"""Seconds. Of calls that take less, calling is a part that counts."""

FUNCTIONS = re.compile(r"\bmath\.(\w+)")
SIMPLE = {"absf", "absi", "ceil", "copysign", "floor", "fma", "round", "roundeven", "rsqrt", "sqrt", "trunc"}
"""Functions of `math` that are one instruction, or few."""


@dataclass(frozen=True)
class Count:
    """How many things of a kind there were, and what they became."""

    before: str
    after: str


@dataclass(frozen=True)
class Loss:
    """Time that a run spends in a kernel beyond the least time of one core. `seconds` is that time."""

    function: str
    seconds: float
    reason: str
    advice: str


@dataclass(frozen=True)
class Overview:
    """What a report begins with. `graph` is the step whose picture shows the kernels, or -1."""

    counts: tuple[Count, ...]
    graph: int
    losses: tuple[Loss, ...] = ()
    least: float = 0.0
    """The least time of a measured run."""


def overview_of(report: CompilationReport) -> Overview:
    """Return the overview of a report."""
    graph = _step_of_kernels(report.steps)
    counts = tuple(_counts(report, graph))
    if report.profile is None:
        return Overview(counts, graph)
    least = sum(map(least_seconds_of, report.profile.rows))
    losses = sorted(_losses(report, report.profile), key=lambda loss: -loss.seconds)
    return Overview(counts, graph, tuple(losses), least)


def _step_of_kernels(steps: Sequence[PassStep]) -> int:
    """Return the last step whose calls are shown by their operators; a schedule turns these into blocks of loops."""
    drawn = [number for number, step in enumerate(steps) if step.drawings]
    fused = [number for number in drawn if steps[number].name == "fuse-tir"]
    return (fused or drawn or [-1])[-1]


def _counts(report: CompilationReport, graph: int) -> Iterator[Count]:
    entries = report.steps[0].drawings
    operators = sum(box.kind != "argument" for drawing in entries.values() for box in drawing.boxes)
    if graph > 0 and operators:
        drawn = report.steps[graph].drawings
        calls = [box for name in entries if name in drawn for box in drawn[name].boxes if box.kind != "argument"]
        kernels = len({box.callee or box.title for box in calls})
        called = f", called {len(calls)} times" if len(calls) > kernels else ""
        yield Count(count(operators, "operator"), f"{count(kernels, 'kernel')}{called}")
    if report.plans:
        buffers = [buffer.bytes for arena in report.arenas for buffer in arena.buffers]
        arenas = [arena.bytes for arena in report.arenas]
        before = f"{count(len(buffers), 'buffer')} between kernels, {_bytes(sum(buffers))}"
        yield Count(before, f"{count(len(arenas), 'arena')}, {_bytes(sum(arenas))}")


# Losses


@dataclass(frozen=True)
class _Kernel:
    """Calls of a function, and what is known of it."""

    row: KernelCalls
    text: str
    """The function before it is scheduled."""
    rule: str
    """The schedule rule of its main block, if one applies."""

    @property
    def seconds(self) -> float:
        """The time of one call."""
        return self.row.seconds / max(1, self.row.calls)

    @property
    def share(self) -> float:
        """The share of the limit that it reaches."""
        return least_seconds_of(self.row) / self.row.seconds if self.row.seconds else 1.0


def _losses(report: CompilationReport, profile: Profile) -> Iterator[Loss]:
    rules = dict(_rules(report.steps))
    texts = _texts(report.steps)
    for row in profile.rows:
        kernel = _Kernel(row, texts.get(row.function, ""), rules.get(row.function, ""))
        lost = row.seconds - least_seconds_of(row)
        if lost > 0:
            reason, advice = next(found for explain in _EXPLANATIONS if (found := explain(kernel)) is not None)
            yield Loss(row.function, lost, reason, advice)
    if profile.between > 0:
        advice = "larger inputs at once, or a program that calls the function in a loop, make it count less"
        yield Loss("", profile.between, "the call from Python, and what is between the kernels", advice)


def _rules(steps: Sequence[PassStep]) -> Iterator[tuple[str, str]]:
    """Yield functions with the rules that schedule them: `column-sums`. The last one counts. What threads run is
    scheduled by another one as well."""
    for remark in (remark for step in steps for remark in step.remarks if remark.steps):
        found = re.match(r"@\S+ of @[^:]+: ([\w-]+)", remark.message)
        if found and found[1] != "threads":
            yield remark.function, found[1]


def _texts(steps: Sequence[PassStep]) -> Mapping[str, str]:
    """Return the functions as they were before schedules: unrolled ones are long, and say the same."""
    texts: dict[str, str] = {}
    for step in steps:
        if step.name == "schedule-cpu":
            break
        texts |= {name: "\n".join(listing.lines) for name, listing in step.functions.items()}
    return texts


Explanation = Callable[[_Kernel], tuple[str, str] | None]
"""Says in words why a kernel takes longer than its least time, and what to try; None if that is not the reason."""


def _of_library(kernel: _Kernel) -> tuple[str, str] | None:
    if not kernel.row.is_library:
        return None
    return "a library function, of which only the memory is known", "measure it by itself"


def _of_short_calls(kernel: _Kernel) -> tuple[str, str] | None:
    if kernel.seconds >= SHORT:
        return None
    return f"a call takes less than {SHORT * 1e6:.0f} us", "larger inputs at once share the cost of a call"


def _of_narrow_rows(kernel: _Kernel) -> tuple[str, str] | None:
    buffers = [text.split("x") for text in (*kernel.row.inputs, *kernel.row.outputs)]
    shapes = [([int(size) for size in sizes], kind) for *sizes, kind in buffers]
    largest, kind = max(shapes, key=lambda shape: prod(shape[0]), default=([0], "f32"))
    bits = re.search(r"\d+", kind)
    lanes = 8 * vector_bytes() // max(8, int(bits[0]) if bits is not None else 64)
    if not largest or largest[-1] >= lanes or prod(largest) < 4 * lanes:
        return None
    what = f"rows of {largest[-1]} fill no vector of {lanes} numbers"
    return what, "put the longest dimension last, as far as the model allows"


def _of_functions(kernel: _Kernel) -> tuple[str, str] | None:
    names = sorted(set(FUNCTIONS.findall(kernel.text)) - SIMPLE)
    if not names or kernel.share > CLOSE:
        return None
    what = f"a call of {' or '.join(names)} takes many instructions, and the limit counts one"
    return what, "only fewer calls of them make it faster: a schedule has little to gain"


def _of_memory(kernel: _Kernel) -> tuple[str, str] | None:
    row = kernel.row
    if least_seconds(row.flops or 0, 0) > least_seconds(0, row.bytes):
        return None
    rate = f"{_bytes(row.bytes)} a call at {row.bytes_per_second / 1e9:.1f} GB/s"
    if kernel.share > CLOSE:
        return f"close to the limit of memory: {rate}", "only fewer bytes make it faster: fused, or in narrower numbers"
    what = f"limited by memory, and slower than that: {rate}"
    return what, "see by which steps its operands are read; fusing it with its neighbours saves their bytes"


def _of_arithmetic(kernel: _Kernel) -> tuple[str, str] | None:
    rate = (kernel.row.flops_per_second or 0.0) / 1e9
    if kernel.share > CLOSE:
        return f"close to the limit of arithmetic: {rate:.1f} Gflop/s", "there is little to gain"
    by = f", scheduled by {kernel.rule}" if kernel.rule else ", and no schedule rule applies to it"
    return f"{rate:.1f} Gflop/s of arithmetic{by}", "relex-tune measures other schedules"


_EXPLANATIONS: tuple[Explanation, ...] = (
    _of_library,
    _of_short_calls,
    _of_narrow_rows,
    _of_functions,
    _of_memory,
    _of_arithmetic,
)


def _bytes(number: int) -> str:
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number} B"
