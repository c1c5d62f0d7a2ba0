"""Compilation of programs to native code in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from relex.dialects.context import make_context
from relex.dialects.function_arguments import PASSED_ATTR
from relex.dialects.parser import verify_module
from relex.dialects.schedule import SequenceOp
from relex.dialects.signature import Signature
from relex.dialects.table import entered_by_others, is_own
from relex.dialects.target.features import as_target
from relex.dialects.target.target_attribute import Target, set_target
from relex.extras import find_part
from relex.lowering.kernels.alone import add_constants
from relex.lowering.kernels.loop_kernels import NotKnownError
from relex.lowering.llvm.interface import entry_signatures
from relex.lowering.llvm.parts import compile_each, compile_parts
from relex.lowering.llvm.pool_allocations import PoolAllocationsPass
from relex.lowering.llvm.split_kernels import SplitKernelsPass
from relex.lowering.llvm.watch_loops import WatchLoopsPass
from relex.lowering.relex_pipeline import passes_for, pipeline
from relex.lowering.support.signatures import refusals
from relex.passes import FuseOpsPass
from relex.passes.driver.activity import doing
from relex.passes.driver.base import Level, apply_pass, verify_each
from relex.passes.driver.extension import AnyExtension
from relex.passes.driver.progress_line import showing_progress
from relex.passes.tracing import current_trace
from relex.runtime.cache_key import cache_key, compiler_key
from relex.runtime.callbacks import LibraryUse
from relex.runtime.compile_cache import CacheOption, CompileCache, find_cache, is_off, usable_cache
from relex.runtime.executable import Executable, Page
from relex.runtime.gc_pause import UNCOLLECTED
from relex.runtime.kernel_cache import KernelCache, Kernels
from relex.runtime.kernel_workers import compile_ahead, expect_work
from relex.runtime.loader import aligned
from relex.runtime.module_libraries import check_registered, library_uses
from relex.runtime.program import CompiledProgram
from relex.runtime.sources import AnyProgram, Metadata, read_program, showing_source
from relex.runtime.weights import AnyWeights, Weights, compiled_with

if TYPE_CHECKING:
    from relex.runtime.profile import Profile, Profiler

VERIFY_VARIABLE = "RELEX_VERIFY"
"""The environment variable that has programs verified after each level."""

Instrument = Callable[[ModulePass, ModuleOp], None]
"""Gets the module before each pass, and may change it."""


def build(
    module: AnyProgram,
    *,
    strict: bool = False,
    target: Target | str | None = None,
    cache: CacheOption = None,
    passes: Iterable[AnyExtension] = (),
    metadata: Metadata | None = None,
    shapes: Mapping[str, Any] | None = None,
    values: Mapping[str, Any] | None = None,
    proof: bool = False,
    approximate: bool = False,
    precision: str = "f32",
    weights: AnyWeights | None = None,
) -> Executable:
    """Compile a program for the machine that this process runs on.

    `module` is a module, MLIR text, or the path of an `.mlir`, an `.onnx` or a `.pt2` file, or of a `.py` file in
    TVMScript; `model.py:MyModule` is one of several modules in a file. It is not modified.
    With `strict`, sums keep the order and the rounding of the plain loop. With `approximate`, convolutions with windows
    of 3 by 3 may be computed in fewer products, whose rounding differs more than the rounding of sums in another order:
    `winograd-conv2d` tells how much. With `precision="bf16"`, operands of products and convolutions in f32 that have
    constant weights are rounded to bf16: `narrow-products` tells how much that changes. With `precision="i8"`, data
    that are multiplied with weights in blocks are rounded to bytes, as `round-data` says.

    `target` is a `Target`, which may have fewer CPU features than this machine, a text such as "host:haswell"
    (`TRIPLE[:CPU[:FEATURES]]`), or "llvm" for this machine. The default is this machine, or the processor that the
    environment variable `RELEX_CPU` names.

    `cache` is a `CompileCache`, or a folder to cache compiled programs in. True stands for the folder that the
    environment variable `RELEX_CACHE` names, else `~/.cache/relex`; this is the default if the variable is set, and
    False disables it. The kernels of programs are always kept there and in memory, unless `cache` is False or
    `RELEX_CACHE` is `off`: one that was compiled before, for any program, is only linked.

    `passes` are additional passes of the default compilation, which run where their classes declare by
    `extends_pipeline`, or where `placed` puts them. A cached program is found again for the same passes from unchanged
    files.

    `metadata` has the constants that a script leaves out, where TVM prints `metadata["relax.expr.Constant"][0]`: a
    dictionary with a list under this key, or with arrays under the names `metadata_0`, ...; or the path of a file that
    holds them, `.npz`, `.safetensors` or `.pkl`.

    `shapes` and `values` fix sizes and inputs of a model in an `.onnx` file, as `from_onnx` takes them: `{"batch": 1}`;
    of one in a `.pt2` file, `shapes` fixes sizes.

    `weights` are arrays that take the place of arguments of `main` with the same names: the path of a `.safetensors`,
    `.npz` or `.pkl` file, which is mapped into memory where it allows that, or a dictionary of arrays or of tensors
    with DLPack; `Weights(source, function="main")` names another function. They are packed once: a program whose
    compilation with them takes over a second is kept in the folder of kernels, and mapped from there by all processes
    that compile the same program with the same file.

    With `proof`, every pass is first proved to keep what the program computes, or checked on samples, as
    `--check-each=proof` does: a pass that is wrong raises `CompileError`, and so does a program of which something can
    be neither proved nor checked.

    Raises `CompileError` for an invalid program, or one that calls library functions that are not registered, and
    `RelexError` for a file that cannot be read; for an object that is no program this is a `TypeError` too.
    """
    options = _Options(strict, as_target(target), (*passes_for(precision), *passes), approximate)
    with doing("Parser"):
        program, text = read_program(module, metadata, {"shapes": shapes, "values": values})
    bound = None if weights is None else Weights.of(weights)
    origin = _Origin(program.clone() if text is None else program, text, options, bound)
    with showing_source(text), showing_progress():
        if proof:
            find_part("prove-compilation")(origin.program, **vars(options))
        compiled = _compiled(program, options, cache) if bound is None else _compiled_with(origin, bound, cache)
        with doing("Link"):
            return Executable(compiled, origin=origin)


@dataclass(frozen=True)
class _Options:
    """The options of a compilation; `vars` returns them as keyword arguments."""

    strict: bool
    target: Target | None
    passes: tuple[AnyExtension, ...]
    approximate: bool

    @property
    def pipeline(self) -> dict[str, Any]:
        """The options of the passes, as keyword arguments of `pipeline`."""
        return {"strict": self.strict, "passes": self.passes, "approximate": self.approximate}


@dataclass(frozen=True)
class _Origin:
    """The origin of an executable: see `relex.runtime.executable.Origin`."""

    given: ModuleOp
    text: str | None
    options: _Options
    weights: Weights | None = None

    @cached_property
    def program(self) -> ModuleOp:
        """The program with its weights."""
        return self.given if self.weights is None else self.weights.bound(self.given)

    def profile(self, entry: str, args: Sequence[Any], named: Mapping[str, Any]) -> Profile:
        return self._profiler.profile(entry, args, named)

    @cached_property
    def _profiler(self) -> Profiler:
        from relex.runtime.profile import Profiler

        def compiled(instrument: Instrument) -> CompiledProgram:
            return compile_program(self.program, instrument=instrument, **vars(self.options))

        return Profiler(compiled)

    def lowered(self, level: Level) -> ModuleOp:
        module, context = _prepared(self.program, self.options.target), make_context()
        for _, group in pipeline(level, **self.options.pipeline):
            for p in group:
                apply_pass(p, context, module)
        return module

    def report(self, profile: Profile | None) -> Page:
        return replace(find_part("report")(self.program, text=self.text, **vars(self.options)), profile=profile)


def _compiled_with(origin: _Origin, weights: Weights, option: CacheOption) -> CompiledProgram:
    """Compile a program with its weights, which the origin does not keep."""
    options = origin.options

    def compile_module(program: ModuleOp) -> CompiledProgram:
        kernels = find_kernels(option, find_cache(option), program, options.passes)
        return compile_program(program, kernels=kernels, **vars(options))

    return compiled_with(weights, origin.given, option, lambda m: cache_key(m, **vars(options)), compile_module)


def _compiled(program: ModuleOp, options: _Options, option: CacheOption) -> CompiledProgram:
    cache, key = find_cache(option), None
    kernels = find_kernels(option, cache, program, options.passes)
    if cache is not None:
        key = cache_key(program, **vars(options))
    if cache is None or key is None:
        return compile_program(program, kernels=kernels, **vars(options))
    found = cache.get(key)
    # Compiling again reports a missing library function at its place in the program.
    if found is None or any(use.problem for use in found.libraries):
        found = compile_program(program, kernels=kernels, **vars(options))
        cache.put(key, found)
    return found


def compile_program(
    program: ModuleOp, *, instrument: Instrument | None = None, kernels: Kernels | None = None, **options: Any
) -> CompiledProgram:
    """Compile a program to native code for this process. `kernels` looks for those that were compiled before, `options`
    are the others of `lower_program`. Raises `CompileError` also for library functions that are not registered."""
    compiled = _compile(program, kernels, instrument=instrument, **options)
    # The modules are gone: only the program refers to the constants that passes have made, and each copy replaces one.
    constants = dict(compiled.code.constants)
    compiled = replace(compiled, code=replace(compiled.code, constants=constants))
    for name, data in constants.items():
        constants[name] = aligned(data).data
    return compiled


@UNCOLLECTED
def _compile(program: ModuleOp, kernels: Kernels | None, **options: Any) -> CompiledProgram:
    lowered = lower_program(program, kernels=kernels, **options)
    check_registered(lowered.libraries)
    split_kernels(lowered.module)
    # All that is called from outside: LLVM need not keep other functions, nor compile them on their own.
    names = {s.symbol: s.symbol for s in lowered.signatures.values()}
    with doing("LLVM"):
        code = compile_parts(lowered.module, names, compile_each if kernels is None else kernels.compile)
    # Functions that cannot be called are gone, with their calls.
    libraries = tuple(use for use in lowered.libraries if use.symbol in code.imports)
    return CompiledProgram(code, lowered.signatures, libraries, refusals(program))


def split_kernels(module: ModuleOp) -> None:
    """Run the passes that come after the pipeline."""
    context = make_context()
    for p in (PoolAllocationsPass(), WatchLoopsPass(), SplitKernelsPass()):
        p.apply(context, module)


def compile_groups(module: ModuleOp, kernels: Kernels, strict: bool) -> None:
    """Compile groups that are alone in a module, see `relex.lowering.kernels.alone`, and keep their code."""
    after_fusion: list[tuple[Level, list[ModulePass]]] = [
        (level, [p for p in group if not isinstance(p, FuseOpsPass)]) for level, group in pipeline(strict=strict)[1:]
    ]
    add_constants(module)
    with kernels.lowering(f"strict={strict}") as loops:
        lowered = _lowered(lambda: module, after_fusion, loops.before, kernels.mark).module
    split_kernels(lowered)
    with doing("LLVM"):
        kernels.compile([op for op in lowered.ops if isinstance(op, ModuleOp)])


def find_kernels(
    option: CacheOption, programs: CompileCache | None, program: ModuleOp, passes: Sequence[AnyExtension]
) -> Kernels | None:
    """Return what looks up the kernels of a program in the cache; None if each build has to do all of its work, or if
    the cache is off or cannot identify what compiles the program."""
    if is_off(option) or os.environ.get(VERIFY_VARIABLE) or current_trace() is not None:
        return None
    if (compiler := compiler_key(program, passes)) is None:
        return None
    return Kernels(KernelCache(compiler, usable_cache() if programs is None else programs))


@dataclass(frozen=True)
class LoweredProgram:
    """A module at the machine level, and its interface: the signatures of its functions, and the library functions that
    it calls, each with its declaration."""

    module: ModuleOp
    signatures: Mapping[str, Signature]
    libraries: Mapping[LibraryUse, Operation]


def lower_program(
    program: ModuleOp,
    *,
    strict: bool = False,
    target: Target | None = None,
    instrument: Instrument | None = None,
    passes: Iterable[AnyExtension] = (),
    approximate: bool = False,
    kernels: Kernels | None = None,
) -> LoweredProgram:
    """Run the default pipeline, with `passes` in it, on a copy of a module. What `kernels` finds is not lowered.

    The module is verified after each level if rules or passes of others take part, or if the environment variable
    `RELEX_VERIFY` is set, as in the tests of relex; in any case, if something fails, to name the pass to blame.
    """
    passes = tuple(passes)
    levels = pipeline(strict=strict, passes=passes, approximate=approximate)
    prepared = partial(_prepared, program, target)
    if kernels is None:
        return _lowered(prepared, levels, instrument)
    # Passes of others may look at any function between two of ours, and schedules change them.
    is_changed = bool(passes) or any(op.name == SequenceOp.name for op in program.ops)
    if not is_changed:
        expect_work(program, kernels)
    ahead = partial(compile_ahead, strict=strict, cache=kernels.cache, here=compile_groups)
    while True:
        try:
            with kernels.lowering(f"strict={strict}", compile_ahead=ahead) as loops:
                return _lowered(prepared, levels, None if is_changed else loops.before, kernels.mark)
        except NotKnownError as e:
            kernels.forget(e.recipes)
            ahead = None


def _lowered(
    prepared: Callable[[], ModuleOp],
    levels: Sequence[tuple[Level, Sequence[ModulePass]]],
    instrument: Instrument | None,
    mark: Callable[[ModuleOp], None] | None = None,
) -> LoweredProgram:
    """Run the passes of some levels on a module. `mark` gets it at the core level."""
    module, context = prepared(), make_context()
    begun: list[ModulePass] = []
    is_verified = bool(os.environ.get(VERIFY_VARIABLE)) or _is_of_others(levels)
    for level, group in levels:
        begun += group
        try:
            for p in group:
                if instrument is not None:
                    instrument(p, module)
                apply_pass(p, context, module)
                UNCOLLECTED.collect_if_many()
            if is_verified and level != "llvm":
                # LLVM itself verifies what this level produces.
                with doing("Verifier"):
                    verify_module(module)
            if mark is not None and level == "core":
                mark(module)
        except NotKnownError:
            raise
        except Exception:
            # Verifying after each pass is slow; it is done only now, to name the pass that broke the module.
            verify_each(begun, prepared())
            raise
    return LoweredProgram(module, entry_signatures(module), library_uses(module))


def _is_of_others(levels: Sequence[tuple[Level, Sequence[ModulePass]]]) -> bool:
    """Return whether a pass or a rule takes part that is not one of relex or xDSL."""
    return entered_by_others() or any(not is_own(type(p).__module__) for _, group in levels for p in group)


def _prepared(program: ModuleOp, target: Target | None) -> ModuleOp:
    """Return a copy of the program to compile for a target."""
    module = program.clone()
    for function in module.ops:
        function.attributes.pop(PASSED_ATTR, None)  # Kernels rely on it: it is found, never taken from others.
    if target is not None:
        set_target(module, target)
    return module
