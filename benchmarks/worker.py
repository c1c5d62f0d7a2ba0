"""A contender in a process of its own, which does what it is asked by the process that started it."""

from __future__ import annotations

import gc
import multiprocessing
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from statistics import median
from time import perf_counter
from typing import Any, cast

import numpy as np

from benchmarks.arrays import Array, make_arrays
from benchmarks.contenders import CONTENDERS
from benchmarks.contenders.in_numpy import NumPyOperators
from benchmarks.limits import RowLimits
from benchmarks.results import NotMeasuredError
from benchmarks.rows import ROWS

SAMPLE_SECONDS = 100e-6
"""Shorter calls are measured several at a time, so that the clock does not count."""

TOLERANCE = {"float32": 1e-4, "float64": 1e-10}
"""How far an answer may be from that of NumPy in float64, as a share of its largest number."""

PATIENCE_SECONDS = 120
"""How long an answer may take."""


def check(answer: Any, expected: Array, dtype: str) -> None:
    """Raises `NotMeasuredError` unless an answer is right."""
    if not isinstance(answer, np.ndarray | np.generic):
        raise NotMeasuredError(f"expected an array, found a {type(answer).__name__}")
    found = cast(Array, answer)
    if found.shape != expected.shape or found.dtype != dtype:
        raise NotMeasuredError(f"expected {dtype}{expected.shape}, found {found.dtype}{found.shape}")
    error = np.abs(found - expected).max(initial=0) / np.abs(expected).max(initial=np.finfo(dtype).tiny)
    # A NaN is no small error either.
    if not error <= TOLERANCE[dtype]:
        raise NotMeasuredError(f"the answer is off by {error:.0e}")


class ContenderHost:
    """Compiles rows, checks what they answer, and measures them."""

    def __init__(self, title: str):
        self.backend = CONTENDERS[title].load()
        self.call: Callable[[], Any] = lambda: None

    def write(self, row_name: str) -> tuple[Any, Sequence[Array]]:
        """What the contender would keep in a file, and the inputs of a call."""
        inputs, weights = make_arrays(ROWS[row_name])
        return self.backend.write(ROWS[row_name], weights), list(inputs.values())

    def compile_seconds(self, row_name: str) -> float:
        """How long it takes from what is in a file to the first result."""
        model, inputs = self.write(row_name)
        gc.collect()
        start = perf_counter()
        self.backend.compile(model)(*inputs)
        return perf_counter() - start

    def prepare(self, row_name: str) -> float:
        """Get ready for bursts of a row: how long its first call takes. Refuses a wrong answer."""
        row = ROWS[row_name]
        model, inputs = self.write(row_name)
        function = self.backend.compile(model)
        self.call = lambda: function(*inputs)
        gc.collect()
        start = perf_counter()
        answer = self.call()
        seconds = perf_counter() - start
        wide = [array.astype(np.float64) for tensors in make_arrays(row) for array in tensors.values()]
        check(answer, np.asarray(row.apply(NumPyOperators(), wide)), row.dtype)
        return seconds

    def burst(self, seconds: float) -> float:
        """How long a call takes, measured for about so many seconds."""
        start = perf_counter()
        self.call()
        once = perf_counter() - start
        if once > seconds:
            return once
        times = max(1, int(SAMPLE_SECONDS / once))
        samples: list[float] = []
        until = perf_counter() + seconds
        while not samples or perf_counter() < until:
            start = perf_counter()
            for _ in range(times):
                self.call()
            samples.append((perf_counter() - start) / times)
        return median(samples)


class LimitHost:
    """Measures the physical limits of rows."""

    def prepare(self, row_name: str) -> float:
        self.limits = RowLimits(ROWS[row_name])
        return 0.0

    def burst(self, seconds: float) -> tuple[float, float]:
        return self.limits.burst(seconds)


def serve(make_host: Callable[[], object], connection: Connection) -> None:
    """Answer requests, each a method's name and its arguments, until the other side is gone."""
    host: object | None = None
    while True:
        try:
            method, *arguments = connection.recv()
        except EOFError:
            return
        try:
            host = host or make_host()
            connection.send((getattr(host, method)(*arguments), None))
        # Whatever a library raises, it cannot do this row.
        except Exception as e:
            message = str(e) if isinstance(e, NotMeasuredError) else f"{type(e).__name__}: {e}"
            connection.send((None, message.partition("\n")[0][:200]))


class Worker:
    """A host in another process. One that fails to answer is started again for the next request."""

    def __init__(self, make_host: Callable[[], object]):
        self.make_host = make_host
        self.running: tuple[multiprocessing.Process, Connection] | None = None

    def ask(self, method: str, *arguments: Any) -> Any:
        """What a method of the host returns. Raises `NotMeasuredError`."""
        process, connection = self.running = self.running or self._start()
        try:
            connection.send((method, *arguments))
            if not connection.poll(PATIENCE_SECONDS):
                raise NotMeasuredError(f"no answer within {PATIENCE_SECONDS} s")
            answer, problem = connection.recv()
        except (EOFError, OSError, NotMeasuredError) as e:
            process.kill()
            process.join()
            self.running = None
            ended = NotMeasuredError(f"the process ended with exit code {process.exitcode}")
            raise e if isinstance(e, NotMeasuredError) else ended from e
        if problem is not None:
            raise NotMeasuredError(problem)
        return answer

    def _start(self) -> tuple[multiprocessing.Process, Connection]:
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        process: Any = context.Process(target=serve, args=(self.make_host, there), daemon=True)
        process.start()
        there.close()
        return process, here

    def close(self) -> None:
        """End the process; the next request starts another one."""
        if self.running is not None:
            process, connection = self.running
            connection.close()
            process.join(10)
            process.kill()
            self.running = None
