"""Compilation of a module whose kernels are in modules of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp

from relex.dialects.machine import ObjectCode
from relex.lowering.llvm.object_code import compile_module

CompileKernels = Callable[[Sequence[ModuleOp]], Iterable[ObjectCode]]
"""Compiles modules of kernels; the code may be that of others too."""


def compile_each(kernels: Sequence[ModuleOp]) -> Iterable[ObjectCode]:
    """Compile modules one after the other."""
    return map(compile_module, kernels)


def compile_parts(module: ModuleOp, names: Mapping[str, str], kernels: CompileKernels = compile_each) -> ObjectCode:
    """Compile a module that `split-kernels` has split; `names` are the functions to export and their new names."""
    modules = [op for op in module.ops if isinstance(op, ModuleOp)]
    for kernel in modules:
        kernel.detach()
    codes = [*kernels(modules)]
    main = compile_module(module, names=names)
    defined = {name for code in codes for name in code.functions}
    called = dict.fromkeys(name for code in (main, *codes) for name in code.imports if name not in defined)
    return replace(main, parts=tuple(part for code in (main, *codes) for part in code.parts), imports=tuple(called))
