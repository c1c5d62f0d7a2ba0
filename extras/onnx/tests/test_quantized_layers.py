"""Layers of quantized tensors, as ONNX Runtime's quantizer writes them: what they compute, in numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from relex.frontend.onnx import from_onnx
from relex.runtime import build

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(0)
BYTES = {np.uint8: TensorProto.UINT8, np.int8: TensorProto.INT8}


def model(operator: str, inputs: list[Any], result: int, **attributes: Any) -> tuple[Any, dict[str, Array]]:
    """A model of one node, and its arguments: arrays of two dimensions or more, others are constants."""
    named = {f"i{k}": np.asarray(value) for k, value in enumerate(inputs) if value is not None}
    names = ["" if value is None else f"i{k}" for k, value in enumerate(inputs)]
    data = {name: array for name, array in named.items() if array.ndim > 1}
    constants = [numpy_helper.from_array(array, name) for name, array in named.items() if name not in data]
    types = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in data.items()}
    arguments = [helper.make_tensor_value_info(name, types[name], array.shape) for name, array in data.items()]
    node = helper.make_node(operator, names, ["y"], domain="com.microsoft", **attributes)
    graph = helper.make_graph([node], "layer", arguments, [helper.make_tensor_value_info("y", result, None)], constants)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets), data


def check(operator: str, inputs: list[Any], wanted: Array, **attributes: Any) -> None:
    made, data = model(operator, inputs, helper.np_dtype_to_tensor_dtype(wanted.dtype), **attributes)
    found = build(from_onnx(made))["main"](**data)
    np.testing.assert_array_equal(found, wanted, strict=True)


def floats(x: Array, scale: float, zero: int) -> Array:
    return (x.astype(np.int32) - zero).astype(np.float32) * np.float32(scale)


def quantized(y: Array, scale: float, zero: int, dtype: Any) -> Array:
    limits = np.iinfo(dtype)
    return np.clip(np.round(y / np.float32(scale)) + zero, limits.min, limits.max).astype(dtype)


def some(dtype: Any, *shape: int) -> Array:
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)


def number(scale: float, zero: int, dtype: Any) -> list[Any]:
    return [np.float32(scale), np.array(zero, dtype)]


@pytest.mark.parametrize("dtype", BYTES)
def test_sums_and_products_saturate(dtype: Any) -> None:
    a, b = some(dtype, 3, 5, 17), some(dtype, 5, 17)
    inputs = [a, *number(0.021, 3, dtype), b, *number(0.4, 100, dtype), *number(0.1, 7, dtype)]
    left, right = floats(a, 0.021, 3), floats(b, 0.4, 100)
    check("QLinearAdd", inputs, quantized(left + right, 0.1, 7, dtype))
    check("QLinearMul", inputs, quantized(left * right, 0.1, 7, dtype))


def test_zero_points_may_be_left_out() -> None:
    a, b = some(np.uint8, 3, 5), some(np.uint8, 3, 5)
    inputs = [a, np.float32(0.25), None, b, np.float32(0.5), None, np.float32(1)]
    check("QLinearAdd", inputs, quantized(floats(a, 0.25, 0) + floats(b, 0.5, 0), 1, 0, np.uint8))


@pytest.mark.parametrize("dtype", BYTES)
def test_activations(dtype: Any) -> None:
    x = some(dtype, 3, 17)
    data, inputs = floats(x, 0.05, 9), [x, *number(0.05, 9, dtype), *number(0.03, 5, dtype)]
    check(
        "QLinearLeakyRelu",
        inputs,
        quantized(np.where(data < 0, data * np.float32(0.2), data), 0.03, 5, dtype),
        alpha=0.2,
    )
    check("QLinearSigmoid", inputs, quantized(1 / (1 + np.exp(-data)), 0.03, 5, dtype))
    power = np.exp(data - data.max(-1, keepdims=True))
    check("QLinearSoftmax", inputs, quantized(power / power.sum(-1, keepdims=True), 0.03, 5, dtype), axis=-1, opset=13)


def test_a_softmax_over_several_dimensions() -> None:
    x = some(np.uint8, 2, 3, 4)
    inputs = [x, *number(0.05, 9, np.uint8), *number(0.003, 5, np.uint8)]
    power = np.exp(floats(x, 0.05, 9))
    wanted = quantized(power / power.sum((1, 2), keepdims=True), 0.003, 5, np.uint8)
    check("QLinearSoftmax", inputs, wanted, axis=1, opset=12)


@pytest.mark.parametrize("last", [0, 1])
def test_means_of_channels(last: int) -> None:
    x = some(np.uint8, 2, 4, 2, 4)
    inputs = [x, *number(0.5, 9, np.uint8), *number(0.25, 4, np.uint8)]
    mean = floats(x, 0.5, 9).mean((1, 2) if last else (2, 3), keepdims=True)
    check("QLinearGlobalAveragePool", inputs, quantized(mean, 0.25, 4, np.uint8), channels_last=last)


def test_means_of_windows() -> None:
    x = some(np.int8, 1, 3, 4, 6)
    mean = floats(x, 0.5, -3).reshape(1, 3, 2, 2, 3, 2).mean((3, 5))
    inputs = [x, *number(0.5, -3, np.int8), *number(0.25, 4, np.int8)]
    windows: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}
    wanted = quantized(mean, 0.25, 4, np.int8)
    check("QLinearAveragePool", inputs, wanted, **windows)
    inputs[0] = np.moveaxis(x, 1, -1)
    check("QLinearAveragePool", inputs, np.moveaxis(wanted, 1, -1), channels_last=1, **windows)


def test_largest_of_windows_whose_channels_come_last() -> None:
    x = some(np.uint8, 1, 4, 6, 3)
    check("NhwcMaxPool", [x], x.reshape(1, 2, 2, 3, 2, 3).max((2, 4)), kernel_shape=[2, 2], strides=[2, 2])


def test_parts_of_other_scales() -> None:
    a, b = some(np.uint8, 2, 3), some(np.uint8, 2, 4)
    inputs = [*number(0.25, 5, np.uint8), a, *number(0.5, 9, np.uint8), b, *number(0.25, 5, np.uint8)]
    wanted = np.concatenate([quantized(floats(a, 0.5, 9), 0.25, 5, np.uint8), b], 1)
    check("QLinearConcat", inputs, wanted, axis=1)
    chosen = RNG.random((2, 3)) > 0.5
    c = some(np.uint8, 2, 3)
    inputs = [chosen, a, *number(0.5, 9, np.uint8), c, *number(1, 3, np.uint8), *number(0.75, 1, np.uint8)]
    wanted = quantized(np.where(chosen, floats(a, 0.5, 9), floats(c, 1, 3)), 0.75, 1, np.uint8)
    check("QLinearWhere", inputs, wanted)


@pytest.mark.parametrize("transposed", [0, 1])
@pytest.mark.parametrize("scales", [1, 5])
def test_dense_layers(transposed: int, scales: int) -> None:
    """The weight has one scale and zero point, or one of each for a column of the result."""
    a, b = some(np.uint8, 3, 7), some(np.int8, 7, 5)
    scale, zero = RNG.integers(1, 9, scales).astype(np.float32) / 8, some(np.int8, scales)
    bias = RNG.integers(-500, 500, 5, dtype=np.int32)
    weight = np.ascontiguousarray(b.T) if transposed else b
    parameters = (scale, zero) if scales > 1 else (scale[0], zero[0])
    inputs = [a, *number(0.5, 9, np.uint8), weight, *parameters, bias]
    total = (a.astype(np.int32) - 9) @ (b.astype(np.int32) - zero) + bias
    wanted = total.astype(np.float32) * (np.float32(0.5) * scale)
    check("QGemm", inputs, wanted, transB=transposed)
    check("QGemm", [*inputs, *number(16, 1, np.uint8)], quantized(wanted, 16, 1, np.uint8), transB=transposed)
