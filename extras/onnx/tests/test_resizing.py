"""Resize and Upsample of tensors of every type, against the package onnx."""

from __future__ import annotations

from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from models import FLOAT, model, node, value
from onnx import ModelProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx_runtime import expect_as_onnx_runtime

from relex.dialects.errors import CompileError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret
from relex.runtime import build

INTEGERS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
FACTORS = ([1.0, 1.0, 2.0, 1.5], [1.0, 1.0, 0.6, 0.7], [1.0, 1.0, 1.0, 2.4])

SETTINGS: list[dict[str, Any]] = [
    {"mode": mode, **others}
    for mode in ("linear", "cubic")
    for others in (
        {},
        {"antialias": 1},
        {"exclude_outside": 1},
        *(
            {"coordinate_transformation_mode": name}
            for name in ("align_corners", "asymmetric", "half_pixel_symmetric", "pytorch_half_pixel")
        ),
    )
]


def resize(x: Any, second: str, inputs: dict[str, Any], version: int = 19, **settings: Any) -> ModelProto:
    """A model with one node; `second` are the inputs after the data."""
    operator = settings.pop("operator", "Resize")
    constants = [numpy_helper.from_array(np.asarray(array), name) for name, array in inputs.items()]
    declared = [value("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)]
    return model([node(operator, f"x {second}", "y", **settings)], declared, ["y"], constants, version=version)


def by_scales(x: Any, scales: list[float], **settings: Any) -> ModelProto:
    return resize(x, " scales", {"scales": np.array(scales, np.float32)}, **settings)


def reference(m: ModelProto, x: Any) -> Any:
    with np.errstate(all="ignore"):
        return cast(Any, ReferenceEvaluator(m)).run(None, {"x": x})[0]


def results(m: ModelProto, x: Any, *, is_compiled: bool = True) -> list[Any]:
    """What a program returns that is interpreted, and one that is compiled."""
    module = from_onnx(m)
    functions = interpret(module)["main"], *([build(module)["main"]] if is_compiled else [])
    found = [np.asarray(function(x)) for function in functions]
    assert all(y.dtype == x.dtype for y in found)
    return found


def check(m: ModelProto, x: Any, wanted: Any) -> None:
    for found in results(m, x):
        np.testing.assert_array_equal(found, wanted)


def check_rounding(m: ModelProto, x: Any, *, is_compiled: bool = True) -> None:
    """Compare with the package onnx: results differ by half from its floats at most, up to their rounding. Its weights
    of cubic curves are of f32."""
    info = np.iinfo(x.dtype)
    is_cubic = any(attribute.s == b"cubic" for attribute in m.graph.node[0].attribute)
    rounding = np.finfo(np.float32 if is_cubic else np.float64).eps * 8 * abs(x.astype(np.float64)).max()
    wide = ModelProto()
    wide.CopyFrom(m)
    for declared in (*wide.graph.input, *wide.graph.output):
        declared.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(np.float64))
    exact = np.clip(reference(wide, x.astype(np.float64)), info.min, info.max)
    for found in results(m, x, is_compiled=is_compiled):
        assert found.shape == exact.shape
        assert abs(found.astype(np.float64) - exact).max() <= 0.5 + rounding


def numbers(dtype: Any, *shape: int) -> Any:
    """Integers at the ends of a type, where cubic curves leave it, and between them; of 32 bits at most."""
    info = np.iinfo(dtype)
    low, high = max(info.min, -(2**31)), min(info.max, 2**32 - 1)
    random = np.random.default_rng(0)
    x = np.where(random.random(shape) < 0.3, random.choice([low, high], shape), random.integers(low, high, shape))
    return x.astype(dtype)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: " ".join(map(str, settings.values())))
def test_integers_are_rounded(settings: dict[str, Any]) -> None:
    for i, factors in enumerate(FACTORS):
        x = numbers(("uint8", "int8", "int16")[i], 2, 1, 5, 4)
        check_rounding(by_scales(x, factors, **settings), x, is_compiled=i == 0)


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_types_of_integers(dtype: str, mode: str) -> None:
    x = numbers(dtype, 1, 2, 3, 4)
    check_rounding(by_scales(x, [1, 1, 2, 1.5], mode=mode), x)


