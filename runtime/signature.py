"""What a compiled function takes and gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType, bf16
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from relex.dialects.dtypes import ELEMENT_TYPES
from relex.dialects.errors import ShapeError, UnknownNameError, fail
from relex.dialects.functions import DIMS_ATTR, argument_names
from relex.dialects.relex.types import shape_str
from relex.dialects.sizes import Dim, Requirement, Size, Sizes, evaluate, names_in
from relex.dialects.sizes.attributes import FunctionSizes
from relex.dialects.sizes.modules import ModuleSizes, sizes_at_entry
from relex.dialects.tir import PrimFuncOp

ARRAY_ELEMENTS = tuple(t for t in ELEMENT_TYPES if t != bf16)
"""What arrays can hold: NumPy has no bf16."""

MAX_ARRAYS = 1024
"""How many arrays a native call can pass: the limit of `ctypes`."""


@dataclass(frozen=True)
class TensorSpec:
    """The name, shape and element type of an argument or a result.

    A size that is known at run time is a `Dim`, an expression of names: `n`, `2 * n`, `n + m`. Each name is by itself a
    size of some argument. `Signature.with_sizes({"n": 3, "m": 0})` gives the specs with numbers.
    """

    name: str
    shape: Sizes
    element_type: Attribute

    def __str__(self) -> str:
        shape = shape_str(self.shape) if self.is_static else shape_text(self.shape)
        return f"{self.name}: {shape} of {self.element_type}"

    @property
    def is_static(self) -> bool:
        """Whether the shape is the same in every call."""
        return all(isinstance(size, int) for size in self.shape)

    def fits(self, shape: Sequence[int]) -> bool:
        """Whether a shape is that of the argument as far as that is known."""
        return len(shape) == len(self.shape) and all(
            isinstance(size, Dim) or size == found for size, found in zip(self.shape, shape, strict=True)
        )

    def shape_with(self, values: Mapping[str, int]) -> tuple[int, ...]:
        """The shape with numbers in the place of names."""
        return tuple(evaluate(size, values) for size in self.shape)


def shape_text(shape: Sequence[Size]) -> str:
    """A shape as NumPy shows it, with names for what is known at run time: `(n, 784)`."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


@dataclass(frozen=True)
class Signature:
    """A function's name, its arguments in order, and its results."""

    name: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    writes_inputs: bool = False
    """The function is one on buffers that does not say which of them are its outputs."""
    requirements: tuple[Requirement, ...] = ()
    """What must hold of the sizes of a call, besides that arguments have their shapes."""
    temporaries: tuple[Size, ...] = ()
    """The memory that a call needs beside its arguments and results is the largest of these, or less, in bytes."""

    @property
    def names(self) -> dict[str, tuple[int, int]]:
        """The names of sizes that are known at run time, and an argument and its dimension that has that size."""
        return FunctionSizes(tuple(spec.shape for spec in self.inputs), (), ()).sources

    def with_sizes(self, values: Mapping[str, int]) -> Signature:
        """The signature of calls in which sizes have these values. Raises `ShapeError` if there are none."""
        self.check(values)

        def fixed(spec: TensorSpec) -> TensorSpec:
            return TensorSpec(spec.name, spec.shape_with(values), spec.element_type)

        inputs, outputs = (tuple(map(fixed, specs)) for specs in (self.inputs, self.outputs))
        return Signature(self.name, inputs, outputs, self.writes_inputs)

    def check(self, values: Mapping[str, int]) -> None:
        """Raise `ShapeError` if no call can have sizes of these values."""
        for requirement in self.requirements:
            if not requirement.substitute(values).holds:
                names = dict.fromkeys([*names_in(requirement.lhs), *names_in(requirement.rhs)])
                raise ShapeError(f"{self.name}() expected {requirement}, found {self.explain(names, values)}")

    def explain(self, names: Iterable[str], values: Mapping[str, int]) -> str:
        """What sizes stand for, and where they come from: `n = 3 (dimension 0 of 'x')`."""
        places = {name: self.names[name] for name in names}
        texts = [f"{n} = {values[n]} (dimension {d} of '{self.inputs[i].name}')" for n, (i, d) in places.items()]
        return ", ".join(texts)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.inputs))}) -> ({', '.join(map(str, self.outputs))})"


