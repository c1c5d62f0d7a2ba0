"""Compiled functions that can be called."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from relex.runtime.arguments import ArgumentReader, bind_arguments
from relex.runtime.callbacks import LibraryCalls
from relex.runtime.container import write_file
from relex.runtime.descriptors import address_of, descriptor
from relex.runtime.loader import LoadedCode, load
from relex.runtime.program import CompiledProgram
from relex.runtime.results import ResultArrays, as_returned, split_out
from relex.runtime.shapes import Shape, ShapeRule
from relex.runtime.signature import Signature, unknown_function

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array


class Executable(Mapping[str, "CompiledFunction"]):
    """Native code in this process: a mapping from the names of functions to functions.

    Raises `RelexError` for code that cannot run here, `UnknownNameError` for library functions that nobody registered.
    """

    def __init__(self, program: CompiledProgram):
        library = LibraryCalls(program.libraries)
        code = load(program.code, library.symbols)
        self._program = program
        self._functions = {
            name: CompiledFunction(code, signature, library) for name, signature in program.signatures.items()
        }

    def save(self, path: str | PathLike[str]) -> None:
        """Write a file that `relex.runtime.load` reads. Raises `RelexError` when that is not possible."""
        write_file(Path(path), self._program.pack())

    def __reduce__(self) -> tuple[Callable[[bytes], Executable], tuple[bytes]]:
        return _unpickle, (b"".join(self._program.pack()),)

    def __getitem__(self, name: str) -> CompiledFunction:
        if name not in self._functions:
            raise unknown_function(name, self._functions, self._program.reasons)
        return self._functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)


def _unpickle(data: bytes) -> Executable:
    return Executable(CompiledProgram.unpack(memoryview(data)))


@dataclass(frozen=True)
class _Plan:
    """What all calls with the same shapes have in common: the shapes of the results, a frame of descriptors in which
    only addresses are missing, and where in it each begins."""

    results: Sequence[Shape]
    frame: Array
    offsets: list[int]


class CompiledFunction:
    """A native function on arrays.

    Arguments are NumPy arrays, or anything with DLPack, of exactly the shapes and dtypes of the signature, in order or
    by name. Sizes that are known at run time must fit each other. Results are one array, a tuple of several, or None:
    fresh ones, or those passed as `out`, an array or a tuple. Raises `ArityError`, `DTypeError`, `ShapeError` and
    `OverlapError` for wrong arguments, before anything runs, and what a library function raises; those that come after
    it in the program are not called. Threads may call it at the same time.
    """

    def __init__(self, code: LoadedCode, signature: Signature, library: LibraryCalls):
        self.signature = signature
        self._alive = code, library  # The machine code, its constants, and what it calls.
        self._plan = ShapeRule(signature, self._plan_call)
        self._readers = [ArgumentReader(spec, signature.name) for spec in signature.inputs]
        self._results = ResultArrays(signature)
        prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(signature.inputs) + len(signature.outputs)))
        self._entry = library.guard(prototype(code.address(signature.symbol)))

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        signature, out = self.signature, None
        if named:
            named, out = split_out(signature, named)
        values = bind_arguments(signature, args, named) if named or len(args) != len(signature.inputs) else args
        inputs = [read(value) for read, value in zip(self._readers, values, strict=True)]
        plan = self._plan(inputs)
        fresh = out is None
        outputs = self._results.fresh(plan.results) if fresh else self._results.given(out, plan.results, inputs)
        self._run(plan, [*inputs, *outputs])
        return as_returned(outputs)

    def _plan_call(self, shapes: Sequence[Shape]) -> _Plan:
        descriptors = [descriptor(shape) for shape in shapes]
        frame = np.array([word for d in descriptors for word in d], dtype=np.int64)
        offsets = np.cumsum([0, *map(len, descriptors)])[: len(shapes)].tolist()
        return _Plan(shapes[len(self.signature.inputs) :], frame, offsets)

    def _run(self, plan: _Plan, arrays: Sequence[Array]) -> None:
        # One block of memory holds the descriptors of all arrays, so that threads share nothing.
        frame = plan.frame.copy()
        base = address_of(frame)
        for offset, array in zip(plan.offsets, arrays, strict=True):
            frame[offset] = frame[offset + 1] = address_of(array)
        self._entry(*[base + 8 * offset for offset in plan.offsets])

    def __repr__(self) -> str:
        return f"<compiled {self.signature}>"
