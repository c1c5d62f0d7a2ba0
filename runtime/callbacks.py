"""How compiled code reaches library functions."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from threading import local
from traceback import clear_frames
from typing import TYPE_CHECKING, Any

import numpy as np

from relex.dialects.exceptions import UnknownNameError
from relex.dialects.machine import NUMPY_NAMES
from relex.runtime.descriptors import read_descriptor
from relex.runtime.library import LIBRARY, CFunction, Function, LibraryInput, not_registered

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array

Entry = Callable[..., None]

BufferKind = tuple[int, str]
"""The rank and the element type of a buffer."""


@dataclass(frozen=True)
class LibraryUse:
    """A library function that code calls by `symbol`, with buffers of these kinds: inputs, then outputs to fill."""

    name: str
    symbol: str
    inputs: tuple[BufferKind, ...]
    outputs: tuple[BufferKind, ...]

    @property
    def problem(self) -> str | None:
        """Why it cannot be called as things are now."""
        if self.name not in LIBRARY:
            return not_registered(self.name)
        if isinstance(LIBRARY[self.name], CFunction):
            return None
        strange = next((t for _, t in (*self.inputs, *self.outputs) if t not in NUMPY_NAMES), None)
        if strange is None:
            return None
        return f'cannot call library function "{self.name}" in Python: element type {strange} has no NumPy equivalent'


class LibraryCalls:
    """The library functions that code calls, as they are registered now, in a form that native code can call.

    `symbols` are the addresses for the names that the code calls them by. They are valid as long as this object.
    Raises `UnknownNameError` that names all functions that cannot be called.
    """

    def __init__(self, uses: Iterable[LibraryUse]):
        uses = list(uses)
        if problems := dict.fromkeys(problem for use in uses if (problem := use.problem) is not None):
            raise UnknownNameError("\n".join(problems))
        self._functions = {use.symbol: LIBRARY[use.name] for use in uses}
        self._callbacks = {
            use.symbol: _callback(use, self._functions[use.symbol])
            for use in uses
            if not isinstance(self._functions[use.symbol], CFunction)
        }
        self.symbols = {
            symbol: function.address if isinstance(function, CFunction) else _address(self._callbacks[symbol])
            for symbol, function in self._functions.items()
        }

    @property
    def calls_python(self) -> bool:
        """Whether there are functions in Python among them."""
        return bool(self._callbacks)

    def guard(self, entry: Entry) -> Entry:
        """A native function that raises what library functions raise while it runs."""
        return _reraising(entry) if self.calls_python else entry


class _Run(local):
    """What happened in this thread during the run of native code that is innermost."""

    error: BaseException | None = None


_run = _Run()


def _reraising(entry: Entry) -> Entry:
    def call(*arguments: Any) -> None:
        # A library function may run another executable.
        outer, _run.error = _run.error, None
        try:
            entry(*arguments)
            error = _run.error
        finally:
            _run.error = outer
        if error is None:
            return
        for e in _chain(error, handled=sys.exception()):
            # The memory behind the arrays in these frames may be gone, and debuggers print such variables.
            clear_frames(e.__traceback__)
        context = error.__context__
        try:
            raise error
        finally:
            # Raising it has put there what the caller handles.
            error.__context__ = context
            del error, context

    return call


def _chain(error: BaseException, handled: BaseException | None) -> Iterable[BaseException]:
    """An exception, and all that led to it, up to the one that the caller handles."""
    found: dict[int, BaseException] = {}
    rest: list[BaseException | None] = [error]
    while rest:
        e = rest.pop()
        if e is not None and e is not handled and id(e) not in found:
            found[id(e)] = e
            rest += [e.__cause__, e.__context__]
    return found.values()


def _callback(use: LibraryUse, function: Function) -> Any:
    """A function of C that calls one in Python, with arrays on the memory of the caller.

    An exception waits until the run is over, and calls after it are skipped. The code goes on with zeros, which are
    right wherever it takes numbers as indices.
    """
    inputs, outputs = _parameters(use.inputs), _parameters(use.outputs)
    count = len(inputs)

    def call(*places: int) -> None:
        results: list[Array] = []
        try:
            results += [read_descriptor(p, *of_one) for p, of_one in zip(places[count:], outputs, strict=True)]
            if _run.error is None:
                arguments = [read_descriptor(p, *of_one) for p, of_one in zip(places[:count], inputs, strict=True)]
                function(*map(LibraryInput.of, arguments), *results)
                return
        except BaseException as e:
            _run.error = e
        for result in results:
            result.fill(0)

    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (count + len(outputs)))(call)


def _parameters(kinds: Sequence[BufferKind]) -> list[tuple[int, np.dtype[Any]]]:
    """The rank and dtype of each buffer."""
    return [(rank, np.dtype(NUMPY_NAMES[element_type])) for rank, element_type in kinds]


def _address(callback: Any) -> int:
    return ctypes.cast(callback, ctypes.c_void_p).value or 0
