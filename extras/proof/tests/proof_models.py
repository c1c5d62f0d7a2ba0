"""Parts of known networks with small sizes, for which passes are proved in seconds: see `proof_share.py`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from relex.frontend.onnx import from_onnx

# First: other packages install a folder of this name, too.
sys.path.insert(0, str(Path(__file__).parents[3]))

TOKENS, WIDTH, HEADS = 4, 16, 2
PIXELS, WIDE, NARROW = 6, 8, 4


def transformer_layer() -> ModuleOp:
    """A layer of a transformer, as PyTorch's exporter writes it: attention, two dense layers, normalization."""
    block = import_module("benchmarks.models").transformer_block(WIDTH, HEADS)
    return from_onnx(block, shapes={"x": (1, TOKENS, WIDTH)})


def resnet_block() -> ModuleOp:
    """A bottleneck block of ResNet-50: three convolutions with batch normalization, and what goes around them."""
    onnx: Any = import_module("onnx")
    random = np.random.default_rng(0)
    nodes: list[Any] = []
    arrays: list[Any] = []

    def constant(name: str, array: Any) -> str:
        arrays.append(onnx.numpy_helper.from_array(np.asarray(array, np.float32), name))
        return name

    source = "x"
    for n, (channels, results, window) in enumerate([(WIDE, NARROW, 1), (NARROW, NARROW, 3), (NARROW, WIDE, 1)]):
        weight = constant(f"w{n}", random.normal(size=(results, channels, window, window)))
        norm = [
            constant(f"{part}{n}", random.uniform(0.5, 1.5, results)) for part in ("gain", "shift", "mean", "square")
        ]
        nodes.append(onnx.helper.make_node("Conv", [source, weight], [f"c{n}"], pads=[window // 2] * 4))
        nodes.append(onnx.helper.make_node("BatchNormalization", [f"c{n}", *norm], [f"n{n}"]))
        nodes.append(onnx.helper.make_node("Relu", [f"n{n}"], [f"r{n}"]))
        source = f"r{n}"
    nodes[-1] = onnx.helper.make_node("Add", ["n2", "x"], ["around"])
    nodes.append(onnx.helper.make_node("Relu", ["around"], ["y"]))
    ends = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, WIDE, PIXELS, PIXELS]) for name in "xy"
    ]
    graph = onnx.helper.make_graph(nodes, "block", ends[:1], ends[1:], arrays)
    return from_onnx(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]))


def resnet50(pixels: int = 32, fewer: int = 16) -> ModuleOp:
    """All of ResNet-50: 53 convolutions, of images of 32 by 32 `pixels`, with a sixteenth of the channels."""
    onnx: Any = import_module("onnx")
    model = import_module("benchmarks.models").network("resnet50", pixels)

    def small(size: int) -> int:
        return size // fewer if size % 64 == 0 else size

    for tensor in model.graph.initializer:
        array = onnx.numpy_helper.to_array(tensor)
        if array.dtype == np.int64:
            array = np.array([small(size) for size in array])
        else:
            array = array[tuple(slice(small(size)) for size in array.shape)]
        tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    (pool,) = (node for node in model.graph.node if node.op_type == "AveragePool")
    (window,) = (a for a in pool.attribute if a.name == "kernel_shape")
    window.ints[:] = [pixels // 32] * 2
    return from_onnx(model)


MODELS = {"transformer-layer": transformer_layer, "resnet-block": resnet_block, "resnet50": resnet50}
