"""Numbers that are valid only for some sizes: constants, and what a program computes, for fixed and dynamic sizes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from models import FLOAT, node
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx_runtime import expect_as_onnx_runtime

from relex.dialects.exceptions import RelexError
from relex.frontend.onnx import from_onnx
from relex.runtime import build

X = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
IMAGE = np.random.default_rng(1).normal(size=(1, 1, 2, 3)).astype(np.float32)


def model(
    data: dict[str, Any],
    numbers: dict[str, Any],
    operator: str,
    is_open: bool,
    is_computed: bool,
    outputs: str = "y",
    opset: int = 18,
    **attributes: Any,
) -> ModelProto:
    """A model of a node whose inputs are data, of dynamic sizes or not, and numbers, computed or constant."""

    def shape(name: str, x: Any) -> list[int | str]:
        return [f"{name}{d}" for d in range(x.ndim)] if is_open and name in data else list(x.shape)

    given = data | (numbers if is_computed else {})
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), shape(name, x))
        for name, x in given.items()
    ]
    constants = [] if is_computed else [numpy_helper.from_array(x, name) for name, x in numbers.items()]
    kinds = [TensorProto.INT64 if name == "p" else FLOAT for name in outputs.split(" ")]
    results = [
        helper.make_tensor_value_info(name, kind, None) for name, kind in zip(outputs.split(" "), kinds, strict=True)
    ]
    names = "x  n" if operator == "Resize" else " ".join([*data, *numbers])
    graph = helper.make_graph([node(operator, names, outputs, **attributes)], "net", inputs, results, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def feed(data: dict[str, Any], numbers: dict[str, Any], is_computed: bool) -> dict[str, Any]:
    return data | (numbers if is_computed else {})


def refused(net: ModelProto, given: dict[str, Any]) -> str:
    with pytest.raises(RelexError) as caught:
        build(from_onnx(net))["main"](**given)
    return str(caught.value)


def integers(*numbers: int) -> dict[str, Any]:
    return {"n": np.array(numbers, np.int64)}


WRONG: dict[str, tuple[str, dict[str, Any], dict[str, Any], str]] = {
    "more than there are": ("TopK", integers(6), {"outputs": "y p", "axis": 0}, "elements at most|6 <= x0"),
    "a negative number": ("TopK", integers(-1), {"outputs": "y p", "axis": 0}, "a number of elements|a size from 0"),
    "too short parts": ("Split", integers(2, 2), {"outputs": "y z"}, "elements together|x0 <= 4"),
    "too long parts": ("Split", integers(2, 4), {"outputs": "y z"}, "elements together|6 <= x0"),
    "a negative part": ("Split", integers(-1, 6), {"outputs": "y z"}, "not negative|a size from 0"),
    "a negative size": ("Expand", integers(-1, 4), {}, "not negative|as a size, found -1"),
    "too long sequences": ("ReverseSequence", integers(6, 1, 1, 1), {}, "expected indices from 0 to .*found 6"),
    "a negative length": ("ReverseSequence", integers(1, 1, -1, 1), {}, "expected indices from 0 to .*found -1"),
    "a long condition": ("Compress", {"n": np.ones(6, np.bool_)}, {"axis": 0}, "at most 5 elements|6 <= x0"),
}


@pytest.mark.parametrize(("is_computed", "is_open"), [(False, False), (False, True), (True, True)])
@pytest.mark.parametrize("case", WRONG)
def test_wrong_numbers(case: str, is_computed: bool, is_open: bool) -> None:
    operator, numbers, attributes, message = WRONG[case]
    net = model({"x": X}, numbers, operator, is_open, is_computed, **attributes)
    assert re.search(message, refused(net, feed({"x": X}, numbers, is_computed)))


@pytest.mark.parametrize("is_open", [False, True], ids=["fixed", "dynamic"])
@pytest.mark.parametrize(
    ("widths", "mode"), [((-6, 0, 0, 0), "edge"), ((-3, 0, -3, 0), "constant"), ((-6, 0, 3, 0), "reflect")]
)
def test_more_cut_off_than_there_is(widths: tuple[int, ...], mode: str, is_open: bool) -> None:
    net = model({"x": X}, integers(*widths), "Pad", is_open, False, mode=mode)
    assert "cut off" in (message := refused(net, {"x": X})) or "<= x" in message


@pytest.mark.parametrize("is_open", [False, True], ids=["fixed", "dynamic"])
def test_unpooling_beyond_the_pixels(is_open: bool) -> None:
    x, places = IMAGE[:, :, :1, :2], np.array([[[[0, 8]]]])
    net = model({"x": x, "i": places}, {}, "MaxUnpool", is_open, False, kernel_shape=[2, 2], strides=[2, 2])
    assert "expected indices from 0 to" in refused(net, {"x": x, "i": places})
    expect_as_onnx_runtime(net, {"x": x, "i": places - [0, 1]})


@pytest.mark.parametrize("is_computed", [False, True], ids=["constant", "computed"])
@pytest.mark.parametrize(("axis", "lengths"), [(0, (2, 3)), (1, (0, 1, 3)), (-1, (4,))])
def test_split(axis: int, lengths: tuple[int, ...], is_computed: bool) -> None:
    outputs = " ".join("yzw"[: len(lengths)])
    numbers = integers(*lengths)
    net = model({"x": X}, numbers, "Split", True, is_computed, outputs, axis=axis)
    expect_as_onnx_runtime(net, feed({"x": X}, numbers, is_computed))


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_split_into_parts_that_are_nearly_equal(parts: int) -> None:
    outputs = " ".join("yzw"[:parts])
    net = model({"x": X}, {}, "Split", True, False, outputs, num_outputs=parts)
    expect_as_onnx_runtime(net, *({"x": np.tile(X, (2, 1))[:n]} for n in (3, 5, 6, 8, 9)))


@pytest.mark.parametrize("is_open", [False, True], ids=["fixed", "dynamic"])
def test_wrong_numbers_of_parts(is_open: bool) -> None:
    net = model({"x": X}, {}, "Split", is_open, False, "y z", opset=13)
    assert "equal parts" in (message := refused(net, {"x": X})) or "<= " in message
    expect_as_onnx_runtime(model({"x": X[:4]}, {}, "Split", is_open, False, "y z", opset=13), {"x": X[:4]})
    net = model({"x": X}, {}, "Split", is_open, False, "y z w v", num_outputs=4)
    assert "the last one may be shorter" in (message := refused(net, {"x": X})) or "<= " in message


@pytest.mark.parametrize(("axis", "is_open"), [(0, True), (1, False), (-1, True)])
def test_one_hot_of_computed_depth(axis: int, is_open: bool) -> None:
    data, numbers = {"x": np.array([0, 2, -1, -3, 5, -4])}, {"n": np.array(3), "v": np.array([-1, 2], np.float32)}
    net = model(data, numbers, "OneHot", is_open, True, axis=axis)
    expect_as_onnx_runtime(net, *(data | numbers | {"n": np.array(n)} for n in (1, 3, 17)))
    assert "expected a size from 0" in refused(net, data | numbers | {"n": np.array(-1)})


def test_one_hot_of_three_values() -> None:
    data, numbers = {"x": np.array([0, 2])}, {"n": np.array(3), "v": np.ones(3, np.float32)}
    assert "expected a depth and two values" in refused(model(data, numbers, "OneHot", True, False), data)
    numbers = {"n": np.array(-3), "v": np.ones(2, np.float32)}
    assert "a depth that is not negative" in refused(model(data, numbers, "OneHot", True, False), data)


RESIZED: list[dict[str, str]] = [
    {},
    {"mode": "linear"},
    {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
    {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
    {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"},
]


def resizing(is_open: bool, by: str, **attributes: Any) -> ModelProto:
    kind = TensorProto.INT64 if by == "sizes" else FLOAT
    shape = ["b", "c", "h", "w"] if is_open else list(IMAGE.shape)
    inputs = [helper.make_tensor_value_info("x", FLOAT, shape), helper.make_tensor_value_info("n", kind, [4])]
    made = node("Resize", "x   n" if by == "sizes" else "x  n", "y", **attributes)
    graph = helper.make_graph([made], "net", inputs, [helper.make_tensor_value_info("y", FLOAT, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


@pytest.mark.parametrize("is_open", [False, True], ids=["fixed", "dynamic"])
@pytest.mark.parametrize("attributes", RESIZED[:2], ids=["nearest", "linear"])
def test_resize_to_computed_sizes(attributes: dict[str, str], is_open: bool) -> None:
    net = resizing(is_open, "sizes", **attributes)
    sizes = [(1, 1, 2, 3), (1, 1, 4, 6), (1, 1, 1, 17), (1, 1, 5, 1)]
    feeds = [{"x": IMAGE, "n": np.array(n)} for n in sizes]
    main = expect_as_onnx_runtime(net, *feeds, rtol=1e-5, atol=1e-6)
    with pytest.raises(RelexError, match="expected a size from 0"):
        main(IMAGE, np.array([1, 1, -1, 3]))


@pytest.mark.parametrize("attributes", RESIZED, ids=lambda x: "-".join(x.values()) or "nearest")
def test_resize_by_computed_scales(attributes: dict[str, str]) -> None:
    net = resizing(True, "scales", **attributes)
    # ONNX Runtime aligns the corners of the size that is rounded, the standard does so before.
    rounded = () if "align_corners" in attributes.values() else ((3.25, 1.7),)
    feeds = [{"x": IMAGE, "n": np.array([1, 1, *n], np.float32)} for n in ((1, 1), (2, 3), (0.5, 1), *rounded)]
    main = expect_as_onnx_runtime(net, *feeds, rtol=1e-5, atol=1e-6)
    with pytest.raises(RelexError, match="expected a size from 0"):
        main(IMAGE, np.array([1, 1, -1, 3], np.float32))


def test_wrong_scales() -> None:
    scales = {"n": np.array([1, 1, -2, 1], np.float32)}
    assert "larger than 0" in refused(model({"x": IMAGE}, scales, "Resize", False, False), {"x": IMAGE})
