"""Models of ONNX: the nine networks of the package onnx, with random weights, and blocks of transformers.

The files of the package have the number 0.02 in place of weights. Here weights are random, from a seed, and a final
softmax is left out: results that are right by accident would show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

IR_VERSION = 8
NETWORKS = (
    "squeezenet",
    "shufflenet",
    "resnet50",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "bvlc_alexnet",
    "zfnet512",
    "vgg19",
)


def network(name: str, pixels: int | None = None, seed: int = 0) -> Any:
    """Return a network as a `ModelProto`, for images of a height and width of `pixels`, where the network allows other
    ones than its own."""
    onnx: Any = import_module("onnx")
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    model = onnx.ModelProto()
    model.ParseFromString((folder / f"light_{name}.onnx").read_bytes())
    graph = model.graph
    random = np.random.default_rng(seed)
    arrays = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    variances = {node.input[4] for node in graph.node if node.op_type == "BatchNormalization"}
    made: dict[str, Any] = {}
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            made[node.output[0]] = _weights(arrays.pop(node.input[0]), node.output[0] in variances, random)
    for key, array in arrays.items():
        made[key] = _weights(array.shape, key in variances, random) if array.dtype == np.float32 else array
    nodes = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    if nodes[-1].op_type == "Softmax":
        graph.output[0].name = nodes.pop().input[0]
    used = {name for node in nodes for name in node.input}
    (image,) = (i for i in graph.input if i.name not in made and i.name in used)
    if pixels is not None:
        for dimension in image.type.tensor_type.shape.dim[2:]:
            dimension.dim_value = pixels
    output = onnx.helper.make_tensor_value_info(graph.output[0].name, onnx.TensorProto.FLOAT, None)
    return _model(nodes, [image], [output], made, model.opset_import)


def _weights(shape: Any, positive: bool, random: np.random.Generator) -> Any:
    """Return weights that keep the scale of what they are applied to: the weights of kernels, else numbers around 1 or
    0."""
    sizes = [int(size) for size in shape]
    if len(sizes) > 1:
        array = random.normal(0, np.sqrt(2 / prod(sizes[1:])), sizes)
    else:
        array = random.uniform(0.5, 1.5, sizes) if positive else random.normal(0.5, 0.2, sizes)
    return array.astype(np.float32)


def _model(nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any], arrays: Any, sets: Any) -> Any:
    onnx: Any = import_module("onnx")
    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = onnx.helper.make_graph(nodes, "net", inputs, outputs, tensors)
    return onnx.helper.make_model(graph, opset_imports=sets, ir_version=IR_VERSION)


CONVOLUTIONS = {
    "ResNet-50": (
        (3, 224, 64, 7, 2),
        (64, 56, 64, 1, 1),
        (64, 56, 64, 3, 1),
        (64, 56, 256, 1, 1),
        (256, 56, 64, 1, 1),
        (256, 56, 128, 1, 1),
        (128, 56, 128, 3, 2),
        (256, 56, 512, 1, 2),
        (128, 28, 128, 3, 1),
        (128, 28, 512, 1, 1),
        (512, 28, 128, 1, 1),
        (256, 28, 256, 3, 2),
        (256, 14, 256, 3, 1),
        (256, 14, 1024, 1, 1),
        (1024, 14, 256, 1, 1),
        (512, 14, 512, 3, 2),
        (512, 7, 512, 3, 1),
        (512, 7, 2048, 1, 1),
        (2048, 7, 512, 1, 1),
    ),
    "MobileNet": (
        (32, 112, 64, 1, 1),
        (64, 112, 64, 3, 2),
        (128, 56, 128, 1, 1),
        (128, 56, 128, 3, 1),
        (256, 28, 256, 1, 1),
        (256, 28, 256, 3, 1),
        (512, 14, 512, 1, 1),
        (512, 14, 512, 3, 1),
        (1024, 7, 1024, 1, 1),
        (1024, 7, 1024, 3, 1),
    ),
}
"""Layers of networks: input channels, height and width, output channels, the side of the window, and the stride.
Windows of MobileNet have a group for each channel."""


def convolution(network: str, channels: int, size: int, outputs: int, window: int, stride: int, seed: int = 0) -> Any:
    """Return a layer of a network: a convolution with bias and `Relu`. The mean of each channel follows, so that the
    result of the layer may have any layout, as inside of the network."""
    onnx: Any = import_module("onnx")
    random = np.random.default_rng(seed)
    groups = channels if network == "MobileNet" and window > 1 else 1
    arrays = {
        "w": _weights((outputs, channels // groups, window, window), False, random),
        "b": _weights((outputs,), False, random),
    }
    padding = [window // 2] * 4
    nodes = [
        _node("Conv", "x w b", "sums", group=groups, strides=[stride] * 2, pads=padding),
        _node("Relu", "sums", "active"),
        _node("GlobalAveragePool", "active", "y"),
    ]
    info: Any = onnx.helper.make_tensor_value_info
    x = info("x", onnx.TensorProto.FLOAT, [1, channels, size, size])
    y = info("y", onnx.TensorProto.FLOAT, [1, outputs, 1, 1])
    return _model(nodes, [x], [y], arrays, [onnx.helper.make_opsetid("", 17)])


def layers() -> Iterator[tuple[str, tuple[int, ...], Callable[[], Any]]]:
    """Yield the names of the layers, the shapes of their data, and what makes their models."""
    for name, rows in CONVOLUTIONS.items():
        for row in rows:
            channels, size, outputs, window, stride = row
            kind = f"depthwise {window}x{window}" if name == "MobileNet" and window > 1 else f"{window}x{window}"
            title = f"{name}: {kind}, {channels} to {outputs} channels at {size}x{size}"
            model = partial(convolution, name, *row)
            yield title + (f", stride {stride}" if stride > 1 else ""), (1, channels, size, size), model


@dataclass(frozen=True)
class Block:
    """A block of a transformer in the form in which PyTorch's exporter writes it: the sizes of the batch and of the
    sequence are dynamic, and shapes are computed in the graph. It has self-attention and two dense layers."""

    width: int
    heads: int
    is_normalized_after: bool = False
    """Whether layer normalization comes after each residual connection, as in BERT, or before what it goes around."""
    is_causal: bool = False
    """Whether tokens see earlier ones alone, and keys and values of earlier calls are inputs, as in GPT; its Gaussian
    error linear unit is the approximate one."""

    def model(self, seed: int = 0) -> Any:
        """Return the block as a `ModelProto` with random weights."""
        onnx: Any = import_module("onnx")
        info: Any = onnx.helper.make_tensor_value_info
        f32 = onnx.TensorProto.FLOAT
        ends = [info(name, f32, ["batch", "length", self.width]) for name in ("x", "y")]
        cached = ["batch", self.heads, "past", self.width // self.heads]
        caches = [info(name, f32, cached) for name in ("past_k", "past_v")] if self.is_causal else []
        used = {name for node in self._nodes() for name in node.input}
        constants = {name: array for name, array in self._constants(seed).items() if name in used}
        sets = [onnx.helper.make_opsetid("", 17)]
        return _model(self._nodes(), [ends[0], *caches], ends[1:], constants, sets)

    def _constants(self, seed: int) -> dict[str, Any]:
        random, width, depth = np.random.default_rng(seed), self.width, self.width // self.heads
        arrays: dict[str, Any] = {
            "wide": random.normal(0, width**-0.5, (width, 4 * width)),
            "wide_bias": random.normal(0, 0.1, 4 * width),
            "narrow": random.normal(0, width**-0.5 / 2, (4 * width, width)),
            "narrow_bias": random.normal(0, 0.1, width),
            **{name: random.normal(1, 0.1, width) for name in ("gain1", "gain2")},
            **{name: random.normal(0, 0.1, width) for name in ("shift1", "shift2")},
            **{f"weight_{name}": random.normal(0, width**-0.5, (width, width)) for name in "qkvo"},
            **{f"bias_{name}": random.normal(0, 0.1, width) for name in "qkvo"},
            "scale": depth**0.5,
            "root": 2**0.5,
            "half": 0.5,
            "unit": 1.0,
            "three": 3.0,
            "cubic": 0.044715,
            "slope": (2 / np.pi) ** 0.5,
            "never": -np.inf,
        }
        integers = {"zero": 0, "one": 1, "two": 2, "axis0": [0], "axis1": [1]}
        integers |= {"heads": [self.heads], "depth": [depth], "width": [width]}
        constants = {name: np.asarray(array, np.float32) for name, array in arrays.items()}
        return constants | {name: np.array(number, np.int64) for name, number in integers.items()}

    def _nodes(self) -> list[Any]:
        after = self.is_normalized_after
        return [
            _node("Shape", "x", "shape"),
            _node("Gather", "shape zero", "b"),
            _node("Gather", "shape one", "t"),
            _node("Unsqueeze", "b axis0", "b1"),
            _node("Unsqueeze", "t axis0", "t1"),
            _node("Concat", "b1 t1 heads depth", "split", axis=0),
            _node("Concat", "b1 t1 width", "joined", axis=0),
            *([] if after else [_normal("x", 1)]),
            *(part for name in "qkv" for part in self._head(name, "x" if after else "normal1")),
            _node("MatMul", "q kt", "scores"),
            _node("Div", "scores scale", "scaled"),
            *(self._mask() if self.is_causal else []),
            _node("Softmax", "masked" if self.is_causal else "scaled", "attention", axis=-1),
            _node("MatMul", "attention v", "mixed"),
            _node("Transpose", "mixed", "mixed_t", perm=[0, 2, 1, 3]),
            _node("Reshape", "mixed_t joined", "flat"),
            _node("MatMul", "flat weight_o", "projected"),
            _node("Add", "projected bias_o", "output"),
            _node("Add", "x output", "residual"),
            _normal("residual", 1 if after else 2),
            _node("MatMul", "normal1 wide" if after else "normal2 wide", "hidden"),
            _node("Add", "hidden wide_bias", "hidden_b"),
            *(self._approximate_unit() if self.is_causal else self._unit()),
            _node("MatMul", "active narrow", "narrowed"),
            _node("Add", "narrowed narrow_bias", "narrowed_b"),
            _node("Add", "normal1 narrowed_b" if after else "residual narrowed_b", "sum" if after else "y"),
            *([_normal("sum", 2, "y")] if after else []),
        ]

    def _head(self, name: str, source: str) -> list[Any]:
        """Project to the heads of queries, keys or values, and append these to the ones from earlier calls. Keys are
        transposed."""
        is_cached = self.is_causal and name in "kv"
        order, result = ([0, 2, 3, 1], "kt") if name == "k" and not is_cached else ([0, 2, 1, 3], name)
        cached = [_node("Concat", f"past_{name} {name}_new", "k_all" if name == "k" else "v", axis=2)]
        transposed = [_node("Transpose", "k_all", "kt", perm=[0, 1, 3, 2])] if name == "k" else []
        return [
            _node("MatMul", f"{source} weight_{name}", f"{name}_product"),
            _node("Add", f"{name}_product bias_{name}", f"{name}_flat"),
            _node("Reshape", f"{name}_flat split", f"{name}_split"),
            _node("Transpose", f"{name}_split", f"{name}_new" if is_cached else result, perm=order),
            *([*cached, *transposed] if is_cached else []),
        ]

    def _mask(self) -> list[Any]:
        """A token sees the tokens of earlier calls, and of this call up to itself."""
        return [
            _node("Shape", "past_k", "past_shape"),
            _node("Gather", "past_shape two", "past"),
            _node("Add", "past t", "keys"),
            _node("Range", "past keys one", "rows"),
            _node("Range", "zero keys one", "columns"),
            _node("Unsqueeze", "rows axis1", "rows1"),
            _node("LessOrEqual", "columns rows1", "seen"),
            _node("Where", "seen scaled never", "masked"),
        ]

    def _unit(self) -> list[Any]:
        """The Gaussian error linear unit."""
        return [
            _node("Div", "hidden_b root", "divided"),
            _node("Erf", "divided", "error"),
            _node("Add", "error unit", "shifted"),
            _node("Mul", "hidden_b shifted", "product"),
            _node("Mul", "product half", "active"),
        ]

    def _approximate_unit(self) -> list[Any]:
        """The same by the hyperbolic tangent."""
        return [
            _node("Pow", "hidden_b three", "power"),
            _node("Mul", "power cubic", "bent"),
            _node("Add", "hidden_b bent", "curve"),
            _node("Mul", "curve slope", "angle"),
            _node("Tanh", "angle", "error"),
            _node("Add", "error unit", "shifted"),
            _node("Mul", "hidden_b shifted", "product"),
            _node("Mul", "product half", "active"),
        ]


def transformer_block(width: int, heads: int) -> Any:
    """Return a block with layer normalization before attention, and before the two dense layers."""
    return Block(width, heads).model()


def _node(operator: str, inputs: str, output: str, **attributes: Any) -> Any:
    make_node: Any = import_module("onnx").helper.make_node
    return make_node(operator, inputs.split(), [output], **attributes)


def _normal(source: str, number: int, result: str | None = None) -> Any:
    """Normalize each token."""
    output = result or f"normal{number}"
    return _node("LayerNormalization", f"{source} gain{number} shift{number}", output, axis=-1)


MODELS: Mapping[str, Callable[[], Any]] = {
    **{name: partial(network, name) for name in NETWORKS},
    "transformer block": partial(transformer_block, 256, 4),
    "BERT layer": Block(768, 12, is_normalized_after=True).model,
    "GPT block": Block(768, 12, is_causal=True).model,
    **{name: model for name, _, model in layers()},
}
"""What makes the models that rows name."""


def expected(model: Any, *inputs: Any) -> Any:
    """Return what another implementation computes: ONNX Runtime if it is installed, else `onnx.reference`."""
    try:
        runtime: Any = import_module("onnxruntime")
    except ImportError:
        session = import_module("onnx.reference").ReferenceEvaluator(model)
    else:
        session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [given.name for given in model.graph.input]
    return session.run(None, dict(zip(names, inputs, strict=True)))[0]
