"""Models of ONNX: the nine networks of the package onnx, with random weights, and a block of a transformer.

The files of the package have the number 0.02 in place of weights. Here weights are random, from a seed, and a final
softmax is left out: results that are right by accident would show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    """Return weights that keep the scale of what they are applied to: those of kernels, else numbers around 1 or 0."""
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


def transformer_block(width: int, heads: int, seed: int = 0) -> Any:
    """Return a block of a transformer in the form in which PyTorch's exporter writes it: the sizes of the batch and of
    the sequence are open, and shapes are computed in the graph. It has self-attention and two dense layers, each with
    layer normalization before it and a residual connection around it."""
    onnx: Any = import_module("onnx")
    random = np.random.default_rng(seed)
    depth = width // heads
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
    }
    constants = {name: np.asarray(array, np.float32) for name, array in arrays.items()}
    integers = {"zero": 0, "one": 1, "axis0": [0], "heads": [heads], "depth": [depth], "width": [width]}
    constants |= {name: np.array(number, np.int64) for name, number in integers.items()}
    info: Any = onnx.helper.make_tensor_value_info
    sizes = ["batch", "length", width]
    ends = [info(name, onnx.TensorProto.FLOAT, sizes) for name in ("x", "y")]
    return _model(_block_nodes(), ends[:1], ends[1:], constants, [onnx.helper.make_opsetid("", 17)])


def _node(operator: str, inputs: str, output: str, **attributes: Any) -> Any:
    make_node: Any = import_module("onnx").helper.make_node
    return make_node(operator, inputs.split(), [output], **attributes)


def _block_nodes() -> list[Any]:
    return [
        _node("Shape", "x", "shape"),
        _node("Gather", "shape zero", "b"),
        _node("Gather", "shape one", "t"),
        _node("Unsqueeze", "b axis0", "b1"),
        _node("Unsqueeze", "t axis0", "t1"),
        _node("Concat", "b1 t1 heads depth", "split", axis=0),
        _node("Concat", "b1 t1 width", "joined", axis=0),
        _node("LayerNormalization", "x gain1 shift1", "normal1", axis=-1),
        *(part for name in "qkv" for part in _head_nodes(name)),
        _node("MatMul", "q kt", "scores"),
        _node("Div", "scores scale", "scaled"),
        _node("Softmax", "scaled", "attention", axis=-1),
        _node("MatMul", "attention v", "mixed"),
        _node("Transpose", "mixed", "mixed_t", perm=[0, 2, 1, 3]),
        _node("Reshape", "mixed_t joined", "flat"),
        _node("MatMul", "flat weight_o", "projected"),
        _node("Add", "projected bias_o", "output"),
        _node("Add", "x output", "residual"),
        _node("LayerNormalization", "residual gain2 shift2", "normal2", axis=-1),
        _node("MatMul", "normal2 wide", "hidden"),
        _node("Add", "hidden wide_bias", "hidden_b"),
        # The Gaussian error linear unit.
        _node("Div", "hidden_b root", "divided"),
        _node("Erf", "divided", "error"),
        _node("Add", "error unit", "shifted"),
        _node("Mul", "hidden_b shifted", "product"),
        _node("Mul", "product half", "active"),
        _node("MatMul", "active narrow", "narrowed"),
        _node("Add", "narrowed narrow_bias", "narrowed_b"),
        _node("Add", "residual narrowed_b", "y"),
    ]


def _head_nodes(name: str) -> list[Any]:
    """Project to the heads of queries, keys or values; keys are transposed."""
    order, result = ([0, 2, 3, 1], "kt") if name == "k" else ([0, 2, 1, 3], name)
    return [
        _node("MatMul", f"normal1 weight_{name}", f"{name}_product"),
        _node("Add", f"{name}_product bias_{name}", f"{name}_flat"),
        _node("Reshape", f"{name}_flat split", f"{name}_split"),
        _node("Transpose", f"{name}_split", result, perm=order),
    ]


MODELS: Mapping[str, Callable[[], Any]] = {
    **{name: partial(network, name) for name in NETWORKS},
    "transformer block": partial(transformer_block, 256, 4),
}
"""What makes the models that rows name."""


def expected(model: Any, x: Any) -> Any:
    """Return what another implementation computes: ONNX Runtime if it is installed, else `onnx.reference`."""
    try:
        runtime: Any = import_module("onnxruntime")
    except ImportError:
        session = import_module("onnx.reference").ReferenceEvaluator(model)
    else:
        session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {model.graph.input[0].name: x})[0]
