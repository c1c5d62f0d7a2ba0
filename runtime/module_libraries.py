"""The library functions that a module calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects import llvm
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Operation

from relex.dialects.errors import CompileError, Diagnostic, diagnose, fail
from relex.dialects.libraries import LibraryFunction, library_function
from relex.lowering.llvm.c_interface import C_PREFIX
from relex.lowering.llvm.types import PTR
from relex.runtime.callbacks import BufferKind, LibraryUse


def library_uses(module: ModuleOp) -> dict[LibraryUse, Operation]:
    """Return the library functions that a module at the machine level calls, each with its declaration. Fails at one
    that is not called as its name and its buffers say."""
    found = ((library_function(op), op) for op in module.ops if isinstance(op, llvm.FuncOp))
    return {_use(library, op): op for library, op in found if library is not None}


def check_registered(uses: Mapping[LibraryUse, Operation]) -> None:
    """Raise a `CompileError` that names all functions that cannot be called."""
    # The declaration has the location of the first call.
    problems = [
        replace(diagnose(op, problem), message=problem)
        for use, op in uses.items()
        if (problem := use.problem) is not None
    ]
    if problems:
        raise CompileError(_first_of_each(problems))


def _use(library: LibraryFunction, op: llvm.FuncOp) -> LibraryUse:
    symbol, passed = f"{C_PREFIX}{library.symbol}", [PTR] * len((*library.inputs, *library.outputs))
    expected = llvm.LLVMFunctionType(passed)
    if (op.sym_name.data, op.function_type) != (symbol, expected):
        found = f"'{op.sym_name.data}', {op.function_type}"
        fail(op, f"expected library function \"{library.name}\" as '{symbol}', {expected}, found {found}")
    return LibraryUse(library.name, symbol, _kinds(library.inputs), _kinds(library.outputs))


def _kinds(types: Sequence[MemRefType]) -> tuple[BufferKind, ...]:
    return tuple((t.get_num_dims(), str(t.element_type)) for t in types)


def _first_of_each(problems: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return diagnostics in source order, only the first of those with the same message."""
    found: dict[str, Diagnostic] = {}
    for diagnostic in sorted(problems, key=lambda d: (d.file, d.line, d.column)):
        found.setdefault(diagnostic.message, diagnostic)
    return list(found.values())
