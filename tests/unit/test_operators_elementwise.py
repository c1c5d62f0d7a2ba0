"""Elementwise functions, comparisons and conversions, compiled, against their NumPy semantics."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from operator_cases import BITWISE, DIVISIONS, LOGICAL, QUESTIONS, ROUNDINGS, TRIGONOMETRY
from operator_checks import SPECIAL, assert_close, check, expected, infer, native
from programs import Array, MakeOperator, random_array, tensor_of
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32, f64, i1, i8, i32, i64
from xdsl.ir import Attribute

from relex.dialects import parse_module
from relex.dialects.dtypes import numpy_dtype
from relex.dialects.errors import InferenceError
from relex.dialects.relex import (
    AbsOp,
    AstypeOp,
    BitcastOp,
    BitwiseAndOp,
    ClipOp,
    CosOp,
    EqualOp,
    ErfOp,
    Exp2Op,
    Expm1Op,
    ExpOp,
    FloorDivideOp,
    FloorModOp,
    GeluOp,
    GreaterEqualOp,
    GreaterOp,
    IsnanOp,
    LeftShiftOp,
    LessEqualOp,
    LessOp,
    Log1pOp,
    Log2Op,
    Log10Op,
    LogicalAndOp,
    LogOp,
    ModOp,
    NegativeOp,
    NotEqualOp,
    Operator,
    PowerOp,
    RightShiftOp,
    RsqrtOp,
    SigmoidOp,
    SignOp,
    SiluOp,
    SinOp,
    SqrtOp,
    TanhOp,
    TanOp,
    TruncDivideOp,
    WhereOp,
)
from relex.reference import interpret
from relex.runtime import build

# Shapes, element types and operators matter one by one, hardly in combination.
pytestmark = pytest.mark.sampled

# Up to 2 ulps are NumPy's own or the C library's, each; what is computed of such results may add one.
ULPS: dict[type[Operator], int] = {
    AbsOp: 0,
    NegativeOp: 0,
    **dict.fromkeys((*ROUNDINGS, SignOp), 0),
    **dict.fromkeys(TRIGONOMETRY, 4),
    SqrtOp: 0,
    RsqrtOp: 0,
    ExpOp: 4,
    Exp2Op: 4,
    Expm1Op: 4,
    LogOp: 4,
    Log1pOp: 4,
    Log2Op: 4,
    Log10Op: 4,
    TanhOp: 4,
    ErfOp: 4,
    SigmoidOp: 6,
    SiluOp: 6,
    GeluOp: 8,
}
COMPARISONS = (EqualOp, NotEqualOp, LessOp, LessEqualOp, GreaterOp, GreaterEqualOp)
LOGARITHMS = (LogOp, Log1pOp, Log2Op, Log10Op)
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
    "uint8": [0, 1, 127, 128, 255],
    "uint32": [0, 1, 2**31, 2**32 - 1],
    "uint64": [0, 1, 2**63 - 1, 2**63, 2**64 - 1],
    "bool": [False, True],
}
FLOATS = ["float32", "float64"]
DTYPES = list(EXTREMES)


def positive(operator: type[Operator], x: Array) -> Array:
    """Numbers that the operator has results for."""
    return abs(x) if operator in (SqrtOp, RsqrtOp, *LOGARITHMS) else x


# Every fifth operator, so that each shape is met: they all have one legalization.
@pytest.mark.sampled(every=5)
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


@pytest.mark.parametrize("operator", [AbsOp, NegativeOp, *ROUNDINGS, SignOp, RsqrtOp, Expm1Op, Log1pOp])
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


def pairs(dtype: str) -> tuple[Array, Array]:
    """All pairs of some numbers of a dtype, the ends of its range among them."""
    x = np.array([*EXTREMES[dtype], 2, 3, -3, 7, -7], dtype)
    return x[:, None].copy(), x


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
@pytest.mark.parametrize("operator", [*DIVISIONS, *BITWISE, LeftShiftOp, RightShiftOp, PowerOp])
def test_functions_of_two_integers(operator: type[Operator], dtype: str) -> None:
    check(operator, *pairs(dtype))


def test_quotients_and_remainders_of_integers() -> None:
    x, y = (np.array(part, np.int32) for part in ([7, -7, 7, -7, 5, -(2**31)], [2, 2, -2, -2, 0, -1]))
    assert native(FloorDivideOp, x, y).tolist() == [3, -4, -4, 3, 0, -(2**31)]
    assert native(TruncDivideOp, x, y).tolist() == [3, -3, -3, 3, 0, -(2**31)]
    assert native(FloorModOp, x, y).tolist() == [1, 1, -1, -1, 0, 0]
    assert native(ModOp, x, y).tolist() == [1, -1, 1, -1, 0, 0]


@pytest.mark.parametrize("dtype", FLOATS)
def test_remainders_of_floats(dtype: str) -> None:
    x, y = pairs(dtype)
    for operator, meaning in ((FloorModOp, np.remainder), (ModOp, np.fmod)):
        check(operator, x, y)
        with np.errstate(all="ignore"):
            wanted = meaning(x, y)
        found = native(operator, x, y)
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(wanted[found == 0]))


def test_powers_of_integers() -> None:
    x, y = (np.array(part, np.int8) for part in ([2, 2, -1, 1, 0, 0, 3], [7, -1, -3, -9, 0, -1, 5]))
    assert native(PowerOp, x, y).tolist() == [-128, 0, -1, 1, 1, 0, 243 - 256]


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64"])
def test_powers_of_unsigned_integers(dtype: str) -> None:
    """Exponents from half of the range on are large, not negative."""
    largest = int(np.iinfo(dtype).max)
    x = np.array([[0], [1], [2], [3], [largest // 2], [largest]], dtype)
    y = np.array([0, 1, 2, 7, largest // 2, largest // 2 + 1, largest - 1, largest], dtype)
    check(PowerOp, x, y)
    wanted = [[pow(int(a), int(n), largest + 1) for n in y] for [a] in x]
    assert native(PowerOp, x, y).tolist() == wanted


def test_shifts_beyond_the_width() -> None:
    x, count = np.array([[5], [-5]], np.int32), np.array([0, 1, 31, 32, 100, -1], np.int32)
    assert native(LeftShiftOp, x, count).tolist() == [[5, 10, -(2**31), 0, 0, 0], [-5, -10, -(2**31), 0, 0, 0]]
    assert native(RightShiftOp, x, count).tolist() == [[5, 2, 0, 0, 0, 0], [-5, -3, -1, -1, -1, -1]]


@pytest.mark.parametrize("operator", [*LOGICAL, *BITWISE])
def test_functions_of_booleans(operator: type[Operator]) -> None:
    x = np.array([False, True])
    check(operator, x[:, None].copy(), x)


@pytest.mark.parametrize("dtype", FLOATS)
def test_questions(dtype: str) -> None:
    for operator in QUESTIONS:
        check(operator, np.array(EXTREMES[dtype], dtype))


@pytest.mark.parametrize(
    ("dtype", "target"), [("float32", i32), ("int32", f32), ("float64", i64), ("int64", f64), ("int8", i8)]
)
def test_bitcast(dtype: str, target: Attribute) -> None:
    x = np.array(EXTREMES[dtype], dtype)
    found = native(partial(BitcastOp, dtype=target), x)
    assert found.dtype == numpy_dtype(target)
    assert found.tobytes() == x.tobytes()
    check(partial(BitcastOp, dtype=target), x)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("operator", [SinOp, CosOp, TanOp])
def test_angles_of_any_size(operator: type[Operator], dtype: str) -> None:
    # Of a large angle, only the remainder by 2 pi counts, and all of its digits depend on all of pi's.
    exponents = np.linspace(-30, np.finfo(dtype).maxexp - 1, 400)
    x = np.exp2(exponents).astype(dtype) * np.array([[1], [-1]], dtype)
    assert_close(native(operator, x), getattr(np, operator.name[6:])(x.astype(np.longdouble)).astype(dtype), 2)


@pytest.mark.parametrize("operator", COMPARISONS)
@pytest.mark.parametrize("shapes", PAIRS, ids=str)
def test_comparison_shapes(operator: type[Operator], shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    rng = np.random.default_rng(3)
    check(operator, *(rng.integers(0, 3, shape, dtype=np.int32) for shape in shapes))


@pytest.mark.sampled(diagonals=2)
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


@pytest.mark.sampled(diagonals=3)
@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", [f32, f64, i1, i8, i32, i64], ids=str)
def test_astype(source: str, target: Attribute) -> None:
    make = partial(AstypeOp, dtype=target)
    check(
        make,
        np.concatenate([np.array(EXTREMES[source], source), random_array(np.random.default_rng(5), source, (200,))]),
    )
    if source == "float32":
        check(make, random_array(np.random.default_rng(4), source, (3, 0, 2)))


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
        (PowerOp, [np.zeros(2, np.bool_)] * 2, "found i1"),
        (SinOp, [np.zeros(2, np.int32)], "expected operands of f16 or bf16 or f32 or f64, found i32"),
        (FloorDivideOp, [np.zeros(2)] * 2, "expected operands of i8 or .* or ui64, found f64"),
        (ModOp, [np.zeros(2, np.bool_)] * 2, "found i1"),
        (BitwiseAndOp, [np.zeros(2)] * 2, "found f64"),
        (LogicalAndOp, [np.zeros(2, np.int8)] * 2, "expected operands of i1, found i8"),
        (LeftShiftOp, [np.zeros(2, np.bool_)] * 2, "found i1"),
        (IsnanOp, [np.zeros(2, np.int8)], "found i8"),
        (partial(BitcastOp, dtype=i64), [np.zeros(2, np.float32)], "expected a type of 32 bits, as f32, found i64"),
        (partial(BitcastOp, dtype=i8), [np.zeros(2, np.bool_)], "found i1"),
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


@pytest.mark.parametrize("types", [("f16", "i16"), ("i16", "f16"), ("ui16", "bf16"), ("bf16", "f16"), ("f16", "f16")])
def test_bits_of_floats_without_arithmetic(types: tuple[str, str]) -> None:
    """They are not converted to f32 before."""
    source, target = types
    text = f"""
    func.func @main(%x: tensor<7xi16>) -> tensor<7xi16> {{
      %0 = relex.bitcast %x dtype = {source} : (tensor<7xi16>) -> tensor<7x{source}>
      %1 = relex.bitcast %0 dtype = {target} : (tensor<7x{source}>) -> tensor<7x{target}>
      %2 = relex.bitcast %1 dtype = i16 : (tensor<7x{target}>) -> tensor<7xi16>
      func.return %2 : tensor<7xi16>
    }}
    """
    bits = np.array([0, 1, -1, 0x3C00, 0x7C00, -0x8000, 0x1234], np.int16)
    for main in (interpret(parse_module(text))["main"], build(text, cache=False)["main"]):
        np.testing.assert_array_equal(main(bits), bits)
