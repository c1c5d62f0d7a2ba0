"""What a compiled function takes and gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType, bf16
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from relex.dialects.dtypes import ELEMENT_TYPES
from relex.dialects.errors import fail
from relex.dialects.functions import argument_names
from relex.dialects.relex.types import shape_str
from relex.dialects.tir import PrimFuncOp

ARRAY_ELEMENTS = tuple(t for t in ELEMENT_TYPES if t != bf16)
"""What arrays can hold: NumPy has no bf16."""

MAX_ARRAYS = 1024
"""How many arrays a native call can pass: the limit of `ctypes`."""


@dataclass(frozen=True)
class TensorSpec:
    """The name, shape and element type of an argument or a result."""

    name: str
    shape: tuple[int, ...]
    element_type: Attribute

    def __str__(self) -> str:
        return f"{self.name}: {shape_str(self.shape)} of {self.element_type}"


@dataclass(frozen=True)
class Signature:
    """A function's name, its arguments in order, and its results."""

    name: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    writes_inputs: bool = False
    """The function is one on buffers that does not say which of them are its outputs."""

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.inputs))}) -> ({', '.join(map(str, self.outputs))})"


def signatures(module: ModuleOp) -> dict[str, Signature]:
    """The signatures of a module's public graph and loop functions that work on tensors or buffers alone, by name.

    Raises `CompileError` for those that cannot be called: with shapes that are not known, elements that NumPy does not
    have, too many arguments.
    """
    found: dict[str, Signature] = {}
    for op in module.ops:
        signature = _signature(op)
        if signature is not None:
            found[signature.name] = signature
    return found


def buffer_signatures(module: ModuleOp) -> dict[str, Signature]:
    """The signatures of a module's public functions on buffers, which loop and graph functions become, by name."""
    found: dict[str, Signature] = {}
    for op in module.ops:
        if not isinstance(op, func.FuncOp) or not op.body.blocks or not _is_public(op):
            continue
        inputs, outputs = op.function_type.inputs.data, op.function_type.outputs.data
        if inputs and not outputs and all(isinstance(t, MemRefType) for t in inputs):
            name = op.sym_name.data
            found[name] = Signature(name, _specs(op, argument_names(op), inputs), (), writes_inputs=True)
    return found


def _is_public(op: func.FuncOp | PrimFuncOp) -> bool:
    return op.sym_visibility is None or op.sym_visibility.data == "public"


def _signature(op: Operation) -> Signature | None:
    match op:
        case func.FuncOp() if op.body.blocks:
            kind, inputs, outputs = TensorType, op.function_type.inputs.data, op.function_type.outputs.data
        case PrimFuncOp():
            kind, inputs, outputs = MemRefType, op.input_types, op.output_types
        case _:
            return None
    if not _is_public(op) or not all(isinstance(t, kind) for t in (*inputs, *outputs)):
        return None
    if (count := len(inputs) + len(outputs)) > MAX_ARRAYS:
        fail(op, f"expected at most {MAX_ARRAYS} arguments and results in a public function, found {count}")
    names = argument_names(op)[: len(inputs)]
    result_names = [f"result {i}" if len(outputs) > 1 else "result" for i in range(len(outputs))]
    return Signature(op.sym_name.data, _specs(op, names, inputs), _specs(op, result_names, outputs))


def _specs(function: Operation, names: Sequence[str], types: Sequence[Attribute]) -> tuple[TensorSpec, ...]:
    return tuple(_spec(function, name, t) for name, t in zip(names, types, strict=True))


def _spec(function: Operation, name: str, t: Attribute) -> TensorSpec:
    if not (isa(t, TensorType) or isa(t, MemRefType)) or not t.has_static_shape():
        fail(function, f"expected shapes that are known at compile time in a public function, found {t}")
    if t.element_type not in ARRAY_ELEMENTS:
        allowed = " or ".join(map(str, ARRAY_ELEMENTS))
        fail(function, f"expected elements of {allowed} in a public function, found {t}")
    return TensorSpec(name, t.get_shape(), t.element_type)
