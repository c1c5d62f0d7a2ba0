"""The log in which programs instrumented by `instrument-calls` record their calls."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping, Sequence

from relex.lowering.instrument_calls import CLOCK, RECORD
from relex.runtime.linking import link_ir, read_ir

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
