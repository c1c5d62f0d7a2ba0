"""The interface of a module at the machine level: the signatures of its functions, which stand on their packed entries,
checked against what is left of types."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp, StringAttr, i64
from xdsl.ir import Attribute
from xdsl.traits import SymbolTable

from relex.dialects.errors import fail
from relex.dialects.function_arguments import SIGNATURE_ATTR
from relex.dialects.signature import Signature, TensorSpec
from relex.dialects.target.machine import PACKED_PREFIX
from relex.lowering.llvm.descriptor import field_type, positions
from relex.lowering.llvm.types import LLVM_TYPES
from relex.lowering.support.signatures import SCALARS, stated_signature

SEAL_ATTR = "relex.seal"
"""Beside a signature: a digest of it and of the type of its function, by which a signature that was changed in the text
is told."""

_SCALARS = {str(t): LLVM_TYPES.convert(t) for t in SCALARS}


def entry_signatures(module: ModuleOp) -> dict[str, Signature]:
    """Return the signatures, by name, of the functions of a module at the machine level that have packed entries.

    Raises `CompileError` at an entry whose signature is not the one that the code was made for.
    """
    found: dict[str, Signature] = {}
    for op in module.ops:
        if not isinstance(op, llvm.FuncOp) or (name := entry_of(op)) is None:
            continue
        function, signature = SymbolTable.lookup_symbol(module, name), stated_signature(op, name)
        if not isinstance(function, llvm.FuncOp) or signature is None:
            fail(op, f"expected '{SIGNATURE_ATTR}' and a function of the LLVM dialect named '{name}', found none")
        expect_sealed(op, function, signature)
        found[name] = signature
    return found


def expect_sealed(holder: llvm.FuncOp, function: llvm.FuncOp, signature: Signature) -> None:
    """Fail unless the signature that `holder` states is the one that `function` was compiled for."""
    expect_type(function, signature)
    expected, sealed = _digest(holder, function), holder.attributes.get(SEAL_ATTR)
    if sealed != expected:
        message = f"expected '{signature.name}' with the signature that it was compiled for, found {signature}"
        fail(holder, f"{message}: expected '{SEAL_ATTR}' of {expected}, found {sealed or 'none'}")


def entry_of(op: llvm.FuncOp) -> str | None:
    """Return the name of the function that a packed entry calls; None for other functions."""
    name = op.sym_name.data
    return name.removeprefix(PACKED_PREFIX) if name.startswith(PACKED_PREFIX) else None


def expect_type(function: llvm.FuncOp, signature: Signature) -> None:
    """Fail unless a function takes and returns what its signature says, by the calling convention of
    `convert-func-to-llvm`: arguments, buffers for results, and scalar results."""
    results = [_SCALARS[spec.element_type] for spec in signature.outputs if spec.is_scalar]
    words = [t for i in signature.frame_order for t in _passed(signature.framed[i])]
    words = words[: len(words) - len(results)]
    results += [i64, i64] if signature.failures else []
    output = llvm.LLVMStructType.from_type_list(results) if len(results) > 1 else (*results, llvm.LLVMVoidType())[0]
    expected = llvm.LLVMFunctionType(words, output)
    if function.function_type != expected:
        where = f"for the signature {signature}"
        fail(function, f"expected '{signature.name}' to be {expected} {where}, found {function.function_type}")


def _passed(spec: TensorSpec) -> list[Attribute]:
    """Return the types of the words that an argument is passed in."""
    if spec.is_scalar:
        return [_SCALARS[spec.element_type]]
    return [field_type(position) for position in positions(len(spec.shape))]


def seal(function: llvm.FuncOp) -> None:
    """Seal the signature that a function states."""
    function.attributes[SEAL_ATTR] = _digest(function, function)


def _digest(holder: llvm.FuncOp, function: llvm.FuncOp) -> StringAttr:
    return _digest_of(holder.attributes[SIGNATURE_ATTR], function.function_type)


@lru_cache(maxsize=128)  # It is compared twice after it was made.
def _digest_of(signature: Attribute, function_type: llvm.LLVMFunctionType) -> StringAttr:
    return StringAttr(sha256(f"{signature} {function_type}".encode()).hexdigest()[:16])
