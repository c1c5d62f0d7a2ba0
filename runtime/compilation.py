"""From a program to native code in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from relex.dialects.context import make_context
from relex.dialects.features import as_target
from relex.dialects.parser import verify_module
from relex.dialects.sizes import names_in
from relex.dialects.target import Target, set_target
from relex.lowering.llvm.object_code import compile_module
from relex.lowering.llvm.packed_entries import add_packed_entries
from relex.lowering.memory.needs import MemoryNeeds
from relex.lowering.relex_pipeline import pipeline
from relex.passes.base import verify_each
from relex.runtime.cache_key import cache_key
from relex.runtime.callbacks import LibraryUse
from relex.runtime.compile_cache import CacheOption, CompileCache, find_cache
from relex.runtime.executable import Executable
from relex.runtime.module_libraries import check_registered, library_uses
from relex.runtime.module_signatures import buffer_signatures, refusals, signatures
from relex.runtime.program import CompiledProgram
from relex.runtime.signature import Signature
from relex.runtime.sources import AnyProgram, read_program, showing_source

if TYPE_CHECKING:
    from relex.runtime.profile import Profile

Instrument = Callable[[ModulePass, ModuleOp], None]
"""Sees the module in front of each pass, and may change it."""


def build(
    module: AnyProgram,
    *,
    strict: bool = False,
    target: Target | str | None = None,
    cache: CacheOption = None,
) -> Executable:
    """Compile a program for the machine that this process runs on.

    `module` is a module, MLIR text, or the path of an `.mlir` file or of a `.py` file in TVMScript. It stays as it is.
    With `strict`, sums keep the order and the roundings of the plain loop. `target` is a
    `Target`, which may have fewer CPU features than this machine, a triple, or "llvm" for this machine, which is the
    default; the environment variable `RELEX_CPU` names a processor instead.

    `cache` is a folder that keeps what is compiled, or a `CompileCache`. True stands for the folder that the
    environment variable `RELEX_CACHE` names, else `~/.cache/relex`; that is the default if the variable is set, and
    False prevents it.

    Raises `CompileError` for a program that is wrong, or that calls library functions that are not registered, and
    `RelexError` for a file that cannot be read; an object that is no program is a `TypeError` too.
    """
    target = as_target(target)
    program, text = read_program(module)
    source = program.clone() if text is None else program

    def profile(entry: str, args: Sequence[Any], named: Mapping[str, Any]) -> Profile:
        from relex.runtime.profile import profile_program

        def compiled(instrument: Instrument) -> CompiledProgram:
            return compile_program(source, strict=strict, target=target, instrument=instrument)

        return profile_program(compiled, entry, args, named)

    with showing_source(text):
        return Executable(_compiled(program, strict, target, find_cache(cache)), profile=profile)


def _compiled(program: ModuleOp, strict: bool, target: Target | None, cache: CompileCache | None) -> CompiledProgram:
    key = cache_key(program, strict=strict, target=target) if cache is not None else None
    if cache is None or key is None:
        return compile_program(program, strict=strict, target=target)
    found = cache.get(key)
    # A library function that is missing is an error at its place in the program.
    if found is None or any(use.problem for use in found.libraries):
        found = compile_program(program, strict=strict, target=target)
        cache.put(key, found)
    return found


def compile_program(
    program: ModuleOp, *, strict: bool = False, target: Target | None = None, instrument: Instrument | None = None
) -> CompiledProgram:
    """Native code for this process. Raises `CompileError` for library functions that are not registered, too."""
    lowered = lower_program(
        program, strict=strict, target=target, check=check_registered, instrument=instrument, use_generic_functions=True
    )
    add_packed_entries(lowered.module, lowered.signatures)
    return CompiledProgram(compile_module(lowered.module), lowered.signatures, lowered.libraries, refusals(program))


@dataclass(frozen=True)
class LoweredProgram:
    """A module at the machine level, and what those need to know who call it."""

    module: ModuleOp
    signatures: Mapping[str, Signature]
    libraries: tuple[LibraryUse, ...]


def lower_program(
    program: ModuleOp,
    *,
    strict: bool = False,
    target: Target | None = None,
    check: Callable[[Mapping[LibraryUse, Operation]], None] = lambda uses: None,
    instrument: Instrument | None = None,
    use_generic_functions: bool = False,
) -> LoweredProgram:
    """Run the default compilation on a copy of a module, verified where it enters a new level. `check` sees the library
    functions that are called, each with its declaration."""
    module = _prepared(program, target)
    context = make_context()
    interface: Mapping[str, Signature] = {}
    libraries: Mapping[LibraryUse, Operation] = {}
    begun: list[ModulePass] = []
    for level, passes in pipeline(strict=strict, use_generic_functions=use_generic_functions):
        begun += passes
        try:
            for p in passes:
                if instrument is not None:
                    instrument(p, module)
                p.apply(context, module)
            if level != "llvm":
                # What leaves that level, LLVM verifies itself.
                verify_module(module)
        except Exception:
            # Verifying after each pass takes long; it is done only now, to name the one that left a wrong module.
            verify_each(begun, _prepared(program, target))
            raise
        if level == "loops":
            # With all that the lowering so far expects of sizes.
            interface = {**signatures(module), **buffer_signatures(module)}
        if level == "core":
            libraries = library_uses(module)
            check(libraries)
            interface = _with_needs(interface, MemoryNeeds(module))
    return LoweredProgram(module, interface, tuple(libraries))


def _prepared(program: ModuleOp, target: Target | None) -> ModuleOp:
    """A copy to compile for a target."""
    module = program.clone()
    if target is not None:
        set_target(module, target)
    return module


def _with_needs(interface: Mapping[str, Signature], needs: MemoryNeeds) -> Mapping[str, Signature]:
    """The signatures with the memory that functions need as they are compiled."""
    found: dict[str, Signature] = {}
    for name, signature in interface.items():
        told = [size for size in needs.of(name) if signature.names.keys() >= set(names_in(size))]
        found[name] = replace(signature, temporaries=tuple(told))
    return found
