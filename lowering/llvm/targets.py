"""Output formats of `relex-opt -t` for compiled modules: LLVM IR, assembly, object code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target as OutputTarget

from relex.dialects.errors import RelexError
from relex.dialects.target.features import check_target, module_target
from relex.lowering.llvm.object_code import DEFAULT_LEVEL, compile_module, compile_to_assembly
from relex.lowering.llvm.translate import translate


@dataclass(frozen=True)
class LlvmTarget(OutputTarget):
    """
    LLVM IR with all constants embedded, before any of LLVM's optimizations.

    Requires a module of the LLVM dialect, as the other targets do: `relex-pipeline{to=llvm}` produces one.
    """

    name = "llvm"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        target = module_target(module)
        check_target(target)
        output.write(translate(module, triple=target.triple, embed_constants=True).text)


@dataclass(frozen=True)
class AsmTarget(OutputTarget):
    """Assembly for the target that the module names, or for the host."""

    name = "asm"

    opt_level: int = DEFAULT_LEVEL

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(compile_to_assembly(module, opt_level=self.opt_level))


@dataclass(frozen=True)
class ObjTarget(OutputTarget):
    """An object file for a linker, with all constants embedded."""

    name = "obj"

    opt_level: int = DEFAULT_LEVEL

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        raise RelexError("object code is not text: write it to a file with -o")

    def emit_bytes(self, ctx: Context, module: ModuleOp) -> bytes:
        """Return the contents of the object file."""
        return compile_module(module, opt_level=self.opt_level, embed_constants=True).code
