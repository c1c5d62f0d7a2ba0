"""Reductions, compiled, against their NumPy semantics."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from operator_checks import SPECIAL, assert_same, check, expected, infer, native
from programs import Array, MakeOperator, random_array, tensor_of
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32, i1, i64

from relex.dialects.errors import InferenceError
from relex.dialects.relex import ArgmaxOp, ArgminOp, MaxOp, MeanOp, MinOp, ProdOp, SumOp

# Shapes, element types and operators matter one by one, hardly in combination.
pytestmark = pytest.mark.sampled

SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (17,), (3, 5), (0, 3), (2, 1, 4), (2, 3, 1, 4))
NUMBERS = ["float32", "float64", "int8", "int32", "int64"]
FLOATS = NUMBERS[:2]


def axes_of(rank: int) -> list[tuple[int, ...] | None]:
    """All sets of dimensions, counted from the front or, the others, from the back."""
    return [
        None,
        *(axes for count in range(rank + 1) for axes in combinations(range(-(rank // 2), rank - rank // 2), count)),
    ]


CASES = [(shape, axes, keep) for shape in SHAPES for axes in axes_of(len(shape)) for keep in (False, True)]


def chooses_from_none(shape: tuple[int, ...], axes: tuple[int, ...] | None) -> bool:
    """Whether a largest element is asked of nothing."""
    reduced = range(len(shape)) if axes is None else [axis % len(shape) for axis in axes]
    return 0 in shape and all(size for d, size in enumerate(shape) if d not in reduced)


def assert_sums(found: Array, wanted: Array, x: Array, axes: tuple[int, ...] | None, keep: bool, scale: float) -> None:
    """Both are within (K + 2) u sum|x| of the exact sum, here divided by `scale`."""
    assert found.shape == wanted.shape
    assert found.dtype == wanted.dtype
    count = x.size / max(wanted.size, 1)
    bound = 2 * (count + 2) * np.finfo(x.dtype).eps / 2 * np.abs(x).sum(axis=axes, keepdims=keep) / scale
    assert (abs(found - wanted) <= bound).all()


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(("shape", "axes", "keep"), CASES, ids=str)
def test_shapes(shape: tuple[int, ...], axes: tuple[int, ...] | None, keep: bool) -> None:
    x = np.asarray(random_array(np.random.default_rng(0), "float32", shape))
    make = partial(SumOp, axis=axes, keepdims=keep)
    wanted = np.asarray(x.sum(axis=axes, keepdims=keep))
    assert_sums(native(make, x), wanted, x, axes, keep, 1)
    assert_sums(expected(make, x), wanted, x, axes, keep, 1)
    for operator, reference in ((MaxOp, np.max), (MinOp, np.min)):
        make = partial(operator, axis=axes, keepdims=keep)
        if chooses_from_none(shape, axes):
            with pytest.raises(InferenceError, match="expected elements to choose from, found none in 0x3"):
                infer(make, tensor_of(x))
            continue
        assert_same(native(make, x), np.asarray(reference(x, axis=axes, keepdims=keep)))
        assert_same(expected(make, x), np.asarray(reference(x, axis=axes, keepdims=keep)))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", FLOATS)
def test_mean(shape: tuple[int, ...], dtype: str) -> None:
    x = np.asarray(random_array(np.random.default_rng(1), dtype, shape))
    for place, axes in enumerate(axes_of(len(shape))[::2]):
        keep = place % 2 == 0
        make = partial(MeanOp, axis=axes, keepdims=keep)
        found, wanted = native(make, x), expected(make, x)
        if not x.size:
            assert_same(found, wanted)
            assert np.isnan(found).all()
            continue
        assert_sums(found, wanted, x, axes, keep, max(x.size / wanted.size, 1))


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("dtype", [*NUMBERS, "bool"])
@pytest.mark.parametrize("operator", [SumOp, MaxOp, MinOp])
def test_dtypes(operator: MakeOperator, dtype: str) -> None:
    if dtype == "bool" and operator is SumOp:
        return
    x = random_array(np.random.default_rng(2), dtype, (7, 9))
    make = partial(operator, axis=0)
    if operator is SumOp and dtype in FLOATS:
        assert_sums(native(make, x), expected(make, x), x, (0,), False, 1)
        return
    check(make, x)


def test_integer_sums_wrap_around() -> None:
    x = np.array([127, 127, 1], np.int8)
    assert native(SumOp, x).tolist() == expected(SumOp, x).tolist() == -1


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("operator", [SumOp, ProdOp, MeanOp, MaxOp, MinOp, ArgmaxOp, ArgminOp])
def test_special_values(operator: MakeOperator, dtype: str) -> None:
    rows = np.array([[a, b, 1] for a in SPECIAL[:5] for b in SPECIAL[:5]], dtype)
    check(partial(operator, axis=1), rows)
    check(partial(operator, axis=0), np.array([[-np.inf, np.inf]], dtype))


@pytest.mark.parametrize("shape", [(), (1,), (17,), (3, 5), (0, 3), (2, 3, 1, 4)], ids=str)
def test_prod(shape: tuple[int, ...]) -> None:
    x = np.asarray(random_array(np.random.default_rng(6), "int32", shape))
    y = np.asarray(x % 5 - 2.0)  # Exact in any order.
    for axes in axes_of(len(shape))[::4]:
        check(partial(ProdOp, axis=axes), x)
        check(partial(ProdOp, axis=axes, keepdims=True), y)
        assert_same(expected(partial(ProdOp, axis=axes), x), np.asarray(np.prod(x, axis=axes, dtype=np.int32)))


@pytest.mark.parametrize("shape", [(1,), (17,), (3, 5), (2, 3, 1, 4), (0, 3)], ids=str)
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize(("operator", "reference"), [(ArgmaxOp, np.argmax), (ArgminOp, np.argmin)])
def test_argmax(operator: MakeOperator, reference: Any, shape: tuple[int, ...], keep: bool) -> None:
    # Few different numbers: the first of equal ones counts, or the last one.
    x = np.random.default_rng(3).integers(0, 3, shape).astype(np.float32)
    for axis in (None, *range(-1, len(shape) - 1)):
        make = partial(operator, axis=axis, keepdims=keep)
        if 0 in shape and axis != -1:
            with pytest.raises(InferenceError, match="expected elements to choose from"):
                infer(make, tensor_of(x))
            continue
        check(make, x)
        check(partial(make, select_last_index=True), x)
        if x.size:
            assert_same(expected(make, x), np.asarray(reference(x, axis=axis, keepdims=keep)))


@pytest.mark.parametrize("dtype", [*NUMBERS, "bool"])
@pytest.mark.parametrize("operator", [ArgmaxOp, ArgminOp])
def test_argmax_dtypes(operator: MakeOperator, dtype: str) -> None:
    check(partial(operator, axis=1), random_array(np.random.default_rng(4), dtype, (9, 7)))


def test_the_last_of_equal_elements() -> None:
    x = np.array([[3, 1, 3, 1, 2], [np.nan, 0, np.nan, 9, -9]], np.float32)
    for operator, wanted in ((ArgmaxOp, [2, 2]), (ArgminOp, [3, 2])):
        assert native(partial(operator, axis=1, select_last_index=True), x).tolist() == wanted
    assert native(partial(ArgmaxOp, select_last_index=True), x).tolist() == 7


def test_argmax_of_a_scalar() -> None:
    check(ArgmaxOp, np.array(np.nan))


def test_the_first_nan_is_the_largest() -> None:
    x = np.array([[1, np.nan, np.inf, np.nan], [-np.inf] * 4, [-0.0, 0.0, -1, -2]], np.float32)
    for array in (native(partial(ArgmaxOp, axis=1), x), expected(partial(ArgmaxOp, axis=1), x)):
        assert array.tolist() == np.argmax(x, axis=1).tolist() == [1, 0, 0]


def test_strict_sums_equal_the_plain_loop() -> None:
    x = random_array(np.random.default_rng(4), "float32", (3, 100))
    total = np.zeros(3, np.float32)
    for k in range(100):
        total = total + x[:, k]
    assert_same(native(partial(SumOp, axis=1), x, strict=True), total)


def test_type_rules() -> None:
    x = TensorType(f32, (2, DYNAMIC_INDEX, 4))
    assert infer(partial(SumOp, axis=-1), x) == TensorType(f32, (2, DYNAMIC_INDEX))
    assert infer(partial(MeanOp, axis=(1,), keepdims=True), x) == TensorType(f32, (2, 1, 4))
    assert infer(MaxOp, x) == TensorType(f32, ())
    assert infer(partial(ArgmaxOp, axis=1), x) == TensorType(i64, (2, 4))
    assert infer(partial(MinOp, axis=0), TensorType(i1, (3,))) == TensorType(i1, ())


@pytest.mark.parametrize(
    ("make", "shape", "dtype", "message"),
    [
        (SumOp, (2,), "bool", "expected operands of .* found i1"),
        (MeanOp, (2,), "int32", "expected operands of f16 or bf16 or f32 or f64, found i32"),
        (partial(SumOp, axis=2), (2, 3), "float32", r"expected an axis in -2..1 for rank 2, found 2"),
        (partial(SumOp, axis=(0, -2)), (2, 3), "float32", "expected axes that differ, found 0, -2"),
        (partial(ArgmaxOp, axis=-3), (2, 3), "float32", r"expected an axis in -2..1 for rank 2, found -3"),
    ],
)
def test_refused(make: MakeOperator, shape: tuple[int, ...], dtype: str, message: str) -> None:
    with pytest.raises(InferenceError, match=message):
        infer(make, tensor_of(np.zeros(shape, dtype)))


@pytest.mark.parametrize("axis", [[], [0]])
def test_a_sum_of_minus_zero(axis: list[int]) -> None:
    """A sum begins with 0, whatever its terms are."""
    x = np.array([[-0.0]], np.float32)
    make = partial(SumOp, axis=axis)
    assert np.signbit(native(make, x)) == np.signbit(expected(make, x))
