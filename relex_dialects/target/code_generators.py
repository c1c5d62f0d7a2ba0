"""LLVM's code generators, parser and optimizer, used such that LLVM retains no memory of what it has compiled."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache

from relex.dialects.exceptions import UnknownNameError
from relex.dialects.target.llvm_binding import llvm


@cache
def code_generator(triple: str) -> llvm.Target:
    """Return LLVM's code generator for a triple. Raises `UnknownNameError` if there is none."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        return llvm.Target.from_triple(triple)
    except RuntimeError as e:
        raise UnknownNameError(f"no code generator for triple '{triple}': {str(e).strip()}") from e


@cache
def pointer_bits(triple: str) -> int:
    """Return the size of a pointer in bits, which is also the size of C's `size_t`."""
    layout = str(code_generator(triple).create_target_machine().target_data)
    found = re.search(r"(?:^|-)p:(\d+)", layout)
    return int(found[1]) if found else 64


@contextmanager
def parsed_ir(text: str) -> Generator[llvm.ModuleRef]:
    """Parse LLVM IR into a module. The module is freed at the end of the `with` block, together with its types and
    constants: in llvmlite's global context these would stay until the process ends. Raises `RuntimeError` for text that
    is not LLVM IR."""
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        module.verify()
        yield module


def optimize(module: llvm.ModuleRef, machine: llvm.TargetMachine, level: int) -> None:
    """Run LLVM's passes for an optimization level, 0 to 3."""
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=level))
    run_passes(builder.getModulePassManager(), module, builder)


def run_passes(passes: llvm.ModulePassManager, module: llvm.ModuleRef, builder: llvm.PassBuilder) -> None:
    """Run LLVM's passes on a module, and free them."""
    passes.run(module, builder)
    # llvmlite 0.50 has a method for this, but its classes inherit in an order that hides it.
    llvm.ffi.lib.LLVMPY_DisposeNewModulePassManger(passes)
    passes.detach()
