"""Nodes by themselves: attributes, types and numbers that an import easily passes over."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from models import FLOAT, model, node, value
from onnx import TensorProto, helper, numpy_helper

from relex.dialects.errors import RelexError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret
from relex.runtime import build

f16, f32, f64, i32, i64 = (np.float16, np.float32, np.float64, np.int32, np.int64)
nan, inf = np.nan, np.inf


def array(dtype: Any, *numbers: Any) -> Any:
    return np.array(numbers, dtype)


CASES: dict[str, tuple[str, int, dict[str, Any], dict[str, Any], dict[str, Any], Any]] = {
    # The name: the operator, the operator set, attributes, inputs, constants, and the result.
    "below a threshold, NaN and infinity become 0": (
        *("ThresholdedRelu", 10, {"alpha": 1.0}, {"x": array(f32, nan, -inf, inf, 2, 1)}, {}),
        array(f32, 0, 0, inf, 2, 0),
    ),
    "an addend whose factor is 0 does not count": (
        *("Gemm", 13, {"beta": 0.0}, {"a": array(f32, [1, 2]), "b": array(f32, [3], [4]), "c": array(f32, nan)}, {}),
        array(f32, [11]),
    ),
    "an integer to the power of a half": (
        *("Pow", 15, {}, {"x": array(i32, 2**31 - 2, 2049, 9), "e": array(f16, 1, 1, 0.5)}, {}),
        array(i32, 2**31 - 2, 2049, 3),
    ),
    "a large integer to the power of one": (
        *("Pow", 15, {}, {"x": array(i64, 2**40 + 1, 2**24 + 1), "e": array(f32, 1)}, {}),
        array(i64, 2**40 + 1, 2**24 + 1),
    ),
    "an exponent of more digits than the base": (
        *("Pow", 13, {}, {"x": array(f16, nan, 2), "e": array(f64, 2.0**-1000, 2.0**-1000)}, {}),
        array(f16, nan, 1),
    ),
    "the maximum of several dimensions": (
        *("Hardmax", 11, {"axis": 1}, {"x": array(f32, [[1, 2], [3, 0]], [[5, 5], [4, 5]])}, {}),
        array(f32, [[0, 0], [1, 0]], [[1, 0], [0, 0]]),
    ),
    "the grid of one image": (
        *("AffineGrid", 20, {}, {"t": array(f32, [[1, 0, 0], [0, 1, 0]])}, {"s": array(i64, 1, 1, 1, 2)}),
        array(f32, [[[-0.5, 0], [0.5, 0]]]),
    ),
    "the grid of a single row": (
        *("AffineGrid", 20, {"align_corners": 1}),
        *({"t": array(f32, [[1, 0, 0], [0, 1, 0]])}, {"s": array(i64, 1, 1, 1, 2)}),
        array(f32, [[[-1, -1], [1, -1]]]),
    ),
    "NaN of a column stays in its block": (
        *("Col2Im", 18, {}, {"x": array(f32, [[nan, 2], [3, 4]])}, {"i": array(i64, 1, 3), "b": array(i64, 1, 2)}),
        array(f32, [[[nan, 5, 4]]]),
    ),
    "data that shrinks has the element after": (
        *("Resize", 10, {}, {"x": array(f32, [0, 1, 2, 3, 4])}, {"s": array(f32, 1, 0.6)}),
        array(f32, [0, 2, 4]),
    ),
    "a size is rounded as f32": (
        *("Resize", 10, {}, {"x": array(f32, [*range(10)])}, {"s": array(f32, 1, 1.3)}),
        array(f32, [0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9]),
    ),
    "a size is rounded down to none": (
        *("Resize", 18, {}, {"x": array(f32, [1, 2])}, {"": None, "s": array(f32, 0.3, 1)}),
        np.zeros((0, 2), f32),
    ),
}


@pytest.mark.parametrize("run", [interpret, build])
@pytest.mark.parametrize("name", CASES)
def test_result(name: str, run: Any) -> None:
    operator, version, attributes, inputs, constants, expected = CASES[name]
    declared = [value(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in inputs.items()]
    arrays = [numpy_helper.from_array(x, n) for n, x in constants.items() if x is not None]
    nodes = [node(operator, " ".join([*inputs, *constants]), "y", **attributes)]
    made = model(nodes, declared, ["y"], arrays, version=version)
    found = np.asarray(run(from_onnx(made))["main"](*inputs.values()))
    np.testing.assert_array_equal(found, expected, strict=True)


def test_mask_of_dropout() -> None:
    """It has the type of the data at first, and is of booleans from operator set 10 on."""
    for version, dtype in ((7, f64), (10, np.bool_)):
        declared = [value("x", helper.np_dtype_to_tensor_dtype(np.dtype(f64)), [2])]
        made = model([node("Dropout", "x", "y mask")], declared, ["y", "mask"], version=version, checked=False)
        _, mask = interpret(from_onnx(made))["main"](np.zeros(2))
        np.testing.assert_array_equal(mask, np.ones(2, dtype), strict=True)


@pytest.mark.parametrize("run", [interpret, build])
def test_squeeze_of_dynamic_sizes(run: Any) -> None:
    """Dimensions of size 1 are all squeezed: a size that is known at run time must not be 1."""
    made = model([node("Squeeze", "x", "y")], [value("x", FLOAT, ["n", 1])], ["y"], version=11, checked=False)
    squeezed = run(from_onnx(made))["main"]
    assert np.asarray(squeezed(np.ones((3, 1), f32))).shape == (3,)
    assert np.asarray(squeezed(np.ones((0, 1), f32))).shape == (0,)
    with pytest.raises(RelexError, match="expected n not to be 1, as no axes are given to squeeze"):
        squeezed(np.ones((1, 1), f32))


@pytest.mark.parametrize("run", [interpret, build])
def test_tile_of_dynamic_sizes_without_elements(run: Any) -> None:
    repeats = numpy_helper.from_array(array(i64, 0, 1), "r")
    made = model([node("Tile", "x r", "y")], [value("x", FLOAT, [1, "n"])], ["y"], [repeats])
    assert np.asarray(run(from_onnx(made))["main"](np.ones((1, 3), f32))).shape == (0, 3)


def test_fill_of_bf16_before_dynamic_data() -> None:
    """A choice between vectors of bf16, which are integers for LLVM."""
    sizes = numpy_helper.from_array(array(i64, 2), "two")
    nodes = [
        *(node("Shape", "x", "rows", end=1), node("Concat", "rows two", "shape", axis=0)),
        *(node("ConstantOfShape", "shape", "zeros"), node("CastLike", "zeros x", "fill")),
        node("Concat", "fill x", "y", axis=1),
    ]
    made = model(nodes, [value("x", TensorProto.BFLOAT16, ["n", 1])], ["y"], [sizes], version=19)
    x = np.array([[1.5], [-2]], ml_dtypes.bfloat16)
    found = np.asarray(build(from_onnx(made), cache=False)["main"](x))
    np.testing.assert_array_equal(found, np.pad(x, [(0, 0), (2, 0)]), strict=True)
