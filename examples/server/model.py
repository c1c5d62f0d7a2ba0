"""The network for handwritten digits as an ONNX model with a dynamic batch: bytes of images in, digits out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

DIGITS = Path(__file__).parents[1] / "digits"

BYTES = 28 * 28
"""The size of an image: a grey value for each pixel."""


def load_images() -> NDArray[np.uint8]:
    """Return the test images as rows of bytes."""
    with np.load(DIGITS / "digits.npz") as file:
        return file["images"].reshape(-1, BYTES)


def load_weights() -> dict[str, NDArray[np.float32]]:
    """Return the parameters of the network by name."""
    with np.load(DIGITS / "weights.npz") as file:
        return {name: file[name] for name in ("w0", "b0", "w1", "b1")}


def reference(images: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the digits in images by NumPy."""
    weights = load_weights()
    hidden = np.maximum(images / np.float32(255) @ weights["w0"].T + weights["b0"], 0)
    return (hidden @ weights["w1"].T + weights["b1"]).argmax(axis=1)


def digits_model() -> onnx.ModelProto:
    """Return the model: `image` (batch, 784) of bytes to `digit` (batch,)."""
    arrays = {"scale": np.array(1 / 255, np.float32), **load_weights()}
    nodes = [
        helper.make_node("Cast", ["image"], ["grey"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["grey", "scale"], ["x"]),
        helper.make_node("Gemm", ["x", "w0", "b0"], ["h0"], transB=1),
        helper.make_node("Relu", ["h0"], ["h1"]),
        helper.make_node("Gemm", ["h1", "w1", "b1"], ["scores"], transB=1),
        helper.make_node("ArgMax", ["scores"], ["digit"], axis=1, keepdims=0),
    ]
    image = helper.make_tensor_value_info("image", TensorProto.UINT8, ["batch", BYTES])
    digit = helper.make_tensor_value_info("digit", TensorProto.INT64, ["batch"])
    weights = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "digits", [image], [digit], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