@pytest.mark.parametrize("dtype", ["uint64", "int64"])
def test_integers_that_are_not_interpolated_stay_as_they_are(dtype: str) -> None:
    info = np.iinfo(dtype)
    x = np.array([info.max, info.max - 1, 2**53 + 1, info.min], dtype)
    check(by_scales(x, [2.0], mode="nearest"), x, np.repeat(x, 2))


def test_halves_become_even() -> None:
    x = np.array([0, 1, 2, 3, 4, 255], np.uint8)
    m = by_scales(x, [2.0], mode="linear", coordinate_transformation_mode="asymmetric")
    check(m, x, np.array([0, 0, 1, 2, 2, 2, 3, 4, 4, 130, 255, 255], np.uint8))


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("outside", [-3.0, 2.5, 1000.0])
@pytest.mark.parametrize("dtype", ["uint8", "int16"])
def test_numbers_outside_of_the_data(mode: str, outside: float, dtype: str) -> None:
    x = numbers(dtype, 1, 1, 4, 4)
    roi = np.array([0, 0, 0.4, -0.3, 1, 1, 1.4, 0.8], np.float32)
    inputs = {"roi": roi, "sizes": np.array([1, 1, 3, 5], np.int64)}
    settings: dict[str, Any] = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": outside}
    m = resize(x, "roi  sizes", inputs, mode=mode, **settings)
    assert (reference(m, x) == np.clip(round(outside), np.iinfo(dtype).min, np.iinfo(dtype).max)).any()
    check_rounding(m, x)


@pytest.mark.parametrize("policy", ["stretch", "not_larger", "not_smaller"])
def test_sizes_of_some_dimensions(policy: str) -> None:
    x = numbers("uint8", 2, 4, 5, 3)
    inputs = {"sizes": np.array([7, 6], np.int64)}
    check_rounding(resize(x, "  sizes", inputs, mode="linear", axes=[2, 1], keep_aspect_ratio_policy=policy), x)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("dtype", ["uint8", "int32"])
