"""Loops that are stopped: by Ctrl-C, by a deadline, or because a library function has raised an exception."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping
from threading import Lock

from relex.dialects.target.machine import GOES_ON, LOOPS_BEGIN, LOOPS_END, MAY_GO_ON, REASONS
from relex.runtime.descriptors import code_address
from relex.runtime.linking import link_ir, read_ir

_CPYTHON = (
    "PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals", "PyErr_Fetch", "PyErr_NormalizeException",
    "PyThread_get_thread_ident", "PyOS_setsig",
)  # fmt: skip
_SYMBOLS = ("goes_on", "may_go_on", "begin", "end", "reasons", "main_thread", "asked", "type", "value", "trace")


class Stopping:
    """Compiled `stopping.ll`. `has_to_end` says whether the run of this thread holds an exception, or is too long."""

    def __init__(self, has_to_end: Callable[[], bool]):
        text = read_ir("relex.runtime", "stopping.ll")
        addresses = {name: code_address(getattr(ctypes.pythonapi, name)) for name in _CPYTHON}
        self._code = code = link_ir(text, _SYMBOLS, addresses)
        names = {GOES_ON: "goes_on", MAY_GO_ON: "may_go_on", REASONS: "reasons"}
        names |= {LOOPS_BEGIN: "begin", LOOPS_END: "end"}
        self.symbols: Mapping[str, int] = {symbol: code.address(name) for symbol, name in names.items()}
        self._held = ctypes.c_int16.from_address(code.address("reasons") + 2)
        self._raised = [ctypes.c_void_p.from_address(code.address(name)) for name in ("type", "value", "trace")]
        self._lock = Lock()
        self._ask = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: not has_to_end())
        ctypes.c_void_p.from_address(code.address("asked")).value = code_address(self._ask)
        ctypes.c_int64.from_address(code.address("main_thread")).value = threading.main_thread().ident or 0

    def count(self, more: int) -> None:
        """Change the number of runs that hold an exception, and of deadlines that have passed: while there are any,
        loops ask whether it is theirs."""
        with self._lock:
            self._held.value += more

    def raised(self) -> BaseException | None:
        """Return what a handler of a signal has raised in a loop, once."""
        places = [place.value for place in self._raised]
        if places[1] is None:
            return None
        error: BaseException = ctypes.cast(places[1], ctypes.py_object).value
        for place, address in zip(self._raised, places, strict=True):
            place.value = None
            if address is not None:
                ctypes.pythonapi.Py_DecRef(ctypes.c_void_p(address))
        return error
