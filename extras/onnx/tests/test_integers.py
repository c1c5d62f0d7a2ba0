"""Operators of integers that compute with floats in between, or have attributes that are floats."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any, cast

import numpy as np
import pytest
from models import model, node, value
from onnx import ModelProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from relex.frontend.onnx import from_onnx
from relex.reference import interpret
from relex.runtime import build

TYPES = ("int32", "int64", "uint32", "uint64")


def integers(dtype: str, *shape: int) -> Any:
    low = 0 if dtype.startswith("u") else -9
    return np.random.default_rng(0).integers(low, 10, shape).astype(dtype)


def one(operator: str, *operands: Any, domain: str = "", version: int = 17, **attributes: Any) -> ModelProto:
    """A model of one node, whose result has the type of the first operand."""
    names = [f"x{i}" for i in range(len(operands))]
    types = [helper.np_dtype_to_tensor_dtype(x.dtype) for x in operands]
    declared = [value(name, t, x.shape) for name, t, x in zip(names, types, operands, strict=True)]
    made = node(operator, " ".join(names), "y", domain=domain, **attributes)
    m = model([made], declared, ["y"], version=version, checked=False)
    m.graph.output[0].type.tensor_type.elem_type = types[0]
    m.opset_import.extend([helper.make_opsetid(domain, 1)] if domain else [])
    return m


def reference(m: ModelProto, *operands: Any) -> Any:
    return cast(Any, ReferenceEvaluator(m)).run(None, {f"x{i}": x for i, x in enumerate(operands)})[0]


def check(m: ModelProto, wanted: Any, *operands: Any) -> None:
    module = from_onnx(m)
    for function in (interpret(module)["main"], build(module)["main"]):
        found = np.asarray(function(*operands))
        assert found.dtype == operands[0].dtype
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 1.0), (2.0, 0.25), (3.0, 2.0), (0.1, 0.5)])
def test_factors_of_products(dtype: str, alpha: float, beta: float) -> None:
    operands = [integers(dtype, *shape) for shape in ((3, 5), (4, 5), (4,))]
    m = one("Gemm", *operands, alpha=alpha, beta=beta, transB=1)
    check(m, reference(m, *operands), *operands)
    m = one("Gemm", *operands[:2], alpha=alpha, transB=1)
    check(m, reference(m, *operands[:2]), *operands[:2])


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", *TYPES])
@pytest.mark.parametrize(("limit", "bias"), [(1.5, 0.7), (2.5, 1.5), (0.0, 0.0), (2.0, -0.5)])
def test_shrink(dtype: str, limit: float, bias: float) -> None:
    x = integers(dtype, 30)
    m = one("Shrink", x, lambd=limit, bias=bias)
    check(m, reference(m, x), x)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("threshold", [-1.5, -1.0, 0.0, 2.5])
def test_thresholds(dtype: str, threshold: float) -> None:
    x = np.arange(-4, 5).astype(dtype)
    check(one("Binarizer", x, domain="ai.onnx.ml", threshold=threshold), (x > threshold).astype(dtype), x)


REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "ReduceMean": lambda row: sum(row) / len(row),
    "ReduceL2": lambda row: sum(x * x for x in row) ** 0.5,
    "ReduceLogSum": lambda row: log(sum(row)),
    "ReduceLogSumExp": lambda row: np.log(np.exp(row).sum()),
}


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("operator", REDUCTIONS)
def test_reductions_are_rounded_towards_zero(operator: str, dtype: str) -> None:
    x = abs(integers(dtype, 4, 7)) + np.array(1, dtype)
    x = -x if operator == "ReduceMean" and x.dtype.kind == "i" else x
    wanted = np.array([[REDUCTIONS[operator](row)] for row in x.astype(np.float64)]).astype(dtype)
    check(one(operator, x, axes=[1], keepdims=1), wanted, x)


def test_means_along_no_dimension() -> None:
    x, axes = integers("int32", 3, 2), numpy_helper.from_array(np.zeros(0, np.int64), "axes")
    for operator, wanted in (("ReduceMean", x), ("ReduceL2", abs(x))):
        m = model(
            [node(operator, "x0 axes", "y", noop_with_empty_axes=1)],
            [value("x0", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)],
            ["y"],
            [axes],
            version=18,
        )
        check(m, wanted, x)
