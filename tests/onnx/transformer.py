"""A block of a transformer as an ONNX model, in the form in which PyTorch's exporter writes it: the sizes of the batch
and of the sequence are open, and shapes are computed in the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from models import FLOAT, model, node, value
from onnx import ModelProto, NodeProto, numpy_helper

WIDTH, HEADS = 32, 4


def transformer_block(seed: int = 0) -> ModelProto:
    """Return a block with self-attention and two dense layers, each with layer normalization before it and a residual
    connection around it."""
    random = np.random.default_rng(seed)
    depth = WIDTH // HEADS
    constants: dict[str, Any] = {
        "gain1": random.normal(1, 0.1, WIDTH),
        "shift1": random.normal(0, 0.1, WIDTH),
        "gain2": random.normal(1, 0.1, WIDTH),
        "shift2": random.normal(0, 0.1, WIDTH),
        "wide": random.normal(0, WIDTH**-0.5, (WIDTH, 4 * WIDTH)),
        "wide_bias": random.normal(0, 0.1, 4 * WIDTH),
        "narrow": random.normal(0, WIDTH**-0.5 / 2, (4 * WIDTH, WIDTH)),
        "narrow_bias": random.normal(0, 0.1, WIDTH),
        "scale": np.array(depth**0.5),
        "root": np.array(2**0.5),
        "half": np.array(0.5),
        "unit": np.array(1.0),
    }
    for name in "qkvo":
        constants[f"weight_{name}"] = random.normal(0, WIDTH**-0.5, (WIDTH, WIDTH))
        constants[f"bias_{name}"] = random.normal(0, 0.1, WIDTH)
    tensors = [numpy_helper.from_array(np.asarray(array, np.float32), name) for name, array in constants.items()]
    integers = {"zero": 0, "one": 1, "axis0": [0], "heads": [HEADS], "depth": [depth], "width": [WIDTH]}
    tensors += [numpy_helper.from_array(np.array(number, np.int64), name) for name, number in integers.items()]
    nodes = [
        node("Shape", "x", "shape"),
        node("Gather", "shape zero", "b"),
        node("Gather", "shape one", "t"),
        node("Unsqueeze", "b axis0", "b1"),
        node("Unsqueeze", "t axis0", "t1"),
        node("Concat", "b1 t1 heads depth", "split", axis=0),
        node("Concat", "b1 t1 width", "joined", axis=0),
        node("LayerNormalization", "x gain1 shift1", "normal1", axis=-1),
        *(part for name in "qkv" for part in _heads(name)),
        node("MatMul", "q kt", "scores"),
        node("Div", "scores scale", "scaled"),
        node("Softmax", "scaled", "attention", axis=-1),
        node("MatMul", "attention v", "mixed"),
        node("Transpose", "mixed", "mixed_t", perm=[0, 2, 1, 3]),
        node("Reshape", "mixed_t joined", "flat"),
        node("MatMul", "flat weight_o", "projected"),
        node("Add", "projected bias_o", "output"),
        node("Add", "x output", "residual"),
        node("LayerNormalization", "residual gain2 shift2", "normal2", axis=-1),
        node("MatMul", "normal2 wide", "hidden"),
        node("Add", "hidden wide_bias", "hidden_b"),
        # The Gaussian error linear unit.
        node("Div", "hidden_b root", "divided"),
        node("Erf", "divided", "error"),
        node("Add", "error unit", "shifted"),
        node("Mul", "hidden_b shifted", "product"),
        node("Mul", "product half", "active"),
        node("MatMul", "active narrow", "narrowed"),
        node("Add", "narrowed narrow_bias", "narrowed_b"),
        node("Add", "residual narrowed_b", "y"),
    ]
    return model(nodes, [value("x", FLOAT, ["batch", "length", WIDTH])], ["y"], tensors)


def _heads(name: str) -> list[NodeProto]:
    """Project to the heads of queries, keys or values; keys are transposed."""
    order, result = ([0, 2, 3, 1], "kt") if name == "k" else ([0, 2, 1, 3], name)
    return [
        node("MatMul", f"normal1 weight_{name}", f"{name}_product"),
        node("Add", f"{name}_product bias_{name}", f"{name}_flat"),
        node("Reshape", f"{name}_flat split", f"{name}_split"),
        node("Transpose", f"{name}_split", result, perm=order),
    ]
