"""Adapters that call functions on buffers with arrays and return arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.traits import SymbolTable

from relex.dialects.dtypes import element_type_of
from relex.dialects.errors import fail
from relex.dialects.signature import Signature, TensorSpec
from relex.dialects.sizes import names_in
from relex.dialects.target.machine import PACKED_PREFIX
from relex.lowering.llvm.c_interface import C_PREFIX
from relex.lowering.llvm.object_code import compile_module
from relex.lowering.relex_pipeline import RelexPipelinePass
from relex.runtime.arguments import ArgumentReader, bind_arguments
from relex.runtime.library import CFunction
from relex.runtime.loader import load
from relex.runtime.results import as_returned
from relex.runtime.shapes import ShapeRule
from relex.tools.shell.diagnostics import ToolError


class Callee(Protocol):
    """A function on arrays."""

    signature: Signature

    def __call__(self, /, *args: Any, **named: Any) -> Any: ...


class BufferFunction:
    """A function on buffers that returns results: the trailing buffers without an argument, which start as zeros. If
    there is an argument for every buffer, all buffers are results. Raises `ToolError` if the shapes of results cannot
    be inferred."""

    def __init__(self, function: Callee, given: int):
        buffers = function.signature.inputs
        inputs, fresh = buffers[:given], buffers[given:]
        self._function = function
        self._makes_results = bool(fresh)
        self.signature = replace(function.signature, inputs=inputs, outputs=fresh or buffers, writes_inputs=False)
        known = self.signature.names
        for spec in fresh:
            if any(name not in known for size in spec.shape for name in names_in(size)):
                raise ToolError(f"expected an --input for '{spec.name}', whose sizes do not follow from the others")
        self._readers = [ArgumentReader(spec, self.signature.name) for spec in inputs]
        self._shapes: ShapeRule[Sequence[tuple[int, ...]]] = ShapeRule(self.signature, lambda shapes: shapes)

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        values = bind_arguments(self.signature, args, named)
        inputs = [read(value) for read, value in zip(self._readers, values, strict=True)]
        shapes = self._shapes(inputs)[len(inputs) :]
        arrays = list(map(np.array, inputs))
        if self._makes_results:
            specs = zip(shapes, self.signature.outputs, strict=True)
            arrays += [np.zeros(shape, spec.dtype) for shape, spec in specs]
        self._function(*arrays)
        return as_returned(arrays[len(inputs) :] if self._makes_results else arrays)


class MachineFunction:
    """A function at the machine level. It has no shapes, so the shapes of arguments are not checked."""

    def __init__(self, op: llvm.FuncOp, name: str, arguments: Sequence[Any], module: ModuleOp, *, strict: bool):
        specs = [
            TensorSpec(f"argument {i}", array.shape, str(element_type_of(array.dtype)))
            for i, array in enumerate(map(np.asarray, arguments))
        ]
        passed = op.function_type
        if len(passed.inputs) != len(specs) or not isinstance(passed.output, llvm.LLVMVoidType):
            fail(op, f"expected an --input for each of {len(passed.inputs)} buffers, and no result, found {len(specs)}")
        self.signature = Signature(name, tuple(specs), (), writes_inputs=True)
        code = load(compile_module(RelexPipelinePass(strict=strict)(module)))
        self._call = CFunction(code.address(op.sym_name.data), code)

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        self._call(*bind_arguments(self.signature, args, named))


def find_machine_function(module: ModuleOp, name: str) -> llvm.FuncOp | None:
    """Return the C entry point of a function at the machine level that states no signature, or None."""
    op = SymbolTable.lookup_symbol(module, C_PREFIX + name)
    if SymbolTable.lookup_symbol(module, PACKED_PREFIX + name) is not None:
        return None
    return op if isinstance(op, llvm.FuncOp) and op.body.blocks else None
