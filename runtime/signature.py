"""What a compiled function takes and gives."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from relex.dialects.functions import argument_names
from relex.dialects.relex.types import shape_str
from relex.dialects.tir import PrimFuncOp


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

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.inputs))}) -> ({', '.join(map(str, self.outputs))})"


def signatures(module: ModuleOp) -> dict[str, Signature]:
    """The signatures of a module's public functions that work on tensors or buffers alone, by name."""
    found: dict[str, Signature] = {}
    for op in module.ops:
        signature = _signature(op)
        if signature is not None:
            found[signature.name] = signature
    return found


def _signature(op: Operation) -> Signature | None:
    match op:
        case func.FuncOp() if op.body.blocks:
            inputs, outputs = op.function_type.inputs.data, op.function_type.outputs.data
            names = argument_names(op)
        case PrimFuncOp():
            inputs, outputs = op.input_types, op.output_types
            names = argument_names(op)[: op.num_inputs]
        case _:
            return None
    if op.sym_visibility is not None and op.sym_visibility.data != "public":
        return None
    result_names = [f"result {i}" if len(outputs) > 1 else "result" for i in range(len(outputs))]
    ins, outs = _specs(names, inputs), _specs(result_names, outputs)
    return Signature(op.sym_name.data, ins, outs) if ins is not None and outs is not None else None


def _specs(names: list[str], types: tuple[Attribute, ...]) -> tuple[TensorSpec, ...] | None:
    specs: list[TensorSpec] = []
    for name, t in zip(names, types, strict=True):
        if not isa(t, TensorType) and not isa(t, MemRefType):
            return None
        specs.append(TensorSpec(name, t.get_shape(), t.element_type))
    return tuple(specs)
