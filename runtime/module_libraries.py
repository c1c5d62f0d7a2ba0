"""The library functions that a module calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Operation

from relex.dialects.errors import CompileError, Diagnostic, diagnose
from relex.dialects.libraries import LibraryFunction, library_function
from relex.lowering.llvm.c_interface import C_PREFIX
from relex.runtime.callbacks import BufferKind, LibraryUse


def library_uses(module: ModuleOp) -> dict[LibraryUse, Operation]:
    """Return the library functions that a module at the core level calls, each with its declaration."""
    found = ((library_function(op), op) for op in module.ops)
    return {_use(library): op for library, op in found if library is not None}


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


def _use(library: LibraryFunction) -> LibraryUse:
    return LibraryUse(library.name, f"{C_PREFIX}{library.symbol}", _kinds(library.inputs), _kinds(library.outputs))


def _kinds(types: Sequence[MemRefType]) -> tuple[BufferKind, ...]:
    return tuple((t.get_num_dims(), str(t.element_type)) for t in types)


def _first_of_each(problems: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return diagnostics in source order, only the first of those with the same message."""
    found: dict[str, Diagnostic] = {}
    for diagnostic in sorted(problems, key=lambda d: (d.file, d.line, d.column)):
        found.setdefault(diagnostic.message, diagnostic)
    return list(found.values())
