"""Operators on packed bytes and on blocks of channels mean what operators on plain arrays do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16
from operator_cases import CASES
from programs import MakeOperator, operator_of
from xdsl.dialects.builtin import TensorType
from xdsl.utils.test_value import create_ssa_value

from relex.dialects import relex
from relex.dialects.dtypes import element_type_of
from relex.dialects.relex import Operator
from relex.dialects.relex.properties import python_value

Array = Any

PLAIN: dict[type[Operator], type[Operator]] = {
    relex.Conv1dPackedOp: relex.Conv1dOp,
    relex.Conv2dPackedOp: relex.Conv2dOp,
    relex.Conv3dPackedOp: relex.Conv3dOp,
    relex.MatmulPackedOp: relex.MatmulOp,
}
WINDOWS = ("strides", "padding", "dilation", "groups")


def made(make: MakeOperator, arrays: list[Array]) -> Operator:
    return make(*(create_ssa_value(TensorType(element_type_of(a.dtype), a.shape)) for a in arrays))


def evaluated(make: MakeOperator, arrays: list[Array]) -> Array:
    (found,) = made(make, arrays).evaluate_results(*arrays)
    return found


def unpacked(words: Array, axis: int, dtype: str) -> Array:
    """Return the bytes of words, the lowest first, in place of a dimension of words."""
    parts = np.moveaxis(words, axis, -1)
    found = np.ascontiguousarray(parts).view(dtype).astype(np.int32)
    return np.moveaxis(found, -1, axis)


def options_of(make: MakeOperator, arrays: list[Array]) -> dict[str, Any]:
    properties = made(make, arrays).properties
    return {name: python_value(attr) for name, attr in properties.items() if name in WINDOWS}


def cases(*kinds: type[Operator]) -> list[tuple[MakeOperator, list[Array]]]:
    return [(make, operands) for make, operands in CASES if operator_of(make) in kinds]


@pytest.mark.parametrize(("make", "arrays"), cases(*PLAIN))
def test_packed_bytes(make: MakeOperator, arrays: list[Array]) -> None:
    """Bytes of the data have no sign, bytes of the weight have one."""
    kind = PLAIN[operator_of(make)]
    axes = (-1, -2) if kind is relex.MatmulOp else (1, 1)
    plain = [unpacked(*operand) for operand in zip(arrays, axes, ("u1", "i1"), strict=True)]
    options = options_of(make, arrays)
    expected = evaluated(lambda *values: kind(*values, **options), plain)
    np.testing.assert_array_equal(evaluated(make, arrays), expected)


@pytest.mark.parametrize(("make", "arrays"), cases(relex.PackBytesOp))
def test_bytes_are_packed(make: MakeOperator, arrays: list[Array]) -> None:
    """The first byte, or number of 16 bits, is the lowest; zeros fill the last word."""
    axis = python_value(made(make, arrays).properties["axis"])
    bits = arrays[0] if arrays[0].dtype.itemsize == 1 else arrays[0].view(np.uint16)
    found = unpacked(evaluated(make, arrays), axis, bits.dtype.str)
    size = arrays[0].shape[axis]
    kept, filled = np.split(found, [size], axis)
    np.testing.assert_array_equal(kept, bits)
    assert not filled.any()


@pytest.mark.parametrize(("make", "arrays"), cases(relex.MatmulPairsOp))
def test_pairs(make: MakeOperator, arrays: list[Array]) -> None:
    lhs, rhs = (
        np.moveaxis(np.ascontiguousarray(np.moveaxis(a, axis, -1)).view(bfloat16).astype(np.float64), -1, axis)
        for a, axis in zip(arrays, (-1, -2), strict=True)
    )
    np.testing.assert_allclose(evaluated(make, arrays), lhs @ rhs, atol=1e-5 * (abs(lhs) @ abs(rhs)).max())


@pytest.mark.parametrize(("make", "arrays"), cases(relex.MatmulShortsOp, relex.Conv2dBlockedShortsOp))
def test_shorts(make: MakeOperator, arrays: list[Array]) -> None:
    """Sums of products of integers of 16 bits wrap around."""
    if operator_of(make) is relex.MatmulShortsOp:
        lhs, rhs = (unpacked(a, axis, "i2") for a, axis in zip(arrays, (-1, -2), strict=True))
        np.testing.assert_array_equal(evaluated(make, arrays), lhs @ rhs)
        return
    data, weight = arrays
    plain = [unpacked(data.reshape((*data.shape, 1)[:5]), 4, "i2"), unpacked(weight, 4, "i2")]
    options = options_of(make, arrays)
    expected = evaluated(lambda *values: relex.Conv2dBlockedOp(*values, **options), plain)
    np.testing.assert_array_equal(evaluated(make, arrays), expected)


@pytest.mark.parametrize(("make", "arrays"), cases(relex.Conv2dBlockedPairsOp))
def test_pairs_in_blocks(make: MakeOperator, arrays: list[Array]) -> None:
    data, weight = arrays
    data = data.reshape((*data.shape, 1)[:5])
    plain = [
        np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 4, -1)).view(bfloat16).astype(np.float64), -1, 4)
        for a in (data, weight)
    ]
    options = options_of(make, arrays)
    expected, size = (
        evaluated(lambda *values: relex.Conv2dBlockedOp(*values, **options), operands)
        for operands in (plain, list(map(abs, plain)))
    )
    np.testing.assert_allclose(evaluated(make, arrays), expected, atol=1e-5 * size.max())


@pytest.mark.parametrize(("make", "arrays"), cases(relex.Conv2dBlockedPackedOp))
def test_packed_bytes_in_blocks(make: MakeOperator, arrays: list[Array]) -> None:
    data, weight = arrays
    data = data.reshape((*data.shape, 1)[:5])
    plain = [unpacked(data, 4, "u1"), unpacked(weight, 4, "i1")]
    options = options_of(make, arrays)
    expected = evaluated(lambda *values: relex.Conv2dBlockedOp(*values, **options), plain)
    np.testing.assert_array_equal(evaluated(make, arrays), expected)


def without_blocks(data: Array) -> Array:
    """Return images [N, C / b, H, W, b] as [N, C, H, W]."""
    moved = np.moveaxis(data, 4, 2)
    return moved.reshape(moved.shape[0], -1, *moved.shape[3:])


@pytest.mark.parametrize(("make", "arrays"), cases(relex.Conv2dBlockedOp))
def test_blocks_of_channels(make: MakeOperator, arrays: list[Array]) -> None:
    data, weight = arrays
    images = (without_blocks(data) if data.ndim == 5 else data).astype(weight.dtype)
    # [O, I, H, W, i, o] as [O * o, I * i, H, W]
    kernel = weight.transpose(0, 5, 1, 4, 2, 3)
    kernel = kernel.reshape(kernel.shape[0] * kernel.shape[1], -1, *kernel.shape[4:])
    options = options_of(make, arrays)
    if python_value(made(make, arrays).properties.get("depthwise")):
        options["groups"] = images.shape[1]
    elif options.get("groups", 1) == 1:
        # Blocks may be larger than the channels that the weight reads.
        images = images[:, : kernel.shape[1]]
    expected = evaluated(lambda *values: relex.Conv2dOp(*values, **options), [images, kernel])
    np.testing.assert_allclose(without_blocks(evaluated(make, arrays)), expected, rtol=1e-5, atol=1e-5)
