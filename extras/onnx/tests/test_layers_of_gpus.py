"""Layers that ONNX Runtime's optimizer writes for graphics processors only, against NumPy."""

from __future__ import annotations

from math import erf, sqrt
from typing import Any

import numpy as np
import pytest
from contrib import RNG, normal, one_node

from relex.dialects.arrays import Array
from relex.dialects.errors import CompileError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret


def results(operator: str, inputs: list[Any], outputs: tuple[str, ...] = ("y",), **given: Any) -> list[Array]:
    model, feed = one_node(operator, inputs, outputs, **given)
    found: Any = interpret(from_onnx(model))["main"](*feed.values())
    return [*found] if isinstance(found, tuple) else [found]


def expect(found: Array, wanted: Array) -> None:
    np.testing.assert_allclose(found, wanted, 1e-4, 1e-5)


def grouped(x: Array, gamma: Array, beta: Array, groups: int, *, is_last: bool) -> Array:
    """Normalize groups of channels."""
    first = np.moveaxis(x, -1, 1) if is_last else x
    parts = first.reshape(len(x), groups, -1)
    normal = (parts - parts.mean(2, keepdims=True)) / np.sqrt(parts.var(2, keepdims=True) + 1e-5)
    y = normal.reshape(first.shape) * gamma[:, None, None] + beta[:, None, None]
    return np.moveaxis(y, 1, -1) if is_last else y


@pytest.mark.parametrize("is_last", [0, 1])
@pytest.mark.parametrize("activation", [0, 1])
def test_group_norms(is_last: int, activation: int) -> None:
    x, gamma, beta, bias, skip = normal(2, 6, 5, 6), *(normal(6) for _ in range(3)), normal(2, 6)
    given: dict[str, Any] = {"groups": 3, "activation": activation, "channels_last": is_last}
    total = x + (skip[:, None, None] if is_last else skip[..., None, None])
    total = total + (bias if is_last else bias[:, None, None])
    for tensor, found in (
        (x, results("GroupNorm", [x, gamma, beta], **given)),
        (total, results("SkipGroupNorm", [x, gamma, beta, skip, bias], ("y", "s"), **given)),
    ):
        wanted = grouped(tensor, gamma, beta, 3, is_last=bool(is_last))
        expect(found[0], wanted / (1 + np.exp(-wanted)) if activation else wanted)
    expect(found[1], total)


def test_sums_and_gates() -> None:
    x, bias, skip = normal(2, 3, 8), normal(8), normal(2, 3, 8)
    expect(results("BiasAdd", [x, bias, skip])[0], x + bias + skip)
    left, right = np.split(x + bias, 2, -1)
    expect(results("BiasSplitGelu", [x, bias])[0], left * right * (1 + np.vectorize(erf)(right / sqrt(2))) / 2)
    weight = normal(8, 4)
    product = x @ weight
    expect(results("FusedMatMulActivation", [x, weight], activation="Relu")[0], np.maximum(product, 0))
    tanh = np.tanh(np.sqrt(2 / np.pi) * (product + 0.044715 * product**3))
    expect(results("GemmFastGelu", [x, weight])[0], product * (1 + tanh) / 2)


@pytest.mark.parametrize("operator", ["NhwcConv", "NhwcFusedConv"])
def test_convolutions_of_channels_last(operator: str) -> None:
    x, weight, bias, other = normal(2, 5, 5, 3), normal(4, 3, 1, 1), normal(4), normal(2, 5, 5, 4)
    y = x @ weight[:, :, 0, 0].T + bias
    is_plain = operator == "NhwcConv"
    more: dict[str, Any] = {} if is_plain else {"activation": "Relu"}
    (found,) = results(operator, [x, weight, bias, *([] if is_plain else [other])], constants=(1,), **more)
    expect(found, y if is_plain else np.maximum(y + other, 0))


def test_complex_numbers_and_transforms() -> None:
    a, b = (normal(2, 3) + 1j * normal(2, 3) for _ in range(2))
    pair = [np.stack([x.real, x.imag], -1) for x in (a, b)]
    for operator, wanted in (("ComplexMul", a * b), ("ComplexMulConj", a * b.conj())):
        expect(results(operator, pair)[0], np.stack([wanted.real, wanted.imag], -1))
    x = normal(2, 8)
    spectrum = np.fft.rfft(x)
    found = np.stack([spectrum.real, spectrum.imag], -1).astype(np.float32)
    expect(results("Rfft", [x], signal_ndim=1)[0], found)
    expect(results("Irfft", [found], signal_ndim=1)[0], x)
    with pytest.raises(CompileError, match="transforms along several dimensions"):
        results("Rfft", [x], signal_ndim=2)


def test_integers_of_8_bits() -> None:
    a, b = RNG.integers(0, 256, (2, 2, 3)).astype(np.uint8)
    expect(results("MulInteger", [a, np.uint8(3), b, np.uint8(9)])[0], (a.astype(int) - 3) * (b.astype(int) - 9))
    expect(results("ReduceSumInteger", [a], axes=[1], keepdims=0)[0], a.astype(int).sum(1))
    mean: Any = ((a.astype(np.float32) - 2) * 0.5).mean(-1, keepdims=True)
    scales = [np.float32(0.5), np.uint8(2), np.float32(0.25), np.uint8(7)]
    (found,) = results("QLinearReduceMean", [a, *scales], axes=[-1], keepdims=1)
    expect(found, np.clip(np.rint(mean / 0.25) + 7, 0, 255))


def test_shares_and_tables() -> None:
    x, bias = normal(2, 3, 4), normal(1, 3, 4)
    raised = np.exp(x + bias)
    given: dict[str, Any] = {"axis": 2, "is_inner_broadcast": 0}
    expect(results("BiasSoftmax", [x, bias], **given)[0], raised / raised.sum(-1, keepdims=True))
    table, places = normal(4, 3), np.array([[1, 2], [3, 0]])
    expect(results("TorchEmbedding", [table, places])[0], table[places])


@pytest.mark.parametrize(("number", "wanted"), [(1.0, (1, 1, 1)), (np.inf, (0, 1, 0)), (np.nan, (0, 0, 1))])
def test_whether_all_are_finite(number: float, wanted: tuple[int, ...]) -> None:
    x = np.array([[0, number], [1, 2]], np.float32)
    options: list[dict[str, Any]] = [{}, {"isnan_only": 1}, {"isinf_only": 1}]
    for given, holds in zip(options, wanted, strict=True):
        assert results("IsAllFinite", [np.zeros(3, np.float32), x], **given)[0] == bool(holds)


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("BeamSearch", "a search that calls models in its attributes"),
        ("RemovePadding", "a layer for graphics processors"),
        ("BiasDropout", "a layer of training"),
        ("Tokenizer", "strings"),
    ],
)
def test_reasons_to_refuse(operator: str, expected: str) -> None:
    with pytest.raises(CompileError, match=expected):
        from_onnx(one_node(operator, [normal(2, 3)])[0])
