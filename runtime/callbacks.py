"""Calls of library functions from compiled code."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from threading import local
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from relex.dialects.element_types import ELEMENTS, EXTENSION
from relex.dialects.exceptions import AssertionRecord, UnknownNameError
from relex.dialects.signature import Signature
from relex.dialects.target.machine import STOPPED
from relex.runtime.descriptors import code_address, read_descriptor
from relex.runtime.library import LIBRARY, CFunction, Function, LibraryInput, not_registered
from relex.runtime.singleton import once

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array
    from relex.runtime.stopping import Stopping

Entry = Callable[..., None]

BufferKind = tuple[int, str]
"""The rank and the element type of a buffer."""


@dataclass(frozen=True)
class LibraryUse:
    """A library function that code calls as `symbol`, with buffers of these kinds: inputs, then outputs to fill."""

    name: str
    symbol: str
    inputs: tuple[BufferKind, ...]
    outputs: tuple[BufferKind, ...]

    @property
    def problem(self) -> str | None:
        """The reason why it cannot be called at present, if any."""
        if self.name not in LIBRARY:
            return not_registered(self.name)
        if isinstance(LIBRARY[self.name], CFunction):
            return None
        strange = next((t for _, t in (*self.inputs, *self.outputs) if not ELEMENTS[t].has_dtype), None)
        if strange is None:
            return None
        return (
            f'cannot call library function "{self.name}" in Python: '
            f"element type {strange} has no NumPy equivalent without the package {EXTENSION}"
        )


class LibraryCalls:
    """The library functions that code calls, as currently registered, in a form that native code can call, and, for
    code that has loops, the function that these ask whether they go on. `asks` says whether the code asks Python for
    memory, too.

    `symbols` maps the names that the code calls them by to addresses, which stay valid as long as this object. Raises
    `UnknownNameError` naming all functions that cannot be called.
    """

    def __init__(self, uses: Iterable[LibraryUse], *, has_loops: bool = False, asks: bool = False):
        uses = list(uses)
        self._asks = asks
        self._stopping = stopping() if has_loops else None
        if problems := dict.fromkeys(problem for use in uses if (problem := use.problem) is not None):
            raise UnknownNameError("\n".join(problems))
        self._functions = {use.symbol: LIBRARY[use.name] for use in uses}
        self._callbacks = {
            use.symbol: _callback(use, self._functions[use.symbol])
            for use in uses
            if not isinstance(self._functions[use.symbol], CFunction)
        }
        self.symbols = {
            symbol: function.address if isinstance(function, CFunction) else code_address(self._callbacks[symbol])
            for symbol, function in self._functions.items()
        }
        if self._stopping is not None:
            self.symbols |= self._stopping.symbols

    @property
    def calls_python(self) -> bool:
        """True if any of them is a Python function, or if the code asks Python for memory."""
        return self._asks or bool(self._callbacks)

    def guard(self, entry: Entry) -> Entry:
        """Wrap a native function so that it raises what library functions, and a Ctrl-C, raise while it runs."""
        return _reraising(entry, self._stopping) if self.calls_python else entry


class _Run(local):
    """State of the innermost run of native code in this thread."""

    error: BaseException | None = None
    late: LateResults | None = None
    stopping: Stopping | None = None
    is_in_function: bool = False
    """Whether it is in a library function, at present."""

    def hold(self, error: BaseException) -> None:
        """Keep an exception up to the end of the run."""
        if self.stopping is not None and self.error is None:
            self.stopping.count(1)
        self.error = error


_run = _Run()


_signal: Any = import_module("_signal")
"""What is below Python's module, which makes members of enumerations of numbers: that would take ten microseconds."""


class _Interrupts:
    """Handles Ctrl-C in the place of another handler, while compiled code of the main thread calls Python: what that
    handler raises is kept up to the end of the run, unless a library function can raise it.

    Python calls handlers before the first instruction of a function, and nobody would notice if that function is one
    that compiled code calls: the code would use a result that was never set.
    """

    def __init__(self, handler: Callable[..., Any]):
        self._handler = handler

    def __call__(self, *arguments: Any) -> None:
        if _run.is_in_function:
            self._handler(*arguments)
            return
        try:
            self._handler(*arguments)
        except BaseException as e:
            _run.hold(e)

    @staticmethod
    def keep() -> Callable[..., Any] | None:
        """Begin to handle Ctrl-C. Returns the handler before, which is called from now on; None if nothing changes."""
        if threading.get_ident() != threading.main_thread().ident:
            return None
        handler = _signal.getsignal(_signal.SIGINT)
        if isinstance(handler, _Interrupts) or not callable(handler):
            return None
        _signal.signal(_signal.SIGINT, _Interrupts(handler))
        return handler

    @staticmethod
    def end(handler: Callable[..., Any]) -> None:
        """Let the handler be in its place again, unless a library function has set another one."""
        last = _signal.signal(_signal.SIGINT, handler)
        if last is not None and not isinstance(last, _Interrupts):
            _signal.signal(_signal.SIGINT, last)


