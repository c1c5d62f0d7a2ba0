"""Detects programs below the loop level, which are native code: their memory accesses are not checked."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute, Operation

from relex.dialects.errors import CompileError, diagnose
from relex.dialects.tir import AllocBufferOp, PrimFuncOp

TRUST = "--trust-native"


def check_trusted(module: ModuleOp) -> None:
    """Raise `CompileError` at the first op that is native code."""
    native = next((op for op in module.walk() if _is_native(op)), None)
    if native is not None:
        raise CompileError(diagnose(native, f"is native code, which reaches all memory; {TRUST} compiles and runs it"))


def _is_native(op: Operation) -> bool:
    if op.name.startswith("llvm."):
        return True
    # It may refer to any function of the C library or another one.
    if isinstance(op, func.FuncOp) and op.is_declaration:
        return True
    # Loop functions get their buffers from graph functions, and declare their accesses.
    arguments = [argument.type for region in op.regions for block in region.blocks for argument in block.args]
    return any(
        [
            _has_buffers(op.result_types) and not isinstance(op, AllocBufferOp),
            _has_buffers(arguments) and not isinstance(op, PrimFuncOp),
        ]
    )


def _has_buffers(types: Sequence[Attribute]) -> bool:
    return any(isinstance(t, MemRefType) for t in types)
