"""Networks that quantize between their layers compute them on bytes, with the results that a formula gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from programs import Array, random_array

from relex.dialects.relex import (
    AddOp,
    AstypeOp,
    Conv2dBlockedOp,
    Conv2dBlockedPackedOp,
    Conv2dBlockedShortsOp,
    Convolution,
    PackBytesOp,
    RoundOp,
    SubtractOp,
)
from relex.dialects.relex.types import is_bytes, shape_of
from relex.dialects.target.machine import Target
from relex.dialects.target.target_attribute import set_target
from relex.frontend import BlockBuilder, Var, const, op
from relex.lowering.relex_pipeline import RelexPipelinePass
from relex.reference import interpret
from relex.runtime import build

RNG = np.random.default_rng(0)
HASWELL = Target("x86_64-unknown-linux-gnu", "haswell")
TARGETS = [Target.host(), HASWELL] if Target.host().triple.startswith("x86_64") else [Target.host()]


def floats(x: Any, scale: float | Array, zero: int = 0) -> Any:
    """What ONNX's DequantizeLinear makes of integers."""
    whole = op.subtract(op.astype(x, "int32"), const(np.int32(zero)))
    return op.multiply(op.astype(whole, "float32"), const(np.asarray(scale, np.float32)))


def quantized(y: Any, scale: float, zero: int, dtype: str) -> Any:
    """What ONNX's QuantizeLinear makes of floats."""
    limits = np.iinfo(dtype)
    whole = op.astype(op.clip(op.round(op.divide(y, const(np.float32(scale)))), -(2.0**24), 2.0**24), "int32")
    return op.astype(op.clip(op.add(whole, const(np.int32(zero))), int(limits.min), int(limits.max)), dtype)


def network(x: Array, body: Callable[..., Any], images: int | str = 1, target: Target | None = None) -> Any:
    """A module of a function of bytes; the number of images may be dynamic. `body` takes the argument, and what emits a
    value that it needs twice."""
    argument, builder = Var("x", [images, *x.shape[1:]], str(x.dtype)), BlockBuilder()
    with builder.function("main", [argument]):
        builder.emit_func_output(builder.emit(body(argument, builder.emit)))
    module = builder.get()
    set_target(module, target or Target.host())
    return module


def counts(module: Any, *kinds: type) -> list[int]:
    ops = [*RelexPipelinePass(to="graph")(module).walk()]
    return [sum(isinstance(o, kind) for o in ops) for kind in kinds]


