"""Weights of AWQ and GPTQ in blocks, against what their files mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relex.dialects.errors import RangeError
from relex.dialects.relex.block_layouts import BLOCK_LAYOUTS
from relex.dialects.relex.block_quantized import dequantized
from relex.frontend.block_checkpoints import BlockWeight, blocks_of_awq, blocks_of_gptq

RNG = np.random.default_rng(0)
AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)
"""The integer at each place of a word, as AWQ packs them."""


def words_of(numbers: Any, bits: int, order: Any = None) -> Any:
    """Pack integers along the last dimension, the first one in the low bits."""
    count = 32 // bits
    parts = numbers.reshape(*numbers.shape[:-1], -1, count)[..., order if order is not None else range(count)]
    shifted = parts.astype(np.int64) << (bits * np.arange(count))
    return shifted.sum(-1).astype(np.uint32).view(np.int32)


def random_weight(inputs: int, outputs: int, group: int, bits: int, kind: Any = np.float16) -> tuple[Any, Any, Any]:
    digits = RNG.integers(0, 2**bits, (inputs, outputs))
    zeros = RNG.integers(0, 2**bits, (inputs // group, outputs))
    return digits, zeros, RNG.random((inputs // group, outputs)).astype(kind)


def numbers_in(weight: BlockWeight) -> Any:
    return dequantized(BLOCK_LAYOUTS[weight.layout], weight.blocks)


@pytest.mark.parametrize("group", [32, 128, 512])
@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_awq(group: int, kind: Any) -> None:
    digits, zeros, scales = random_weight(512, 48, group, 4, kind)
    found = blocks_of_awq(words_of(digits, 4, AWQ_ORDER), words_of(zeros, 4, AWQ_ORDER), scales)
    groups = np.arange(512) // group
    expected = (digits - zeros[groups]).astype(np.float32) * scales[groups].astype(np.float32)
    np.testing.assert_array_equal(numbers_in(found), expected.T)
    assert found.order is None
    assert found.layout == f"4_BITS_{min(group, 256)}_{'F16' if kind is np.float16 else 'F32'}_ZEROS"


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("ordered", [False, True])
def test_gptq(bits: int, version: int, ordered: bool) -> None:
    digits, zeros, scales = random_weight(256, 32, 64, bits)
    zeros = np.minimum(zeros, 2**bits - 2)
    groups = np.arange(256) // 64 if ordered else RNG.permutation(256) // 64
    qweight = np.moveaxis(words_of(digits.T, bits), -1, 0)
    found = blocks_of_gptq(
        qweight, words_of(zeros, bits), scales, groups.astype(np.int32), bits=bits, zeros_less_one=version == 1
    )
    expected = (digits - zeros[groups] - (version == 1)).astype(np.float32) * scales[groups].astype(np.float32)
    assert (found.order is None) is ordered
    order = np.arange(256) if found.order is None else found.order
    np.testing.assert_array_equal(numbers_in(found), expected[order].T)
    x = RNG.standard_normal((3, 256))
    np.testing.assert_allclose(x[:, order] @ numbers_in(found).T, x @ expected)


def test_what_is_refused() -> None:
    digits, zeros, scales = random_weight(64, 32, 32, 4)
    qweight, qzeros = np.moveaxis(words_of(digits.T, 4), -1, 0), words_of(zeros, 4)
    with pytest.raises(RangeError, match="expected numbers of 2, 4 or 8 bits, found 3"):
        blocks_of_gptq(qweight, qzeros, scales, bits=3)
    with pytest.raises(RangeError, match="expected groups of the same size in g_idx"):
        blocks_of_gptq(qweight, qzeros, scales, np.array([0] * 63 + [1]))
    with pytest.raises(RangeError, match="expected scales and zero points of 32 outputs"):
        blocks_of_gptq(qweight, qzeros, scales[:, :16])
    with pytest.raises(RangeError, match="expected groups of a multiple of 16 inputs, found 8"):
        blocks_of_gptq(qweight, np.repeat(qzeros, 4, 0), np.repeat(scales, 4, 0))