def test_older_versions(mode: str, dtype: str) -> None:
    x, scales = numbers("uint8", 1, 2, 3, 2).astype(dtype), [1.0, 1.0, 2.0, 1.5]
    inputs = {"scales": np.array(scales, np.float32)}
    placed: dict[str, Any] = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    wanted = reference(by_scales(x, scales, mode=mode, **placed), x)
    check(resize(x, "scales", inputs, version=9, operator="Upsample", mode=mode), x, wanted)
    check(resize(x, "scales", inputs, version=10, mode=mode), x, wanted)
    inputs["roi"] = np.zeros(0, np.float32)
    check(resize(x, "roi scales", inputs, version=11, mode=mode, **placed), x, wanted)
    upsample = node("Upsample", "x", "y", mode=mode, scales=scales)
    declared = [value("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)]
    check(model([upsample], declared, ["y"], version=7), x, wanted)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_floats_of_16_bits_are_rounded_once(dtype: str, mode: str) -> None:
    kind: Any = np.dtype(dtype) if dtype == "float16" else np.dtype(ml_dtypes.bfloat16)
    epsilon = {"float16": 2.0**-10, "bfloat16": 2.0**-7}[dtype]
    x = np.random.default_rng(0).normal(size=(1, 2, 3, 5)).astype(kind)
    m = by_scales(x, [1, 1, 1.5, 2.0], mode=mode)
    wanted = reference(m, x).astype(np.float64)
    for found in results(m, x):
        np.testing.assert_allclose(found.astype(np.float64), wanted, epsilon / 2, 1e-6)


def test_integers_of_dynamic_sizes() -> None:
    x = numbers("uint8", 2, 1, 3, 4)
    m = by_scales(x, [1, 1, 2, 3], mode="linear")
    shape = m.graph.input[0].type.tensor_type.shape
    for dimension, name in ((0, "n"), (2, "h"), (3, "w")):
        shape.dim[dimension].dim_param = name
    del m.graph.output[0].type.tensor_type.shape.dim[:]
    m.graph.output[0].CopyFrom(value("y", helper.np_dtype_to_tensor_dtype(x.dtype), [None] * 4))
    check_rounding(m, x)


def test_booleans_are_only_moved() -> None:
    x = np.array([True, False, True])
    check(by_scales(x, [2.0], mode="nearest"), x, np.repeat(x, 2))
    with pytest.raises(CompileError, match="elements of type i1 resized by the mode linear"):
        from_onnx(by_scales(x, [2.0], mode="linear"))


OPEN = [
    {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
    {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "ceil"},
    {"mode": "nearest"},
    {"mode": "nearest", "nearest_mode": "round_prefer_ceil"},
    {"mode": "linear"},
    {"mode": "linear", "coordinate_transformation_mode": "asymmetric"},
    {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"},
    {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
    {"mode": "cubic"},
    {"mode": "cubic", "coordinate_transformation_mode": "align_corners", "cubic_coeff_a": -0.5},
    {"mode": "cubic", "coordinate_transformation_mode": "asymmetric", "exclude_outside": 1},
]


@pytest.mark.parametrize("given", OPEN, ids=lambda given: "-".join(map(str, given.values())))
def test_between_dynamic_sizes(given: dict[str, Any]) -> None:
    """One image becomes as large as another one, as in U-Nets: a factor that depends on the run."""
    nodes = [
        helper.make_node("Shape", ["y"], ["sizes"]),
        helper.make_node("Resize", ["x", "", "", "sizes"], ["z"], **given),
    ]
    inputs = [value("x", FLOAT, ["n", 2, "a", "b"]), value("y", FLOAT, ["n", 2, "c", "d"])]
    graph = helper.make_graph(nodes, "resized", inputs, [helper.make_tensor_value_info("z", FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    pairs = [((7, 6), (9, 13)), ((5, 3), (10, 6)), ((20, 31), (7, 1)), ((1, 4), (5, 4)), ((1, 1), (3, 2))]
    feeds = [
        {"x": np.random.default_rng(0).normal(size=(1, 2, *old)).astype(np.float32), "y": np.zeros((1, 2, *new), "f4")}
        for old, new in pairs
    ]
    expect_as_onnx_runtime(model, *feeds, rtol=1e-5, atol=1e-5)


def test_a_dynamic_size_by_a_fraction() -> None:
    nodes = [helper.make_node("Resize", ["x", "", "scales"], ["y"], coordinate_transformation_mode="asymmetric")]
    scales = numpy_helper.from_array(np.array([1, 1, 1.5], np.float32), "scales")
    result = helper.make_tensor_value_info("y", FLOAT, None)
    graph = helper.make_graph(nodes, "resized", [value("x", FLOAT, ["n", 2, "a"])], [result], [scales])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    expect_as_onnx_runtime(model, *({"x": np.arange(2.0 * n, dtype=np.float32).reshape(1, 2, n)} for n in (4, 5, 1)))


@pytest.mark.parametrize("scales", [[1.0, 1.0, 1.5, 2.0], [1.0, 1.0, 0.5, 0.75], [1.0, 1.0, 2.5, 1.0]])
@pytest.mark.parametrize(("operator", "version"), [("Resize", 10), ("Upsample", 9)])
def test_old_operators_take_the_element_before_in_open_data_that_grows(
    operator: str, version: int, scales: list[float]
) -> None:
    if operator == "Upsample" and min(scales) < 1:
        pytest.skip("it only makes data larger")
    made = model(
        [node(operator, "x scales", "y", mode="nearest")],
        [value("x", FLOAT, ["n", 1, "h", "w"])],
        ["y"],
        [numpy_helper.from_array(np.array(scales, np.float32), "scales")],
        version=version,
    )
    data = (np.arange(4.0 * h * w, dtype=np.float32).reshape(4, 1, h, w) for h, w in ((2, 4), (4, 8), (6, 4)))
    expect_as_onnx_runtime(made, *({"x": x} for x in data))
