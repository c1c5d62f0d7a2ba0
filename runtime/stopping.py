"""Loops that are stopped: by Ctrl-C, or because a library function has raised an exception."""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from threading import Lock

from relex.dialects.target.machine import GOES_ON
from relex.runtime.descriptors import code_address
from relex.runtime.linking import link_ir, read_ir

_CPYTHON = (
    "PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals", "PyErr_Fetch", "PyErr_NormalizeException",
    "PyThread_get_thread_ident",
)  # fmt: skip
_SYMBOLS = ("goes_on", "interrupted", "reasons", "main_thread", "previous", "asked", "type", "value", "trace")


class Stopping:
    """Compiled `stopping.ll`. `holds_exception` says whether the run of this thread holds an exception."""

    def __init__(self, holds_exception: Callable[[], bool]):
        text = read_ir("relex.runtime", "stopping.ll")
        addresses = {name: code_address(getattr(ctypes.pythonapi, name)) for name in _CPYTHON}
        self._code = code = link_ir(text, _SYMBOLS, addresses)
        self.symbols: Mapping[str, int] = {GOES_ON: code.address("goes_on")}
        self._held = ctypes.c_int16.from_address(code.address("reasons") + 2)
        self._signalled = ctypes.c_int16.from_address(code.address("reasons"))
        self._raised = [ctypes.c_void_p.from_address(code.address(name)) for name in ("type", "value", "trace")]
        self._previous = ctypes.c_void_p.from_address(code.address("previous"))
        self._lock = Lock()
        self._ask = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: not holds_exception())
        ctypes.c_void_p.from_address(code.address("asked")).value = code_address(self._ask)
        main_thread = threading.main_thread().ident
        ctypes.c_int64.from_address(code.address("main_thread")).value = main_thread or 0
        self._set_handler = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(
            ("PyOS_setsig", ctypes.pythonapi)
        )

    def count(self, more: int) -> None:
        """Change the number of runs that hold an exception: while there are any, loops ask whether theirs does."""
        with self._lock:
            self._held.value += more

    @contextmanager
    def listening(self) -> Generator[None]:
        """Let loops of this thread stop when Ctrl-C is pressed, if it is the one that Python handles signals in."""
        is_main = threading.current_thread() is threading.main_thread()
        if not is_main or not callable(signal.getsignal(signal.SIGINT)) or self._previous.value:
            yield
            return
        self.raised()  # Of an earlier run that another signal has ended.
        self._previous.value = self._set_handler(signal.SIGINT, self._code.address("interrupted"))
        try:
            yield
        finally:
            self._set_handler(signal.SIGINT, self._previous.value)
            self._previous.value, self._signalled.value = None, 0

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
