"""Layouts of numbers in blocks, against the reader of GGUF files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relex.dialects.relex.block_layouts import BLOCK_LAYOUTS, name_of_few_bits
from relex.dialects.relex.block_quantized import dequantized, joined, parts_of

gguf = pytest.importorskip("gguf")
RNG = np.random.default_rng(0)
OF_FILES = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "MXFP4")


def some_blocks(name: str, rows: int, count: int) -> Any:
    """Blocks of random bytes, whose scales are small numbers."""
    layout = BLOCK_LAYOUTS[name]
    data = RNG.integers(0, 256, (rows, count, layout.bytes)).astype(np.uint8)
    if name == "MXFP4":
        data[..., 0] = RNG.integers(100, 140, (rows, count))
        return data.reshape(rows, -1)
    places = {"Q4_1": (0, 2), "Q5_1": (0, 2), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,)}.get(name, (0,))
    for place in places:
        halves = RNG.normal(size=(rows, count, 1)).astype(np.float16)
        data[..., place : place + 2] = halves.view(np.uint8)
    return data.reshape(rows, -1)


@pytest.mark.parametrize("name", OF_FILES)
def test_layouts_of_files(name: str) -> None:
    data = some_blocks(name, 3, 5)
    layout = BLOCK_LAYOUTS[name]
    found = dequantized(layout, data)
    assert found.shape == (3, 5 * layout.size)
    np.testing.assert_array_equal(found, gguf.dequantize(data, gguf.GGMLQuantizationType[name]))
    np.testing.assert_array_equal(joined(layout, *parts_of(layout, data)), data)


def test_powers_of_two() -> None:
    data = np.full((256, 17), 0x11, np.uint8)
    data[:, 0] = np.arange(256)
    np.testing.assert_array_equal(
        dequantized(BLOCK_LAYOUTS["MXFP4"], data), gguf.dequantize(data, gguf.GGMLQuantizationType.MXFP4)
    )


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("has_zeros", [False, True])
@pytest.mark.parametrize("has_halves", [False, True])
def test_few_bits(bits: int, has_zeros: bool, has_halves: bool) -> None:
    numbers = RNG.integers(0, 2**bits, (3, 2, 16)).astype(np.uint8)
    scales = RNG.normal(size=(3, 2, 1)).astype(np.float16 if has_halves else np.float32)
    zeros = RNG.integers(0, 2**bits, (3, 2, 1)).astype(np.uint8)
    parts = numbers.reshape(3, 2, -1, 8 // bits)
    packed = np.bitwise_or.reduce(parts << np.arange(0, 8, bits, dtype=np.uint8), -1).astype(np.uint8)
    data = np.concatenate([scales.view(np.uint8), *([zeros] if has_zeros else []), packed], -1)
    name = name_of_few_bits(bits, 16, has_zeros=has_zeros, has_halves=has_halves)
    expected = (numbers.astype(np.float32) - (zeros if has_zeros else 2 ** (bits - 1))) * scales.astype(np.float32)
    np.testing.assert_array_equal(dequantized(BLOCK_LAYOUTS[name], data.reshape(3, -1)), expected.reshape(3, -1))
