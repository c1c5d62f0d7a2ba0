"""Convolutions without the taps that only read padding, compared with convolutions that have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest
from programs import Array
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.relex import ConstantOp, Convolution
from relex.dialects.relex.properties import as_integers
from relex.dialects.relex.types import tensor_type
from relex.frontend import BlockBuilder, Var, const, op
from relex.passes import TrimWindowsPass
from relex.reference import interpret
from relex.runtime import build

RNG = np.random.default_rng(0)
FUNCTIONS: dict[int, Any] = {3: op.conv1d, 4: op.conv2d, 5: op.conv3d}


def numbers(shape: Sequence[int], dtype: str) -> Array:
    return (RNG.standard_normal(shape) * 3).astype(dtype)


def network(sizes: Sequence[int | str], weight: Array, *, constant: bool = True, **options: Any) -> ModuleOp:
    """A convolution of data with a weight, a constant or another argument."""
    builder = BlockBuilder()
    x, w = Var("x", tuple(sizes), str(weight.dtype)), Var("w", weight.shape, str(weight.dtype))
    with builder.function("main", [x] if constant else [x, w]):
        convolve = FUNCTIONS[weight.ndim]
        builder.emit_func_output(builder.emit(convolve(x, const(weight) if constant else w, **options)))
    return builder.get()


def trimmed(module: ModuleOp) -> Convolution:
    """The convolution after the pass, which finds nothing the second time."""
    after = TrimWindowsPass()(module)
    after.verify()
    assert str(TrimWindowsPass()(after)) == str(after)
    (found,) = (o for o in after.walk() if isinstance(o, Convolution))
    return found


def window(module: ModuleOp) -> Sequence[int]:
    return tensor_type(trimmed(module).weight.type).get_shape()[2:]


def same_bits(one: object, other: object) -> bool:
    """Whether arrays have the same bits, any NaN aside."""
    a, b = cast(Array, one), cast(Array, other)
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a[a == 0]), np.signbit(b[b == 0]))


def expect_same_bits(sizes: Sequence[int | str], weight: Array, *arguments: Array, **options: Any) -> None:
    """Expect the sums that a weight gives if it is no constant, compiled, and what the operator means."""
    module = network(sizes, weight, **options)
    complete = build(network(sizes, weight, constant=False, **options), strict=True)["main"]
    exact, *others = (
        functions["main"]
        for functions in (build(module, strict=True), interpret(TrimWindowsPass()(module)), build(module))
    )
    for x in arguments:
        wanted = cast(Array, complete(x, weight))
        assert same_bits(exact(x), wanted)
        # NumPy adds in another order for another shape.
        for other in others:
            np.testing.assert_allclose(other(x), wanted, rtol=1e-3, atol=1e-2 if x.dtype == np.float16 else 1e-5)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint16"])
def test_one_tap_of_nine_is_left(dtype: str) -> None:
    weight = numbers((4, 3, 3, 3), "float32").round().astype(dtype)
    options: Any = {"padding": [7, 4], "dilation": [7, 4]}
    new = trimmed(network((2, 3, 5, 4), weight, **options))
    assert tensor_type(new.weight.type).get_shape() == (4, 3, 1, 1)
    assert isinstance(new.weight.owner, ConstantOp)
    assert as_integers(new.padding) == (0, 0)
    expect_same_bits((2, 3, 5, 4), weight, numbers((2, 3, 5, 4), dtype), **options)


@pytest.mark.parametrize(
    ("sizes", "shape", "options", "left"),
    [
        # Padding before only, after only, and windows that skip data.
        ((1, 2, 3, 5), (3, 2, 3, 2), {"padding": [9, 0, 0, 9], "dilation": [4, 9]}, (1, 1)),
        ((1, 2, 1, 1), (3, 2, 3, 3), {"padding": [1, 1]}, (1, 1)),
        ((1, 2, 1, 17), (3, 2, 5, 5), {"padding": [2, 2], "strides": [1, 3]}, (1, 5)),
        ((1, 2, 4, 4), (3, 2, 3, 3), {"padding": [4, 4], "dilation": [4, 5]}, (1, 3)),
        ((1, 2, 2, 2), (3, 2, 4, 4), {"padding": [3, 3], "strides": [5, 4]}, (1, 4)),
        ((1, 2, 3, 3), (3, 2, 3, 3), {"padding": [8, 2, 2, 2], "strides": [7, 1], "dilation": [2, 2]}, (1, 3)),
        # Both taps of a column of two reach data, but never at once.
        ((1, 2, 3, 3), (3, 2, 2, 1), {"padding": [4, 0], "dilation": [4, 1]}, (2, 1)),
        # Only padding is read.
        ((1, 2, 2, 2), (3, 2, 1, 1), {"padding": [9, 0], "strides": [13, 1]}, (1, 1)),
        ((1, 2, 2, 2), (3, 2, 2, 1), {"padding": [5, 0], "strides": [20, 1], "dilation": [9, 1]}, (2, 1)),
        # All channels, or some, by themselves.
        ((2, 6, 3, 3), (6, 1, 3, 3), {"padding": [3, 3], "dilation": [3, 3], "groups": 6}, (1, 1)),
        ((2, 6, 3, 3), (4, 3, 3, 3), {"padding": [3, 1], "dilation": [3, 1], "groups": 2}, (1, 3)),
        ((1, 2, 4), (3, 2, 5), {"padding": [6], "dilation": [3]}, (3,)),
        ((1, 2, 2, 3, 2), (3, 2, 3, 3, 3), {"padding": [2, 1, 4], "dilation": [2, 1, 4]}, (1, 3, 1)),
        # No images, and no data.
        ((0, 2, 2, 2), (3, 2, 3, 3), {"padding": [2, 2], "dilation": [2, 2]}, (1, 1)),
        ((1, 2, 0, 2), (3, 2, 3, 3), {"padding": [2, 2], "dilation": [1, 2]}, (3, 1)),
    ],
)
def test_windows_that_are_left(sizes: Sequence[int], shape: Sequence[int], options: Any, left: Sequence[int]) -> None:
    weight = numbers(shape, "float32")
    assert tuple(window(network(sizes, weight, **options))) == left
    expect_same_bits(sizes, weight, numbers(sizes, "float32"), **options)


def test_the_number_of_images_may_be_open() -> None:
    weight = numbers((8, 3, 3, 3), "float32")
    options: Any = {"padding": [4, 4], "dilation": [4, 4]}
    assert tuple(window(network(("n", 3, 4, 3), weight, **options))) == (1, 1)
    arguments = (numbers((images, 3, 4, 3), "float32") for images in (0, 1, 3))
    expect_same_bits(("n", 3, 4, 3), weight, *arguments, **options)


def test_open_sizes_of_images_stay() -> None:
    weight = numbers((8, 3, 3, 3), "float32")
    assert tuple(window(network((1, 3, "h", 3), weight, padding=[4, 4], dilation=[4, 4]))) == (3, 3)


def test_weights_that_are_no_constants_stay() -> None:
    weight = numbers((8, 3, 3, 3), "float32")
    assert tuple(window(network((1, 3, 3, 3), weight, constant=False, padding=[4, 4], dilation=[4, 4]))) == (3, 3)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_taps_that_are_not_finite_stay(value: float) -> None:
    options: Any = {"padding": [4, 4], "dilation": [4, 4]}
    for tap in ((0, 0), (1, 1), (2, 1)) if value > 0 else ((2, 1),):
        weight = numbers((2, 3, 3, 3), "float32")
        weight[1, 2, *tap] = value
        center = tap == (1, 1)
        assert tuple(window(network((1, 3, 4, 3), weight, **options))) == ((1, 1) if center else (3, 3))
        expect_same_bits((1, 3, 4, 3), weight, numbers((1, 3, 4, 3), "float32"), **options)


def test_any_windows() -> None:
    """The taps that stay are those between the first and the last that read data, as far as there is padding."""
    for seed in range(75):
        random = np.random.default_rng(seed)
        size, extent = random.integers(0, 6), random.integers(1, 5)
        step, stride = random.integers(1, 7), random.integers(1, 5)
        before, after = random.integers(0, 9, 2)
        if (extent - 1) * step + 1 > before + size + after:
            continue
        options: Any = {"strides": [stride], "padding": [before, after], "dilation": [step]}
        options = {name: [int(n) for n in values] for name, values in options.items()}
        weight = random.integers(-9, 9, (2, 1, extent)).astype("int32")
        x = random.integers(1, 99, (1, 1, size)).astype("int32")
        module = network(x.shape, weight, **options)
        (left,) = window(module)
        count = (before + size + after - (extent - 1) * step - 1) // stride + 1
        places = [[o * stride + tap * step - before for o in range(count)] for tap in range(extent)]
        useful = [tap for tap, read in enumerate(places) if any(0 <= place < size for place in read)]
        first, last = (useful[0], useful[-1]) if useful else (0, extent - 1)
        first, last = min(first, before // step), max(last, extent - 1 - after // step)
        assert left == (last - first + 1 if useful else extent)
        wanted, found = (interpret(m)["main"](x) for m in (module, TrimWindowsPass()(module)))
        assert np.array_equal(wanted, found)
