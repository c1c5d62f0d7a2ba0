"""Arithmetic and products, compiled, against their NumPy semantics."""

from __future__ import annotations

import numpy as np
import pytest
from operator_checks import SPECIAL, assert_same, expected, native
from programs import random_array

from relex.dialects.relex import (
    AddOp,
    DenseOp,
    DivideOp,
    EwiseFMAOp,
    MatmulOp,
    MaximumOp,
    MinimumOp,
    MultiplyOp,
    Operator,
    ReluOp,
    SubtractOp,
)

# Shapes, element types and operators matter one by one, hardly in combination.
pytestmark = pytest.mark.sampled

BINARY = (AddOp, SubtractOp, MultiplyOp, DivideOp, MaximumOp, MinimumOp)
PAIRS = (
    ((1, 1), (1, 1)),
    ((3, 5), (3, 5)),
    ((17, 33), (33,)),
    ((3, 1), (1, 5)),
    ((), (4,)),
    ((), ()),
    ((0, 4), (0, 4)),
    ((0, 4), (4,)),
    ((2, 0), (1,)),
    ((2, 1, 3), (4, 1)),
    ((1000,), (1,)),
)
PRODUCTS = (
    ((1, 1), (1, 1)),
    ((3, 5), (7, 5)),
    ((17, 33), (65, 33)),
    ((0, 4), (3, 4)),
    ((4, 0), (3, 0)),
    ((2, 4), (0, 4)),
    ((5,), (3, 5)),
    ((2, 3, 5), (4, 5)),
    ((1, 784), (128, 784)),
)
MATMULS = (
    ((1, 1), (1, 1)),
    ((3, 5), (5, 7)),
    ((17, 33), (33, 9)),
    ((5,), (5,)),
    ((5,), (5, 3)),
    ((3, 5), (5,)),
    ((2, 3, 5), (5, 4)),
    ((2, 1, 3, 5), (4, 5, 2)),
    ((0, 5), (5, 3)),
    ((3, 0), (0, 2)),
    ((2, 3, 4), (2, 4)[1:]),
)


def dtypes(operator: type[Operator]) -> list[str]:
    if operator is DivideOp:
        return ["float32", "float64"]
    numbers = ["float32", "float64", "int8", "int32", "int64"]
    return numbers if operator is SubtractOp else [*numbers, "bool"]


@pytest.mark.parametrize("operator", BINARY)
@pytest.mark.parametrize("shapes", PAIRS, ids=str)
def test_binary_shapes(operator: type[Operator], shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    rng = np.random.default_rng(0)
    operands = [random_array(rng, "float32", shape) for shape in shapes]
    assert_same(native(operator, *operands), expected(operator, *operands))


@pytest.mark.parametrize(("operator", "dtype"), [(op, dtype) for op in BINARY for dtype in dtypes(op)])
def test_binary_dtypes(operator: type[Operator], dtype: str) -> None:
    rng = np.random.default_rng(1)
    operands = [random_array(rng, dtype, (3, 50)) for _ in range(2)]
    assert_same(native(operator, *operands), expected(operator, *operands))


@pytest.mark.parametrize("operator", BINARY)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_binary_special_values(operator: type[Operator], dtype: str) -> None:
    values = np.array(SPECIAL, dtype)
    operands = (values[:, None].copy(), values[None, :].copy())
    # NumPy leaves open which zero it returns for maximum(-0.0, 0.0); assert_array_equal does not tell them apart.
    assert_same(native(operator, *operands), expected(operator, *operands))


@pytest.mark.parametrize("dtype", dtypes(ReluOp))
def test_relu(dtype: str) -> None:
    for x in (random_array(np.random.default_rng(2), dtype, (3, 17)), np.zeros((0, 2), dtype)):
        assert_same(native(ReluOp, x), expected(ReluOp, x))


def test_relu_keeps_nan() -> None:
    x = np.array(SPECIAL, np.float32)
    assert_same(native(ReluOp, x), expected(ReluOp, x))


@pytest.mark.parametrize("dtype", dtypes(EwiseFMAOp))
def test_ewise_fma_rounds_twice(dtype: str) -> None:
    rng = np.random.default_rng(3)
    x, y, z = (random_array(rng, dtype, shape) for shape in ((20, 30), (30,), (20, 1)))
    assert_same(native(EwiseFMAOp, x, y, z), expected(EwiseFMAOp, x, y, z))


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize(
    ("operator", "shapes"), [(DenseOp, s) for s in PRODUCTS] + [(MatmulOp, s) for s in MATMULS], ids=str
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "bool"])
def test_products(operator: type[Operator], shapes: tuple[tuple[int, ...], ...], dtype: str) -> None:
    rng = np.random.default_rng(4)
    lhs, rhs = (random_array(rng, dtype, shape) for shape in shapes)
    found, wanted = native(operator, lhs, rhs), expected(operator, lhs, rhs)
    if np.dtype(dtype).kind != "f":
        assert_same(found, wanted)
        return
    assert found.shape == wanted.shape
    # Both are within (K + 2) u sum|a b| of the exact value.
    bound = 2 * (lhs.shape[-1] + 2) * np.finfo(dtype).eps / 2 * expected(operator, abs(lhs), abs(rhs))
    assert (abs(found - wanted) <= bound).all()


def test_products_with_special_values() -> None:
    x = np.ones((len(SPECIAL), 3), np.float32)
    x[:, 1] = SPECIAL
    w = np.ones((2, 3), np.float32)
    assert_same(native(DenseOp, x, w), expected(DenseOp, x, w))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_strict_products_equal_the_plain_loop(dtype: str) -> None:
    rng = np.random.default_rng(5)
    x, w = random_array(rng, dtype, (3, 100)), random_array(rng, dtype, (5, 100))
    wanted = np.zeros((3, 5), dtype)
    for k in range(100):
        wanted = wanted + x[:, None, k] * w[None, :, k]
    assert_same(native(DenseOp, x, w, strict=True), wanted)
    assert not np.array_equal(native(DenseOp, x, w), wanted)
