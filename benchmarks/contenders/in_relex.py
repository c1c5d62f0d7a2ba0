"""Rows in relex: MLIR text, and weight arrays that are bound before the default compilation."""

from __future__ import annotations

from typing import Any

from benchmarks.contenders import Backend, Compiled, Weights
from benchmarks.models import MODELS
from benchmarks.rows import Row


class RelexOperators:
    """Emits ops to a `BlockBuilder`."""

    def __init__(self, builder: Any):
        from relex.frontend import op

        self.op, self.emit = op, builder.emit

    def dense(self, x: Any, w: Any) -> Any:
        return self.emit(self.op.dense(x, w))

    def matmul(self, x: Any, y: Any) -> Any:
        return self.emit(self.op.matmul(x, y))

    def add(self, x: Any, y: Any) -> Any:
        return self.emit(self.op.add(x, y))

    def multiply(self, x: Any, y: Any) -> Any:
        return self.emit(self.op.multiply(x, y))

    def relu(self, x: Any) -> Any:
        return self.emit(self.op.relu(x))

    def exp(self, x: Any) -> Any:
        return self.emit(self.op.exp(x))

    def sum(self, x: Any, axis: int | None) -> Any:
        return self.emit(self.op.sum(x, axis=axis))

    def max(self, x: Any, axis: int) -> Any:
        return self.emit(self.op.max(x, axis=axis))

    def softmax(self, x: Any) -> Any:
        return self.emit(self.op.softmax(x))

    def layer_norm(self, x: Any, scale: Any, shift: Any) -> Any:
        return self.emit(self.op.layer_norm(x, scale, shift))

    def attention(self, q: Any, k: Any, v: Any, scale: float) -> Any:
        scores = self.matmul(q, self.emit(self.op.permute_dims(k, [0, 2, 1])))
        return self.matmul(self.softmax(self.multiply(scores, scale)), v)

    def transpose(self, x: Any) -> Any:
        return self.emit(self.op.permute_dims(x))

    def conv2d(self, x: Any, kernels: Any, padding: int) -> Any:
        return self.emit(self.op.conv2d(x, kernels, padding=[padding, padding]))

    def max_pool2d(self, x: Any, size: int) -> Any:
        return self.emit(self.op.max_pool2d(x, pool_size=[size, size], strides=[size, size]))

    def flatten(self, x: Any) -> Any:
        return self.emit(self.op.reshape(x, (x.shape[0], -1)))


def write_model(row: Row, weights: Weights) -> bytes | tuple[str, Weights]:
    """Return a row as an ONNX file if it is one, else as MLIR text, with its weights."""
    return MODELS[row.model]().SerializeToString() if row.model else write(row, weights)


def write(row: Row, weights: Weights) -> tuple[str, Weights]:
    """Return a row as MLIR text, with its weights."""
    from relex.frontend import BlockBuilder, Var

    builder = BlockBuilder()
    tensors = [Var(name, shape, row.dtype) for name, shape in (*row.inputs.items(), *row.weights.items())]
    with builder.function("main", tensors):
        builder.emit_func_output(row.apply(RelexOperators(builder), tensors))
    return str(builder.get()), weights


def compile_model(model: bytes | tuple[str, Weights]) -> Compiled:
    """Compile an ONNX file, or a program with its weights bound."""
    from relex.dialects import parse_module
    from relex.frontend.onnx import from_onnx
    from relex.passes import BindParamsPass
    from relex.runtime import build

    if isinstance(model, bytes):
        return build(from_onnx(model), cache=False)["main"]
    text, weights = model
    return build(BindParamsPass("main", weights)(parse_module(text)), cache=False)["main"]


RELEX = Backend(compile_model, write_model)
