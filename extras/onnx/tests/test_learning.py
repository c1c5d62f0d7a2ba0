"""Operators of scikit-learn's pipelines, against the package's reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from models import FLOAT, INT64, value
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx_runtime import expect_as_onnx_runtime

from relex.dialects.errors import CompileError, ExecutionError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret

X = np.array([[1, 2, 3], [np.nan, 5, 1], [3, np.nan, -1], [1, 7, 2]], np.float32)
N = np.array([[1, 2], [7, 5], [3, 1]])


def model(operator: str, inputs: list[onnx.ValueInfoProto], **given: Any) -> onnx.ModelProto:
    node = helper.make_node(operator, [i.name for i in inputs], ["y"], domain="ai.onnx.ml", **given)
    graph = helper.make_graph([node], "pipeline", inputs, [helper.make_tensor_value_info("y", FLOAT, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 4)])


def floats(name: str, width: int) -> onnx.ValueInfoProto:
    return value(name, FLOAT, ["n", width])


VECTORS = {
    "n_supports": 2,
    "coefficients": [1.0, -0.5],
    "support_vectors": [1.0, 0.0, 2.0, -1.0, 3.0, 0.5],
    "rho": [0.25],
}

CASES: list[tuple[str, list[onnx.ValueInfoProto], list[Any], dict[str, Any]]] = [
    ("Imputer", [floats("x", 3)], [X], {"imputed_value_floats": [9.0, 8.0, 7.0], "replaced_value_float": float("nan")}),
    ("Imputer", [floats("x", 3)], [X], {"imputed_value_floats": [9.0], "replaced_value_float": 1.0}),
    ("Imputer", [value("x", INT64, ["n", 2])], [N], {"imputed_value_int64s": [0, -1], "replaced_value_int64": 1}),
    ("FeatureVectorizer", [floats("a", 3), floats("b", 3)], [X, X + 1], {"inputdimensions": [3, 3]}),
    ("OneHotEncoder", [value("x", INT64, ["n", 2])], [N], {"cats_int64s": [1, 2, 5, 7], "zeros": 1}),
    ("LabelEncoder", [value("x", INT64, ["n", 2])], [N], {"keys_int64s": [7, 2], "values_floats": [0.5, 2.5]}),
    (
        "LabelEncoder",
        [floats("x", 3)],
        [X],
        {"keys_floats": [1.0, 5.0], "values_int64s": [10, 20], "default_int64": 3},
    ),
    (
        "LabelEncoder",
        [value("x", INT64, ["n", 2])],
        [N],
        {
            "keys_tensor": numpy_helper.from_array(np.array([1, 3])),
            "values_tensor": numpy_helper.from_array(np.array([0.25, 0.75])),
            "default_tensor": numpy_helper.from_array(np.array([-1.0])),
        },
    ),
    *(
        ("SVMRegressor", [floats("x", 3)], [X], {**VECTORS, "kernel_type": kernel, "kernel_params": parameters})
        for kernel, parameters in (
            ("LINEAR", [0.0, 0.0, 0.0]),
            ("POLY", [0.25, 0.5, 3.0]),
            ("RBF", [0.125, 0.0, 0.0]),
            ("SIGMOID", [0.0625, 0.25, 0.0]),
        )
    ),
    ("SVMRegressor", [floats("x", 3)], [X], {**VECTORS, "kernel_type": "LINEAR", "rho": [1.0], "one_class": 1}),
    ("SVMRegressor", [floats("x", 3)], [X], {"coefficients": [0.5, 2.0, -1.0], "rho": [0.25]}),
]


@pytest.mark.parametrize(("operator", "inputs", "arguments", "given"), CASES)
def test_operators(
    operator: str, inputs: list[onnx.ValueInfoProto], arguments: list[Any], given: dict[str, Any]
) -> None:
    m = model(operator, inputs, **given)
    reference: Any = ReferenceEvaluator(m)
    (wanted,) = reference.run(None, dict(zip((i.name for i in inputs), arguments, strict=True)))
    found = interpret(from_onnx(m))["main"](*arguments)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(found, wanted)


INF, NAN = float("inf"), float("nan")
ROWS = np.array([[1, 2, 3], [-3, -1, -2], [NAN, -5, 1], [0, NAN, 0], [INF, 2, -INF], [0, 0, 0]], np.float32)
LINE = np.array([1.0, -2.0, 0.5], np.float32)


@pytest.mark.parametrize(
    ("operator", "x", "given", "version"),
    [
        *(("Normalizer", ROWS, {"norm": norm}, 1) for norm in ("MAX", "L1", "L2")),
        *(
            ("LabelEncoder", ROWS, {"keys_floats": [1.0, NAN, 0.0], "values_floats": [0.5, 2.0, 4.0]}, version)
            for version in (2, 4)
        ),
        ("OneHotEncoder", ROWS[[0]], {"cats_int64s": [1, 3, 2], "zeros": 0}, 1),
        ("LinearRegressor", LINE, {"coefficients": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "targets": 2}, 1),
        ("SVMRegressor", LINE, {**VECTORS, "kernel_type": "RBF", "kernel_params": [0.125, 0.0, 0.0]}, 1),
    ],
)
def test_as_onnx_runtime(operator: str, x: Any, given: dict[str, Any], version: int) -> None:
    m = model(operator, [value("x", FLOAT, list(x.shape))], **given)
    m.ir_version = 8
    m.opset_import[1].version = version
    expect_as_onnx_runtime(m, {"x": x}, run=interpret)


@pytest.mark.parametrize(
    ("operator", "arguments", "given", "expected"),
    [
        ("Binarizer", [ROWS], {}, "expected numbers, found NaN"),
        ("OneHotEncoder", [ROWS], {"cats_int64s": [1, 2, 3], "zeros": 0}, "expected elements of the categories"),
        ("ArrayFeatureExtractor", [ROWS, np.array([0, 3])], {}, "expected indices from 0 to 2, found 3"),
        ("ArrayFeatureExtractor", [ROWS, np.array([-1])], {}, "expected indices from 0 to 2, found -1"),
    ],
)
def test_data_that_is_wrong(operator: str, arguments: list[Any], given: dict[str, Any], expected: str) -> None:
    kinds = [value("x", FLOAT, ["n", 3]), value("places", INT64, ["m"])]
    main = interpret(from_onnx(model(operator, kinds[: len(arguments)], **given)))["main"]
    with pytest.raises(ExecutionError, match=expected):
        main(*arguments)


@pytest.mark.parametrize(
    ("operator", "given", "expected"),
    [
        ("Imputer", {"imputed_value_int64s": [1]}, "expected numbers to impute of the type f32, found none"),
        ("FeatureVectorizer", {"inputdimensions": [2]}, r"expected the widths of the inputs, \[3\], found others"),
        ("OneHotEncoder", {"cats_strings": ["a"]}, "categories whose names are strings"),
        ("LabelEncoder", {"keys_strings": ["a"], "values_int64s": [1]}, "labels that are strings"),
        ("LabelEncoder", {"keys_floats": [1.0, 2.0], "values_int64s": [1]}, "a value for each of 2 keys, found 1"),
    ],
)
def test_what_is_refused(operator: str, given: dict[str, Any], expected: str) -> None:
    with pytest.raises(CompileError, match=expected):
        from_onnx(model(operator, [floats("x", 3)], **given))
