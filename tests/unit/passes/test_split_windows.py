"""Convolutions in bands, compared with convolutions by a weight that is no constant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest
from programs import Array
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.relex import Convolution
from relex.dialects.relex.types import tensor_type
from relex.frontend import BlockBuilder, Var, const, op
from relex.passes import SplitWindowsPass
from relex.passes.cpu import cost
from relex.reference import interpret
from relex.runtime import build

RNG = np.random.default_rng(0)
FUNCTIONS: dict[int, Any] = {3: op.conv1d, 4: op.conv2d, 5: op.conv3d}


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small convolutions are split, too."""
    monkeypatch.setattr(cost, "MIN_PRODUCTS_SPARED", 0)


def numbers(shape: Sequence[int], dtype: str = "float32") -> Array:
    return (RNG.standard_normal(shape) * 3).astype(dtype)


def network(sizes: Sequence[int | str], weight: Array, *, constant: bool = True, **options: Any) -> ModuleOp:
    builder = BlockBuilder()
    x, w = Var("x", tuple(sizes), str(weight.dtype)), Var("w", weight.shape, str(weight.dtype))
    with builder.function("main", [x] if constant else [x, w]):
        builder.emit_func_output(builder.emit(FUNCTIONS[weight.ndim](x, const(weight) if constant else w, **options)))
    return builder.get()


def windows(module: ModuleOp) -> list[tuple[int, ...]]:
    """The windows after the pass, which finds nothing the second time."""
    after = SplitWindowsPass()(module)
    after.verify()
    assert str(SplitWindowsPass()(after)) == str(after)
    return [tensor_type(o.weight.type).get_shape()[2:] for o in after.walk() if isinstance(o, Convolution)]


def expect_same_bits(sizes: Sequence[int | str], weight: Array, *arguments: Array, **options: Any) -> None:
    module = network(sizes, weight, **options)
    exact, *others = (
        functions["main"]
        for functions in (build(module, strict=True), interpret(SplitWindowsPass()(module)), build(module))
    )
    for x in arguments:
        wanted = cast(Array, build(network(x.shape, weight, constant=False, **options), strict=True)["main"](x, weight))
        found = cast(Array, exact(x))
        assert np.array_equal(found, wanted, equal_nan=True)
        assert np.array_equal(np.signbit(found[found == 0]), np.signbit(wanted[wanted == 0]))
        # NumPy and vectors add in another order.
        for other in others:
            np.testing.assert_allclose(other(x), wanted, rtol=1e-3, atol=1e-1 if x.dtype == np.float16 else 1e-4)


@pytest.mark.parametrize("dtype", ["float16", pytest.param("float64", marks=pytest.mark.full), "int8"])
def test_nine_parts(dtype: str) -> None:
    weight = numbers((8, 3, 3, 3)).round().astype(dtype)
    options: Any = {"padding": [6, 5], "dilation": [6, 5]}
    found = sorted(windows(network((2, 3, 8, 6), weight, **options)))
    assert found == [(1, 1), *[(1, 2)] * 2, *[(2, 1)] * 2, *[(2, 2)] * 4]
    expect_same_bits((2, 3, 8, 6), weight, numbers((2, 3, 8, 6)).astype(dtype), **options)


@pytest.mark.parametrize(
    ("sizes", "shape", "options", "left"),
    [
        ((1, 2, 9, 3), (3, 2, 3, 3), {"padding": [8, 1], "dilation": [8, 1]}, [(2, 3), (1, 3), (2, 3)]),
        ((1, 2, 3, 9), (3, 2, 1, 3), {"padding": [0, 8, 0, 1], "dilation": [1, 8]}, [(1, 2), (1, 1)]),
        ((1, 2, 17), (3, 2, 3), {"padding": [15, 14], "strides": [2], "dilation": [14]}, None),
        (
            (1, 2, 1, 8, 1),
            (3, 2, 1, 3, 1),
            {"padding": [0, 7, 0], "dilation": [1, 7, 1]},
            [(1, 2, 1), (1, 1, 1), (1, 2, 1)],
        ),
        ((0, 2, 8, 3), (3, 2, 3, 3), {"padding": [7, 1], "dilation": [7, 1]}, [(2, 3), (1, 3), (2, 3)]),
        # Few products are products of padding; some results read nothing else; no data; more bands.
        ((1, 2, 8, 8), (3, 2, 3, 3), {"padding": [1, 1]}, [(3, 3)]),
        ((1, 2, 4, 4), (3, 2, 1, 1), {"padding": [9, 0]}, [(1, 1)]),
        ((1, 2, 0, 4), (3, 2, 3, 1), {"padding": [8, 0], "dilation": [7, 1]}, [(3, 1)]),
        ((1, 2, 12), (3, 2, 9), {"padding": [12], "dilation": [3]}, [(9,)]),
    ],
)
def test_parts(sizes: Sequence[int], shape: Sequence[int], options: Any, left: Any) -> None:
    weight = numbers(shape)
    found = windows(network(sizes, weight, **options))
    assert left is None or found == left
    expect_same_bits(sizes, weight, numbers(sizes), **options)


def test_the_number_of_images_may_be_open() -> None:
    weight = numbers((8, 3, 3, 3))
    options: Any = {"padding": [4, 4], "dilation": [4, 4]}
    assert len(windows(network(("n", 3, 5, 5), weight, **options))) == 9
    expect_same_bits(("n", 3, 5, 5), weight, *(numbers((images, 3, 5, 5)) for images in (0, 3)), **options)


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_weights_that_are_not_finite_stay(value: float) -> None:
    weight = numbers((2, 3, 3, 3))
    weight[0, 1, 2, 1] = value
    options: Any = {"padding": [4, 4], "dilation": [4, 4]}
    assert windows(network((1, 3, 5, 5), weight, **options)) == [(3, 3)]
    expect_same_bits((1, 3, 5, 5), weight, numbers((1, 3, 5, 5)), **options)


def test_zeros_nan_and_infinities_in_data() -> None:
    x = np.array([0.0, -0.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 3.0], "float32").reshape(1, 1, -1)
    for number in (-0.0, 1.0, -1e-10):
        weight = np.full((2, 1, 3), number, "float32")
        assert len(windows(network(x.shape, weight, padding=[8], dilation=[8]))) == 3
        expect_same_bits(x.shape, weight, x, padding=[8], dilation=[8])


def test_any_windows() -> None:
    split = 0
    for seed in range(200):
        random = np.random.default_rng(seed)
        size, extent, step, stride = (int(random.integers(low, 13)) for low in (0, 1, 1, 1))
        extent, stride = (extent + 2) // 3, (stride + 3) // 4
        before, after = map(int, random.integers(0, 13, 2))
        if (extent - 1) * step + 1 > before + size + after:
            continue
        weight = random.integers(-9, 9, (2, 1, extent)).astype("int32")
        x = random.integers(1, 99, (1, 1, size)).astype("int32")
        module = network(x.shape, weight, strides=[stride], padding=[before, after], dilation=[step])
        after = SplitWindowsPass()(module)
        if str(after) == str(module):
            continue
        split += len(windows(module)) > 1
        wanted, found = (interpret(m)["main"](x) for m in (module, after))
        assert np.array_equal(wanted, found)
    assert split > 10
