"""Rows in ONNX, for ONNX Runtime and OpenVINO."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.contenders import Backend, Compiled, Weights, thread_limit
from benchmarks.models import MODELS
from benchmarks.rows import Row

OPSET, IR_VERSION = 18, 10
"""Old enough for every version that is likely to be installed."""


class OnnxOperators:
    """Adds nodes to a graph. Tensors are represented by their names."""

    def __init__(self):
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def _node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        result = f"t{len(self.nodes)}"
        make_node: Any = import_module("onnx").helper.make_node
        self.nodes.append(make_node(kind, inputs, [result], **attributes))
        return result

    def dense(self, x: Any, w: Any) -> Any:
        return self._node("Gemm", x, w, transB=1)

    def matmul(self, x: Any, y: Any) -> Any:
        return self._node("MatMul", x, y)

    def add(self, x: Any, y: Any) -> Any:
        return self._node("Add", x, y)

    def multiply(self, x: Any, y: Any) -> Any:
        return self._node("Mul", x, y)

    def relu(self, x: Any) -> Any:
        return self._node("Relu", x)

    def exp(self, x: Any) -> Any:
        return self._node("Exp", x)

    def sum(self, x: Any, axis: int | None) -> Any:
        if axis is None:
            return self._node("ReduceSum", x, keepdims=0)
        self.constants["axes"] = np.array([axis], np.int64)
        return self._node("ReduceSum", x, "axes", keepdims=0)

    def max(self, x: Any, axis: int) -> Any:
        self.constants["axes"] = np.array([axis], np.int64)
        return self._node("ReduceMax", x, "axes", keepdims=0)

    def softmax(self, x: Any) -> Any:
        return self._node("Softmax", x, axis=-1)

    def layer_norm(self, x: Any, scale: Any, shift: Any) -> Any:
        return self._node("LayerNormalization", x, scale, shift, epsilon=1e-5)

    def attention(self, q: Any, k: Any, v: Any, scale: float) -> Any:
        scores = self.matmul(q, self._node("Transpose", k, perm=[0, 2, 1]))
        self.constants["scale"] = np.array(scale, np.float32)
        return self.matmul(self.softmax(self.multiply(scores, "scale")), v)

    def transpose(self, x: Any) -> Any:
        return self._node("Transpose", x, perm=[1, 0])

    def conv2d(self, x: Any, kernels: Any, padding: int) -> Any:
        return self._node("Conv", x, kernels, pads=[padding] * 4)

    def max_pool2d(self, x: Any, size: int) -> Any:
        return self._node("MaxPool", x, kernel_shape=[size, size], strides=[size, size])

    def flatten(self, x: Any) -> Any:
        return self._node("Flatten", x)


def write(row: Row, weights: Weights) -> bytes:
    """Return a row as a serialized ONNX model."""
    if row.model:
        return MODELS[row.model]().SerializeToString()
    onnx: Any = import_module("onnx")
    helper = onnx.helper
    dtype = helper.np_dtype_to_tensor_dtype(np.dtype(row.dtype))
    operators = OnnxOperators()
    result = row.apply(operators, [*row.inputs, *row.weights])
    inputs = [helper.make_tensor_value_info(name, dtype, shape) for name, shape in row.inputs.items()]
    constants = {**weights, **operators.constants}
    initializers = [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()]
    outputs = [helper.make_tensor_value_info(result, dtype, None)]
    graph = helper.make_graph(operators.nodes, "main", inputs, outputs, initializers)
    opset = helper.make_opsetid("", OPSET)
    return helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION).SerializeToString()


def compile_onnx_runtime(model: bytes) -> Compiled:
    """Load a model into ONNX Runtime."""
    ort: Any = import_module("onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads = thread_limit()
    options.inter_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [tensor.name for tensor in session.get_inputs()]
    return lambda *arrays: session.run(None, dict(zip(names, arrays, strict=True)))[0]


def compile_openvino(model: bytes) -> Compiled:
    """Compile a model with OpenVINO."""
    ov: Any = import_module("openvino")
    core = ov.Core()
    # By default it uses bfloat16 where the processor supports it.
    properties = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": thread_limit(),
    }
    request = core.compile_model(core.read_model(model), "CPU", properties).create_infer_request()

    def call(*arrays: Any) -> Any:
        # The result's buffer belongs to the request, and the next call overwrites it.
        return request.infer(arrays, share_inputs=True, share_outputs=True)[0].copy()

    return call


ONNX_RUNTIME = Backend(compile_onnx_runtime, write)
OPENVINO = Backend(compile_openvino, write)
