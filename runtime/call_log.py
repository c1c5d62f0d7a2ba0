"""The log in which programs instrumented by `instrument-calls` record their calls."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache

from relex.dialects.machine import ObjectCode
from relex.dialects.parser import parse_module
from relex.lowering.instrument_calls import CLOCK, RECORD
from relex.lowering.llvm.object_code import compile_module
from relex.runtime.loader import load

CAPACITY = 1 << 16
"""The number of entries in a log."""

_ADDRESS = "relex.log_address"

_CODE = f"""
llvm.mlir.global internal @relex.log(dense<0> : tensor<{CAPACITY + 1}xi64>) : !llvm.array<{CAPACITY + 1} x i64>

llvm.func @{_ADDRESS}() -> i64 {{
  %log = llvm.mlir.addressof @relex.log : !llvm.ptr
  %address = llvm.ptrtoint %log : !llvm.ptr to i64
  llvm.return %address : i64
}}

// The first number of the log says how many came, also beyond those that it holds.
llvm.func @{RECORD}(%value: i64) {{
  %one = llvm.mlir.constant(1 : i64) : i64
  %capacity = llvm.mlir.constant({CAPACITY} : i64) : i64
  %log = llvm.mlir.addressof @relex.log : !llvm.ptr
  %count = llvm.load %log : !llvm.ptr -> i64
  %next = llvm.add %count, %one : i64
  llvm.store %next, %log : i64, !llvm.ptr
  %fits = llvm.icmp "ult" %count, %capacity : i64
  llvm.cond_br %fits, ^write, ^leave
^write:
  %place = llvm.getelementptr inbounds %log[%next] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  llvm.store %value, %place : i64, !llvm.ptr
  llvm.br ^leave
^leave:
  llvm.return
}}

llvm.func @clock_gettime(i32, !llvm.ptr) -> i32

llvm.func @{CLOCK}() -> i64 {{
  %one = llvm.mlir.constant(1 : i64) : i64
  %clock = llvm.mlir.constant({time.CLOCK_MONOTONIC} : i32) : i32
  %second = llvm.mlir.constant(1000000000 : i64) : i64
  %time = llvm.alloca %one x !llvm.struct<(i64, i64)> : (i64) -> !llvm.ptr
  %status = llvm.call @clock_gettime(%clock, %time) : (i32, !llvm.ptr) -> i32
  %seconds = llvm.load %time : !llvm.ptr -> i64
  %behind = llvm.getelementptr inbounds %time[%one] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %nanoseconds = llvm.load %behind : !llvm.ptr -> i64
  %scaled = llvm.mul %seconds, %second : i64
  %sum = llvm.add %scaled, %nanoseconds : i64
  llvm.return %sum : i64
}}
"""


class CallLog:
    """A log of numbers, filled by native code of one thread through `symbols`."""

    def __init__(self) -> None:
        self._code = load(_compiled())
        self.symbols: Mapping[str, int] = {name: self._code.address(name) for name in (CLOCK, RECORD)}
        address = ctypes.CFUNCTYPE(ctypes.c_int64)(self._code.address(_ADDRESS))()
        self._numbers = (ctypes.c_int64 * (CAPACITY + 1)).from_address(address)

    def take(self) -> Sequence[int] | None:
        """Return the numbers logged since the last call and clear the log; None if it overflowed."""
        count, self._numbers[0] = self._numbers[0], 0
        return self._numbers[1 : count + 1] if count <= CAPACITY else None


@lru_cache(maxsize=1)
def _compiled() -> ObjectCode:
    return compile_module(parse_module(_CODE))
