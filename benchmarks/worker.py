"""A contender in its own process, which serves requests of its parent."""

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
from benchmarks.models import MODELS, expected
from benchmarks.results import NotMeasuredError
from benchmarks.row_limits import RowLimits
from benchmarks.rows import ROWS, Row

SAMPLE_SECONDS = 100e-6
"""Shorter calls are measured several at a time, to hide the overhead of the clock."""

TOLERANCE = {"float32": 1e-4, "float64": 1e-10}
"""Maximum error relative to NumPy in float64, as a share of the largest element."""

PATIENCE_SECONDS = 120
"""Timeout of a request."""


def check(answer: Any, expected: Array, dtype: str) -> None:
    """Raise `NotMeasuredError` unless a result is correct."""
    if not isinstance(answer, np.ndarray | np.generic):
        raise NotMeasuredError(f"expected an array, found a {type(answer).__name__}")
    found = cast(Array, answer)
    if found.shape != expected.shape or found.dtype != dtype:
        raise NotMeasuredError(f"expected {dtype}{expected.shape}, found {found.dtype}{found.shape}")
    error = np.abs(found - expected).max(initial=0) / np.abs(expected).max(initial=np.finfo(dtype).tiny)
    # Also fails for NaN.
    if not error <= TOLERANCE[dtype]:
        raise NotMeasuredError(f"the answer is off by {error:.0e}")


class ContenderHost:
    """Compiles rows, checks their results, and measures them."""

    def __init__(self, title: str):
        self.backend = CONTENDERS[title].load()
        self.call: Callable[[], Any] = lambda: None

    def write(self, row_name: str) -> tuple[Any, Sequence[Array]]:
        """Return the contender's model as it would be stored in a file, and the inputs of a call."""
        inputs, weights = make_arrays(ROWS[row_name])
        return self.backend.write(ROWS[row_name], weights), list(inputs.values())

    def compile_seconds(self, row_name: str) -> float:
        """Return the time from the stored model to the first result."""
        model, inputs = self.write(row_name)
        gc.collect()
        start = perf_counter()
        self.backend.compile(model)(*inputs)
        return perf_counter() - start

    def prepare(self, row_name: str) -> float:
        """Prepare a row for bursts and return the time of its first call. Raises `NotMeasuredError` for a wrong
        result."""
        row = ROWS[row_name]
        model, inputs = self.write(row_name)
        function = self.backend.compile(model)
        self.call = lambda: function(*inputs)
        gc.collect()
        start = perf_counter()
        answer = self.call()
        seconds = perf_counter() - start
        check(answer, self.expected(row, inputs), row.dtype)
        return seconds

    def expected(self, row: Row, inputs: Sequence[Array]) -> Array:
        """Return the result of a row, computed in float64, or by ONNX Runtime."""
        if row.model:
            return np.asarray(expected(MODELS[row.model](), *inputs))
        wide = [array.astype(np.float64) for tensors in make_arrays(row) for array in tensors.values()]
        return np.asarray(row.apply(NumPyOperators(), wide))

    def burst(self, seconds: float) -> float:
        """Return the time of a call, measured for about this number of seconds."""
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
        """Prepare the limits of a row for bursts."""
        self.limits = RowLimits(ROWS[row_name])
        return 0.0

    def burst(self, seconds: float) -> tuple[float, float]:
        """Return the limits, measured for about this number of seconds."""
        return self.limits.burst(seconds)


def serve(make_host: Callable[[], object], connection: Connection) -> None:
    """Answer requests, each the name of a method and its arguments, until the connection is closed."""
    host: object | None = None
    while True:
        try:
            method, *arguments = connection.recv()
        except EOFError:
            return
        try:
            host = host or make_host()
            connection.send((getattr(host, method)(*arguments), None))
        # Any exception of a library means that it cannot run this row.
        except Exception as e:
            message = str(e) if isinstance(e, NotMeasuredError) else f"{type(e).__name__}: {e}"
            connection.send((None, message.partition("\n")[0][:200]))


class Worker:
    """A host in another process. If it fails to answer, it is restarted for the next request."""

    def __init__(self, make_host: Callable[[], object]):
        self.make_host = make_host
        self.running: tuple[multiprocessing.Process, Connection] | None = None

    def ask(self, method: str, *arguments: Any) -> Any:
        """Call a method of the host. Raises `NotMeasuredError`."""
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
