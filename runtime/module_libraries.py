"""The library functions that a module calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import MemRefType, ModuleOp

from relex.dialects.errors import CompileError, Diagnostic, diagnose
from relex.dialects.libraries import LibraryFunction, library_function
from relex.runtime.callbacks import BufferKind, LibraryUse


def library_uses(module: ModuleOp) -> list[LibraryUse]:
    """What a module at the core level calls. Raises `CompileError` that names all that cannot be called."""
    uses: list[LibraryUse] = []
    problems: list[Diagnostic] = []
    for op in module.ops:
        library = library_function(op)
        if library is None:
            continue
        uses.append(_use(library))
        if (problem := uses[-1].problem) is not None:
            # The declaration stands where the first call stood.
            problems.append(replace(diagnose(op, problem), message=problem))
    if problems:
        raise CompileError(_first_of_each(problems))
    return uses


def _use(library: LibraryFunction) -> LibraryUse:
    symbol = f"_mlir_ciface_{library.symbol}"
    return LibraryUse(library.name, symbol, _kinds(library.inputs), _kinds(library.outputs))


def _kinds(types: Sequence[MemRefType]) -> tuple[BufferKind, ...]:
    return tuple((t.get_num_dims(), str(t.element_type)) for t in types)


def _first_of_each(problems: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Diagnostics in the order of the text; of those that say the same, the first."""
    found: dict[str, Diagnostic] = {}
    for diagnostic in sorted(problems, key=lambda d: (d.file, d.line, d.column)):
        found.setdefault(diagnostic.message, diagnostic)
    return list(found.values())