class Layer:
    """A quantized convolution with a scale for each channel and a bias: `saturate(round((sum + bias) * m) + zero)`,
    where `m` is the product of both scales divided by the scale of the result, in f32."""

    def __init__(
        self,
        channels: int,
        outputs: int,
        size: int,
        dtype: str,
        *,
        zeros: tuple[int, int],
        low: int = -127,
        **options: Any,
    ):
        groups = options.get("groups", 1)
        self.weight = RNG.integers(low, 128, (outputs, channels // groups, size, size)).astype(np.int8)
        self.scales = RNG.uniform(0.001, 0.01, outputs).astype(np.float32)
        self.bias = RNG.integers(-2000, 2000, outputs, dtype=np.int32)
        self.zeros, self.dtype = zeros, dtype
        self.options: dict[str, Any] = {"padding": [size // 2], **options}
        # So that some results saturate.
        self.out = float(np.float32(0.02 * 0.005 * 3000 * (channels // groups * size * size) ** 0.5 / 100))
        self.own = 0.02

    def floats(self, x: Any) -> Any:
        """The layer on quantized numbers, as ONNX Runtime's quantizer writes it."""
        weight = op.multiply(op.astype(const(self.weight), "float32"), const(self.scales.reshape(-1, 1, 1, 1)))
        bias = op.multiply(op.astype(const(self.bias), "float32"), const(np.float32(self.own) * self.scales))
        y = op.conv2d(floats(x, self.own, self.zeros[0]), weight, **self.options)
        y = op.add(y, op.reshape(bias, [1, -1, 1, 1]))
        return quantized(y, self.out, self.zeros[1], self.dtype)

    def wanted(self, x: Array) -> Array:
        """The formula."""
        whole = x.astype(np.int32) - self.zeros[0]
        argument, builder = Var("x", whole.shape, "int32"), BlockBuilder()
        with builder.function("main", [argument]):
            total = op.conv2d(argument, const(self.weight.astype(np.int32)), **self.options)
            builder.emit_func_output(builder.emit(total))
        total = interpret(builder.get())["main"](whole)
        factor: Array = (np.float32(self.own) * self.scales) / np.float32(self.out)
        scaled = (total + self.bias.reshape(1, -1, 1, 1)).astype(np.float32) * factor.reshape(1, -1, 1, 1)
        limits = np.iinfo(self.dtype)
        rounded: Array = np.asarray(np.round(scaled), np.int64) + self.zeros[1]
        return rounded.clip(limits.min, limits.max).astype(self.dtype)


def pooled(x: Any) -> Any:
    """Something that windows slide over."""
    return op.max_pool2d(x, [2, 2], [2, 2])


def wanted_pool(x: Any) -> Array:
    n, c, h, w = x.shape
    return x[:, :, : h // 2 * 2, : w // 2 * 2].reshape(n, c, h // 2, 2, w // 2, 2).max((3, 5))


CASES: dict[str, tuple[tuple[int, ...], tuple[int, int, int], dict[str, Any]]] = {
    "1x1": ((1, 64, 9, 7), (64, 32, 1), {}),
    "3x3": ((1, 32, 11, 9), (32, 48, 3), {}),
    "few channels": ((1, 3, 20, 23), (3, 32, 3), {"strides": [2, 2]}),
    "no whole words": ((1, 17, 12, 13), (17, 32, 3), {}),
    "strides and dilation": ((1, 16, 17, 15), (16, 32, 3), {"strides": [2, 1], "dilation": [1, 2], "padding": [1, 2]}),
    "uneven padding": ((1, 16, 10, 12), (16, 32, 3), {"padding": [0, 1, 2, 1]}),
    "groups": ((1, 64, 9, 9), (64, 64, 3), {"groups": 2}),
    "each channel": ((1, 32, 13, 14), (32, 32, 3), {"groups": 32}),
    "each channel, strides": ((1, 32, 13, 14), (32, 32, 5), {"groups": 32, "strides": [2, 2]}),
    "lowest weights": ((1, 64, 8, 8), (64, 32, 3), {"low": -128}),
}


@pytest.mark.sampled
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.cpu)
@pytest.mark.parametrize(("dtype", "zeros"), [("uint8", (0, 0)), ("uint8", (131, 77)), ("int8", (-5, 101))])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_convolutions(case: Any, dtype: str, zeros: tuple[int, int], target: Target) -> None:
    shape, (channels, outputs, size), options = case
    layer = Layer(channels, outputs, size, dtype, zeros=zeros, **options)
    x = random_array(RNG, dtype, shape)
    x[:, :1] = np.iinfo(dtype).max

    def body(v: Any, emit: object) -> Any:
        return pooled(layer.floats(v))

    module = network(x, body, target=target)
    alone = options.get("groups") == x.shape[1]
    product = Conv2dBlockedShortsOp if target is HASWELL else Conv2dBlockedPackedOp
    assert counts(module, product, Conv2dBlockedOp) == [not alone, alone]
    wanted = layer.wanted(x)
    limits = np.iinfo(dtype)
    assert {limits.min, limits.max} & {int(wanted.min()), int(wanted.max())}
    np.testing.assert_array_equal(build(module)["main"](x), wanted_pool(wanted), strict=True)


@pytest.mark.parametrize(
    ("cpu", "outputs", "size"),
    [
        ("sapphirerapids", 128, 64),
        ("sapphirerapids", 96, 32),
        ("icelake-server", 128, 32),
        ("haswell", 128, 16),
    ],
)
def test_blocks_fill_tiles(cpu: str, outputs: int, size: int) -> None:
    """Blocks have 64 channels, whose words fill a row of a tile, if the target has tiles, and few of them are zeros."""
    layers = [Layer(64, outputs, 1, "uint8", zeros=(3, 5)), Layer(outputs, 64, 1, "uint8", zeros=(5, 7))]
    x = random_array(RNG, "uint8", (1, 64, 5, 5))
    target = Target("x86_64-unknown-linux-gnu", cpu)

    def body(v: Any, _: Callable[[Any], Any]) -> Any:
        return pooled(layers[1].floats(layers[0].floats(v)))

    module = network(x, body, target=target)
    graph = RelexPipelinePass(to="graph")(module)
    products = (Conv2dBlockedPackedOp, Conv2dBlockedShortsOp)
    found = [shape_of(o.result)[-1] for o in graph.walk() if isinstance(o, products)]
    assert found[:1] == [size]
    np.testing.assert_array_equal(interpret(graph)["main"](x), interpret(module)["main"](x))


@pytest.mark.sampled
@pytest.mark.parametrize("images", [1, "n"])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_layers_pass_bytes_on(dtype: str, images: int | str) -> None:
    """Between layers are bytes in blocks, whose words are views if all sizes are known, and a residual."""
    zeros = (3, 3)
    layers = [Layer(32, 32, size, dtype, zeros=zeros, groups=groups) for size, groups in ((3, 1), (3, 32), (1, 1))]
    for layer in layers:
        layer.own = layers[0].out

    def body(v: Any, emit: Callable[[Any], Any]) -> Any:
        first = emit(layers[0].floats(v))
        last = layers[2].floats(layers[1].floats(first))
        total = op.add(floats(first, layers[0].out, 3), floats(last, layers[2].out, 3))
        return pooled(quantized(total, 0.07, 5, dtype))

    x = random_array(RNG, dtype, (2 if images == "n" else 1, 32, 9, 8))
    module = network(x, body, images)
    assert counts(module, Convolution, Conv2dBlockedPackedOp, Conv2dBlockedOp, PackBytesOp) == [0, 2, 1, 2]
    first = layers[0].wanted(x)
    last = layers[2].wanted(layers[1].wanted(first))
    a, b = (
        (y.astype(np.int32) - 3).astype(np.float32) * np.float32(layer.out)
        for y, layer in ((first, layers[0]), (last, layers[2]))
    )
    limits = np.iinfo(dtype)
    total = np.round((a + b) / np.float32(0.07)).astype(np.int64) + 5
    wanted = wanted_pool(total.clip(limits.min, limits.max).astype(dtype))
    np.testing.assert_array_equal(build(module)["main"](x), wanted, strict=True)


@pytest.mark.parametrize("outputs", [21, 32])
def test_results_in_the_usual_order(outputs: int) -> None:
    """The last layer is no multiple of a vector, after one in blocks: bytes are moved, and then become integers."""
    layers = [Layer(16, 32, 3, "uint8", zeros=(9, 9)), Layer(32, outputs, 3, "uint8", zeros=(9, 4))]
    x = random_array(RNG, "uint8", (1, 16, 8, 9))

    def body(v: Any, emit: object) -> Any:
        return layers[1].floats(layers[0].floats(v))

    module = network(x, body)
    np.testing.assert_array_equal(build(module)["main"](x), layers[1].wanted(layers[0].wanted(x)), strict=True)
    assert counts(module, Convolution)[0] <= (outputs == 21)


@pytest.mark.sampled
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.cpu)
@pytest.mark.parametrize(("rows", "terms", "columns"), [(1, 70, 33), (40, 128, 64), (7, 256, 19)])
def test_products(rows: int, terms: int, columns: int, target: Target) -> None:
    x, weight = random_array(RNG, "uint8", (rows, terms)), random_array(RNG, "int8", (terms, columns))
    scales, bias = RNG.uniform(0.001, 0.01, columns).astype(np.float32), RNG.integers(-500, 500, columns, np.int32)
    own, out = 0.03, np.float32(0.5)

    def body(v: Any) -> Any:
        wide = op.multiply(op.astype(const(weight), "float32"), const(scales))
        y = op.add(op.matmul(floats(v, own, 100), wide), const(bias.astype(np.float32) * (np.float32(own) * scales)))
        return quantized(op.relu(y), float(out), 0, "uint8")

    argument, builder = Var("x", ["n", terms], "uint8"), BlockBuilder()
    with builder.function("main", [argument]):
        builder.emit_func_output(builder.emit(body(argument)))
    module = builder.get()
    set_target(module, target)
    total = (x.astype(np.int32) - 100) @ weight.astype(np.int32) + bias
    wanted = np.round(total.astype(np.float32) * ((np.float32(own) * scales) / out)).clip(0, 255).astype(np.uint8)
    np.testing.assert_array_equal(build(module)["main"](x), wanted, strict=True)


@pytest.mark.parametrize("values", [[0.0, 1e9, -1e9], [0.5, 1.5, 2.5, -0.5, -1.5, 126.5, 127.5, -128.5, 254.5, 255.5]])
@pytest.mark.parametrize(("dtype", "zero"), [("uint8", 0), ("uint8", 255), ("uint8", 1), ("int8", -128), ("int8", 3)])
def test_rounding(values: Sequence[float], dtype: str, zero: int) -> None:
    """Of two integers that are equally near, the even one: before the zero point is added."""
    x = (np.array(values) * 2).astype(np.int32).reshape(1, -1)
    half = const(np.float32(0.5))

    def body(v: Any, emit: object) -> Any:
        return quantized(op.multiply(op.astype(v, "float32"), half), 1, zero, dtype)

    module = network(x, body)
    limits = np.iinfo(dtype)
    wanted = (np.round(x / 2) + zero).clip(limits.min, limits.max).astype(dtype)
    np.testing.assert_array_equal(build(module)["main"](x), wanted, strict=True)


@pytest.mark.parametrize(("zero", "reads_bytes"), [(131, True), (100_000, False)])
def test_zero_points_of_each_channel(zero: int, reads_bytes: bool) -> None:
    """Sums of bytes are exact in f32; a zero point that is no byte makes them larger."""
    x = random_array(RNG, "uint8", (1, 2, 9, 9, 16))
    weight = RNG.integers(-127, 128, (2, 1, 3, 3, 1, 16)).astype(np.float32)

    def body(v: Any, emit: object) -> Any:
        whole = op.subtract(op.astype(v, "int32"), const(np.int32(zero)))
        return op.conv2d_blocked(op.astype(whole, "float32"), const(weight), depthwise=True)

    module = network(x, body)
    read = [o.data for o in RelexPipelinePass(to="graph")(module).walk() if isinstance(o, Conv2dBlockedOp)]
    assert [is_bytes(value) for value in read] == [reads_bytes]
    found, wanted = build(module, strict=True)["main"](x), interpret(module)["main"](x)
    np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.parametrize("zero", [0, 131])
@pytest.mark.parametrize(("beyond", "stays_float"), [(-(2**23), True), (0, True), (1, False)])
def test_constants_are_added_to_whole_floats(beyond: int, stays_float: bool, zero: int) -> None:
    """Sums of each channel, which are f32, become no integers for a constant, unless their sum may be rounded."""
    largest = 2**24 - 9 * (255 + zero) + beyond
    x = random_array(RNG, "uint8", (1, 2, 9, 9, 16))
    x[0, 0, :3, :3] = 255
    weight = np.ones((2, 1, 3, 3, 1, 16), np.float32)
    added = RNG.integers(-5000, 5000, (1, 2, 1, 1, 16)).astype(np.int32)
    added[0, 0, 0, 0, :2] = largest, -largest

    def body(v: Any, emit: object) -> Any:
        whole = op.subtract(op.astype(v, "int32"), const(np.int32(zero)))
        sums = op.astype(op.conv2d_blocked(op.astype(whole, "float32"), const(weight), depthwise=True), "int32")
        return op.multiply(op.astype(op.add(sums, const(added)), "float32"), const(np.float32(0.5)))

    module = network(x, body)
    lowered = RelexPipelinePass(to="graph")(module)
    assert any(isinstance(o, AstypeOp) for o in lowered.walk()) is not stays_float
    wanted = interpret(module)["main"](x)
    for strict in (False, True):
        np.testing.assert_array_equal(build(module, strict=strict)["main"](x), wanted, strict=True)


@pytest.mark.parametrize("used_twice", [False, True])
def test_constants_of_integers_are_merged(used_twice: bool) -> None:
    """The zero point times the sums of a weight, and what is added: integers wrap around."""
    x, w = random_array(RNG, "uint8", (9, 64)), random_array(RNG, "int8", (64, 32))
    added = RNG.integers(-(2**31), 2**31, 32).astype(np.int32)

    def body(v: Any, emit: Callable[[Any], Any]) -> Any:
        whole = op.subtract(op.astype(v, "int32"), const(np.int32(7)))
        product = emit(op.matmul(whole, op.astype(const(w), "int32")))
        total = op.add(product, const(added))
        return op.bitwise_xor(total, product) if used_twice else total

    module = network(x, body, images=9)
    if counts(module, PackBytesOp)[0]:
        assert counts(module, AddOp, SubtractOp) == ([1, 1] if used_twice else [1, 0])
    np.testing.assert_array_equal(build(module)["main"](x), interpret(module)["main"](x), strict=True)


MOVES: dict[str, Callable[[Any], Any]] = {
    "transpose": lambda x: op.permute_dims(x, [0, 2, 3, 1]),
    "reshape": lambda x: op.reshape(x, [3, -1]),
    "slice": lambda x: op.strided_slice(x, [2, 3], [1, -1], [9, 0], [2, -1]),
    "pad": lambda x: op.pad(x, [0, 0, 0, 0, 1, 2, 3, 0]),
    "pad with the lowest": lambda x: op.pad(x, [0, 0, 0, 0, 1, 2, 3, 0], -np.inf),
    "concat": lambda x: op.concat([x, op.relu(x), x], axis=1),
    "nearest": lambda x: op.reshape(op.broadcast_to(op.expand_dims(x, [3, 5]), [1, 3, 5, 2, 7, 2]), [1, 3, 10, 14]),
    "take": lambda x: op.take(x, const(np.array([2, 0, 0])), axis=1),
    "maxima": lambda x: op.max_pool2d(x, [3, 2], [2, 1], [1, 0, 1, 1]),
    "relu": op.relu,
    "clip": lambda x: op.clip(x, -1.0, 1.5),
}


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize(("dtype", "zero"), [("uint8", 131), ("int8", -5)])
@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_moves(move: Callable[[Any], Any], dtype: str, zero: int, same: bool) -> None:
    """Bytes that are moved have the bits of floats that are; with the same scale, nothing is rounded."""
    scale = 0.0213
    x = np.resize(random_array(RNG, dtype, (105,)), (1, 3, 5, 7))

    def body(v: Any, emit: Callable[[Any], Any]) -> Any:
        moved = move(emit(floats(v, scale, zero)))
        return quantized(moved, scale if same else 0.0171, zero if same else 3, dtype)

    module = network(x, body)
    wanted = interpret(module)["main"](x)
    np.testing.assert_array_equal(build(module)["main"](x), wanted, strict=True)
    assert counts(module, RoundOp)[0] + counts(module, AddOp)[0] == 0 or not same
