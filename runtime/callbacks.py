"""How compiled code reaches library functions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from threading import local
from traceback import clear_frames
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Operation

from relex.dialects.dtypes import numpy_dtype
from relex.dialects.errors import CompileError, Diagnostic, DTypeError, diagnose
from relex.dialects.libraries import LibraryFunction, library_function
from relex.runtime.descriptors import read_descriptor
from relex.runtime.library import LIBRARY, CFunction, Function, LibraryInput, not_registered

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array

Entry = Callable[..., None]


class LibraryCalls:
    """The library functions that a program calls, as they are registered now, in a form that native code can call.

    `symbols` are the addresses for the names that the code calls them by. They are valid as long as this object.
    """

    def __init__(self, functions: Mapping[str, tuple[LibraryFunction, Function]]):
        self._callbacks = {
            symbol: _callback(library, function)
            for symbol, (library, function) in functions.items()
            if not isinstance(function, CFunction)
        }
        self._functions = functions
        self.symbols = {
            symbol: function.address if isinstance(function, CFunction) else _address(self._callbacks[symbol])
            for symbol, (_, function) in functions.items()
        }

    @classmethod
    def of(cls, module: ModuleOp) -> LibraryCalls:
        """Those of a module at the core level. Raises `CompileError` that names all that are not registered."""
        functions: dict[str, tuple[LibraryFunction, Function]] = {}
        problems: list[Diagnostic] = []
        for op in module.ops:
            library = library_function(op)
            if library is None:
                continue
            problem = _problem(op, library)
            if problem is not None:
                problems.append(problem)
            else:
                functions[f"_mlir_ciface_{library.symbol}"] = library, LIBRARY[library.name]
        if problems:
            raise CompileError(_first_of_each(problems))
        return cls(functions)

    def guard(self, entry: Entry) -> Entry:
        """A native function that raises what library functions raise while it runs."""
        return _reraising(entry) if self._callbacks else entry


def _first_of_each(problems: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Diagnostics in the order of the text; of those that say the same, the first."""
    found: dict[str, Diagnostic] = {}
    for diagnostic in sorted(problems, key=lambda d: (d.file, d.line, d.column)):
        found.setdefault(diagnostic.message, diagnostic)
    return list(found.values())


def _problem(op: Operation, library: LibraryFunction) -> Diagnostic | None:
    """Why a library function cannot be called."""
    if library.name not in LIBRARY:
        text = not_registered(library.name)
    elif isinstance(LIBRARY[library.name], CFunction):
        return None
    else:
        try:
            _parameters(library.inputs + library.outputs)
        except DTypeError as e:
            text = f'cannot call library function "{library.name}" in Python: {e}'
        else:
            return None
    # The declaration stands where the first call stood.
    return replace(diagnose(op, text), message=text)


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
        # The memory behind the arrays in these frames may be gone, and debuggers print such variables.
        clear_frames(error.__traceback__)
        try:
            raise error
        finally:
            del error

    return call


def _callback(library: LibraryFunction, function: Function) -> Any:
    """A function of C that calls one in Python, with arrays on the memory of the caller.

    An exception waits until the run is over, and calls after it are skipped. The code goes on with zeros, which are
    right wherever it takes numbers as indices.
    """
    inputs, outputs = _parameters(library.inputs), _parameters(library.outputs)
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


def _parameters(types: Sequence[MemRefType]) -> list[tuple[int, np.dtype[Any]]]:
    """The rank and dtype of each buffer. Raises `DTypeError` for one whose elements NumPy does not have."""
    return [(t.get_num_dims(), numpy_dtype(t.element_type)) for t in types]


def _address(callback: Any) -> int:
    return ctypes.cast(callback, ctypes.c_void_p).value or 0
