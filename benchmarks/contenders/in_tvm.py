"""Rows in TVM, untuned: with its default pipeline, and with the pipeline that fuses operators."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.contenders import CPU_VARIABLE, Backend, Compiled, Weights
from benchmarks.rows import Row

tvm: Any = import_module("tvm")
relax: Any = import_module("tvm.relax")


class TvmOperators:
    """Emits expressions to a `relax.BlockBuilder`."""

    def __init__(self, emit: Callable[[Any], Any]):
        self.emit = emit

    def dense(self, x: Any, w: Any) -> Any:
        return self.emit(relax.op.linear(x, w))

    def matmul(self, x: Any, y: Any) -> Any:
        return self.emit(relax.op.matmul(x, y))

    def add(self, x: Any, y: Any) -> Any:
        return self.emit(relax.op.add(x, y))

    def multiply(self, x: Any, y: Any) -> Any:
        return self.emit(relax.op.multiply(x, y))

    def relu(self, x: Any) -> Any:
        return self.emit(relax.op.nn.relu(x))

    def exp(self, x: Any) -> Any:
        return self.emit(relax.op.exp(x))

    def sum(self, x: Any, axis: int | None) -> Any:
        return self.emit(relax.op.sum(x, axis))

    def max(self, x: Any, axis: int) -> Any:
        return self.emit(relax.op.max(x, axis))

    def softmax(self, x: Any) -> Any:
        return self.emit(relax.op.nn.softmax(x))

    def layer_norm(self, x: Any, scale: Any, shift: Any) -> Any:
        return self.emit(relax.op.nn.layer_norm(x, scale, shift, axes=-1, epsilon=1e-5))

    def attention(self, q: Any, k: Any, v: Any, scale: float) -> Any:
        scores = self.matmul(q, self.emit(relax.op.permute_dims(k, [0, 2, 1])))
        return self.matmul(self.softmax(self.multiply(scores, relax.const(scale, "float32"))), v)

    def transpose(self, x: Any) -> Any:
        return self.emit(relax.op.permute_dims(x))

    def conv2d(self, x: Any, kernels: Any, padding: int) -> Any:
        return self.emit(relax.op.nn.conv2d(x, kernels, padding=padding))

    def max_pool2d(self, x: Any, size: int) -> Any:
        return self.emit(relax.op.nn.max_pool2d(x, (size, size), (size, size)))

    def flatten(self, x: Any) -> Any:
        return self.emit(relax.op.reshape(x, (x.ty.shape[0], -1)))


def write(row: Row, weights: Weights) -> str:
    """Return a row as a serialized Relax module."""
    builder = relax.BlockBuilder()
    inputs = [relax.Var(name, relax.TensorType(shape, row.dtype)) for name, shape in row.inputs.items()]
    constants = [relax.const(array, row.dtype) for array in weights.values()]
    with builder.function("main", inputs):
        with builder.dataflow():
            result = builder.emit_output(row.apply(TvmOperators(builder.emit), [*inputs, *constants]))
        builder.emit_func_output(result)
    return tvm.ir.save_json(builder.get())


def compile_json(passes: Callable[[Any], Any], model: str) -> Compiled:
    """Compile a serialized module after applying passes."""
    cpu = os.environ.get(CPU_VARIABLE) or tvm.target.codegen.llvm_get_system_cpu()
    target = tvm.target.Target({"kind": "llvm", "mcpu": cpu})
    executable = tvm.compile(passes(tvm.ir.load_json(model)), target)
    function = relax.VirtualMachine(executable, tvm.cpu())["main"]

    def call(*arrays: Any) -> Any:
        return np.from_dlpack(function(*map(tvm.runtime.tensor, arrays)))

    return call


def unchanged(module: Any) -> Any:
    """Return the module unchanged."""
    return module


DEFAULT = Backend(partial(compile_json, unchanged), write)
FUSING = Backend(partial(compile_json, relax.get_pipeline("zero")), write)
