"""Compilation of LLVM IR in several processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from relex.lowering.llvm.code_generator.compile_ir import CompileJob, Emitted, compile_source
from relex.lowering.support.worker_pool import WorkerPool, WorkerProcess, share_out, workers_wanted
from relex.passes.driver.activity import reach

SECONDS_PER_BYTE = 1e-5
"""The estimated compile time of LLVM per byte of text, in seconds on a common machine."""

MIN_SECONDS = 2.0
"""The estimated compile time, in seconds, from which on starting other processes pays off."""

PATIENCE = 30.0
"""The time limit of a process for a module, as a multiple of the estimated compile time plus a second."""

POOL = WorkerPool("relex.lowering.llvm.code_generator.worker")


def compile_sources(sources: Sequence[CompileJob]) -> list[Emitted]:
    """Compile modules, in several processes if that takes long. Modules that fail in another process are compiled in
    this one. Raises `RuntimeError` for text that is not LLVM IR."""
    seconds = sum(map(_seconds, sources))
    others = min(workers_wanted(), len(sources) - 1) if seconds >= MIN_SECONDS else 0
    found: dict[int, Emitted] = {}

    def here(places: Sequence[int]) -> None:
        # The names of kernels are not informative.
        reach("", len(found), len(sources))
        found.update((place, compile_source(sources[place])) for place in places)

    def there(worker: WorkerProcess, places: Sequence[int]) -> None:
        found.update((place, _compiled_by(worker, sources[place])) for place in places)

    longest_first = sorted(range(len(sources)), key=lambda i: -len(sources[i].text))
    share_out(longest_first, here, there, POOL, others)
    return [found[i] if i in found else compile_source(source) for i, source in enumerate(sources)]


def _seconds(source: CompileJob) -> float:
    """Return the estimated compile time of a module in seconds."""
    return SECONDS_PER_BYTE * len(source.text)


def _compiled_by(worker: WorkerProcess, source: CompileJob) -> Emitted:
    head = {"target": asdict(source.target), "level": source.level}
    facts, code = worker.ask(head, source.text.encode(), PATIENCE * (1 + _seconds(source)))
    return Emitted(code, tuple(facts["functions"]), tuple(facts["imports"]))
