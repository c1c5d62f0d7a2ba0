"""The physical limits of one core: multiply-adds in registers, and a stream through memory.

Both are measured by LLVM IR generated here, so that relex is not compared with its own kernels. No call can take less
time than its multiply-adds take at peak rate, nor less than reading its inputs and writing its result once, with
ordinary stores, from where the previous call left them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from relex.dialects.target.features import default_target
from relex.dialects.target.llvm_binding import llvm
from relex.dialects.target.processors import processor_of
from relex.runtime.loader import aligned

if TYPE_CHECKING:
    from relex.runtime.profile import KernelCalls

ACCUMULATORS = 12
"""Enough to hide the latency of an instruction, and fewer than there are registers."""

FMA_STEPS = 100_000
STREAMED_BYTES = 1 << 22
"""Bytes streamed through memory per measurement; more if one pass is larger."""

FMA = """
define void @fma(ptr %p, i64 %steps) {{
entry:
  %x = load {vector}, ptr %p, align 4
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
{accumulators}
{products}
  %next = add i64 %i, 1
  %again = icmp ult i64 %next, %steps
  br i1 %again, label %loop, label %exit
exit:
{stores}
  ret void
}}
declare {vector} @llvm.fma.{suffix}({vector}, {vector}, {vector})
"""

STREAM = """
define void @stream(ptr %source, ptr %target, i64 %steps, i64 %passes) {{
entry:
  br label %pass
pass:
  %p = phi i64 [0, %entry], [%next_pass, %end]
  br label %loop
loop:
  %i = phi i64 [0, %pass], [%next, %loop]
{accumulators}
{loads}
{stores}
  %next = add i64 %i, 1
  %again = icmp ult i64 %next, %steps
  br i1 %again, label %loop, label %end
end:
{keep}
  %next_pass = add i64 %p, 1
  %pass_again = icmp ult i64 %next_pass, %passes
  br i1 %pass_again, label %pass, label %exit
exit:
  ret void
}}
"""


def vector_bytes() -> int:
    """Return the width in bytes of the widest vector registers that compiled code uses."""
    processor = processor_of(default_target())
    return processor.vector_bits // 8 if processor else 16


def lines(pattern: str, count: int, **values: object) -> str:
    """Return the pattern formatted for k = 0, 1, ..., one per line."""
    return "\n".join(pattern.format(k=k, **values) for k in range(count))


def fma_text(dtype: str) -> str:
    """Return a function that does one multiply-add per accumulator in each step."""
    width = np.dtype(dtype).itemsize
    lanes = vector_bytes() // width
    vector, suffix = f"<{lanes} x {'float' if width == 4 else 'double'}>", f"v{lanes}f{8 * width}"
    call = "  %b{k} = call {vector} @llvm.fma.{suffix}({vector} %a{k}, {vector} %x, {vector} %x)"
    return FMA.format(
        vector=vector,
        suffix=suffix,
        accumulators=lines("  %a{k} = phi {vector} [%x, %entry], [%b{k}, %loop]", ACCUMULATORS, vector=vector),
        products=lines(call, ACCUMULATORS, vector=vector, suffix=suffix),
        stores=lines("  store volatile {vector} %b{k}, ptr %p, align 4", ACCUMULATORS, vector=vector),
    )


def stream_text(reads: int, writes: int) -> str:
    """Return a function that reads and writes this number of consecutive vectors in each step."""
    size = vector_bytes()
    vector = f"<{size // 4} x float>"
    place = "  %{name}{{k}} = getelementptr [{count} x {vector}], ptr %{memory}, i64 %i, i64 {{k}}\n"
    read = place.format(name="from", count=reads, vector=vector, memory="source")
    write = place.format(name="to", count=writes, vector=vector, memory="target")
    load = "  %l{k} = load {vector}, ptr %from{k}, align {size}\n  %b{k} = fadd {vector} %a{k}, %l{k}"
    return STREAM.format(
        accumulators=lines("  %a{k} = phi {vector} [zeroinitializer, %pass], [%b{k}, %loop]", reads, vector=vector),
        loads=lines(read + load, reads, vector=vector, size=size),
        stores=lines(write + "  store {vector} %l0, ptr %to{k}, align {size}", writes, vector=vector, size=size),
        keep=lines("  store volatile {vector} %b{k}, ptr %target, align {size}", reads, vector=vector, size=size),
    )


class NativeFunction:
    """A native function of pointers and numbers."""

    def __init__(self, name: str, text: str, arguments: Sequence[Any]):
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = default_target()
        machine = llvm.Target.from_triple(target.triple).create_target_machine(
            cpu=target.cpu, features=target.features, opt=2
        )
        self.jit = llvm.create_lljit_compiler(machine)
        self.code = llvm.JITLibraryBuilder().add_ir(text).export_symbol(name).link(self.jit, name)
        self.call = ctypes.CFUNCTYPE(None, *arguments)(self.code[name])


class FmaPeak:
    """Measures the peak rate of multiply-adds of a type."""

    def __init__(self, dtype: str):
        self.kernel = NativeFunction("fma", fma_text(dtype), [ctypes.c_void_p, ctypes.c_int64])
        self.memory = aligned(np.full(vector_bytes(), 0.5, dtype).tobytes())
        self.address = self.memory.ctypes.data
        self.flops = 2 * ACCUMULATORS * vector_bytes() // np.dtype(dtype).itemsize * FMA_STEPS
        """Number of multiplications and additions in a run."""

    def run(self) -> None:
        """Run the multiply-adds."""
        self.kernel.call(self.address, FMA_STEPS)


class Stream:
    """Reads and writes about this number of bytes, several times in a row."""

    def __init__(self, read: int, written: int):
        reads = max(1, round(ACCUMULATORS * read / (read + written)))
        writes = ACCUMULATORS - reads
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        self.kernel = NativeFunction("stream", stream_text(reads, writes), [pointer, pointer, number, number])
        self.steps = -(-(read + written) // (ACCUMULATORS * vector_bytes()))
        self.passes = max(1, STREAMED_BYTES // (read + written))
        self.source = aligned(bytes(self.steps * reads * vector_bytes()))
        self.target = aligned(memoryview(bytearray(max(1, self.steps * writes) * vector_bytes())))
        self.addresses = self.source.ctypes.data, self.target.ctypes.data

    def run(self) -> None:
        """Stream the bytes."""
        self.kernel.call(*self.addresses, self.steps, self.passes)


def seconds_of(run: Callable[[], None]) -> float:
    """Return how long a run takes."""
    start = perf_counter()
    run()
    return perf_counter() - start


REPEATS = 15
"""The number of measurements of each limit."""


def least_seconds(flops: int, size: int, dtype: str = "float32") -> float:
    """Return the least time of a call on one core with this number of operations on `dtype` and bytes of memory."""
    return max(flops * _seconds_of_flop(dtype), size * _seconds_of_byte(1 << max(12, size.bit_length() - 1)))


def least_seconds_of(row: KernelCalls) -> float:
    """Return the least time of the calls of a row of a profile."""
    dtype = "float64" if any(output.endswith("f64") for output in row.outputs) else "float32"
    return row.calls * least_seconds(row.flops or 0, row.bytes, dtype)


@cache
def _seconds_of_flop(dtype: str) -> float:
    peak = FmaPeak(dtype)
    return min(seconds_of(peak.run) for _ in range(REPEATS)) / peak.flops


@cache
def _seconds_of_byte(size: int) -> float:
    """Measure what a byte costs where about `size` bytes are read again and again."""
    stream = Stream(size, 0)
    return min(seconds_of(stream.run) for _ in range(REPEATS)) / stream.passes / size
