"""The signatures of a module's functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import func
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp, NoneAttr, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from relex.dialects.dtypes import ARRAY_ELEMENTS
from relex.dialects.errors import fail
from relex.dialects.functions import DIMS_ATTR, argument_names
from relex.dialects.sizes import Sizes, names_in
from relex.dialects.sizes.modules import ModuleSizes, sizes_at_entry
from relex.dialects.tir import PrimFuncOp
from relex.runtime.signature import Signature, TensorSpec

SCALARS = (*ARRAY_ELEMENTS, IndexType())
"""The types of scalar arguments and results."""


def signatures(module: ModuleOp) -> dict[str, Signature]:
    """Return the signatures, by name, of a module's public graph and loop functions on tensors or buffers, and scalars.

    Raises `CompileError` for functions that cannot be called: with result sizes that do not follow from argument sizes,
    or elements that NumPy does not have.
    """
    found: dict[str, Signature] = {}
    sizes = ModuleSizes()
    for op in module.ops:
        signature = _signature(op, sizes)
        if signature is not None:
            found[signature.name] = signature
    return found


def refusals(module: ModuleOp) -> dict[str, str]:
    """Return, by name, the reasons why other functions of a module cannot be called from outside."""
    functions = [op for op in module.ops if isinstance(op, func.FuncOp | PrimFuncOp)]
    reasons = {op.sym_name.data: _refusal(op) for op in functions}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def _refusal(op: func.FuncOp | PrimFuncOp) -> str | None:
    if not _is_public(op):
        return "it is private"
    if not op.body.blocks:
        return "it has no body"
    types = (*op.function_type.inputs, *op.function_type.outputs)
    other = next((t for t in types if not isinstance(t, TensorType | MemRefType) and t not in SCALARS), None)
    if other is not None:
        return f"expected tensors and scalars as arguments and results, found {other}"
    if isinstance(op, func.FuncOp) and any(isinstance(t, MemRefType) for t in types):
        return _refusal_of_buffers(op)
    return None


def _refusal_of_buffers(op: func.FuncOp) -> str | None:
    if op.function_type.outputs.data:
        return "expected a function on buffers to have no results"
    for t in op.function_type.inputs:
        if not isa(t, MemRefType):
            return f"expected buffers alone as arguments, found {t}"
        if t.element_type not in ARRAY_ELEMENTS or {t.layout, t.memory_space} != {NoneAttr()}:
            return f"expected buffers that arrays can be, found {t}"
    return None


def buffer_signatures(module: ModuleOp) -> dict[str, Signature]:
    """Return the signatures, by name, of a module's public functions on buffers, to which loop and graph functions are
    lowered."""
    found: dict[str, Signature] = {}
    for op in module.ops:
        if isinstance(op, func.FuncOp) and op.function_type.inputs and _refusal(op) is None and _is_on_buffers(op):
            name, inputs = op.sym_name.data, op.function_type.inputs.data
            sizes = sizes_at_entry(op)
            specs = _specs(op, argument_names(op), inputs, sizes.arguments)
            found[name] = Signature(name, specs, (), writes_inputs=True, requirements=sizes.requirements)
    return found


def _is_on_buffers(op: func.FuncOp) -> bool:
    return all(isinstance(t, MemRefType) for t in op.function_type.inputs)


def _is_public(op: func.FuncOp | PrimFuncOp) -> bool:
    return op.sym_visibility is None or op.sym_visibility.data == "public"


def _signature(op: Operation, module_sizes: ModuleSizes) -> Signature | None:
    match op:
        case func.FuncOp() if op.body.blocks:
            kind, inputs, outputs = TensorType, op.function_type.inputs.data, op.function_type.outputs.data
        case PrimFuncOp():
            kind, inputs, outputs = MemRefType, op.input_types, op.output_types
        case _:
            return None
    if not _is_public(op) or not all(isinstance(t, kind) or t in SCALARS for t in (*inputs, *outputs)):
        return None
    names = argument_names(op)[: len(inputs)]
    result_names = [f"result {i}" if len(outputs) > 1 else "result" for i in range(len(outputs))]
    sizes = module_sizes.of(op)
    entered = sizes.arguments[: len(inputs)]
    returned = sizes.results if isinstance(op, func.FuncOp) else sizes.arguments[len(inputs) :]
    signature = Signature(
        op.sym_name.data,
        _specs(op, names, inputs, entered),
        _specs(op, result_names, outputs, [() if t in SCALARS else s for t, s in zip(outputs, returned, strict=True)]),
        requirements=sizes.requirements,
        temporaries=sizes.temporaries,
    )
    signature = _without_idle_sizes(signature)
    _check_outputs(op, signature)
    return signature


def _without_idle_sizes(signature: Signature) -> Signature:
    """Return the signature with no sizes for the scalars that no size depends on."""

    def is_needed(spec: TensorSpec) -> bool:
        others = [size for other in signature.inputs if other is not spec for size in other.shape]
        results = [size for result in signature.outputs for size in result.shape]
        required = [size for r in signature.requirements for size in (r.lhs, r.rhs)]
        needed = {name for size in (*others, *results, *required, *signature.temporaries) for name in names_in(size)}
        return any(name in needed for size in spec.shape for name in names_in(size))

    inputs = [replace(s, shape=()) if s.is_scalar and not is_needed(s) else s for s in signature.inputs]
    return replace(signature, inputs=tuple(inputs))


def _check_outputs(function: Operation, signature: Signature) -> None:
    """Check that result sizes follow from argument sizes: otherwise a caller could not allocate the results."""
    for i, spec in enumerate(signature.outputs):
        for size in spec.shape:
            if any(name not in signature.names for name in names_in(size)):
                fail(function, f"expected '{DIMS_ATTR}' that say '{size}', a size of output {i}, by sizes of inputs")


def _specs(
    function: Operation, names: Sequence[str], types: Sequence[Attribute], sizes: Sequence[Sizes]
) -> tuple[TensorSpec, ...]:
    return tuple(_spec(function, *of_one) for of_one in zip(names, types, sizes, strict=True))


def _spec(function: Operation, name: str, t: Attribute, sizes: Sizes) -> TensorSpec:
    if t in SCALARS:
        return TensorSpec(name, sizes, str(t), is_scalar=True)
    if not (isa(t, TensorType) or isa(t, MemRefType)):
        fail(function, f"expected tensors or buffers in a public function, found {t}")
    if t.element_type not in ARRAY_ELEMENTS:
        allowed = " or ".join(map(str, ARRAY_ELEMENTS))
        fail(function, f"expected elements of {allowed} in a public function, found {t}")
    return TensorSpec(name, sizes, str(t.element_type))
