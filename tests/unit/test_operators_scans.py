"""Sorting, cumulative sums and products, gathering and scattering, compiled, against their NumPy semantics."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from operator_checks import SPECIAL, assert_same, check, expected, infer, native
from programs import Array, MakeOperator, random_array, tensor_of
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32, i64

from relex.dialects.dtypes import DTYPES as ELEMENTS
from relex.dialects.dtypes import numpy_dtype
from relex.dialects.errors import DTypeError, InferenceError
from relex.dialects.relex import (
    ArgsortOp,
    CumprodOp,
    CumsumOp,
    GatherElementsOp,
    GatherNdOp,
    ScatterElementsOp,
    ScatterNdOp,
    SortOp,
)
from relex.runtime import build

# Shapes, element types and operators matter one by one, hardly in combination.
pytestmark = pytest.mark.sampled

SHAPES: tuple[tuple[int, ...], ...] = ((1,), (2,), (3,), (8,), (33,), (0,), (3, 0), (0, 3), (4, 7, 2))
DTYPES = ["float32", "float64", "int8", "int32", "int64", "bool"]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("descending", [False, True])
def test_argsort_is_stable(shape: tuple[int, ...], descending: bool) -> None:
    # Few different numbers, so that most are equal to others.
    x = np.random.default_rng(0).integers(0, 4, shape).astype(np.float32)
    for axis in range(-1, len(shape) - 1):
        keys = -x if descending else x
        wanted = np.argsort(keys, axis=axis, kind="stable")
        assert_same(native(partial(ArgsortOp, axis=axis, descending=descending), x), wanted)
        assert_same(expected(partial(ArgsortOp, axis=axis, descending=descending), x), wanted)
        check(partial(SortOp, axis=axis, descending=descending), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sort_of_each_type(dtype: str) -> None:
    x = random_array(np.random.default_rng(1), dtype, (2, 50))
    assert_same(native(SortOp, x), np.sort(x))
    check(partial(ArgsortOp, descending=True), x)


def test_nan_is_the_largest_and_zeros_are_equal() -> None:
    x = np.array([[np.nan, 0.0, np.inf, -0.0, -np.inf, -np.nan, 0.0, 1.0]], np.float32)
    for make, wanted in (
        (ArgsortOp, [4, 1, 3, 6, 7, 2, 0, 5]),
        (partial(ArgsortOp, descending=True), [0, 5, 2, 7, 1, 3, 6, 4]),
    ):
        assert native(make, x).tolist() == expected(make, x).tolist() == [wanted]
        check(make, x)
    rows = np.array([[a, b, c] for a in SPECIAL for b in SPECIAL for c in SPECIAL[:3]])
    for descending in (False, True):
        check(partial(ArgsortOp, descending=descending), rows)


def test_long_rows() -> None:
    x = np.random.default_rng(2).integers(0, 2**13, (2, 2**14 + 3), dtype=np.int32)
    assert_same(native(ArgsortOp, x), np.argsort(x, kind="stable"))


def test_rows_of_any_length() -> None:
    types = "(tensor<?x?xf64>) -> tensor<?x?xi64>"
    function = f"func.func @main(%x: tensor<?x?xf64>) -> tensor<?x?xi64> {{\n  %y = relex.argsort %x : {types}\n"
    argsort = build(f"{function}  func.return %y : tensor<?x?xi64>\n}}")["main"]
    for length in (0, 1, 2, 5, 64, 100):
        x = np.random.default_rng(length).integers(0, 9, (3, length)).astype(np.float64)
        assert_same(argsort(x), np.argsort(x, kind="stable"))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("operator", "reference"), [(CumsumOp, np.cumsum), (CumprodOp, np.cumprod)])
def test_scans(operator: MakeOperator, reference: Any, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(3).integers(-3, 4, shape, dtype=np.int32)
    for axis in range(-1, len(shape) - 1):
        wanted = reference(x, axis=axis, dtype=np.int32)
        assert_same(native(partial(operator, axis=axis), x), wanted)
        flipped = native(partial(operator, axis=axis, reverse=True), np.flip(x, axis).copy())
        assert_same(np.flip(flipped, axis), wanted)
        # An exclusive one is the other one, shifted.
        rows = np.moveaxis(native(partial(operator, axis=axis, exclusive=True), x), axis, -1)
        assert_same(rows[..., 1:], np.moveaxis(wanted, axis, -1)[..., :-1])
        assert (rows[..., :1] == (operator is CumprodOp)).all()
        check(partial(operator, axis=axis, exclusive=True, reverse=True), x)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_floats_without_arithmetic(dtype: str) -> None:
    """Sums are computed in f32, and rounded once."""
    x = random_array(np.random.default_rng(4), "float32", (3, 5)).astype(numpy_dtype(ELEMENTS[dtype]))
    check(partial(CumprodOp, axis=1, exclusive=True), x)
    check(partial(ScatterElementsOp, reduction="add"), x, np.array([[0, 2], [0, 1], [2, 2]]), x[:, :2])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32])
def test_unsigned_integers(dtype: type[Any]) -> None:
    x = np.random.default_rng(4).integers(0, 250, (3, 5), endpoint=True).astype(dtype)
    for operator in (partial(CumsumOp, axis=1), partial(CumprodOp, axis=0, reverse=True), ArgsortOp, SortOp):
        check(operator, x)


def test_sums_are_added_in_order() -> None:
    x = random_array(np.random.default_rng(4), "float32", (3, 100))
    assert_same(native(partial(CumsumOp, axis=1), x), np.cumsum(x, axis=1))
    special = np.array([1, np.inf, -np.inf, 2, np.nan, 3], np.float64)
    check(CumsumOp, special)
    check(CumprodOp, np.array([127, 2, -0, 5], np.int8))


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_gather_elements(axis: int) -> None:
    x = random_array(np.random.default_rng(5), "int64", (4, 3, 5))
    order = np.argsort(x, axis=axis)
    assert_same(native(partial(GatherElementsOp, axis=axis), x, order), np.take_along_axis(x, order, axis))
    # From the end, and clipped.
    check(partial(GatherElementsOp, axis=axis), x, order - 2)
    check(partial(GatherElementsOp, axis=axis), x, (order * 3 - 6)[:2, :2, :2].astype(np.int8))


def test_gather_nd() -> None:
    x = random_array(np.random.default_rng(6), "float32", (3, 4, 5))
    places = np.array([[[0, 1]], [[2, -1]]], np.int64)
    assert_same(native(GatherNdOp, x, places), x[[[0], [2]], [[1], [-1]]])
    whole = np.array([[2, 3, 4], [-3, -4, -5], [9, 9, 9]], np.int32)
    assert_same(native(GatherNdOp, x, whole), x[[2, 0, 2], [3, 0, 3], [4, 0, 4]])
    batches = np.array([[[0], [1]], [[2], [3]], [[-1], [-2]]], np.int64)
    wanted = np.stack([x[b, batches[b, :, 0]] for b in range(3)])
    assert_same(native(partial(GatherNdOp, batch_dims=1), x, batches), wanted)
    check(GatherNdOp, x, np.zeros((0, 2), np.int64))


def scattered(x: Array, indices: Array, updates: Array, axis: int, combine: Any) -> Array:
    """One update after the other."""
    result = x.copy()
    for place in np.ndindex(indices.shape):
        at = list(place)
        at[axis] = int(indices[place])
        if -x.shape[axis] <= at[axis] < x.shape[axis]:
            result[tuple(at)] = combine(result[tuple(at)], updates[place])
    return result


def latest(_: Any, new: Any) -> Any:
    return new


COMBINE: dict[str, Any] = {
    "update": latest,
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


@pytest.mark.parametrize("reduction", COMBINE)
@pytest.mark.parametrize("dtype", ["float32", "int8", "int64"])
def test_scatter_elements(reduction: str, dtype: str) -> None:
    rng = np.random.default_rng(7)
    for axis in (0, 1, -1):
        x, updates = random_array(rng, dtype, (4, 5)), random_array(rng, dtype, (3, 4))
        # Many of the same place, some from the end, some out of range.
        indices = rng.integers(-7, 7, (3, 4))
        make = partial(ScatterElementsOp, axis=axis, reduction=reduction)
        with np.errstate(over="ignore"):
            wanted = scattered(x, indices, updates, axis % 2, COMBINE[reduction])
        assert_same(native(make, x, indices, updates), wanted)
        check(make, x, indices, updates)


@pytest.mark.parametrize("reduction", COMBINE)
def test_scatter_nd(reduction: str) -> None:
    rng = np.random.default_rng(8)
    make = partial(ScatterNdOp, reduction=reduction)
    x, updates = random_array(rng, "float64", (4, 3)), random_array(rng, "float64", (6, 3))
    rows = rng.integers(-6, 6, (6, 1))
    wanted = scattered(x, np.repeat(rows, 3, 1), updates, 0, COMBINE[reduction])
    assert_same(native(make, x, rows, updates), wanted)
    check(make, x, rows, updates)
    check(make, x, rng.integers(-4, 4, (2, 3, 2)), updates[:2])
    check(make, x, np.zeros((0, 1), np.int64), updates[:0])
    check(make, np.zeros((0, 3)), rows, updates)


def test_special_numbers_are_scattered() -> None:
    x, places = np.array(SPECIAL), np.zeros(len(SPECIAL), np.int64)
    for reduction in COMBINE:
        for first in SPECIAL:
            start = np.array([first, 1])
            check(partial(ScatterElementsOp, reduction=reduction), start, places, x)


def test_type_rules() -> None:
    unknown, indices = TensorType(f32, (DYNAMIC_INDEX, 3)), TensorType(i64, (DYNAMIC_INDEX, 2))
    assert infer(ArgsortOp, unknown) == TensorType(i64, (DYNAMIC_INDEX, 3))
    assert infer(partial(CumsumOp, axis=0), unknown) == unknown
    assert infer(partial(GatherElementsOp, axis=1), unknown, indices) == TensorType(f32, (DYNAMIC_INDEX, 2))
    assert infer(GatherNdOp, unknown, indices) == TensorType(f32, (DYNAMIC_INDEX,))
    assert infer(ScatterNdOp, unknown, indices, TensorType(f32, (DYNAMIC_INDEX,))) == unknown


X, PLACES = np.zeros((3, 4), np.float32), np.zeros((3, 2), np.int64)


@pytest.mark.parametrize(
    ("make", "operands", "message"),
    [
        (partial(SortOp, axis=2), [X], "expected an axis in -2..1 for rank 2, found 2"),
        (ArgsortOp, [np.zeros((), np.float32)], "expected an axis in 0..-1 for rank 0, found -1"),
        (CumsumOp, [X], "expected an axis, or a tensor of rank 1, found 3x4"),
        (CumprodOp, [np.zeros(3, np.bool_)], "expected operands of .* found i1"),
        (GatherElementsOp, [X, X], "expected indices of i8 or .* or ui64, found f32"),
        (GatherElementsOp, [X, PLACES[0]], "expected indices of rank 2, as the data, found 2"),
        (GatherElementsOp, [X[:, :1], PLACES], "expected at most 1 indices along dimension 1, found 2"),
        (GatherElementsOp, [X[:0], PLACES], "expected elements to take from, found none in 0x4"),
        (GatherNdOp, [X, np.zeros((2, 3), np.int64)], "expected 1 to 2 as last size of the indices, found 3"),
        (partial(GatherNdOp, batch_dims=2), [X, PLACES], "expected data and indices of more than 2 dimensions"),
        (partial(GatherNdOp, batch_dims=1), [X[:2], PLACES], "expected equal batch dimensions of data and indices"),
        (GatherNdOp, [X[:0], PLACES], "expected elements to take from, found none in 0x4"),
        (ScatterElementsOp, [X, PLACES, X], "expected equal sizes of indices and updates, found 2 and 4"),
        (ScatterElementsOp, [X, PLACES, X[0]], "expected updates of rank 2, as the indices, found 4"),
        (ScatterElementsOp, [X, PLACES, PLACES], "expected operands of one element type, found f32 and i64"),
        (ScatterNdOp, [X, PLACES, X], "expected updates of 3, found 3x4"),
        (ScatterNdOp, [X, PLACES, X[0]], "expected equal sizes of updates and of what they replace, found 3 and 4"),
        (
            partial(ScatterNdOp, reduction="mean"),
            [X, PLACES, X[:, 0]],
            'expected a reduction among update, add, mul, max, min, found "mean"',
        ),
    ],
)
def test_refused(make: MakeOperator, operands: list[Array], message: str) -> None:
    with pytest.raises(InferenceError, match=message):
        infer(make, *map(tensor_of, operands))


def test_a_reduction_is_a_text() -> None:
    scatter: Any = ScatterNdOp
    with pytest.raises(DTypeError, match="expected reduction to be a text, found int"):
        infer(partial(scatter, reduction=1), *map(tensor_of, (X, PLACES, X[:, 0])))


@pytest.mark.parametrize("exclusive", [False, True])
def test_a_sum_of_minus_zero_keeps_its_sign(exclusive: bool) -> None:
    x = np.array([-0.0, -0.0, 0.0, -0.0], np.float32)
    make = partial(CumsumOp, exclusive=exclusive)
    np.testing.assert_array_equal(np.signbit(native(make, x)), np.signbit(expected(make, x)))


@pytest.mark.parametrize("exclusive", ["exclusive ", ""])
def test_open_sizes_before_short_rows(exclusive: str) -> None:
    """The sums of a row are no vector: each has its own memory."""
    main = build(f"""
    func.func @main(%x: tensor<?x5x64xf64>) -> tensor<?x5x64xf64> {{
      %y = relex.cumsum %x axis = 1 {exclusive}: (tensor<?x5x64xf64>) -> tensor<?x5x64xf64>
      func.return %y : tensor<?x5x64xf64>
    }}
    """)["main"]
    for size in (0, 1, 3, 1000):
        x = np.random.default_rng(0).integers(-9, 9, (size, 5, 64)).astype(np.float64)
        np.testing.assert_array_equal(main(x), np.cumsum(x, 1) - (x if exclusive else 0))
