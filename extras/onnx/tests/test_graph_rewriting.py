"""What the compilation leaves of the nodes of networks that other frameworks write."""

from __future__ import annotations

from typing import Any

import numpy as np
from models import FLOAT, INT64, model, node, value
from networks import models
from onnx import ModelProto, TensorProto, helper, numpy_helper

from relex.frontend.onnx import from_onnx
from relex.lowering import RelexPipelinePass
from relex.reference import interpret
from relex.runtime import build

TO_LAST, TO_FIRST = [0, 2, 3, 1], [0, 3, 1, 2]


def channels_last() -> ModelProto:
    """Layers on tensors whose channels are the last dimension, around convolutions that have them first; with a factor
    and an addend of each channel in the place of a normalization, and nodes that do nothing."""
    nodes = [
        node("Transpose", "kernel_last", "kernel", perm=[3, 2, 0, 1]),
        node("Transpose", "x", "x_first", perm=TO_FIRST),
        node("Conv", "x_first kernel", "c", pads=[1, 1, 1, 1]),
        node("Transpose", "c", "c_last", perm=TO_LAST),
        node("Mul", "c_last factor", "scaled"),
        node("Identity", "scaled", "same"),
        node("Add", "same addend", "shifted"),
        node("Dropout", "shifted", "kept"),
        node("Relu", "kept", "h"),
        node("Transpose", "h", "h_first", perm=TO_FIRST),
        node("Conv", "h_first point", "p"),
        node("Transpose", "p", "p_last", perm=TO_LAST),
        node("Add", "p_last h", "sum"),
        node("Reshape", "sum flat", "row"),
        node("MatMul", "row weight", "y"),
    ]
    random = np.random.default_rng(0)
    shapes = {"kernel_last": (3, 3, 3, 4), "factor": (4,), "addend": (4,), "point": (4, 4, 1, 1), "weight": (80, 2)}
    arrays: dict[str, Any] = {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    arrays["flat"] = np.array([-1, 80], np.int64)
    constants = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    return model(nodes, [value("x", FLOAT, ["n", 4, 5, 3])], ["y"], constants)


def operators(m: ModelProto, strict: bool = False) -> list[str]:
    """The operators of a model before it becomes loops, in order."""
    module = RelexPipelinePass("graph", strict)(from_onnx(m))
    names = [op.name.removeprefix("relex.") for op in module.walk() if op.name.startswith("relex.")]
    return [name for name in names if name != "constant"]


def test_channels_last() -> None:
    """Only the transpose of the argument is left."""
    m = channels_last()
    assert operators(m) == ["permute_dims", "conv2d", "add", "relu", "conv2d", "add", "reshape", "matmul"]
    module = from_onnx(m)
    executable = build(module)
    for batch in (1, 3):
        x = np.random.default_rng(batch).normal(size=(batch, 4, 5, 3)).astype(np.float32)
        wanted = models.expected(m, x)
        for found in (executable["main"](x), interpret(module)["main"](x)):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_strict_compilation_changes_no_sum() -> None:
    names = operators(channels_last(), strict=True)
    # The transpose before the matrix product, and the factor, stay.
    assert names.count("permute_dims") == 2
    assert "multiply" in names


def test_normalization_in_parts() -> None:
    """A normalization whose factors and addends follow it, in shapes that nodes compute."""
    nodes = [
        node("Conv", "x kernel", "c"),
        node("BatchNormalization", "c one zero mean variance", "n"),
        node("Unsqueeze", "factor axes", "factors"),
        node("Mul", "n factors", "scaled"),
        node("Reshape", "addend shape", "addends"),
        node("Add", "scaled addends", "shifted"),
        node("Relu", "shifted", "y"),
    ]
    numbers = {"one": 1.0, "zero": 0.0, "mean": 0.5, "variance": 2.0, "factor": 3.0, "addend": -1.0}
    constants = [helper.make_tensor(name, TensorProto.FLOAT, [2], [number] * 2) for name, number in numbers.items()]
    constants += [helper.make_tensor("kernel", TensorProto.FLOAT, [2, 1, 1, 1], [1.0, -2.0])]
    constants += [helper.make_tensor("axes", INT64, [2], [1, 2]), helper.make_tensor("shape", INT64, [3], [2, 1, 1])]
    m = model(nodes, [value("x", FLOAT, ["n", 1, 3, 3])], ["y"], constants)
    assert operators(m) == ["conv2d", "add", "relu"]
