"""Compilation of the LLVM dialect to object code, by LLVM."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from relex.dialects.errors import CompileError, Diagnostic, RelexError
from relex.dialects.target.code_generators import optimize, parsed_ir
from relex.dialects.target.features import check_target, module_target, used_features
from relex.dialects.target.llvm_binding import llvm
from relex.dialects.target.machine import ObjectCode, Target
from relex.lowering.llvm.code_generator.compile_ir import CompileJob, Emitted, emit, options_for
from relex.lowering.llvm.translate import translate

DEFAULT_LEVEL = 1
"""LLVM's optimization level, 0 to 3 as in `clang -O2`; from 1 on it vectorizes the remaining loops. Level 2 takes a
third longer and makes no kernel faster, since relex has already shaped the loops."""


def compile_module(
    module: ModuleOp,
    *,
    opt_level: int = DEFAULT_LEVEL,
    embed_constants: bool = False,
    names: Mapping[str, str] | None = None,
) -> ObjectCode:
    """Compile a module of the LLVM dialect for the target that it names, or for the host.

    `opt_level` is 0 to 3; see `DEFAULT_LEVEL`. With `embed_constants` the code contains every constant and needs no
    symbols but the C library's. With `names`, only the functions that it maps are exported, under their new
    names; external functions that the code calls keep theirs.

    Raises `CompileError` at an op that is not of the LLVM dialect, `UnknownNameError` for an unknown triple or cpu,
    `RelexError` for another level.
    """
    with _compiled(module, opt_level, embed_constants, names) as compiled:
        emitted = emit(compiled.job, compiled.module, compiled.machine)
        return object_code(emitted, compiled.job.target, compiled.constants)


def compile_to_assembly(module: ModuleOp, *, opt_level: int = DEFAULT_LEVEL, embed_constants: bool = True) -> str:
    """Compile like `compile_module`, but return the assembly as text."""
    with _compiled(module, opt_level, embed_constants) as compiled:
        with options_for(compiled.job, compiled.module):
            return compiled.machine.emit_assembly(compiled.module)


@dataclass(frozen=True)
class _Compiled:
    """An optimized module in LLVM's memory, what it was made from, and the machine to emit code for."""

    job: CompileJob
    module: llvm.ModuleRef
    machine: llvm.TargetMachine
    constants: Mapping[str, bytes]


def object_code(emitted: Emitted, target: Target, constants: Mapping[str, bytes]) -> ObjectCode:
    """Return what the loader needs to know of an object file."""
    code = (emitted.code,)
    return ObjectCode(code, emitted.functions, emitted.imports, constants, target, used_features(target))


@contextmanager
def refusing() -> Generator[None]:
    """Turn LLVM's errors into `CompileError`."""
    try:
        yield
    except RuntimeError as e:
        raise CompileError(Diagnostic(f"LLVM refuses the module: {str(e).strip()}")) from e


@contextmanager
def _compiled(
    module: ModuleOp, opt_level: int, embed_constants: bool, names: Mapping[str, str] | None = None
) -> Generator[_Compiled]:
    if opt_level not in range(4):
        raise RelexError(f"expected an optimization level of 0 to 3, found {opt_level}")
    target = module_target(module)
    check_target(target)
    translation = translate(module, triple=target.triple, embed_constants=embed_constants)
    job = CompileJob(translation.text, target, opt_level)
    machine = job.machine()
    with ExitStack() as stack:
        with refusing():
            parsed = stack.enter_context(parsed_ir(translation.text))
        parsed.data_layout = str(machine.target_data)
        if names is not None:
            _rename(parsed, names)
        optimize(parsed, machine, opt_level)
        yield _Compiled(job, parsed, machine, translation.constants)


def _rename(module: llvm.ModuleRef, names: Mapping[str, str]) -> None:
    """Rename the functions to export, and make all others internal, before LLVM removes unused internal ones. Weak ones
    are for a linker to replace."""
    for value in (*module.functions, *module.global_variables):
        if value.name in names:
            value.name = names[value.name]
        elif not value.is_declaration and value.linkage != llvm.Linkage.weak_any:
            value.linkage = llvm.Linkage.internal
