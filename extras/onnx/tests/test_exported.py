"""What `torch.onnx.export` writes for networks with a dynamic batch: names, expansions, splits, resizing."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from models import FLOAT, model, node, value
from onnx import ModelProto, numpy_helper
from onnx.reference import ReferenceEvaluator

from relex.dialects.errors import CompileError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret
from relex.runtime import build


def images(*sizes: int) -> Any:
    return np.random.default_rng(0).normal(size=sizes).astype(np.float32)


def constant(name: str, array: Any) -> Any:
    return numpy_helper.from_array(np.asarray(array), name)


def check(m: ModelProto, x: Any) -> None:
    found, (wanted,) = interpret(from_onnx(m))["main"](x), cast(Any, ReferenceEvaluator(m)).run(None, {"x": x})
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_names_of_modules_in_names_of_sizes() -> None:
    """Values are named after modules, such as `layer1.0`, and sizes of kernels after values."""
    nodes = [
        node("Conv", "x w1", "/layer1/layer1.0/Conv_output_0", pads=[1, 1, 1, 1]),
        node("Relu", "/layer1/layer1.0/Conv_output_0", "/layer1/layer1.1/Relu_output_0"),
        node("Conv", "/layer1/layer1.1/Relu_output_0 w2", "/layer1/layer1.2/Conv_output_0", pads=[1, 1, 1, 1]),
        node("Add", "/layer1/layer1.2/Conv_output_0 /layer1/layer1.1/Relu_output_0", "y"),
    ]
    weights = [constant("w1", images(8, 3, 3, 3)), constant("w2", images(8, 8, 3, 3))]
    m = model(nodes, [value("x", FLOAT, ["batch", 3, 6, 6])], ["y"], weights)
    x = images(2, 3, 6, 6)
    (wanted,) = cast(Any, ReferenceEvaluator(m)).run(None, {"x": x})
    np.testing.assert_allclose(build(from_onnx(m))["main"](x), wanted, atol=1e-4)


def test_expand_to_an_open_shape() -> None:
    """The shape is compared with -1, which no size is."""
    nodes = [
        node("Shape", "x", "shape"),
        node("ConstantOfShape", "rank", "ones", value=constant("", np.array([1], np.int64))),
        node("Mul", "ones minus", "absent"),
        node("Equal", "shape absent", "is_absent"),
        node("Where", "is_absent ones shape", "wanted"),
        node("Expand", "bias wanted", "expanded"),
        node("Add", "x expanded", "y"),
    ]
    constants = [
        constant("rank", np.array([2], np.int64)),
        constant("minus", np.array(-1, np.int64)),
        constant("bias", np.array([[1, 2, 3]], np.float32)),
    ]
    check(model(nodes, [value("x", FLOAT, ["batch", 3])], ["y"], constants), images(4, 3))


def test_split_beside_an_open_size() -> None:
    nodes = [node("Split", "x", "a b", axis=1, num_outputs=2), node("Sub", "b a", "y")]
    check(model(nodes, [value("x", FLOAT, ["batch", 6])], ["y"], version=18), images(3, 6))


def test_split_of_an_open_size() -> None:
    nodes = [node("Split", "x", "a b", num_outputs=2), node("Concat", "b a", "y", axis=0)]
    check(model(nodes, [value("x", FLOAT, ["batch", 6])], ["y"], version=18), images(3, 6))


def test_tile_by_an_open_size() -> None:
    nodes = [
        node("Shape", "x", "batch", end=1),
        node("Concat", "batch one", "repeats", axis=0),
        node("Tile", "row repeats", "rows"),
        node("Add", "x rows", "y"),
    ]
    constants = [constant("one", np.array([1], np.int64)), constant("row", np.array([[1, 2, 3]], np.float32))]
    check(model(nodes, [value("x", FLOAT, ["batch", 3])], ["y"], constants), images(4, 3))


def test_reshape_that_divides_open_sizes() -> None:
    """Parts of images become sequences: the size that is left is no multiple of the batch."""
    shapes = [constant("parts", np.array([-1, 8], np.int64)), constant("four", np.array([4], np.int64))]
    nodes = [
        node("Shape", "x", "batch", end=1),
        node("Reshape", "x parts", "rows"),
        node("Mul", "batch four", "wide"),
        node("Concat", "wide minus", "shape", axis=0),
        node("Reshape", "rows shape", "y"),
    ]
    shapes.append(constant("minus", np.array([-1], np.int64)))
    check(model(nodes, [value("x", FLOAT, ["batch", 4, 16])], ["y"], shapes), images(3, 4, 16))


MODES = [
    {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
    {"mode": "nearest", "coordinate_transformation_mode": "half_pixel"},
    {"mode": "linear", "coordinate_transformation_mode": "half_pixel"},
    {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"},
    {"mode": "cubic", "coordinate_transformation_mode": "half_pixel", "cubic_coeff_a": -0.75},
]


def resize(sizes: list[Any], scales: list[float], **mode: Any) -> ModelProto:
    constants = [constant("scales", np.array(scales, np.float32))]
    return model([node("Resize", "x  scales", "y", **mode)], [value("x", FLOAT, sizes)], ["y"], constants, version=18)


@pytest.mark.sampled
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("factors", [(2.0, 2.0), (3.0, 1.0)])
def test_resize_of_open_sizes(mode: dict[str, Any], factors: tuple[float, float]) -> None:
    check(resize(["batch", 2, "height", "width"], [1, 1, *factors], **mode), images(1, 2, 3, 5))


def test_resize_beside_an_open_batch() -> None:
    """Known sizes are resized by any factor."""
    mode = {"mode": "linear", "coordinate_transformation_mode": "align_corners"}
    check(resize(["batch", 2, 4, 6], [1, 1, 1.5, 2], **mode), images(3, 2, 4, 6))


def test_resize_to_an_open_size() -> None:
    """PyTorch multiplies sizes and gives the product."""
    nodes = [
        node("Shape", "x", "shape"),
        node("Mul", "shape factors", "sizes"),
        node("Resize", "x   sizes", "y", coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
    ]
    factors = constant("factors", np.array([1, 1, 2, 2], np.int64))
    check(model(nodes, [value("x", FLOAT, ["n", 2, "h", "w"])], ["y"], [factors]), images(1, 2, 3, 2))


@pytest.mark.parametrize(
    ("factor", "mode"), [(1.5, "asymmetric"), (2.0, "align_corners"), (0.5, "half_pixel"), (2.5, "pytorch_half_pixel")]
)
def test_resize_of_an_open_size_linearly(factor: float, mode: str) -> None:
    resized = resize(["n", 2, "height", 4], [1, 1, factor, 1], mode="linear", coordinate_transformation_mode=mode)
    check(resized, images(1, 2, 6, 4))


@pytest.mark.parametrize(
    ("factor", "mode", "expected"),
    [
        (1.3, {}, "the dynamic size height times 1.3, which is rounded; fix the size with `shapes=`"),
        (
            2.0,
            {"mode": "linear", "antialias": 1, "coordinate_transformation_mode": "align_corners"},
            r"the dynamic size height resized to 2 \* height with antialias, by as many elements as follow from the",
        ),
    ],
)
def test_resize_of_open_sizes_that_needs_them(factor: float, mode: dict[str, Any], expected: str) -> None:
    with pytest.raises(CompileError, match=expected):
        from_onnx(resize(["batch", 2, "height", 4], [1, 1, factor, 1], **mode))
