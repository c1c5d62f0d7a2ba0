"""Compilation of a module whose kernels are in separate modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp

from relex.dialects.target.features import module_target
from relex.dialects.target.machine import ObjectCode
from relex.lowering.llvm.code_generator.compile_ir import CompileJob
from relex.lowering.llvm.code_generator.workers import compile_sources
from relex.lowering.llvm.object_code import DEFAULT_LEVEL, compile_module, object_code, refusing
from relex.lowering.llvm.translate import translate

CompileKernels = Callable[[Sequence[ModuleOp]], Iterable[ObjectCode]]
"""Compiles modules of kernels; it may add the code of others."""


def compile_each(kernels: Sequence[ModuleOp]) -> list[ObjectCode]:
    """Compile modules of kernels, in several processes if it takes long."""
    targets = [module_target(kernel) for kernel in kernels]
    texts = [translate(kernel, triple=target.triple).text for kernel, target in zip(kernels, targets, strict=True)]
    sources = [CompileJob(text, target, DEFAULT_LEVEL) for text, target in zip(texts, targets, strict=True)]
    with refusing():
        return [
            object_code(emitted, s.target, {}) for s, emitted in zip(sources, compile_sources(sources), strict=True)
        ]


def compile_parts(module: ModuleOp, names: Mapping[str, str], kernels: CompileKernels = compile_each) -> ObjectCode:
    """Compile a module that `split-kernels` has split; `names` are the functions to export and their new names."""
    modules = [op for op in module.ops if isinstance(op, ModuleOp)]
    for kernel in modules:
        kernel.detach()
    # It checks the target, before many kernels are compiled for it.
    main = compile_module(module, names=names)
    codes = [*kernels(modules)]
    defined = {name for code in codes for name in code.functions}
    called = dict.fromkeys(name for code in (main, *codes) for name in code.imports if name not in defined)
    return replace(main, parts=tuple(part for code in (main, *codes) for part in code.parts), imports=tuple(called))
