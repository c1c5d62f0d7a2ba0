"""Weights of a few bits, and products of integers as floats, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from contrib import RNG, expect_same, normal, one_node
from onnx import TensorProto, helper, numpy_helper

from relex.dialects.errors import CompileError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret
from relex.runtime import build


def some(*shape: int) -> Any:
    return RNG.integers(0, 256, shape).astype(np.uint8)


def positive(*shape: int) -> Any:
    return np.abs(normal(*shape))


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize(("width", "block"), [(64, 32), (80, 32), (32, 16)])
@pytest.mark.parametrize("complete", [False, True])
def test_dense_layers(bits: int, width: int, block: int, complete: bool) -> None:
    rows, blocks = 6, -(-width // block)
    inputs = [normal(3, width), some(rows, blocks, block * bits // 8), positive(rows * blocks)]
    if complete:
        inputs += [some(rows * -(-blocks * bits // 8)), None, normal(rows)]
    given = {"K": width, "N": rows, "bits": bits, "block_size": block}
    expect_same("MatMulNBits", inputs, constants=(1, 2, 3, 5) if complete else (1, 2), **given)


def test_layers_stay_packed() -> None:
    """Weights are never unpacked as a whole, and layers are computed as in f32, with halves, too."""
    inputs = [normal(3, 128), some(64, 4, 16), positive(64 * 4)]
    model, feed = one_node("MatMulNBits", inputs, constants=(1, 2), K=128, N=64, block_size=32)
    built = build(from_onnx(model))
    assert "64x128xf32" not in str(built.ir("loops"))
    halves = [inputs[0].astype(np.float16), inputs[1], inputs[2].astype(np.float16)]
    model, other = one_node("MatMulNBits", halves, constants=(1, 2), K=128, N=64, block_size=32)
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT16
    narrow = build(from_onnx(model))["main"](**other)
    assert narrow.dtype == np.float16
    np.testing.assert_allclose(narrow, built["main"](**feed), rtol=3e-2, atol=3e-1)


@pytest.mark.parametrize("width", [128, 80])
def test_data_that_may_be_rounded_to_bytes(width: int) -> None:
    """Blocks of 32 numbers are rounded to multiples of their largest one times `1 / 127`."""
    x, columns, blocks = normal(3, width), 48, -(-width // 32)
    weights, scales = some(columns, blocks, 16), positive(columns * blocks)
    given: dict[str, Any] = {"K": width, "N": columns, "block_size": 32, "accuracy_level": 4}
    model, feed = one_node("MatMulNBits", [x, weights, scales], constants=(1, 2), **given)
    padded = np.pad(x, [(0, 0), (0, 32 * blocks - width)]).reshape(3, blocks, 32)
    steps = np.abs(padded).max(-1, keepdims=True) * np.float32(1 / 127)
    rounded = (np.rint(padded * (1 / steps)) * steps).reshape(3, -1)
    digits = np.stack([weights & 15, weights >> 4], -1).reshape(columns, blocks, 32).astype(np.float32) - 8
    matrix = (digits * scales.reshape(columns, blocks, 1)).reshape(columns, -1)
    found = build(from_onnx(model))["main"](**feed)
    np.testing.assert_allclose(found, rounded @ matrix.T, 1e-4, 1e-3)
    assert (np.abs(found - np.pad(x, [(0, 0), (0, 32 * blocks - width)]) @ matrix.T) > 1e-3).any()


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("kind", ["int4", "uint4", "int8", "uint8"])
@pytest.mark.parametrize("has_zeros", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_blocks_of_constant_matrices(kind: str, has_zeros: bool, axis: int) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(getattr(ml_dtypes, kind, kind))
    limits = ml_dtypes.iinfo(dtype) if "4" in kind else np.iinfo(dtype)
    shape, scales = (64, 32), ((2, 32) if axis == 0 else (64, 1))
    numbers = RNG.integers(limits.min, limits.max + 1, shape)
    zeros = RNG.integers(limits.min, limits.max + 1, scales)
    arrays = {"w": numbers.astype(dtype), "s": positive(*scales), **({"z": zeros.astype(dtype)} if has_zeros else {})}
    nodes = [
        helper.make_node("DequantizeLinear", list(arrays), ["f"], axis=axis, block_size=32),
        helper.make_node("MatMul", ["x", "f"], ["y"]),
    ]
    data, result = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", n]) for name, n in (("x", 64), ("y", 32))
    )
    stored = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "layer", [data], [result], stored)
    x = normal(3, 64)
    found = build(from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])))["main"](x)
    zero, scale = (np.repeat(part, 32, axis) for part in (zeros if has_zeros else 0 * zeros, arrays["s"]))
    np.testing.assert_allclose(found, x @ ((numbers - zero).astype(np.float32) * scale), rtol=1e-4, atol=1e-2)


def test_zeros_that_are_floats() -> None:
    inputs = [normal(3, 64), some(6, 2, 16), positive(12), normal(12)]
    expect_same("MatMulNBits", inputs, constants=(1, 2, 3), K=64, N=6, bits=4, block_size=32)


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize(("bits", "columns"), [(4, 4), (8, 2)])
@pytest.mark.parametrize("places", [np.array([[0, 8], [3, -1]]), np.array([1, 2], np.int32)])
@pytest.mark.parametrize("zeros", [False, True])
def test_rows_of_tables(bits: int, columns: int, places: Any, zeros: bool) -> None:
    inputs = [some(9, 32), places, positive(9, columns), *([some(9, 2)] if zeros else [])]
    constants = (0, 2, 3) if zeros else (0, 2)
    expect_same("GatherBlockQuantized", inputs, constants=constants, bits=bits, block_size=16)


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
def test_products_of_integers(kind: Any) -> None:
    a, b, one, each = some(2, 3, 5), some(5, 4).astype(kind), np.float32(0.1), positive(4)
    expect_same("MatMulIntegerToFloat", [a, b, one, np.float32(0.2)])
    zeros = [np.uint8(7), np.arange(4).astype(kind)]
    expect_same("MatMulIntegerToFloat", [a, b, one, each, *zeros, normal(4)], constants=(2, 3, 4, 5, 6))


@pytest.mark.parametrize("shift", [-5, 0, 5])
def test_products_of_floats_that_are_quantized(shift: float) -> None:
    x, b = normal(3, 5) + np.float32(shift), some(5, 4).astype(np.int8)
    expect_same("DynamicQuantizeMatMul", [x, b, np.float32(0.2)], rtol=1e-3)
    zeros = np.arange(4).astype(np.int8)
    expect_same("DynamicQuantizeMatMul", [x, b, positive(4), zeros, normal(4)], rtol=1e-3, constants=(1, 2, 3, 4))


def test_only_zeros_that_are_quantized() -> None:
    expect_same("DynamicQuantizeMatMul", [np.zeros((3, 5), np.float32), some(5, 4), np.float32(0.2), np.uint8(3)])


def test_weights_in_another_order() -> None:
    """A table says of which block each column is. ONNX Runtime passes over zero points beside it."""
    x, weights, scales, order = normal(3, 64), some(6, 2, 16), positive(12), RNG.permutation(64) // 32
    given: dict[str, Any] = {"K": 64, "N": 6, "block_size": 32, "bits": 4}
    inputs = [x, weights, scales, None, order.astype(np.int32)]
    expect_same("MatMulNBits", inputs, constants=(1, 2, 4), run=interpret, **given)
    zeros = some(6)
    model, _ = one_node("MatMulNBits", [*inputs[:3], zeros, inputs[4]], constants=(1, 2, 3, 4), **given)
    digits = np.stack([weights & 15, weights >> 4], -1).reshape(6, 64).astype(np.float32)
    offsets = np.stack([zeros & 15, zeros >> 4], -1).astype(np.float32)
    matrix = (digits - offsets[:, order]) * scales.reshape(6, 2)[:, order]
    np.testing.assert_allclose(interpret(from_onnx(model))["main"](x), x @ matrix.T, 1e-4, 1e-4)


def test_what_is_refused() -> None:
    model, _ = one_node("GatherBlockQuantized", [some(9, 32), np.array([1]), positive(9, 4)], quantize_axis=0)
    with pytest.raises(CompileError, match="quantize along another one"):
        from_onnx(model)


@pytest.mark.parametrize("bits", [-1, 0, 3, 2**40])
def test_numbers_of_other_bits(bits: int) -> None:
    inputs = [normal(3, 64), some(6, 2, 16), positive(12)]
    model, _ = one_node("MatMulNBits", inputs, constants=(1, 2), K=64, N=6, bits=bits, block_size=32)
    with pytest.raises(CompileError, match=f"expected numbers of 2, 4 or 8 bits, found {bits}"):
        from_onnx(model)


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize(("rows", "width", "block"), [(6, 32, 16), (5, 48, 16), (4, 40, 32)])
def test_weights_of_tables(kind: int, rows: int, width: int, block: int) -> None:
    digits = RNG.integers(0, 256, rows * width // 2).astype(np.uint8)
    inputs = [normal(3, width), digits, np.abs(normal(-(-rows * width // block)))]
    given: dict[str, Any] = {"N": rows, "K": width, "block_size": block, "quant_type": kind}
    expect_same("MatMulBnb4", inputs, constants=(1, 2), run=interpret, **given)
    with pytest.raises(CompileError, match="'transB': expected weights that are transposed, found 0"):
        from_onnx(one_node("MatMulBnb4", inputs, constants=(1, 2), transB=0, **given)[0])
