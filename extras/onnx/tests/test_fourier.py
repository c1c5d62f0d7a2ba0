"""Fourier transforms of all kinds of lengths, beside NumPy's."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx_runtime import expect_as_onnx_runtime

from relex.dialects.arrays import Array
from relex.dialects.errors import CompileError
from relex.dialects.exceptions import ShapeError
from relex.dialects.relex import ConstantOp
from relex.dialects.relex.types import shape_of
from relex.frontend.onnx import from_onnx
from relex.reference import interpret
from relex.runtime import build

RNG = np.random.default_rng(0)
LENGTHS = [1, 2, 32, 33, 37, 60, 1000, 1021, 2 * 37, 4096]
MORE = [31, 97, 128, 360, 400]
"""Small ones, primes, multiples of large primes, and products of small primes."""


def model(shape: list[int | str], dtype: int, **attributes: Any) -> ModelProto:
    node = helper.make_node("DFT", ["x", "", "axis"], ["y"], **attributes)
    x, y = helper.make_tensor_value_info("x", dtype, shape), helper.make_tensor_value_info("y", dtype, None)
    axis = numpy_helper.from_array(np.array(1, np.int64), "axis")
    graph = helper.make_graph([node], "dft", [x], [y], [axis])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def parts(x: Array) -> Array:
    return np.stack([np.real(x), np.imag(x)], -1)


def error(found: Array, wanted: Array) -> float:
    """The largest error, as a share of the root of the mean square."""
    return float(abs(found - wanted).max() / np.sqrt(np.mean(wanted**2)))


@pytest.mark.parametrize("count", [*LENGTHS, *(pytest.param(count, marks=pytest.mark.full) for count in MORE)])
def test_as_numpy(count: int) -> None:
    x = RNG.standard_normal((3, count, 2))
    numbers = x[..., 0] + 1j * x[..., 1]
    wide: Any = interpret(from_onnx(model(["n", count, 2], TensorProto.DOUBLE)))["main"]
    assert error(wide(x), parts(np.fft.fft(numbers))) < 2e-14 * max(1, np.log2(count))
    real = build(from_onnx(model(["n", count, 1], TensorProto.FLOAT, onesided=1)))["main"]
    narrow = x[..., :1].astype(np.float32)
    assert error(real(narrow), parts(np.fft.rfft(narrow[..., 0].astype(np.float64)))) < 2e-6 * max(1, np.log2(count))


@pytest.mark.parametrize("count", [2, 33, 37, 1000])
def test_inverses(count: int) -> None:
    x = RNG.standard_normal((2, count, 2))
    numbers = x[..., 0] + 1j * x[..., 1]
    inverse = build(from_onnx(model([2, count, 2], TensorProto.DOUBLE, inverse=1)))["main"]
    assert error(inverse(x), parts(np.fft.ifft(numbers))) < 1e-13
    half = build(from_onnx(model([2, count, 2], TensorProto.DOUBLE, inverse=1, onesided=1)))["main"]
    size = 2 * (count - 1)
    assert error(half(x)[..., 0], np.fft.irfft(numbers, size)) < 1e-13


def test_dynamic_lengths() -> None:
    forward, back, half, of_half = (
        build(from_onnx(model([2, "n", last], TensorProto.DOUBLE, **given)))["main"]
        for last, given in ((2, {}), (2, {"inverse": 1}), (1, {"onesided": 1}), (2, {"inverse": 1, "onesided": 1}))
    )
    for count in (1, 2, 4, 9, 100, 127):
        x = RNG.standard_normal((2, count, 2))
        numbers = x[..., 0] + 1j * x[..., 1]
        assert error(forward(x), parts(np.fft.fft(numbers))) < 1e-13
        assert error(back(x), parts(np.fft.ifft(numbers))) < 1e-13
        assert error(half(x[..., :1]), parts(np.fft.rfft(x[..., 0]))) < 1e-13
        if count > 1:
            assert error(of_half(x)[..., 0], np.fft.irfft(numbers)) < 1e-13
    # The middle of the transform of real numbers is real.
    assert half(np.ones((2, 4, 1)))[:, 2, 1].tolist() == [0, 0]
    with pytest.raises(ShapeError, match="expected n <= 4096, found n = 5000"):
        forward(np.ones((2, 5000, 2)))


def test_matrices_stay_small() -> None:
    """4096 numbers take products with matrices of 32 and 4, in place of one with 16 million elements."""
    module = from_onnx(model(["n", 4096, 2], TensorProto.DOUBLE))
    sizes = [shape_of(op.result) for op in module.walk() if isinstance(op, ConstantOp)]
    assert max(map(prod, sizes)) == 4096


@pytest.mark.parametrize("shape", [(2, 21), (2, 21, 1)])
@pytest.mark.parametrize("onesided", [0, 1])
def test_windows_of_signals_of_dynamic_length(shape: tuple[int, ...], onesided: int) -> None:
    """Real signals may come without a dimension for their parts."""
    step, window = numpy_helper.from_array(np.array(4), "step"), RNG.standard_normal(8).astype(np.float32)
    node = helper.make_node("STFT", ["x", "step", "window"], ["y"], onesided=onesided)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "length", *shape[2:]])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "stft", [x], [y], [step, numpy_helper.from_array(window, "window")])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    feeds = [{"x": RNG.standard_normal((2, n, *shape[2:])).astype(np.float32)} for n in (21, 8, 9)]
    main = expect_as_onnx_runtime(made, *feeds, rtol=1e-4, atol=1e-5)
    with pytest.raises(ShapeError, match="expected 8 <= length, found length = 7"):
        main(feeds[0]["x"][:, :7])
    made.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array(0), "step"))
    with pytest.raises(CompileError, match="expected a step of 1 or more, found 0"):
        from_onnx(made)
