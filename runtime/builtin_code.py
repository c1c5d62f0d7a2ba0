"""Machine code of relex's own LLVM IR, such as `entry.ll`: compiled once, and kept in the user's cache."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from hashlib import sha256

from relex.dialects.exceptions import RelexError
from relex.dialects.target.llvm_binding import llvm
from relex.dialects.target.machine import Target
from relex.runtime.compile_cache import usable_cache
from relex.runtime.container import pack, unpack

SUFFIX = ".code"
"""The suffix of files with such code."""

LEVEL = 2
"""The effort of code generation. Before it, functions that request it are inlined; nothing else is optimized."""


def machine_code(text: str) -> bytes:
    """Return the object file of LLVM IR for any processor of this kind. Most processes need some of relex's own, and
    LLVM would take longer for it than for all else between the start and the first result of a saved program."""
    if (cache := usable_cache()) is None:
        return compiled(text)
    facts = text, LEVEL, llvm.get_process_triple(), llvm.llvm_version_info
    key = sha256("\n".join(map(str, facts)).encode()).hexdigest()
    if (found := cache.read(key, SUFFIX, partial(unpack, bytes))) is not None:
        return found
    code = compiled(text)
    # Where it cannot be stored, it is compiled again the next time.
    with suppress(RelexError, OSError):
        cache.write({f"{key}{SUFFIX}": pack(code)})
    return code


def compiled(text: str, target: Target | None = None) -> bytes:
    """Compile LLVM IR to an object file, for a target or for any processor of this kind."""
    # Most processes find the code in the cache.
    from relex.dialects.target.code_generators import optimize, parsed_ir
    from relex.lowering.llvm.code_generator.compile_ir import CompileJob

    initialize()
    with parsed_ir(text) as module:
        machine = _machine() if target is None else CompileJob(text, target, LEVEL).machine()
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        optimize(module, machine, 0)
        return machine.emit_object(module)


def _machine() -> llvm.TargetMachine:
    generator = llvm.Target.from_triple(llvm.get_process_triple())
    return generator.create_target_machine(opt=LEVEL, reloc="pic", codemodel="default")


def initialize() -> None:
    """Make LLVM's code generator for this processor available."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