@once
def stopping() -> Stopping:
    """Return what stops the loops of this process."""
    from relex.runtime.deadlines import has_passed  # Few programs have loops.
    from relex.runtime.stopping import Stopping

    return Stopping(lambda: _run.error is not None or has_passed())


def _reraising(entry: Entry, stopping: Stopping | None) -> Entry:
    def call(*arguments: Any) -> None:
        # A library function may run another executable.
        outer = _run.error, _run.stopping, _run.is_in_function
        _run.error, _run.stopping, _run.is_in_function = None, stopping, False
        handler = None
        try:
            handler = _Interrupts.keep()
            entry(*arguments)
        finally:
            if handler is not None:
                _Interrupts.end(handler)
            error = _run.error
            if stopping is not None and error is not None:
                stopping.count(-1)
            _run.error, _run.stopping, _run.is_in_function = outer
        if error is None:
            return
        _clear_frames(error)
        context = error.__context__
        try:
            raise error
        finally:
            # `raise` has set it to the exception that the caller is handling.
            error.__context__ = context
            del error, context

    return call


def _clear_frames(error: BaseException) -> None:
    """Forget the variables of the frames of an exception: the memory of arrays in them may be gone, and debuggers print
    such variables. No frame that remains refers to the exception, which would keep what the call has allocated."""
    from traceback import clear_frames

    for e in _chain(error, handled=sys.exception()):
        clear_frames(e.__traceback__)


def _chain(error: BaseException, handled: BaseException | None) -> Iterable[BaseException]:
    """Return an exception with all its causes and contexts, up to the one that the caller is handling."""
    found: dict[int, BaseException] = {}
    rest: list[BaseException | None] = [error]
    while rest:
        e = rest.pop()
        if e is not None and e is not handled and id(e) not in found:
            found[id(e)] = e
            rest += [e.__cause__, e.__context__]
    return found.values()


class LateResults:
    """The arrays of results whose sizes a call finds out, by number. Compiled code asks for them while it runs."""

    def __init__(self, signature: Signature, arrays: dict[int, Array] | None = None):
        self._specs = signature.outputs
        self.arrays: dict[int, Array] = {} if arrays is None else arrays

    def __enter__(self) -> Self:
        self._outer, _run.late = _run.late, self
        return self

    def __exit__(self, *_: object) -> None:
        _run.late = self._outer

    def allocate(self, number: int, sizes: int) -> int:
        """Allocate the array of a result, whose sizes are at an address, and return the address of its elements."""
        spec = self._specs[number]
        shape = (ctypes.c_int64 * len(spec.shape)).from_address(sizes)
        self.arrays[number] = array = np.empty(tuple(shape), spec.dtype)
        return array.ctypes.data


@once
def new_result() -> Any:
    """Return the function that compiled code calls for the memory of late results; it gives no address if there is
    none."""

    def allocate(number: int, sizes: int) -> int | None:
        try:
            return _run.late.allocate(number, sizes) if _run.late is not None else None
        except (MemoryError, ValueError, IndexError):
            return None

    return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)(allocate)


@once
def has_memory() -> Any:
    """Return the function that compiled code asks whether a buffer of n bytes can be allocated."""

    def answer(size: int) -> bool:
        try:
            np.empty(size, np.uint8)
        except (MemoryError, ValueError):
            return False
        return True

    return ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_int64)(answer)


def _callback(use: LibraryUse, function: Function) -> Any:
    """Wrap a Python function as a C function; it gets arrays over the caller's memory.

    An exception is raised when the run ends, and calls after it are skipped. The code continues with zeros, which are
    valid wherever it uses numbers as indices, up to the end of a trip of a loop.
    """
    inputs, outputs = _parameters(use.inputs), _parameters(use.outputs)
    count = len(inputs)

    def call(*places: int) -> None:
        results: list[Array] = []
        try:
            results += [read_descriptor(p, *of_one) for p, of_one in zip(places[count:], outputs, strict=True)]
            if _run.error is None:
                arguments = [read_descriptor(p, *of_one) for p, of_one in zip(places[:count], inputs, strict=True)]
                _run.is_in_function = True
                function(*map(LibraryInput.of, arguments), *results)
                _run.is_in_function = False
        except BaseException as e:
            _run.is_in_function = False
            _run.hold(e)
        if _run.error is None:
            return
        for result in results:
            result.fill(0)

    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (count + len(outputs)))(call)


def failure(record: AssertionRecord, index: int) -> BaseException:
    """Return what a call raises in which an assertion has failed: for one that a loop goes on, what has stopped it."""
    if record.message != STOPPED:
        return record.error(index)
    # A library function's exception is raised in place of this one.
    return stopping().raised() or TimeoutError("the deadline of the call has passed")


def _parameters(kinds: Sequence[BufferKind]) -> list[tuple[int, np.dtype[Any]]]:
    """Return the rank and dtype of each buffer."""
    return [(rank, ELEMENTS[element_type].numpy) for rank, element_type in kinds]
