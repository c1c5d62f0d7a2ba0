"""Convolutions in fewer products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.errors import RelexError
from relex.dialects.relex import Conv2dBlockedOp, Conv2dOp, MatmulOp, WinogradInputTransformOp
from relex.dialects.relex.winograd import POINTS, Transforms
from relex.dialects.target.machine import Target
from relex.dialects.target.target_attribute import set_target
from relex.frontend import BlockBuilder, Var, const, op
from relex.lowering import RelexPipelinePass
from relex.passes import WinogradConv2dPass
from relex.passes.cpu import cost
from relex.reference import interpret
from relex.runtime import build
from relex.runtime.cache_key import cache_key

RNG = np.random.default_rng(0)
AVX2 = Target("x86_64-unknown-linux-gnu", "haswell", "")
IN_TILES = {2: 2e-6, 4: 2e-5}
"""By the extent of a tile, the difference from the exact result that is allowed, relative to the largest result."""


def weight(outputs: int, inputs: int, dtype: str = "float32") -> Any:
    return (RNG.standard_normal((outputs, inputs, 3, 3)) / np.sqrt(9 * inputs)).astype(dtype)


def layer(w: Any, shape: tuple[int | str, ...], padding: list[int], pooled: bool = False) -> ModuleOp:
    """A convolution with what follows it in networks. If it is `pooled`, its channels are in blocks."""
    builder = BlockBuilder()
    x = Var("x", shape, w.dtype.name)
    with builder.function("main", [x]):
        y = op.relu(op.add(op.conv2d(x, const(w), padding=padding), const(w[:, 0, 0, 0].reshape(1, -1, 1, 1))))
        builder.emit_func_output(builder.emit(op.max_pool2d(y, [2, 2]) if pooled else y))
    module = builder.get()
    set_target(module, AVX2)
    return module


def exact(w: Any, x: Any, padding: list[int], pooled: bool = False) -> Any:
    """The result of a layer, in f64."""
    module = layer(w.astype("float64"), x.shape, padding, pooled)
    return interpret(module)["main"](x.astype("float64"))


def in_tiles(module: ModuleOp) -> list[int]:
    """The tiles of a program on the graph level of the default compilation."""
    lowered = RelexPipelinePass("graph", approximate=True)(module)
    assert not any(isinstance(o, Conv2dOp | Conv2dBlockedOp) for o in lowered.walk())
    return [o.tile.value.data for o in lowered.walk() if isinstance(o, WinogradInputTransformOp)]


@pytest.fixture
def whatever_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has layers computed in tiles wherever there are fewer products."""
    monkeypatch.setattr(cost, "COST_OF_TRANSFORMS", 0)
    monkeypatch.setattr(cost, "COST_OF_BLOCKS", 0)
    monkeypatch.setattr(cost, "BYTES_OF_WEIGHTS", 2**40)


@pytest.mark.sampled
@pytest.mark.usefixtures("whatever_it_takes")
@pytest.mark.parametrize("tile", POINTS)
@pytest.mark.parametrize(
    ("outputs", "inputs", "size", "padding"),
    [
        (8, 5, (7, 6), [1]),
        (16, 16, (8, 8), [1, 1]),
        (24, 17, (3, 17), [2, 1, 0, 1]),
        (20, 8, (9, 5), [1, 0]),
        (9, 3, (6, 6), [0]),
        (32, 40, (13, 14), [3, 2]),
    ],
)
@pytest.mark.parametrize("pooled", [False, True])
def test_results_are_close(
    tile: int,
    outputs: int,
    inputs: int,
    size: tuple[int, int],
    padding: list[int],
    pooled: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for other in set(POINTS) - {tile}:
        monkeypatch.delitem(POINTS, other)
    w, x = weight(outputs, inputs), RNG.standard_normal((2, inputs, *size)).astype("float32")
    module = layer(w, x.shape, padding, pooled)
    assert in_tiles(module) == [tile]
    expected = exact(w, x, padding, pooled)
    atol = IN_TILES[tile] * float(np.abs(expected).max())
    for found in (
        interpret(RelexPipelinePass("graph", approximate=True)(module))["main"](x),
        build(module, approximate=True, cache=False)["main"](x),
    ):
        np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


@pytest.mark.usefixtures("whatever_it_takes")
def test_doubles_are_as_exact_as_they_can_be() -> None:
    w, x = weight(8, 6, "float64"), RNG.standard_normal((1, 6, 10, 9))
    module = layer(w, x.shape, [1])
    assert in_tiles(module) == [4]
    expected = exact(w, x, [1])
    np.testing.assert_allclose(build(module, approximate=True)["main"](x), expected, rtol=0, atol=1e-13)


@pytest.mark.usefixtures("whatever_it_takes")
@pytest.mark.parametrize("pooled", [False, True])
def test_the_number_of_images_may_be_open(pooled: bool) -> None:
    w = weight(16, 8)
    module = layer(w, ("n", 8, 9, 12), [1], pooled)
    assert in_tiles(module) == [4]
    function = build(module, approximate=True)["main"]
    for images in (3, 1, 0):
        x = RNG.standard_normal((images, 8, 9, 12)).astype("float32")
        np.testing.assert_allclose(function(x), exact(w, x, [1], pooled), rtol=0, atol=1e-4)


def test_a_large_layer_is_computed_in_tiles_on_request_alone() -> None:
    w, x = weight(64, 64), RNG.standard_normal((1, 64, 14, 14)).astype("float32")
    module = layer(w, x.shape, [1])
    default, approximate = build(module)["main"](x), build(module, approximate=True)["main"](x)
    np.testing.assert_allclose(default, approximate, rtol=0, atol=1e-4)
    assert (default != approximate).any()
    assert not any(isinstance(o, WinogradInputTransformOp) for o in RelexPipelinePass("graph")(module).walk())
    (product,) = (o for o in RelexPipelinePass("graph", approximate=True)(module).walk() if isinstance(o, MatmulOp))
    assert product.result.type.get_shape() == (36, 16, 64)


@pytest.mark.parametrize("number", [np.inf, np.nan])
def test_weights_that_are_not_finite_are_left_alone(number: float) -> None:
    w = weight(64, 64)
    w[3, 4, 1, 1] = number
    module = layer(w, (1, 64, 14, 14), [1])
    assert str(WinogradConv2dPass()(module)) == str(module)


def test_programs_in_caches_are_told_apart() -> None:
    module = layer(weight(64, 64), (1, 64, 14, 14), [1])
    keys = {cache_key(module, strict=False, target=None, approximate=approximate) for approximate in (False, True)}
    assert len(keys) == 2


def test_a_compilation_is_not_strict_and_approximate() -> None:
    with pytest.raises(RelexError, match="expected a compilation to be strict or approximate, found both"):
        build(layer(weight(4, 4), (1, 4, 5, 5), [1]), strict=True, approximate=True)


@pytest.mark.parametrize("tile", POINTS)
def test_the_transforms_are_exact_for_integers(tile: int) -> None:
    transforms = Transforms.of(tile)
    data, taps = RNG.integers(-9, 9, tile + 2), RNG.integers(-9, 9, 3)
    found = transforms.result @ ((transforms.weight @ taps) * (transforms.data @ data))
    np.testing.assert_allclose(found, np.convolve(data, taps[::-1], "valid"), atol=1e-12)


def test_without_a_processor_of_known_vectors_nothing_changes() -> None:
    module = layer(weight(64, 64), (1, 64, 14, 14), [1])
    del module.attributes["relex.target"]
    assert str(WinogradConv2dPass()(module)) == str(module)
