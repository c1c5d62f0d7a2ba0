"""Elementwise functions, comparisons and conversions, compiled, against their NumPy semantics."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from operator_checks import SPECIAL, assert_close, check, expected, infer, native
from programs import Array, MakeOperator, random_array, tensor_of
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32, f64, i1, i8, i32, i64
from xdsl.ir import Attribute

from relex.dialects.dtypes import numpy_dtype
from relex.dialects.errors import InferenceError
from relex.dialects.relex import (
    AbsOp,
    AstypeOp,
    ClipOp,
    EqualOp,
    ErfOp,
    ExpOp,
    FloorOp,
    GeluOp,
    GreaterEqualOp,
    GreaterOp,
    LessEqualOp,
    LessOp,
    LogOp,
    NegativeOp,
    NotEqualOp,
    Operator,
    PowerOp,
    RsqrtOp,
    SigmoidOp,
    SiluOp,
    SqrtOp,
    TanhOp,
    WhereOp,
)

# Up to 2 ulps are NumPy's own or the C library's, each; what is computed of such results may add one.
ULPS: dict[type[Operator], int] = {
    AbsOp: 0,
    NegativeOp: 0,
    FloorOp: 0,
    SqrtOp: 0,
    RsqrtOp: 0,
    ExpOp: 4,
    LogOp: 4,
    TanhOp: 4,
    ErfOp: 4,
    SigmoidOp: 6,
    SiluOp: 6,
    GeluOp: 8,
}
COMPARISONS = (EqualOp, NotEqualOp, LessOp, LessEqualOp, GreaterOp, GreaterEqualOp)
SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (17,), (0, 3), (3, 1, 5), (2, 3, 1, 4))
PAIRS: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((), ()),
    ((), (4,)),
    ((3, 1), (1, 5)),
    ((0, 4), (4,)),
    ((2, 1, 3), (4, 1)),
    ((2, 3, 1, 4), (2, 3, 1, 4)),
)
EXTREMES = {
    "float32": SPECIAL,
    "float64": [*SPECIAL, 1e300, 5e-324],
    "int8": [-128, -1, 0, 1, 127],
    "int32": [-(2**31), -1, 0, 1, 2**31 - 1],
    "int64": [-(2**63), -1, 0, 1, 2**63 - 1],
    "bool": [False, True],
}
FLOATS = ["float32", "float64"]
DTYPES = list(EXTREMES)


def positive(operator: type[Operator], x: Array) -> Array:
    """Numbers that the operator has results for."""
    return abs(x) if operator in (SqrtOp, RsqrtOp, LogOp) else x


@pytest.mark.parametrize("operator", ULPS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_function_shapes(operator: type[Operator], shape: tuple[int, ...]) -> None:
    x = random_array(np.random.default_rng(0), "float32", shape)
    check(operator, np.asarray(positive(operator, x)), ulps=ULPS[operator])


@pytest.mark.parametrize("operator", ULPS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_function_values(operator: type[Operator], dtype: str) -> None:
    x = random_array(np.random.default_rng(1), dtype, (1000,)) * 5
    ulps = ULPS[operator]
    found, wanted = native(operator, x), expected(operator, x)
    if operator is GeluOp:
        # 1 + erf(x) loses digits where erf(x) is near -1: there the error is relative to x.
        assert (abs(found - wanted) <= ulps * np.spacing(abs(x))).all()
        return
    assert_close(found, wanted, ulps)


@pytest.mark.parametrize("operator", ULPS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_function_special_values(operator: type[Operator], dtype: str) -> None:
    check(operator, np.array(EXTREMES[dtype], dtype), ulps=ULPS[operator])


@pytest.mark.parametrize("operator", [AbsOp, NegativeOp, FloorOp, RsqrtOp])
@pytest.mark.parametrize("dtype", FLOATS)
def test_signs_of_zeros(operator: type[Operator], dtype: str) -> None:
    x = np.array([0.0, -0.0], dtype)
    np.testing.assert_array_equal(np.signbit(native(operator, x)), np.signbit(expected(operator, x)))


@pytest.mark.parametrize(
    ("operator", "dtype"),
    [(op, dtype) for op in (AbsOp, NegativeOp) for dtype in ("int8", "int32", "int64", "bool")][:-1],
)
def test_functions_of_integers(operator: type[Operator], dtype: str) -> None:
    check(operator, np.array(EXTREMES[dtype], dtype))


def test_erf_is_the_error_function() -> None:
    wanted = np.array([-1, -0.8427007929497149, 0, 0.5204998778130465, 1, np.nan])
    x = np.array([-np.inf, -1, 0, 0.5, np.inf, np.nan])
    assert_close(expected(ErfOp, x), wanted, 1)
    assert_close(expected(ErfOp, x.astype(np.float32)), wanted.astype(np.float32), 0)


@pytest.mark.parametrize("dtype", FLOATS)
def test_power(dtype: str) -> None:
    rng = np.random.default_rng(2)
    x, y = abs(random_array(rng, dtype, (50, 1))), random_array(rng, dtype, (40,)) * 3
    check(PowerOp, x, y, ulps=4)
    special = np.array([*EXTREMES[dtype], 2, 3, -3, 0.5], dtype)
    check(PowerOp, special[:, None].copy(), special, ulps=4)


@pytest.mark.parametrize("operator", COMPARISONS)
@pytest.mark.parametrize("shapes", PAIRS, ids=str)
def test_comparison_shapes(operator: type[Operator], shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    rng = np.random.default_rng(3)
    check(operator, *(rng.integers(0, 3, shape, dtype=np.int32) for shape in shapes))


@pytest.mark.parametrize("operator", COMPARISONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_comparison_values(operator: type[Operator], dtype: str) -> None:
    x = np.array(EXTREMES[dtype], dtype)
    check(operator, x[:, None].copy(), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_where(dtype: str) -> None:
    x = np.array(EXTREMES[dtype], dtype)
    condition = np.arange(len(x)) % 2 == 0
    check(WhereOp, condition, x, x[::-1].copy())
    check(WhereOp, condition[:, None].copy(), x, np.zeros((), dtype))
    check(WhereOp, np.zeros((0, 1), np.bool_), x, x)


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", [f32, f64, i1, i8, i32, i64], ids=str)
def test_astype(source: str, target: Attribute) -> None:
    make = partial(AstypeOp, dtype=target)
    x = np.array(EXTREMES[source], source)
    check(make, x)
    check(make, random_array(np.random.default_rng(4), source, (3, 0, 2)))
    check(make, random_array(np.random.default_rng(5), source, (200,)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("target", [i8, i32, i64], ids=str)
def test_floats_beyond_the_integers_become_the_last_ones(dtype: str, target: Attribute) -> None:
    info = np.iinfo(numpy_dtype(target))
    ends = [np.dtype(dtype).type(end) for end in (info.min, info.max)]
    near = [np.nextafter(end, to) for end in ends for to in np.array([-np.inf, np.inf], dtype)]
    x = np.array([*ends, *near, 126.9, 127.5, 128, -128.9, -129, np.inf, -np.inf, np.nan, -0.9], dtype)
    wanted = [0 if v != v else min(max(int(v), info.min), info.max) for v in np.clip(x, -1e30, 1e30).tolist()]
    found = native(partial(AstypeOp, dtype=target), x)
    assert found.tolist() == wanted
    check(partial(AstypeOp, dtype=target), x)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("low", "high"), [(-1, 1.5), (0, None), (None, 6), (None, None), (-np.inf, 2), (0.1, 0.1)])
def test_clip(dtype: str, low: float | None, high: float | None) -> None:
    x = np.array([*EXTREMES[dtype], 0.1, 7], dtype)
    check(partial(ClipOp, min=low, max=high), x)
    wanted = x if low is high is None else np.clip(x, low, high)
    np.testing.assert_array_equal(expected(partial(ClipOp, min=low, max=high), x), wanted)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_clip_integers(dtype: str) -> None:
    x = np.array(EXTREMES[dtype], dtype)
    for low, high in ((-1, 5), (None, np.iinfo(dtype).min), (np.iinfo(dtype).max, None)):
        check(partial(ClipOp, min=low, max=high), x)


def test_type_rules() -> None:
    unknown = TensorType(f32, (DYNAMIC_INDEX, 3))
    assert infer(ExpOp, unknown) == unknown
    assert infer(LessOp, unknown, TensorType(f32, (3,))) == TensorType(i1, (DYNAMIC_INDEX, 3))
    assert infer(WhereOp, TensorType(i1, (2, 1)), unknown, TensorType(f32, ())) == TensorType(f32, (2, 3))
    assert infer(partial(AstypeOp, dtype=i8), unknown) == TensorType(i8, (DYNAMIC_INDEX, 3))
    assert infer(partial(ClipOp, min=0), unknown) == unknown


@pytest.mark.parametrize(
    ("make", "operands", "message"),
    [
        (ExpOp, [np.zeros(2, np.int32)], "expected operands of f16 or bf16 or f32 or f64, found i32"),
        (NegativeOp, [np.zeros(2, np.bool_)], "found i1"),
        (PowerOp, [np.zeros(2, np.int32)] * 2, "found i32"),
        (LessOp, [np.zeros(2, np.float32), np.zeros(2)], "expected operands of one element type"),
        (LessOp, [np.zeros(2), np.zeros(3)], "expected shapes that broadcast"),
        (WhereOp, [np.zeros(2), np.zeros(2), np.zeros(2)], "expected a condition of i1, found f64"),
        (WhereOp, [np.zeros(2, np.bool_), np.zeros(2), np.zeros(2, np.float32)], "found f64 and f32"),
        (partial(ClipOp, min=1, max=0), [np.zeros(2)], "expected a min that is not above the max, found 1.0 and 0.0"),
        (partial(ClipOp, min=np.nan), [np.zeros(2)], "expected a min that is not above the max, found nan"),
        (partial(ClipOp, min=0.5), [np.zeros(2, np.int8)], "expected a number of type i8, found 0.5"),
        (partial(ClipOp, min=128), [np.zeros(2, np.int8)], "expected a number of type i8, found 128"),
        (partial(ClipOp, min=1e39), [np.zeros(2, np.float32)], "expected a number of type f32"),
    ],
)
def test_refused(make: MakeOperator, operands: list[Array], message: str) -> None:
    with pytest.raises(InferenceError, match=message):
        infer(make, *map(tensor_of, operands))
