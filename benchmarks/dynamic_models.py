"""Networks whose sizes are all fixed or partly dynamic, with random weights, to compare how long both take to compile.

`network("detector")` has fixed sizes, `network("detector?")` dynamic ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from relex.frontend import BlockBuilder, Var, const, op

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

RANDOM = np.random.default_rng(0)
Size = int | str


def weight(*shape: int) -> Any:
    """Return random weights that keep the scale of what they are applied to."""
    return const((RANDOM.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32))


def product(*sizes: Size) -> Size:
    """Return the product of sizes, as text if one is a name."""
    known = [size for size in sizes if isinstance(size, int)]
    return prod(known) if len(known) == len(sizes) else " * ".join(f"({size})" for size in sizes)


class Layers:
    """Emits the layers of a network. Images are known with their number of channels."""

    def __init__(self) -> None:
        self.bb = BlockBuilder()
        self.emit = self.bb.emit

    def conv(self, x: Any, channels: int, outputs: int, window: int = 1, stride: int = 1, groups: int = 1) -> Any:
        """A convolution with a bias for each channel."""
        weights = weight(outputs, channels // groups, window, window)
        y = self.emit(op.conv2d(x, weights, strides=[stride, stride], padding=[window // 2] * 2, groups=groups))
        return self.emit(op.add(y, weight(outputs, 1, 1)))

    def hardswish(self, x: Any) -> Any:
        """`x * clip(x / 6 + 1 / 2, 0, 1)`."""
        scaled = self.emit(op.add(self.emit(op.multiply(x, const(np.float32(1 / 6)))), const(np.float32(0.5))))
        return self.emit(op.multiply(x, self.emit(op.clip(scaled, min=0.0, max=1.0))))

    def excitation(self, x: Any, channels: int) -> Any:
        """Scale channels by what two layers make of their means."""
        means = self.emit(op.mean(x, axis=[2, 3], keepdims=True))
        inner = self.emit(op.relu(self.conv(means, channels, channels // 4)))
        scale = self.emit(op.clip(self.conv(inner, channels // 4, channels), min=0.0, max=1.0))
        return self.emit(op.multiply(x, scale))

    def bottleneck(self, x: Any, channels: int, wide: int, outputs: int, window: int, stride: int, *, se: bool) -> Any:
        """A block of MobileNetV3."""
        y = self.hardswish(self.conv(x, channels, wide))
        y = self.hardswish(self.conv(y, wide, wide, window, stride, groups=wide))
        y = self.conv(self.excitation(y, wide) if se else y, wide, outputs)
        return self.emit(op.add(x, y)) if stride == 1 and channels == outputs else y

    def twice(self, x: Any, channels: int) -> Any:
        """An image of twice the height and width."""
        y = self.emit(op.broadcast_to(self.emit(op.expand_dims(x, axis=[3, 5])), [-1, -1, -1, 2, -1, 2]))
        return self.emit(op.reshape(y, [-1, channels, -1, -1], ["d0", "2 * d2", "2 * d4"]))

    def dense(self, x: Any, inputs: int, outputs: int) -> Any:
        """A dense layer with a bias."""
        return self.emit(op.add(self.emit(op.dense(x, weight(outputs, inputs))), weight(outputs)))

    def norm(self, x: Any, width: int) -> Any:
        """A layer normalization."""
        return self.emit(op.layer_norm(x, weight(width), weight(width)))

    def attention(self, x: Any, n: Size, length: Size, width: int, heads: int) -> Any:
        """Self-attention of `n` sequences."""

        def split(y: Any) -> Any:
            y = self.emit(op.reshape(y, [n, length, heads, width // heads]))
            return self.emit(op.permute_dims(y, [0, 2, 1, 3]))

        q, k, v = (split(self.dense(x, width, width)) for _ in range(3))
        scores = self.emit(op.matmul(q, self.emit(op.permute_dims(k, [0, 1, 3, 2]))))
        scores = self.emit(op.multiply(scores, const(np.float32((width // heads) ** -0.5))))
        y = self.emit(op.matmul(self.emit(op.softmax(scores)), v))
        y = self.emit(op.reshape(self.emit(op.permute_dims(y, [0, 2, 1, 3])), [n, length, width]))
        return self.dense(y, width, width)

    def gelu(self, x: Any) -> Any:
        """An activation."""
        return self.emit(op.gelu(x))

    def feed_forward(self, x: Any, width: int, activation: Callable[[Any], Any]) -> Any:
        """Two layers, the first one four times as wide."""
        return self.dense(activation(self.dense(x, width, 4 * width)), 4 * width, width)

    def finish(self, name: str, x: Var, body: Callable[[Any], Any]) -> ModuleOp:
        """Return a module with one function."""
        with self.bb.function(name, [x]):
            with self.bb.dataflow():
                y = self.bb.emit_output(op.multiply(body(x), const(np.float32(1.0))))
            self.bb.emit_func_output(y)
        return self.bb.get()


def detector(sizes: Mapping[str, Size]) -> ModuleOp:
    """A detector of text: MobileNetV3 with a pyramid of features, whose maps are joined at a quarter of the size."""
    layers, (n, h, w) = Layers(), (sizes["n"], sizes["h"], sizes["w"])

    def body(x: Any) -> Any:
        x = layers.hardswish(layers.conv(x, 3, 8, 3, 2))
        widths, maps = (8, 16, 24, 56, 96), list[Any]()
        for i, (before, after) in enumerate(pairwise(widths)):
            x = layers.bottleneck(x, before, 3 * before, after, 3 if i < 2 else 5, 2, se=i % 2 == 1)
            x = layers.bottleneck(x, after, 3 * after, after, 3 if i < 2 else 5, 1, se=i % 2 == 1)
            maps.append(x)
        tops = [layers.conv(x, channels, 24) for x, channels in zip(maps, widths[1:], strict=True)]
        y, joined = tops[-1], list[Any]()
        for level in (2, 1, 0):
            joined.append(layers.conv(y, 24, 6, 3))
            y = layers.emit(op.add(tops[level], layers.twice(y, 24)))
        joined.append(layers.conv(y, 24, 6, 3))
        for i, count in enumerate((3, 2, 1)):
            for _ in range(count):
                joined[i] = layers.twice(joined[i], 6)
        x = layers.emit(op.concat(joined, axis=1))
        x = layers.emit(op.relu(layers.conv(x, 24, 8, 3)))
        x = layers.emit(op.conv2d_transpose(x, weight(8, 8, 2, 2), strides=[2, 2]))
        x = layers.emit(op.conv2d_transpose(layers.emit(op.relu(x)), weight(8, 1, 2, 2), strides=[2, 2]))
        return layers.emit(op.sigmoid(x))

    return layers.finish("main", Var("x", (n, 3, h, w)), body)


def classifier(sizes: Mapping[str, Size]) -> ModuleOp:
    """MobileNetV3, a mean, and a dense layer."""
    layers, (n, h, w) = Layers(), (sizes["n"], sizes["h"], sizes["w"])

    def body(x: Any) -> Any:
        x = layers.hardswish(layers.conv(x, 3, 8, 3, 2))
        for i, (before, after) in enumerate(pairwise((8, 16, 24, 32, 64))):
            x = layers.bottleneck(x, before, 3 * before, after, 3 if i < 2 else 5, 2, se=i != 1)
        x = layers.emit(op.mean(x, axis=[2, 3]))
        return layers.emit(op.softmax(layers.dense(x, 64, 10)))

    return layers.finish("main", Var("x", (n, 3, h, w)), body)


def unet(sizes: Mapping[str, Size]) -> ModuleOp:
    """A small U-Net of three levels."""
    layers, (n, h, w) = Layers(), (sizes["n"], sizes["h"], sizes["w"])

    def level(x: Any, channels: int, depth: int) -> Any:
        outputs = 16 << depth
        x = layers.emit(op.relu(layers.conv(x, channels, outputs, 3)))
        x = layers.emit(op.relu(layers.conv(x, outputs, outputs, 3)))
        if depth == 2:
            return x
        inner = level(layers.emit(op.max_pool2d(x, [2, 2], strides=[2, 2])), outputs, depth + 1)
        x = layers.emit(op.concat([x, layers.twice(inner, 2 * outputs)], axis=1))
        return layers.emit(op.relu(layers.conv(x, 3 * outputs, outputs, 3)))

    def body(x: Any) -> Any:
        return layers.conv(level(x, 3, 0), 16, 2)

    return layers.finish("main", Var("x", (n, 3, h, w)), body)


def transformer(sizes: Mapping[str, Size], *, before: bool) -> ModuleOp:
    """A layer of BERT, or of GPT, which normalizes `before` each part."""
    layers, (n, length), width = Layers(), (sizes["n"], sizes["h"]), 256

    def body(x: Any) -> Any:
        parts: tuple[Callable[[Any], Any], ...] = (
            lambda x: layers.attention(x, n, length, width, heads=4),
            lambda x: layers.feed_forward(x, width, layers.gelu),
        )
        for part in parts:
            y = layers.emit(op.add(x, part(layers.norm(x, width) if before else x)))
            x = y if before else layers.norm(y, width)
        return x

    return layers.finish("main", Var("x", (n, length, width)), body)


def swin(sizes: Mapping[str, Size]) -> ModuleOp:
    """A block of a Swin transformer, with attention inside windows of an image."""
    layers, (n, h, w), width, side = Layers(), (sizes["n"], sizes["h"], sizes["w"]), 96, 8
    rows, columns = (size // side if isinstance(size, int) else f"{size} // {side}" for size in (h, w))

    def swap(x: Any, shape: Sequence[Size]) -> Any:
        return layers.emit(op.permute_dims(layers.emit(op.reshape(x, shape)), [0, 1, 3, 2, 4, 5]))

    def body(x: Any) -> Any:
        y = swap(layers.norm(x, width), [n, rows, side, columns, side, width])
        y = layers.emit(op.reshape(y, [product(n, rows, columns), side * side, width]))
        y = layers.attention(y, product(n, rows, columns), side * side, width, heads=3)
        y = swap(y, [n, rows, columns, side, side, width])
        x = layers.emit(op.add(x, layers.emit(op.reshape(y, [n, h, w, width]))))
        return layers.emit(op.add(x, layers.feed_forward(layers.norm(x, width), width, layers.gelu)))

    return layers.finish("main", Var("x", (n, h, w, width)), body)


def conformer(sizes: Mapping[str, Size]) -> ModuleOp:
    """A block of a conformer: attention and a convolution between two feed-forward networks that count half."""
    layers, (n, length), width = Layers(), (sizes["n"], sizes["h"]), 144

    def silu(x: Any) -> Any:
        return layers.emit(op.multiply(x, layers.emit(op.sigmoid(x))))

    def half(x: Any) -> Any:
        y = layers.feed_forward(layers.norm(x, width), width, silu)
        return layers.emit(op.add(x, layers.emit(op.multiply(y, const(np.float32(0.5))))))

    def convolution(x: Any) -> Any:
        gate = layers.emit(op.sigmoid(layers.dense(x, width, width)))
        y = layers.emit(op.multiply(layers.dense(x, width, width), gate))
        y = layers.emit(op.permute_dims(y, [0, 2, 1]))
        y = layers.emit(op.conv1d(y, weight(width, 1, 31), padding=[15, 15], groups=width))
        y = silu(layers.emit(op.add(y, weight(width, 1))))
        return layers.dense(layers.emit(op.permute_dims(y, [0, 2, 1])), width, width)

    def body(x: Any) -> Any:
        x = half(x)
        x = layers.emit(op.add(x, layers.attention(layers.norm(x, width), n, length, width, heads=4)))
        return layers.norm(half(layers.emit(op.add(x, convolution(layers.norm(x, width))))), width)

    return layers.finish("main", Var("x", (n, length, width)), body)


NETWORKS: dict[str, Callable[[Mapping[str, Size]], ModuleOp]] = {
    "detector": detector,
    "classifier": classifier,
    "U-Net": unet,
    "BERT": lambda sizes: transformer(sizes, before=False),
    "GPT": lambda sizes: transformer(sizes, before=True),
    "swin": swin,
    "conformer": conformer,
}
FIXED: Mapping[str, Mapping[str, Size]] = {name: {"n": 1, "h": 160, "w": 160} for name in NETWORKS} | {
    "BERT": {"n": 1, "h": 128, "w": 0},
    "GPT": {"n": 1, "h": 128, "w": 0},
    "swin": {"n": 1, "h": 56, "w": 56},
    "conformer": {"n": 1, "h": 128, "w": 0},
}
DYNAMIC: dict[str, dict[str, Size]] = {name: {"n": "n", "h": "h", "w": "w"} for name in NETWORKS}


def network(name: str) -> ModuleOp:
    """Return a network by its name, with dynamic sizes if the name ends in a question mark."""
    return NETWORKS[name.removesuffix("?")]((DYNAMIC if name.endswith("?") else FIXED)[name.removesuffix("?")])
