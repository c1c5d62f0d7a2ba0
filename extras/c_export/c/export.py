"""Export of programs as object files for C and C++."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike

from relex.dialects.exceptions import RelexError
from relex.dialects.signature import Signature
from relex.dialects.symbols import symbol_of
from relex.dialects.target.features import as_target
from relex.dialects.target.machine import Target
from relex.lowering.llvm.c_interface import C_PREFIX
from relex.lowering.llvm.object_code import compile_module
from relex.passes.driver.extension import AnyExtension
from relex.runtime.c.header import c_header
from relex.runtime.c.late_results import ask_allocator, ask_caller
from relex.runtime.c.names import CNames
from relex.runtime.compilation import lower_program
from relex.runtime.container import as_path, write_file
from relex.runtime.sources import AnyProgram, read_program, showing_source
from relex.runtime.threads.objects import THREADS_FILE, threads_object

OBJECT_SUFFIX = ".o"


def build_object(
    module: AnyProgram,
    path: str | PathLike[str],
    *,
    strict: bool = False,
    target: Target | str | None = None,
    passes: Iterable[AnyExtension] = (),
    threads: bool = False,
    approximate: bool = False,
) -> None:
    """Compile a program to an object file, `path`, and write a header for C and C++ next to it.

    All names are prefixed with the file's: `model.o` and `model.h` define `model_main`. The object file contains the
    constants; it needs the C library (`-lm`), and the library functions that the program calls, which the header
    declares. `module`, `strict`, `target`, `passes` and `approximate` are as in `build`; `target` may be any machine.

    Parallel loops run in the calling thread, unless a program is also linked with `relex_threads.o`: with `threads`,
    that file is written next to the others.

    Raises `CompileError` for an invalid program, `RelexError` for files that cannot be written, or if the target has no
    threads that relex can start.
    """
    path = as_path(path)
    if path.suffix != OBJECT_SUFFIX:
        raise RelexError(f"{path}: expected the name of an object file to end with {OBJECT_SUFFIX}")
    target = as_target(target)
    program, text = read_program(module)
    with showing_source(text):
        lowered = lower_program(program, strict=strict, target=target, passes=passes, approximate=approximate)
        # Functions on buffers are exported only if they ask for a C interface.
        symbols = {symbol_of(op) for op in lowered.module.ops}
        signatures = [s for s in lowered.signatures.values() if C_PREFIX + s.name in symbols or _is_on_numbers(s)]
        ask_caller(lowered.module)
        ask_allocator(lowered.module)
        libraries = tuple(lowered.libraries)
        names = CNames(path.stem, signatures, libraries)
        compiled = compile_module(lowered.module, embed_constants=True, names=names.symbols)
    pool = threads_object(compiled.target) if threads else None
    header = c_header(names, signatures, libraries, compiled.target)
    write_file(path, [compiled.code])
    write_file(path.with_suffix(".h"), [header.encode()])
    if pool is not None:
        write_file(path.with_name(THREADS_FILE), [pool])


def _is_on_numbers(signature: Signature) -> bool:
    """Return whether a function takes and returns numbers alone, besides results whose memory it asks for."""
    return all(spec.is_scalar for spec in signature.framed)