def signatures(module: ModuleOp) -> dict[str, Signature]:
    """The signatures of a module's public graph and loop functions that work on tensors or buffers alone, by name.

    Raises `CompileError` for those that cannot be called: with sizes that do not follow from those of the arguments,
    elements that NumPy does not have, too many arguments.
    """
    found: dict[str, Signature] = {}
    sizes = ModuleSizes()
    for op in module.ops:
        signature = _signature(op, sizes)
        if signature is not None:
            found[signature.name] = signature
    return found


def refusals(module: ModuleOp) -> dict[str, str]:
    """Why other functions of a module, by name, cannot be called from outside."""
    functions = [op for op in module.ops if isinstance(op, func.FuncOp | PrimFuncOp)]
    reasons = {op.sym_name.data: _refusal(op) for op in functions}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def _refusal(op: func.FuncOp | PrimFuncOp) -> str | None:
    if not _is_public(op):
        return "it is private"
    if not op.body.blocks:
        return "it has no body"
    types = (*op.function_type.inputs, *op.function_type.outputs)
    other = next((t for t in types if not isinstance(t, TensorType | MemRefType)), None)
    return f"expected tensors alone as arguments and results, found {other}" if other is not None else None


def unknown_function(name: str, functions: Iterable[str], reasons: Mapping[str, str]) -> UnknownNameError:
    """The error for a name that is none of `functions`; `reasons` say why not, for those that exist."""
    known = ", ".join(functions) or "none"
    if name in reasons:
        return UnknownNameError(f"function '{name}' cannot be called: {reasons[name]}; there are {known}")
    return UnknownNameError(f"no function '{name}'; there are {known}")


def buffer_signatures(module: ModuleOp) -> dict[str, Signature]:
    """The signatures of a module's public functions on buffers, which loop and graph functions become, by name."""
    found: dict[str, Signature] = {}
    for op in module.ops:
        if not isinstance(op, func.FuncOp) or not op.body.blocks or not _is_public(op):
            continue
        inputs, outputs = op.function_type.inputs.data, op.function_type.outputs.data
        if inputs and not outputs and all(isinstance(t, MemRefType) for t in inputs):
            name = op.sym_name.data
            sizes = sizes_at_entry(op)
            specs = _specs(op, argument_names(op), inputs, sizes.arguments)
            found[name] = Signature(name, specs, (), writes_inputs=True, requirements=sizes.requirements)
    return found


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
    if not _is_public(op) or not all(isinstance(t, kind) for t in (*inputs, *outputs)):
        return None
    if (count := len(inputs) + len(outputs)) > MAX_ARRAYS:
        fail(op, f"expected at most {MAX_ARRAYS} arguments and results in a public function, found {count}")
    names = argument_names(op)[: len(inputs)]
    result_names = [f"result {i}" if len(outputs) > 1 else "result" for i in range(len(outputs))]
    sizes = module_sizes.of(op)
    entered = sizes.arguments[: len(inputs)]
    returned = sizes.results if isinstance(op, func.FuncOp) else sizes.arguments[len(inputs) :]
    signature = Signature(
        op.sym_name.data,
        _specs(op, names, inputs, entered),
        _specs(op, result_names, outputs, returned),
        requirements=sizes.requirements,
        temporaries=sizes.temporaries,
    )
    _check_outputs(op, signature)
    return signature


def _check_outputs(function: Operation, signature: Signature) -> None:
    """The sizes of results follow from those of the arguments: else a caller could not allocate them."""
    for i, spec in enumerate(signature.outputs):
        for size in spec.shape:
            if any(name not in signature.names for name in names_in(size)):
                fail(function, f"expected '{DIMS_ATTR}' that say '{size}', a size of output {i}, by sizes of inputs")


def _specs(
    function: Operation, names: Sequence[str], types: Sequence[Attribute], sizes: Sequence[Sizes]
) -> tuple[TensorSpec, ...]:
    return tuple(_spec(function, *of_one) for of_one in zip(names, types, sizes, strict=True))


def _spec(function: Operation, name: str, t: Attribute, sizes: Sizes) -> TensorSpec:
    if not (isa(t, TensorType) or isa(t, MemRefType)):
        fail(function, f"expected tensors or buffers in a public function, found {t}")
    if t.element_type not in ARRAY_ELEMENTS:
        allowed = " or ".join(map(str, ARRAY_ELEMENTS))
        fail(function, f"expected elements of {allowed} in a public function, found {t}")
    return TensorSpec(name, sizes, t.element_type)
