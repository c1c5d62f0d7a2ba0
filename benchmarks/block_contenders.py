"""Products with weights in blocks by other libraries, as far as they have the layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks import ggml
from benchmarks.contenders import thread_limit
from relex.dialects.relex.block_layouts import BLOCK_LAYOUTS
from relex.dialects.relex.block_quantized import dequantized, parts_of

Array = np.ndarray[Any, Any]
Call = Callable[[], Any]

BLOCK = 32


@dataclass(frozen=True)
class Integers:
    """A weight of integers around zero `[columns, terms]`, with a scale in f32 for each 32 of a column."""

    bits: int
    digits: Array
    scales: Array

    @property
    def unsigned(self) -> Array:
        """The integers plus half of their range."""
        return (self.digits.astype(np.int16) + 2 ** (self.bits - 1)).astype(np.uint8)

    @property
    def packed(self) -> Array:
        """The unsigned integers in bytes, the low halves first."""
        pairs = self.unsigned.reshape(len(self.digits), -1, 8 // self.bits)
        return pairs[..., 0] if self.bits == 8 else pairs[..., 0] | pairs[..., 1] << 4


def integers_of(layout: str, weight: Array) -> Integers | None:
    """Return a weight as other libraries take it; None for layouts that they do not have."""
    scales, digits = parts_of(BLOCK_LAYOUTS[layout], weight)
    blocks = digits.reshape(len(weight), -1, BLOCK_LAYOUTS[layout].digit_bytes)
    nibbles = np.stack([blocks & 15, blocks >> 4]).astype(np.int8) - 8
    halves = scales.view(np.float32 if layout.endswith("F32") else np.float16).astype(np.float32)
    match layout:
        case "Q8_0":
            return Integers(8, digits.view(np.int8), halves)
        case "Q4_0":
            # The low halves of 16 bytes, and then the high ones.
            return Integers(4, np.moveaxis(nibbles, 0, 2).reshape(len(weight), -1), halves)
        case "4_BITS_32_F32":
            return Integers(4, np.moveaxis(nibbles, 0, 3).reshape(len(weight), -1), halves)
        case _:
            return None


def onnx_runtime(weight: Integers, x: Array, level: int) -> Call:
    """The product by `MatMulNBits` of ONNX Runtime, at a level of accuracy: 4 stands for `x` in 8 bits."""
    ort, onnx = import_module("onnxruntime"), import_module("onnx")
    columns, terms = weight.digits.shape
    stored = {"w": weight.packed.reshape(columns, terms // BLOCK, -1), "s": weight.scales.reshape(-1)}
    node = onnx.helper.make_node(
        *("MatMulNBits", ["x", "w", "s"], ["y"]),
        domain="com.microsoft",
        **{"K": terms, "N": columns, "bits": weight.bits, "block_size": BLOCK, "accuracy_level": level},
    )
    kind = onnx.TensorProto.FLOAT
    ends = [onnx.helper.make_tensor_value_info(*end) for end in (("x", kind, x.shape), ("y", kind, (len(x), columns)))]
    constants = [onnx.numpy_helper.from_array(array, name) for name, array in stored.items()]
    graph = onnx.helper.make_graph([node], "product", ends[:1], ends[1:], constants)
    sets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)]
    options = ort.SessionOptions()
    options.intra_op_num_threads = thread_limit()
    model = onnx.helper.make_model(graph, opset_imports=sets, ir_version=8).SerializeToString()
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"x": x})[0]


def openvino(weight: Integers, x: Array, **settings: object) -> Call:
    """The product with a compressed weight in OpenVINO: a constant, converted, less its zero point, times scales."""
    ov: Any = import_module("openvino")
    ops: Any = import_module("openvino.opset13")
    columns, terms = weight.digits.shape
    shape = [columns, terms // BLOCK, BLOCK]
    if weight.bits == 4:
        digits = ops.constant(ov.Tensor(np.ascontiguousarray(weight.packed), shape, ov.Type.u4))
        middle = ops.constant(ov.Tensor(np.array([8], np.uint8), [1, 1, 1], ov.Type.u4))
        wide = ops.subtract(ops.convert(digits, "f32"), ops.convert(middle, "f32"))
    else:
        wide = ops.convert(ops.constant(weight.digits.reshape(shape)), "f32")
    scales = ops.constant(weight.scales.reshape(columns, -1, 1))
    whole = ops.reshape(ops.multiply(wide, scales), ops.constant(np.array([columns, terms])), special_zero=False)
    data = ops.parameter(x.shape, np.float32)
    model = ov.Model([ops.matmul(data, whole, transpose_a=False, transpose_b=True)], [data])
    options = {"INFERENCE_NUM_THREADS": thread_limit(), "NUM_STREAMS": 1, **settings}
    request = ov.Core().compile_model(model, "CPU", options).create_infer_request()
    return lambda: request.infer({0: x})[0]


def pytorch(weight: Integers, x: Array) -> Call:
    """The product with digits of 4 bits in PyTorch, and scales and data in bf16."""
    torch = import_module("torch")
    aten = torch.ops.aten
    packed = aten._convert_weight_to_int4pack_for_cpu(torch.from_numpy(weight.unsigned.astype(np.int32)), 1)
    scales = torch.from_numpy(weight.scales.T.copy())
    both = torch.stack([scales, torch.zeros_like(scales)], -1).to(torch.bfloat16).contiguous()
    data = torch.from_numpy(x).to(torch.bfloat16)
    return lambda: aten._weight_int4pack_mm_for_cpu(data, packed, BLOCK, both)


def pytorch_wide(numbers: Array, x: Array, kind: str) -> Call:
    """The product with the weight and data as floats of a type in PyTorch."""
    torch = import_module("torch")
    weight, data = (torch.from_numpy(array).to(getattr(torch, kind)) for array in (numbers, x))
    return lambda: torch.nn.functional.linear(data, weight)


def others(layout: str, weight: Array, x: Array) -> Iterator[tuple[str, Call]]:
    """Yield the same product in other libraries, by name; a star is for `x` in 8 bits."""
    integers = integers_of(layout, weight)
    if layout in ggml.TYPES and ggml.folder() is not None:
        yield "ggml*", ggml.library().product(layout, weight, x, thread_limit())
    if integers is not None and find_spec("onnxruntime"):
        if integers.bits == 4:  # It takes 30 times as long for bytes, which it unpacks in each call.
            yield "ONNX Runtime", onnx_runtime(integers, x, 0)
        yield "ONNX Runtime*", onnx_runtime(integers, x, 4)
    if integers is not None and find_spec("openvino"):
        yield "OpenVINO", openvino(integers, x, INFERENCE_PRECISION_HINT="f32", DYNAMIC_QUANTIZATION_GROUP_SIZE=0)
        yield "OpenVINO, as it is", openvino(integers, x)
    if find_spec("torch"):
        import_module("torch").set_num_threads(thread_limit())
        if integers is not None and integers.bits == 4:
            yield "PyTorch, 4 bits and bf16", pytorch(integers, x)
        numbers = dequantized(BLOCK_LAYOUTS[layout], weight)
        yield "PyTorch, f32", pytorch_wide(numbers, x, "float32")
        yield "PyTorch, bf16", pytorch_wide(numbers, x, "bfloat16")
