"""Measures the contenders in turns, so that changes in the machine's speed affect all of them."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter

from benchmarks.results import Comparison, NotMeasuredError
from benchmarks.worker import Worker

TURNS = 10
"""Number of turns that the time of a contender is divided into."""
FEWEST_TURNS = 3

SLOW_SECONDS = 5
"""A contender that takes longer to compile or start is measured only once."""

ROOT = Path(__file__).parents[1]
Workers = Mapping[str, Worker]


def measure_calls(row: str, workers: Workers, limits: Worker | None, seconds: float) -> Comparison:
    """Measure a call of a row for each contender, and its physical limits."""
    result, turns = Comparison(), dict[str, int]()
    for title, worker in workers.items():
        with result.noting(title):
            first = worker.ask("prepare", row)
            if first > seconds:
                # The system may have kept it from running.
                first = min(first, worker.ask("burst", seconds / TURNS))
            slow = first > seconds
            # A contender whose calls are this slow is not called again.
            result.seconds[title] = [first] if slow else []
            turns[title] = 0 if slow else max(FEWEST_TURNS, min(TURNS, int(seconds / first)))
    if limits is not None:
        limits.ask("prepare", row)
    for turn in range(TURNS):
        if limits is not None:
            result.limits.append(limits.ask("burst", seconds / TURNS))
        ready = [title for title, count in turns.items() if turn < count and title not in result.notes]
        for title in _rotated(ready, turn):
            with result.noting(title):
                result.seconds[title].append(workers[title].ask("burst", seconds / TURNS))
    return result


def measure_compilations(row: str, workers: Workers, turns: int) -> Comparison:
    """Measure the time from a model in memory to the first result for each contender, in a warm process."""
    result = Comparison()
    for turn in range(turns + 1):
        for title in _rotated(_to_repeat(result, workers), turn):
            with result.noting(title):
                time = workers[title].ask("compile_seconds", row)
                # The first turn warms up.
                result.seconds.setdefault(title, []).extend([time] if turn else [])
    return result


def measure_starts(row: str, workers: Workers, turns: int, folder: Path) -> tuple[Comparison, dict[str, int]]:
    """Measure the time from process start to the first result for each contender, and its peak memory in bytes. The
    models are written to files in the folder."""
    result, memory = Comparison(), dict[str, int]()
    files = {title: folder / f"{number}.pickle" for number, title in enumerate(workers)}
    for title, worker in workers.items():
        with result.noting(title):
            files[title].write_bytes(pickle.dumps(worker.ask("write", row)))
    for turn in range(turns):
        for title in _rotated(_to_repeat(result, workers), turn):
            with result.noting(title):
                time, memory[title] = _start(title, files[title])
                result.seconds.setdefault(title, []).append(time)
    return result, memory


def _to_repeat(result: Comparison, workers: Workers) -> list[str]:
    """Return the contenders without a failure that are not too slow to be measured again."""
    slow = {title for title, times in result.seconds.items() if max(times, default=0) > SLOW_SECONDS}
    return [title for title in workers if title not in slow | result.notes.keys()]


def _start(title: str, file: Path) -> tuple[float, int]:
    command = [sys.executable, "-m", "benchmarks.first_call", title, str(file)]
    start = perf_counter()
    with subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        seconds, report = 0.0, ""
        for line in process.stdout:
            if line.startswith("peak memory"):
                seconds, report = perf_counter() - start, line
    if process.returncode or not report:
        raise NotMeasuredError(f"the process ended with exit code {process.returncode}")
    return seconds, int(report.split()[2])


def _rotated(titles: Sequence[str], by: int) -> Sequence[str]:
    """Return the titles rotated, so that another one is first in each turn."""
    first = by % max(1, len(titles))
    return [*titles[first:], *titles[:first]]
