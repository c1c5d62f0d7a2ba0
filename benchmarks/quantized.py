"""Networks on integers of 8 bits, on one thread: python -m benchmarks.quantized

Networks with random weights, which ONNX Runtime's quantizer makes: `QuantizeLinear` and `DequantizeLinear` around each
layer, unsigned activations, signed weights with a scale for each channel. A row of the table is the time of a call of
relex, and beside it the times of ONNX Runtime on the same file, and of relex and of ONNX Runtime on the network in f32,
all relative to relex's: above 1, relex on integers is ahead. The last column is the largest difference of the results
of relex and ONNX Runtime, relative to the largest result. All take turns, and the least time of each counts, in time
of the processor, so that other processes disturb little.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.block_weights import least_times
from benchmarks.contenders import limit_threads
from relex.runtime import build

Array = np.ndarray[Any, Any]

KINDS = {"u8": "QUInt8", "i8": "QInt8"}


class Network:
    """An ONNX graph under construction, of layers with random weights."""

    def __init__(self, name: str, shape: Sequence[int]):
        self.helper: Any = import_module("onnx.helper")
        self.name, self.shape = name, shape
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.random = np.random.default_rng(0)

    def constant(self, array: Array) -> str:
        """Add a constant."""
        name = f"c{len(self.constants)}"
        self.constants.append(import_module("onnx.numpy_helper").from_array(array, name))
        return name

    def weight(self, *shape: int, terms: int) -> str:
        """Add a random weight for sums of some terms."""
        return self.constant((self.random.standard_normal(shape) * (2 / terms) ** 0.5).astype(np.float32))

    def bias(self, size: int) -> str:
        """Add a random bias."""
        return self.constant(self.random.standard_normal(size).astype(np.float32) / 10)

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node, and return its result."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, inputs, [name], name=f"{kind}{name}", **attributes))
        return name

    def convolution(
        self, x: str, inputs: int, outputs: int, size: int, stride: int = 1, *, groups: int = 1, limit: float | None = 0
    ) -> str:
        """Add a convolution that keeps the size, and a relu, or a clip to a limit; with None, neither."""
        channels = inputs // groups
        weight = self.weight(outputs, channels, size, size, terms=channels * size**2)
        places = {"pads": [size // 2] * 4, "strides": [stride] * 2, "group": groups}
        y = self.add("Conv", x, weight, self.bias(outputs), **places)
        if limit is None:
            return y
        if not limit:
            return self.add("Relu", y)
        return self.add("Clip", y, *(self.constant(np.asarray(end, np.float32)) for end in (0, limit)))

    def finish(self, y: str) -> Any:
        """Return the model."""
        kind = import_module("onnx").TensorProto.FLOAT
        ends = [self.helper.make_tensor_value_info(*end) for end in (("x", kind, self.shape), (y, kind, None))]
        graph = self.helper.make_graph(self.nodes, self.name, ends[:1], ends[1:], self.constants)
        return self.helper.make_model(graph, opset_imports=[self.helper.make_opsetid("", 17)], ir_version=8)

    def classify(self, x: str, channels: int) -> Any:
        """Add the mean of each channel and a dense layer, and return the model."""
        flat = self.add("Flatten", self.add("GlobalAveragePool", x))
        weight = self.weight(channels, 1000, terms=channels)
        return self.finish(self.add("Gemm", flat, weight, self.bias(1000)))


def resnet() -> Any:
    """A ResNet with a block of three convolutions in each of four stages."""
    net = Network("resnet", (1, 3, 224, 224))
    x = net.convolution("x", 3, 64, 7, 2)
    x = net.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for width, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        y = net.convolution(x, channels, width, 1)
        y = net.convolution(y, width, width, 3, stride)
        y = net.convolution(y, width, 4 * width, 1, limit=None)
        x = net.convolution(x, channels, 4 * width, 1, stride, limit=None)
        x, channels = net.add("Relu", net.add("Add", x, y)), 4 * width
    return net.classify(x, channels)


def mobilenet() -> Any:
    """A MobileNet of the second version, with one block for each width."""
    net = Network("mobilenet", (1, 3, 224, 224))
    x, channels = net.convolution("x", 3, 32, 3, 2, limit=6), 32
    for width, stride, factor in ((16, 1, 1), (24, 2, 6), (24, 1, 6), (32, 2, 6), (64, 2, 6), (96, 1, 6), (160, 2, 6)):
        inner = channels * factor
        y = net.convolution(x, channels, inner, 1, limit=6) if factor > 1 else x
        y = net.convolution(y, inner, inner, 3, stride, groups=inner, limit=6)
        y = net.convolution(y, inner, width, 1, limit=None)
        x, channels = net.add("Add", x, y) if stride == 1 and channels == width else y, width
    return net.classify(net.convolution(x, channels, 1280, 1, limit=6), 1280)


def bert_layer() -> Any:
    """A layer of BERT: attention with twelve heads, and two dense layers."""
    rows, width, heads = 128, 768, 12
    net = Network("bert", (1, rows, width))

    def dense(x: str, inputs: int, outputs: int) -> str:
        return net.add("Add", net.add("MatMul", x, net.weight(inputs, outputs, terms=2 * inputs)), net.bias(outputs))

    def split(x: str, *axes: int) -> str:
        shape = net.constant(np.array([1, rows, heads, width // heads], np.int64))
        return net.add("Transpose", net.add("Reshape", x, shape), perm=axes)

    def normalize(x: str) -> str:
        ones, zeros = net.constant(np.ones(width, np.float32)), net.constant(np.zeros(width, np.float32))
        return net.add("LayerNormalization", x, ones, zeros, axis=-1)

    q, k, v = (dense("x", width, width) for _ in range(3))
    scores = net.add("MatMul", split(q, 0, 2, 1, 3), split(k, 0, 2, 3, 1))
    scale = net.constant(np.asarray((width // heads) ** -0.5, np.float32))
    shares = net.add("Softmax", net.add("Mul", scores, scale), axis=-1)
    mixed = net.add("Transpose", net.add("MatMul", shares, split(v, 0, 2, 1, 3)), perm=[0, 2, 1, 3])
    flat = net.add("Reshape", mixed, net.constant(np.array([1, rows, width], np.int64)))
    x = normalize(net.add("Add", "x", dense(flat, width, width)))
    y = dense(x, width, 4 * width)
    half, one, root = (net.constant(np.asarray(n, np.float32)) for n in (0.5, 1, 2**0.5))
    steep = net.add("Add", net.add("Erf", net.add("Div", y, root)), one)
    y = net.add("Mul", net.add("Mul", y, steep), half)
    return net.finish(normalize(net.add("Add", x, dense(y, 4 * width, width))))


NETWORKS: Mapping[str, Callable[[], Any]] = {"ResNet": resnet, "MobileNet": mobilenet, "BERT layer": bert_layer}


class RandomReader:
    """Random data for the quantizer."""

    def __init__(self, shape: Sequence[int]):
        random = np.random.default_rng(1)
        self.left = [random.standard_normal(shape).astype(np.float32) for _ in range(3)]

    def get_next(self) -> dict[str, Array] | None:
        """Return the next arguments; None after the last ones."""
        return {"x": self.left.pop()} if self.left else None


def quantize(model: Any, kind: str, folder: Path) -> tuple[Path, Path]:
    """Write a model, and what ONNX Runtime's quantizer makes of it with activations of a type."""
    ort: Any = import_module("onnxruntime.quantization")
    wide, narrow = folder / "wide.onnx", folder / "narrow.onnx"
    wide.write_bytes(model.SerializeToString())
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    types = {"activation_type": getattr(ort.QuantType, KINDS[kind]), "weight_type": ort.QuantType.QInt8}
    options = {"quant_format": ort.QuantFormat.QDQ, "per_channel": True}
    ort.quantize_static(str(wide), str(narrow), RandomReader(shape), **options, **types)
    return wide, narrow


