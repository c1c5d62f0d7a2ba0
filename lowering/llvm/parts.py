"""Compilation of a module whose kernels are in modules of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp

from relex.dialects.machine import ObjectCode
from relex.lowering.llvm.object_code import compile_module


def take_kernels(module: ModuleOp) -> list[ModuleOp]:
    """Take the modules of kernels, which `split-kernels` made, out of a module."""
    kernels = [op for op in module.ops if isinstance(op, ModuleOp)]
    for kernel in kernels:
        kernel.detach()
    return kernels


def compile_parts(module: ModuleOp, names: Mapping[str, str]) -> ObjectCode:
    """Compile a module and its kernels; `names` are the functions to export and their new names."""
    kernels = take_kernels(module)
    return joined(compile_module(module, names=names), map(compile_module, kernels))


def joined(main: ObjectCode, kernels: Iterable[ObjectCode]) -> ObjectCode:
    """Return code together with that of the kernels that it calls."""
    codes = [main, *kernels]
    defined = {name for code in codes for name in code.functions}
    called = dict.fromkeys(name for code in codes for name in code.imports if name not in defined)
    return replace(main, parts=tuple(part for code in codes for part in code.parts), imports=tuple(called))
