"""Profiles of calls: time, memory traffic and arithmetic of each kernel."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from statistics import median
from threading import Lock
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.traits import SymbolTable

from relex.dialects.arrays import np
from relex.dialects.context import make_context
from relex.dialects.dtypes import size_in_bytes
from relex.dialects.errors import RelexError
from relex.dialects.libraries import library_function
from relex.dialects.sizes.attributes import sizes_in_type
from relex.dialects.tir import CallLoopsOp, PrimFuncOp
from relex.dialects.upstream.hints import isa
from relex.lowering.convert_tir_to_scf import ConvertTirToScfPass
from relex.lowering.instrument_calls import CLOCK, RECORD, InstrumentCallsPass, dynamic_sizes, recorded_calls
from relex.passes import ScheduleCpuPass
from relex.passes.analysis.work import Work, work_of
from relex.runtime.compilation import Instrument
from relex.runtime.executable import Executable
from relex.runtime.linking import link_ir, read_ir
from relex.runtime.program import CompiledProgram

MIN_RUNS, MAX_RUNS = 3, 1000
MIN_SECONDS = 0.2
"""A profile has at least `MIN_RUNS` runs, and more, up to `MAX_RUNS`, until `MIN_SECONDS` have passed."""


@dataclass(frozen=True)
class KernelCalls:
    """The calls of one function at one place of a program with arguments of the same shapes.

    `seconds` is the total time of all `calls` of a run, the median over the runs. `flops` and `bytes` are counts of one
    call: see `relex.passes.analysis.work.Work`. Of library functions, given by their registered name, `flops` is
    unknown, and `bytes` assumes that they touch all of their arguments.
    """

    function: str
    is_library: bool
    calls: int
    seconds: float
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    bytes: int
    flops: int | None

    @property
    def bytes_per_second(self) -> float:
        """The memory throughput of the calls."""
        return self.calls * self.bytes / self.seconds if self.seconds else 0.0

    @property
    def flops_per_second(self) -> float | None:
        """The arithmetic throughput of the calls; None if `flops` is unknown."""
        if self.flops is None:
            return None
        return self.calls * self.flops / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Profile:
    """The result of `Executable.profile`: a row for each call in program order; `str` formats it as a table.

    `seconds` is the time of a run, the median of the `runs`, including everything between the calls and the transition
    from Python to native code.
    """

    function: str
    runs: int
    seconds: float
    rows: tuple[KernelCalls, ...]
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    """The dynamic sizes of the arguments, by name."""
    between: float = 0.0
    """The part of a run that is not in calls, the median over the runs."""

    def __str__(self) -> str:
        in_calls = sum(row.seconds for row in self.rows)
        head = (
            f"{self.function}(): {duration(self.seconds)} a run, {duration(in_calls)} of it in calls; {self.runs} runs"
        )
        titles = ("calls", "time", "share", "GB/s", "GF/s", "bytes", "flops", "function")
        lines = [titles, *(_cells(row, in_calls) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = [
            "  ".join([*(cell.rjust(width) for cell, width in zip(line[:-1], widths, strict=False)), line[-1]])
            for line in lines
        ]
        return "\n".join([head, *table])

    def _repr_html_(self) -> str:
        from relex.extras import find_part

        return find_part("html-of-profile")(self)


class Profiler:
    """A program with time stamps around its calls. `compiled` compiles it and calls the instrument before each pass."""

    def __init__(self, compiled: Callable[[Instrument], CompiledProgram]):
        self._places = _Places()
        self._log = CallLog()
        self._functions = Executable(compiled(self._places.watch), symbols=self._log.symbols)
        self._turn = Lock()
        """Calls at the same time would share the log."""

    def profile(self, entry: str, args: Sequence[Any], named: Mapping[str, Any]) -> Profile:
        """Return the profile of a call."""
        with self._turn:
            totals, recorded = self._measured(entry, args, named)
        keys = dict.fromkeys(key for run in recorded for key in run)
        # The difference of medians would have what only some runs were interrupted for.
        between = median(all_ - sum(map(sum, run.values())) for all_, run in zip(totals, recorded, strict=True))
        rows = tuple(self._places.row(key, [run.get(key, []) for run in recorded]) for key in keys)
        return Profile(entry, len(totals), median(totals), rows, self._sizes(entry, args, named), between)

    def _sizes(self, entry: str, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, int]:
        """Return the dynamic sizes of the arguments of a call."""
        signature = self._functions[entry].signature
        given = dict(enumerate(args)) | {i: named[s.name] for i, s in enumerate(signature.inputs) if s.name in named}
        return {name: int(np.shape(given[i])[dim]) for name, (i, dim) in signature.names.items() if i in given}

    def _measured(
        self, entry: str, args: Sequence[Any], named: Mapping[str, Any]
    ) -> tuple[list[float], list[dict[_Key, list[float]]]]:
        """Return the seconds of several runs, and the seconds of the calls in each."""
        function = self._functions[entry]
        self._log.take()  # What an earlier call has left that failed.
        function(*args, **named)
        self._log.take()
        totals: list[float] = []
        recorded: list[dict[_Key, list[float]]] = []
        begin = time.perf_counter()
        while len(totals) < MIN_RUNS or (len(totals) < MAX_RUNS and time.perf_counter() - begin < MIN_SECONDS):
            start = time.perf_counter()
            function(*args, **named)
            totals.append(time.perf_counter() - start)
            numbers = self._log.take()
            if numbers is None:
                raise RelexError(f"{entry}() calls too many functions in one run to be profiled")
            recorded.append(self._places.read(numbers))
        return totals, recorded


@dataclass(frozen=True)
class _Key:
    """A call site of a program, and the values of the dynamic sizes in its types."""

    place: int
    sizes: tuple[int, ...]


class _Places:
    """The recorded calls of a program, by number."""

    def __init__(self) -> None:
        self._calls: list[CallLoopsOp | func.CallOp] = []
        self._functions: dict[str, PrimFuncOp] = {}
        self._names: dict[str, str] = {}

    def watch(self, p: ModulePass, module: ModuleOp) -> None:
        """Keep the loop functions as they are before scheduling, and instrument the calls of them."""
        if isinstance(p, ScheduleCpuPass):
            self._unscheduled = module.clone()
            self._functions = {op.sym_name.data: op for op in self._unscheduled.ops if isinstance(op, PrimFuncOp)}
        if isinstance(p, ConvertTirToScfPass):
            names = {op: op.sym_name.data for op in module.ops if isinstance(op, PrimFuncOp)}
            InstrumentCallsPass().apply(make_context(), module)
            self._names = {op.sym_name.data: name for op, name in names.items()}
            # Later passes change the module.
            self._module = module.clone()
            self._calls = list(recorded_calls(self._module))

    def read(self, numbers: Sequence[int]) -> dict[_Key, list[float]]:
        """Return the seconds of each call of a run."""
        found: dict[_Key, list[float]] = {}
        rest = iter(numbers)
        for place in rest:
            sizes = tuple(next(rest) for _ in dynamic_sizes(self._calls[place]))
            start, end = next(rest), next(rest)
            found.setdefault(_Key(place, sizes), []).append((end - start) * 1e-9)
        return found

    def row(self, key: _Key, runs: Sequence[Sequence[float]]) -> KernelCalls:
        """Return the row of a call, given its seconds in each run."""
        call = self._calls[key.place]
        callee = SymbolTable.lookup_symbol(call, call.callee)
        types, sizes = call.arguments.types, iter(key.sizes)
        shapes = [tuple(_shape(t, sizes)) for t in types]
        buffers = tuple(map(_buffer, types, shapes))
        calls, seconds = round(median(map(len, runs))), median(map(sum, runs))
        library = library_function(callee) if callee is not None else None
        if library is not None:
            first, name, work = len(library.inputs), library.name, Work(None, sum(map(_bytes, types, shapes)))
        else:
            assert isinstance(callee, PrimFuncOp)
            first, name = callee.num_inputs, self._names[callee.sym_name.data]
            work = _work(self._functions.get(name, callee), shapes)
        return KernelCalls(
            name, library is not None, calls, seconds, buffers[:first], buffers[first:], work.bytes, work.flops
        )


def _work(function: PrimFuncOp, shapes: Sequence[Sequence[int]]) -> Work:
    """Return the work of an unscheduled function. Its static sizes are its own: a schedule may pack arguments."""
    known = [sizes_in_type(argument.type) for argument in function.args]
    return work_of(function, [s if DYNAMIC_INDEX not in s else shape for s, shape in zip(known, shapes, strict=True)])


def _shape(t: Attribute, sizes: Iterator[int]) -> Iterator[int]:
    return (next(sizes) if size == DYNAMIC_INDEX else size for size in sizes_in_type(t))


def _buffer(t: Attribute, shape: Sequence[int]) -> str:
    """Format an argument for a row: `1x784xf32`."""
    element = t.element_type if isa(t, MemRefType) else t
    return "x".join(map(str, (*shape, element))) if isa(t, MemRefType) else str(element)


def _bytes(t: Attribute, shape: Sequence[int]) -> int:
    return prod(shape) * size_in_bytes(t.element_type) if isa(t, MemRefType) else 0


# The table


def _cells(row: KernelCalls, in_calls: float) -> Sequence[str]:
    share = row.seconds / in_calls if in_calls else 0.0
    flops, rate = row.flops, row.flops_per_second
    return (
        str(row.calls),
        duration(row.seconds),
        f"{share:.1%}",
        f"{row.bytes_per_second / 1e9:.1f}",
        "-" if rate is None else f"{rate / 1e9:.1f}",
        _short(row.bytes),
        "-" if flops is None else _short(flops),
        f"{row.function}({', '.join(row.inputs)}) -> ({', '.join(row.outputs)})",
    )


def duration(seconds: float) -> str:
    """Format a time with a fitting unit: `12.30 us`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds * 1e6:.2f} us"


def _short(number: int) -> str:
    """Format a number with three digits or a little more: `401k`."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= 10 * size:
            return f"{number / size:.0f}{unit}"
        if number >= size:
            return f"{number / size:.2f}{unit}"
    return str(number)


CAPACITY = 1 << 16
"""The number of entries in a log."""


class CallLog:
    """A log of numbers, filled by native code of one thread through `symbols`."""

    def __init__(self) -> None:
        text = read_ir("relex.runtime", "call_log.ll", size=CAPACITY + 1, clock=time.CLOCK_MONOTONIC)
        self._code = link_ir(text, ("clock", "record", "log"))
        self.symbols: Mapping[str, int] = {CLOCK: self._code.address("clock"), RECORD: self._code.address("record")}
        self._numbers = (ctypes.c_int64 * (CAPACITY + 1)).from_address(self._code.address("log"))

    def take(self) -> Sequence[int] | None:
        """Return the numbers logged since the last call and clear the log; None if it overflowed."""
        count, self._numbers[0] = self._numbers[0], 0
        return self._numbers[1 : count + 1] if count <= CAPACITY else None
