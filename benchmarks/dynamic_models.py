"""Networks whose sizes are all fixed or partly dynamic, with random weights, to compare how long both take to compile.

`network("detector")` has fixed sizes, `network("detector?")` dynamic ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
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
    layers, (n, length), width, heads = Layers(), (sizes["n"], sizes["h"]), 256, 4

    def norm(x: Any) -> Any:
        return layers.emit(op.layer_norm(x, weight(width), weight(width)))

    def attention(x: Any) -> Any:
        def split(y: Any) -> Any:
            y = layers.emit(op.reshape(y, [n, length, heads, width // heads]))
            return layers.emit(op.permute_dims(y, [0, 2, 1, 3]))

        q, k, v = (split(layers.dense(x, width, width)) for _ in range(3))
        scores = layers.emit(op.matmul(q, layers.emit(op.permute_dims(k, [0, 1, 3, 2]))))
        scores = layers.emit(op.multiply(scores, const(np.float32(0.125))))
        y = layers.emit(op.matmul(layers.emit(op.softmax(scores)), v))
        y = layers.emit(op.reshape(layers.emit(op.permute_dims(y, [0, 2, 1, 3])), [n, length, width]))
        return layers.dense(y, width, width)

    def feed_forward(x: Any) -> Any:
        return layers.dense(layers.emit(op.gelu(layers.dense(x, width, 4 * width))), 4 * width, width)

    def body(x: Any) -> Any:
        for part in (attention, feed_forward):
            y = layers.emit(op.add(x, part(norm(x) if before else x)))
            x = y if before else norm(y)
        return x

    return layers.finish("main", Var("x", (n, length, width)), body)


NETWORKS: dict[str, Callable[[Mapping[str, Size]], ModuleOp]] = {
    "detector": detector,
    "classifier": classifier,
    "U-Net": unet,
    "BERT": lambda sizes: transformer(sizes, before=False),
    "GPT": lambda sizes: transformer(sizes, before=True),
}
FIXED: dict[str, dict[str, Size]] = {
    name: {"n": 1, "h": 128, "w": 0} if name in ("BERT", "GPT") else {"n": 1, "h": 160, "w": 160} for name in NETWORKS
}
DYNAMIC: dict[str, dict[str, Size]] = {name: {"n": "n", "h": "h", "w": "w"} for name in NETWORKS}


def network(name: str) -> ModuleOp:
    """Return a network by its name, with dynamic sizes if the name ends in a question mark."""
    return NETWORKS[name.removesuffix("?")]((DYNAMIC if name.endswith("?") else FIXED)[name.removesuffix("?")])
