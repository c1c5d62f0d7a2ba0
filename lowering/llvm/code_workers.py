"""Compilation of LLVM IR in several processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from relex.dialects.code_generator import Emitted, Source, compile_source
from relex.lowering.support import workers
from relex.lowering.support.workers import Trade, share, started_workers

SECONDS_PER_BYTE = 1e-5
"""What LLVM takes for its text, in seconds on a common machine."""

MIN_SECONDS = 2.0
"""The work from which on other processes are worth their start."""


def compile_sources(sources: Sequence[Source]) -> list[Emitted]:
    """Compile modules, in several processes if that takes long. Raises `RuntimeError` for text that is not LLVM IR."""
    seconds = sum(map(_seconds, sources))
    others = min(workers.cores(), len(sources)) - 1 if seconds >= MIN_SECONDS else 0
    trade = Trade(lambda source: compile_source(source), _ask, _read, _seconds)
    with started_workers("relex.dialects.code_worker", others) as started:
        return share(sources, trade, started)


def _seconds(source: Source) -> float:
    """Return what LLVM is estimated to take for a module."""
    return SECONDS_PER_BYTE * len(source.text)


def _ask(source: Source) -> tuple[dict[str, Any], bytes]:
    return {"target": asdict(source.target), "level": source.level}, source.text.encode()


def _read(facts: dict[str, Any], code: bytes) -> Emitted:
    return Emitted(code, tuple(facts["functions"]), tuple(facts["imports"]))