def session(path: Path, x: Array) -> Callable[[], Any]:
    """Return a call of a model in ONNX Runtime on one thread."""
    ort: Any = import_module("onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    made = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda: made.run(None, {"x": x})[0]


def ours(path: Path, x: Array) -> Callable[[], Any]:
    """Return a call of a model in relex."""
    main: Any = build(str(path), cache=False)["main"]
    return lambda: main(x)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quantized", description=__doc__)
    parser.add_argument("--networks", nargs="+", default=[*NETWORKS], choices=[*NETWORKS])
    parser.add_argument("--activations", nargs="+", default=["u8"], choices=[*KINDS], help="their types (u8)")
    parser.add_argument("--seconds", type=float, default=5, help="the time for a row of the table (5)")
    options = parser.parse_args(arguments)
    limit_threads(1)
    print("| network | activations | relex | ONNX Runtime | relex, f32 | ONNX Runtime, f32 | difference |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for name in options.networks:
        model = NETWORKS[name]()
        shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
        x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
        for kind in options.activations:
            with TemporaryDirectory() as folder:
                wide, narrow = quantize(model, kind, Path(folder))
                calls = [ours(narrow, x), session(narrow, x), ours(wide, x), session(wide, x)]
            found, wanted = calls[0](), calls[1]()
            apart = float(abs(found - wanted).max() / abs(wanted).max())
            own, *rest = least_times(calls, options.seconds)
            others = " | ".join(f"{time / own:.2f}" for time in rest)
            print(f"| {name} | {kind} | {own * 1e3:.2f} ms | {others} | {apart:.1%} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
