"""Compilation of LLVM IR to object code in this process."""

from __future__ import annotations

import re
from collections.abc import Container, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from relex.dialects.target.code_generators import code_generator, optimize, parsed_ir, run_passes
from relex.dialects.target.llvm_binding import llvm
from relex.dialects.target.machine import Target
from relex.dialects.target.processors import architecture_of, features_of


def optimize_scheduled(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    """Run the passes that a module needs whose loops are in shape, as `is_scheduled` says: LLVM unrolls them and keeps
    tiles in registers. The code is as fast as after `optimize`, which takes three times as long."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.add_loop_simplify_pass()
    passes.add_lcssa_pass()
    passes.add_loop_rotate_pass()
    passes.add_loop_unroll_pass()
    # Tiles are accessed at constant places now. Unrolled iterations become one block before instructions are combined:
    # otherwise each goes to the block of its only user, and sums of many terms are computed one after the other.
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    run_passes(passes, module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1)))


_DEFINED = re.compile(r'^define [^@]*@"?([^"(]+)', re.MULTILINE)
_TARGET = re.compile(r'label %"?([^",]+)')
_CALLED = re.compile(r'call [^@]*@"?([^"(]+)')


def is_scheduled(text: str) -> bool:
    """Return whether all loops in LLVM IR say how they are to be unrolled, as those do that a schedule has shaped, and
    call no function of the module: then there is nothing to vectorize and nothing to inline."""
    defined = set(_DEFINED.findall(text))
    return all(_loops_are_scheduled(body.split("\n"), defined) for body in text.split("\ndefine ")[1:])


def _loops_are_scheduled(lines: Sequence[str], defined: Container[str]) -> bool:
    begins: dict[str, int] = {}
    calls: list[int] = []
    for place, line in enumerate(lines):
        if line.endswith(":"):
            begins[line[:-1].strip('"')] = place
        elif any(name in defined for name in _CALLED.findall(line)):
            calls.append(place)
        for begin in (begins[name] for name in _TARGET.findall(line) if name in begins):
            if "!llvm.loop" not in line or any(begin < call for call in calls):
                return False
    return True


@dataclass(frozen=True)
class CompileJob:
    """LLVM IR, and how it is to be compiled."""

    text: str
    target: Target
    level: int

    def machine(self) -> llvm.TargetMachine:
        """Return the machine to emit code for."""
        # Position-independent WebAssembly is for dynamic loaders, which tell it its address. Linkers do not.
        reloc = "static" if architecture_of(self.target.triple) in ("wasm32", "wasm64") else "pic"
        return code_generator(self.target.triple).create_target_machine(
            cpu=self.target.cpu, features=features_of(self.target), opt=self.level, reloc=reloc, codemodel="default"
        )


@dataclass(frozen=True)
class Emitted:
    """An object file, the functions that it exports, and those that it calls."""

    code: bytes
    functions: tuple[str, ...]
    imports: tuple[str, ...]


_VARIABLE_STRIDE = re.compile(r"= mul (?:\w+ )*i64 %[^,]+, %")
_STORED_ELEMENT = re.compile(r"^  store (?:float|double|half|bfloat|i\d+) %", re.MULTILINE)
_LABEL = re.compile(r"^[^ ].*:", re.MULTILINE)

MANY_STORES = 160
"""The number of stores of computed elements in one block from which LLVM does not look for some to be merged."""

_OPTIONS = Lock()


@contextmanager
def options_for(job: CompileJob, module: llvm.ModuleRef) -> Generator[None]:
    """Let LLVM not do what takes long and makes no code faster while it emits code of a module, which was made from
    the job's text:

    * look for cheaper addresses in loops ("loop strength reduction") whose strides are only known at run time, which
      takes two thirds of the time: addresses are computed outside of loops as far as possible, see
      `relex.lowering.llvm.addresses`. On other processors than x86, whose loads may also advance their address, it
      stays on;
    * merge stores of neighbouring elements where a block stores very many elements one by one, which takes a time that
      grows as the cube of their number, 5 s for 320. They are lanes of vectors that have no neighbours: if they had,
      whole vectors would be stored.
    """
    options: dict[str, str] = {}
    if job.target.triple.startswith("x86") and _VARIABLE_STRIDE.search(job.text):
        options["--disable-lsr=true"] = "--disable-lsr=false"
    if _stores_many_elements(job, module):
        options["--combiner-store-merging=false"] = "--combiner-store-merging=true"
    if not options:
        yield
        return
    with _OPTIONS:  # The whole process has one set of options.
        for option in options:
            llvm.set_option("relex", option)
        try:
            yield
        finally:
            for option in options.values():
                llvm.set_option("relex", option)


def _stores_many_elements(job: CompileJob, module: llvm.ModuleRef) -> bool:
    """Return whether a block of an optimized module stores elements one by one, many of them."""
    if "extractelement" not in job.text or not _STORED_ELEMENT.search(job.text):
        return False
    return any(len(_STORED_ELEMENT.findall(block)) >= MANY_STORES for block in _LABEL.split(str(module)))


def emit(job: CompileJob, module: llvm.ModuleRef, machine: llvm.TargetMachine) -> Emitted:
    """Emit the object file of an optimized module, which was made from the job's text."""
    functions: list[str] = []
    imports: list[str] = []
    for function in module.functions:
        if not function.is_declaration and function.linkage == llvm.Linkage.external:
            functions.append(function.name)
        elif function.is_declaration and not function.name.startswith("llvm."):
            imports.append(function.name)
    with options_for(job, module):
        return Emitted(machine.emit_object(module), tuple(functions), tuple(imports))


def compile_source(source: CompileJob) -> Emitted:
    """Compile LLVM IR to an object file. Raises `RuntimeError` for text that is not LLVM IR."""
    machine = source.machine()
    with parsed_ir(source.text) as module:
        module.data_layout = str(machine.target_data)
        if source.level == 1 and is_scheduled(source.text):
            optimize_scheduled(module, machine)
        else:
            optimize(module, machine, source.level)
        return emit(source, module, machine)
