"""Weights of a few bits, and products of integers as floats, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from contrib import RNG, expect_same, normal, one_node

from relex.dialects.errors import CompileError
from relex.frontend.onnx import from_onnx


def some(*shape: int) -> Any:
    return RNG.integers(0, 256, shape).astype(np.uint8)


def positive(*shape: int) -> Any:
    return np.abs(normal(*shape))


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


def test_zeros_that_are_floats() -> None:
    inputs = [normal(3, 64), some(6, 2, 16), positive(12), normal(12)]
    expect_same("MatMulNBits", inputs, constants=(1, 2, 3), K=64, N=6, bits=4, block_size=32)


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


def test_what_is_refused() -> None:
    given: dict[str, Any] = {"K": 64, "N": 6, "block_size": 32}
    inputs = [normal(3, 64), some(6, 2, 16), positive(12), None, np.zeros(64, np.int32)]
    model, _ = one_node("MatMulNBits", inputs, constants=(1, 2, 4), **given)
    with pytest.raises(CompileError, match="order them and export the model again"):
        from_onnx(model)
    model, _ = one_node("GatherBlockQuantized", [some(9, 32), np.array([1]), positive(9, 4)], quantize_axis=0)
    with pytest.raises(CompileError, match="quantize along another one"):
        from_onnx(model)


@pytest.mark.parametrize("bits", [-1, 0, 3, 2**40])
def test_numbers_of_other_bits(bits: int) -> None:
    inputs = [normal(3, 64), some(6, 2, 16), positive(12)]
    model, _ = one_node("MatMulNBits", inputs, constants=(1, 2), K=64, N=6, bits=bits, block_size=32)
    with pytest.raises(CompileError, match=f"expected numbers of 2, 4 or 8 bits, found {bits}"):
        from_onnx(model)
