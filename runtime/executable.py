"""Executables and their functions, called from Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol

import numpy as np

from relex.dialects.exceptions import RelexError, ShapeError
from relex.dialects.json_codec import Buffer
from relex.dialects.signature import Signature, unknown_function
from relex.dialects.target.machine import HAS_MEMORY, LOOPS_BEGIN, NEW_RESULT
from relex.runtime.arguments import argument_reader, bind_arguments, expect_apart, expect_in_place
from relex.runtime.callbacks import LateResults, LibraryCalls, failure
from relex.runtime.container import as_path, write_file
from relex.runtime.descriptors import Shape
from relex.runtime.entry.native import native_entry
from relex.runtime.entry.plans import CallPlan, NativePlans
from relex.runtime.linking import LoadedCode
from relex.runtime.loader import load
from relex.runtime.program import CompiledProgram
from relex.runtime.results import ResultArrays, split_out
from relex.runtime.shapes import ShapeRule

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from relex.dialects.dtypes import Array
    from relex.runtime.profile import Profile


Check = Callable[[], None]
Pack = Callable[[], list[Buffer]]


class Page(Protocol):
    """A page for browsers and notebooks."""

    @property
    def html(self) -> str:
        """The text of the page."""
        ...

    def save(self, path: str | PathLike[str], *, beside: str | PathLike[str] | None = None) -> None:
        """Write the page to a file; beside another page that was saved, with what differs. Raises `RelexError` if
        that is not possible."""
        ...


class BuildOrigin(Protocol):
    """The program and the options that an executable was built from."""

    def profile(self, entry: str, args: Sequence[Any], named: Mapping[str, Any]) -> Profile:
        """Return the profile of a call."""
        ...

    def lowered(self, level: Literal["graph", "loops", "core", "llvm"]) -> ModuleOp:
        """Return the program at a level."""
        ...

    def report(self, profile: Profile | None) -> Page:
        """Return the report of the compilation, and of a profile."""
        ...


class Executable(Mapping[str, "CompiledFunction"]):
    """Native code in this process: a mapping from names to functions.

    `symbols` are the addresses of other symbols that the code uses; `origin` is what it was built from, if that is
    still known; `check` raises if the constants of the program have changed. Raises `RelexError` for code that cannot
    run here, `UnknownNameError` for library functions that are not registered.
    """

    def __init__(
        self,
        program: CompiledProgram,
        *,
        symbols: Mapping[str, int] | None = None,
        origin: BuildOrigin | None = None,
        check: Check | None = None,
    ):
        imports = program.code.imports
        asks = HAS_MEMORY in imports or NEW_RESULT in imports
        library = LibraryCalls(program.libraries, has_loops=LOOPS_BEGIN in imports, asks=asks)
        code = load(program.code, {**library.symbols, **(symbols or {})})
        program = _with_constants(program, code)
        self._program = program
        self._origin = origin
        self._pack = partial(_pack, program, check)
        loaded = _Loaded(self._pack, code, library, check)
        self._functions = {name: _compiled_function(loaded, s) for name, s in program.signatures.items()}

    def save(self, path: str | PathLike[str]) -> None:
        """Write a file that `relex.load` reads. Raises `RelexError` if that is not possible."""
        write_file(as_path(path), self._pack())

    def __reduce__(self) -> tuple[Callable[[bytes], Executable], tuple[bytes]]:
        return _unpickle, (b"".join(self._pack()),)

    def profile(self, /, *args: Any, entry: str = "main", **named: Any) -> Profile:
        """Measure the time spent in loop functions and library functions during a call with these arguments.

        The first time, compiles the program once more, with time stamps around calls, and keeps it. Runs it several
        times, library functions included. `print` shows the result as a table. Raises what the function raises, and
        `RelexError` for an executable that was loaded or unpickled: only one from `build` has its source program.
        """
        self[entry]
        return self._built_from("profile").profile(entry, args, named)

    def report(self, /, *args: Any, entry: str = "main", **named: Any) -> Page:
        """Return a page that shows how the program was compiled: the passes and what each of them changed, graphs,
        schedules, memory and assembly. With arguments, it also shows how long each of the calls takes that the function
        makes when it is called with them.

        Jupyter and marimo show it; `report.save(path)` writes it to a file. Compiles the program once more. Raises
        what `profile` raises.
        """
        if args or named or entry != "main":
            self[entry]  # A report without times needs no function of this name.
        origin = self._built_from("report")
        return origin.report(origin.profile(entry, args, named) if args or named else None)

    def ir(self, level: Literal["graph", "loops", "core", "llvm"] = "loops") -> ModuleOp:
        """Return the program as it was at a level of the compilation, as a new module; `relex.show` prints it. Raises
        `RelexError` for another level, and for an executable that was loaded."""
        if level not in (levels := ("graph", "loops", "core", "llvm")):
            raise RelexError(f"expected one of {', '.join(levels)}, found {level!r}")
        return self._built_from("ir").lowered(level)

    def asm(self, function: str | None = None) -> str:
        """Return the assembly of all functions, or of one: a function of the program, or a loop function as
        `ir("core")` names them. Raises `UnknownNameError` if there is no such function, and `RelexError` for an
        executable that was loaded."""
        from relex.lowering.llvm.assembly import split_assembly
        from relex.lowering.llvm.object_code import compile_to_assembly

        text = compile_to_assembly(self._built_from("asm").lowered("llvm"), embed_constants=False)
        if function is None:
            return text
        found = split_assembly(text)
        if function not in found:
            raise unknown_function(function, found, {})
        return found[function]

    def _built_from(self, what: str) -> BuildOrigin:
        if self._origin is None:
            raise RelexError(
                f"{what}(): expected an executable from 'build', found one that was loaded, without its program"
            )
        return self._origin

    def __repr__(self) -> str:
        return "\n".join(["<executable>", *(f"  {f.signature}" for f in self._functions.values())])

    def _repr_html_(self) -> str:
        from relex.extras import find_part

        return find_part("html-of-functions")([f.signature for f in self._functions.values()], "executable")

    def __getitem__(self, name: str) -> CompiledFunction:
        if name not in self._functions:
            raise unknown_function(name, self._functions, self._program.reasons)
        return self._functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)


def _with_constants(program: CompiledProgram, loaded: LoadedCode) -> CompiledProgram:
    """Return a program with the constants that its loaded code reads. The bytes that they were copied from, maybe
    hundreds of megabytes, need not be kept."""
    pairs = zip(program.code.constants, loaded.constants, strict=True)
    return replace(program, code=replace(program.code, constants={name: buffer.data for name, buffer in pairs}))


def _pack(program: CompiledProgram, check: Check | None) -> list[Buffer]:
    """Return the contents of a file that holds the program, in pieces."""
    if check is not None:
        check()
    return program.pack()


def _unpickle(data: bytes) -> Executable:
    return Executable(CompiledProgram.unpack(memoryview(data)))


def _unpickle_function(data: bytes, name: str) -> CompiledFunction:
    return _unpickle(data)[name]


@dataclass(frozen=True)
class _Loaded:
    """The state shared by the functions of an executable. It keeps the machine code, its constants and its callees
    alive."""

    pack: Pack
    code: LoadedCode
    library: LibraryCalls
    check: Check | None


class CompiledFunction:
    """A native function on arrays.

    Arguments are NumPy arrays, or objects with DLPack or the buffer protocol, of exactly the shapes and dtypes of the
    signature, by position or by name. Scalars are Python numbers of the same kind, or NumPy scalars of exactly the
    dtype. Dynamic sizes must be consistent. Results are one array, a tuple of several, or None: new arrays, or those
    passed as `out`, an array or a tuple; scalars are NumPy scalars. Raises `ArityError`, `DTypeError`, `RangeError`,
    `ShapeError` and `OverlapError` for invalid arguments, before anything runs; `AssertionFailedError` and
    `IndexRangeError` for an assertion of the program that fails; and what a library function raises. Library functions
    after that in the program are not called. Calls from several threads may overlap.

    A call changes an argument whose place a result takes, and does not return that result. Such an argument must be
    writable and share no memory with others. A function on buffers, at the core level, takes all of them as arguments
    and writes into them.

    Pickling a function pickles its whole program: to send several functions, send the executable.
    """

    def __init__(self, loaded: _Loaded, signature: Signature):
        self.signature = signature
        self._loaded = loaded
        self._plans_of_shapes = ShapeRule(signature, partial(CallPlan, signature))
        self._readers = [argument_reader(spec, signature.name) for spec in signature.inputs]
        self._results = ResultArrays(signature)
        self._has_late = bool(signature.late)
        self._changes = any(spec.is_inout for spec in signature.inputs)
        entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(loaded.code.address(signature.symbol))
        self._enter = loaded.library.guard(entry)

    def _call_checked(self, /, *args: Any, **named: Any) -> Any:
        signature, out = self.signature, None
        if named:
            named, out = split_out(signature, named)
        values = bind_arguments(signature, args, named) if named or len(args) != len(signature.inputs) else args
        inputs = [read(value) for read, value in zip(self._readers, values, strict=True)]
        if signature.writes_inputs:
            expect_in_place(signature, inputs, values)
        if self._changes:
            expect_apart(signature, inputs)
        plan = self._plan(inputs)
        shapes = plan.shapes[len(inputs) :]
        outputs = self._results.fresh(shapes) if out is None else self._results.given(out, shapes, inputs)
        if not self._has_late:
            plan.run(self._enter, [*inputs, *outputs])
            return self._results.returned(outputs)
        with LateResults(signature) as late:
            plan.run(self._enter, [*inputs, *outputs])
        return self._results.returned(outputs, late.arrays)

    __call__ = _call_checked

    def _plan(self, inputs: Sequence[Array]) -> CallPlan:
        # Native calls with known shapes bypass this.
        if self._loaded.check is not None:
            self._loaded.check()
        return self._plans_of_shapes(inputs)

    def by_address(
        self, shapes: Sequence[Shape], fixed: Mapping[int, int]
    ) -> tuple[Sequence[Shape], Callable[[Iterable[int]], None]]:
        """Return the shapes of the results for arguments of these shapes, and a call that takes the addresses of
        buffers: of the arguments but for the `fixed` ones, which have an address by their place, and of the results.
        The call works as long as this function is kept.

        Whoever calls it answers for the buffers: that they are aligned, row-major, and large enough, that booleans are
        0 or 1, and that results share no memory. Raises `ShapeError` for shapes that the function does not take, and
        `RelexError` if it takes or returns numbers, returns late results, or writes its arguments.
        """
        signature = self.signature
        specs = (*signature.inputs, *signature.outputs)
        if signature.writes_inputs or signature.late or any(spec.is_scalar for spec in specs):
            raise RelexError(f"{signature.name}(): expected a function from tensors to tensors")
        for spec, shape in zip(signature.inputs, shapes, strict=True):
            if not spec.fits(shape):
                raise ShapeError(f"{signature.name}() argument '{spec.name}': expected another shape than {shape}")
        # Only the shapes of these arrays are read: they have one element of memory.
        plan = self._plan([np.broadcast_to(np.empty((), np.uint8), shape) for shape in shapes])
        return plan.shapes[len(shapes) :], plan.by_address(self._enter, fixed)

    def __reduce__(self) -> tuple[Callable[[bytes, str], CompiledFunction], tuple[bytes, str]]:
        return _unpickle_function, (b"".join(self._loaded.pack()), self.signature.name)

    def __repr__(self) -> str:
        return f"<compiled {self.signature}>"

    def _repr_html_(self) -> str:
        from relex.extras import find_part

        return find_part("html-of-signature")(self.signature, "compiled function")


class _NativeCalls(CompiledFunction):
    """A `CompiledFunction` that enters compiled code directly when a call matches an earlier one."""

    _entry: int
    _plans: int

    def __init__(self, loaded: _Loaded, signature: Signature, entry: int):
        super().__init__(loaded, signature)
        address = loaded.code.address(signature.symbol)
        self._native = NativePlans(address, signature)
        self._entry = entry

    def _plan(self, inputs: Sequence[Array]) -> CallPlan:
        plan = super()._plan(inputs)
        self._native.offer(plan, self)
        return plan

    def _raise_failure(self, number: int, index: int) -> NoReturn:
        raise failure(self.signature.failures[number - 1], index)


@cache
def _native_class(native: type) -> Callable[..., CompiledFunction]:
    return type(
        "CompiledFunction", (native, _NativeCalls), {"__module__": __name__, "__doc__": CompiledFunction.__doc__}
    )


def _compiled_function(loaded: _Loaded, signature: Signature) -> CompiledFunction:
    """Make a function of compiled code. If it calls Python anyway, native calls gain nothing; and they do not check
    the arguments of a function on buffers, which writes all of them; nor do they allocate late results."""
    in_python = loaded.library.calls_python or signature.writes_inputs or signature.late
    entry = None if in_python else native_entry()
    if entry is None:
        return CompiledFunction(loaded, signature)
    return _native_class(entry.type)(loaded, signature, entry.address)
