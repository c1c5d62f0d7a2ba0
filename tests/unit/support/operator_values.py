"""Operators on operands of many shapes, types and special numbers, and what they compute by NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, cycle, permutations, product
from math import prod
from typing import Any

import numpy as np
from operator_cases import BITWISE, COMPARISONS, DIVISIONS, LOGICAL, QUESTIONS, ROUNDINGS, TRIGONOMETRY
from operator_checks import SPECIAL
from programs import Array, MakeOperator, random_array
from xdsl.dialects.builtin import f32, f64, i1, i8, i32, i64

from relex.dialects import relex
from relex.dialects.dtypes import DTYPES as ELEMENTS
from relex.dialects.dtypes import numpy_dtype
from relex.dialects.relex import Operator

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Row:
    """An operator on some operands, and what it computes; without `wanted`, its NumPy semantics say so, and each level
    is compared with them. `near` is the error that results may have, in units in the last place of the largest number;
    `ulps` the one of each number. `is_more` leaves a row to `--full`."""

    make: MakeOperator
    operands: Sequence[Array]
    wanted: Any = None
    near: int = 0
    ulps: int = 0
    is_more: bool = False


FLOATS = ["float32", "float64"]
INTEGERS = ["int8", "int32", "int64"]
NUMBERS = [*FLOATS, *INTEGERS]
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
ZEROS = np.array([0.0, -0.0, 0.0, -0.0, np.nan, 1.0, -1.0, -0.0], np.float32)
OTHER_ZEROS = np.array([-0.0, 0.0, 0.0, -0.0, 0.0, np.nan, -0.0, np.inf], np.float32)
ROWS_OF_ZEROS = np.array([[0.0, -0.0], [-0.0, 0.0], [-0.0, -0.0], [0.0, 0.0], [-1.0, -0.0], [np.nan, 0.0]], np.float32)


def numbers(shape: Shape, dtype: str = "float32", seed: int = 0) -> Array:
    return np.asarray(random_array(np.random.default_rng(seed), dtype, shape))


def whole(shape: Shape, dtype: str = "float32", seed: int = 0) -> Array:
    """Small whole numbers, whose sums and products are exact in any order."""
    return np.asarray(np.random.default_rng(seed).integers(-4, 5, shape)).astype(dtype)


def distinct(shape: Shape, dtype: str = "int32") -> Array:
    """Elements that all differ."""
    return np.arange(prod(shape), dtype=dtype).reshape(shape)


def extremes(dtype: str) -> Array:
    return np.array(EXTREMES[dtype], dtype)


def pairs(dtype: str) -> tuple[Array, Array]:
    """All pairs of some numbers of a type, the ends of its range among them."""
    x = np.array([*EXTREMES[dtype], 2, 3, -3, 7, -7], dtype)
    return x[:, None].copy(), x


# Functions of an element

# Up to 2 ulps are NumPy's own or the C library's, each; what is computed of such results may add one.
ULPS: dict[type[Operator], int] = {
    **dict.fromkeys((relex.AbsOp, relex.NegativeOp, *ROUNDINGS, relex.SignOp, relex.SqrtOp, relex.RsqrtOp), 0),
    **dict.fromkeys((*TRIGONOMETRY, relex.ExpOp, relex.Exp2Op, relex.Expm1Op), 4),
    **dict.fromkeys((relex.LogOp, relex.Log1pOp, relex.Log2Op, relex.Log10Op, relex.TanhOp, relex.ErfOp), 4),
    **dict.fromkeys((relex.SigmoidOp, relex.SiluOp), 6),
    relex.GeluOp: 8,
}
SHAPES: tuple[Shape, ...] = ((), (1,), (17,), (0, 3), (3, 1, 5), (2, 3, 1, 4))
BROADCASTS: tuple[tuple[Shape, Shape], ...] = (
    ((), ()),
    ((), (4,)),
    ((17, 33), (33,)),
    ((3, 1), (1, 5)),
    ((0, 4), (0, 4)),
    ((0, 4), (4,)),
    ((2, 0), (1,)),
    ((2, 1, 3), (4, 1)),
    ((2, 3, 1, 4), (2, 3, 1, 4)),
)


def functions() -> Iterator[Row]:
    for (operator, ulps), dtype in zip(ULPS.items(), cycle(FLOATS), strict=False):
        yield Row(operator, [extremes(dtype)], ulps=ulps)
        yield Row(operator, [extremes(FLOATS[dtype == "float32"])], ulps=ulps, is_more=True)
    yield from (Row(relex.ExpOp, [numbers(shape)], ulps=4) for shape in SHAPES)
    for operator in (relex.AbsOp, relex.NegativeOp, relex.ReluOp):
        yield from (Row(operator, [extremes(dtype)]) for dtype in INTEGERS)
    yield from (Row(operator, [extremes("bool")]) for operator in (relex.AbsOp, relex.ReluOp))
    yield Row(relex.ErfOp, [np.array([-np.inf, -1, 0, 0.5, np.inf])],
              np.array([-1, -0.8427007929497149, 0, 0.5204998778130465, 1], np.float64), ulps=2)  # fmt: skip
    yield from (Row(operator, [extremes(dtype)]) for operator in QUESTIONS for dtype in FLOATS)
    for dtype, target in (("float32", i32), ("int32", f32), ("float64", i64), ("int64", f64), ("int8", i8)):
        yield Row(partial(relex.BitcastOp, dtype=target), [extremes(dtype)])
    yield from conversions()
    yield from clips()


def conversions() -> Iterator[Row]:
    targets = [f32, f64, i1, i8, i32, i64]
    for i, source in enumerate(EXTREMES):
        x = np.concatenate([extremes(source), random_array(np.random.default_rng(5), source, (200,))])
        for j, target in enumerate(targets):
            is_more = (j - i) % len(targets) not in (0, 2)
            yield Row(partial(relex.AstypeOp, dtype=target), [x], is_more=is_more)
    yield Row(partial(relex.AstypeOp, dtype=i8), [numbers((3, 0, 2))])
    # Floats beyond the integers become the last ones.
    for target, dtype in product([i8, i32, i64], FLOATS):
        info = np.iinfo(numpy_dtype(target))
        ends = [np.dtype(dtype).type(end) for end in (info.min, info.max)]
        near = [np.nextafter(end, to) for end in ends for to in np.array([-np.inf, np.inf], dtype)]
        x = np.array([*ends, *near, 126.9, 127.5, 128, -128.9, -129, np.inf, -np.inf, np.nan, -0.9], dtype)
        wanted = [0 if v != v else min(max(int(v), info.min), info.max) for v in np.clip(x, -1e30, 1e30).tolist()]
        yield Row(partial(relex.AstypeOp, dtype=target), [x], np.array(wanted, info.dtype))


def clips() -> Iterator[Row]:
    for i, (low, high) in enumerate([(-1, 1.5), (0, None), (None, 6), (-np.inf, 2), (0.1, 0.1)]):
        x = np.array([*EXTREMES[FLOATS[i % 2]], 0.1, 7], FLOATS[i % 2])
        yield Row(partial(relex.ClipOp, min=low, max=high), [x], np.clip(x, low, high))
    yield Row(partial(relex.ClipOp, min=None, max=None), [extremes("float32")], extremes("float32"))
    yield from (Row(partial(relex.ClipOp, min=-1, max=5), [extremes(dtype)]) for dtype in INTEGERS)
    yield Row(partial(relex.ClipOp, max=-128), [extremes("int8")])
    for low, high, x in ((-0.0, 0.0, ZEROS), (0.0, None, OTHER_ZEROS), (None, -0.0, OTHER_ZEROS)):
        yield Row(partial(relex.ClipOp, min=low, max=high), [x])


ARITHMETIC = (relex.AddOp, relex.SubtractOp, relex.MultiplyOp, relex.DivideOp, relex.MaximumOp, relex.MinimumOp)


def functions_of_two() -> Iterator[Row]:
    for shapes, operator in zip(BROADCASTS, cycle([*ARITHMETIC, relex.LessOp]), strict=False):
        yield Row(operator, [numbers(shape, seed=i) for i, shape in enumerate(shapes)])
    for i, operator in enumerate(ARITHMETIC):
        dtypes = FLOATS if operator is relex.DivideOp else NUMBERS if operator is relex.SubtractOp else EXTREMES
        for j, dtype in enumerate(dtypes):
            x = extremes(dtype)
            yield Row(operator, [x[:, None].copy(), x], is_more=(i + j) % 3 != 0)
    for dtype, operator in zip(EXTREMES, cycle(COMPARISONS), strict=False):
        yield Row(operator, [extremes(dtype)[:, None].copy(), extremes(dtype)])
    integers = [*DIVISIONS, *BITWISE, relex.LeftShiftOp, relex.RightShiftOp, relex.PowerOp]
    for i, operator in enumerate(integers):
        yield from (Row(operator, pairs(dtype), is_more=(i + j) % 3 == 0) for j, dtype in enumerate(INTEGERS))
    for operator in (*LOGICAL, *BITWISE):
        yield Row(operator, [extremes("bool")[:, None].copy(), extremes("bool")])
    for dtype in FLOATS:
        x, y = pairs(dtype)
        with np.errstate(all="ignore"):
            yield Row(relex.FloorModOp, [x, y], np.remainder(x, y))
            yield Row(relex.ModOp, [x, y], np.fmod(x, y))
        yield Row(relex.PowerOp, [abs(numbers((50, 1), dtype)), numbers((40,), dtype, 2) * 3], ulps=4)
        yield Row(relex.PowerOp, [x, y], ulps=4)
    yield from (Row(operator, [ZEROS, OTHER_ZEROS]) for operator in (relex.MaximumOp, relex.MinimumOp))
    yield from results_of_integers()


def results_of_integers() -> Iterator[Row]:
    x, y = (np.array(part, np.int32) for part in ([7, -7, 7, -7, 5, -(2**31)], [2, 2, -2, -2, 0, -1]))
    yield Row(relex.FloorDivideOp, [x, y], np.array([3, -4, -4, 3, 0, -(2**31)], np.int32))
    yield Row(relex.TruncDivideOp, [x, y], np.array([3, -3, -3, 3, 0, -(2**31)], np.int32))
    yield Row(relex.FloorModOp, [x, y], np.array([1, 1, -1, -1, 0, 0], np.int32))
    yield Row(relex.ModOp, [x, y], np.array([1, -1, 1, -1, 0, 0], np.int32))
    x, y = (np.array(part, np.int8) for part in ([2, 2, -1, 1, 0, 0, 3], [7, -1, -3, -9, 0, -1, 5]))
    yield Row(relex.PowerOp, [x, y], np.array([-128, 0, -1, 1, 1, 0, 243 - 256], np.int8))
    x, count = np.array([[5], [-5]], np.int32), np.array([0, 1, 31, 32, 100, -1], np.int32)
    yield Row(
        relex.LeftShiftOp, [x, count], np.array([[5, 10, -(2**31), 0, 0, 0], [-5, -10, -(2**31), 0, 0, 0]], np.int32)
    )
    yield Row(relex.RightShiftOp, [x, count], np.array([[5, 2, 0, 0, 0, 0], [-5, -3, -1, -1, -1, -1]], np.int32))
    # Exponents from half of the range on are large, not negative.
    for dtype in ("uint8", "uint32", "uint64"):
        largest = int(np.iinfo(dtype).max)
        x = np.array([[0], [1], [2], [3], [largest // 2], [largest]], dtype)
        y = np.array([0, 1, 2, 7, largest // 2, largest // 2 + 1, largest - 1, largest], dtype)
        wanted = [[pow(int(a), int(n), largest + 1) for n in y] for [a] in x]
        yield Row(relex.PowerOp, [x, y], np.array(wanted, dtype))


def functions_of_three() -> Iterator[Row]:
    for dtype in EXTREMES:
        x = extremes(dtype)
        yield Row(relex.WhereOp, [np.arange(len(x)) % 2 == 0, x, x[::-1].copy()])
    condition = np.array([[True], [False]])
    yield Row(relex.WhereOp, [condition, extremes("int8"), np.zeros((), np.int8)])
    yield Row(relex.WhereOp, [condition[:0], extremes("int8"), extremes("int8")])
    for dtype in NUMBERS:
        yield Row(relex.EwiseFMAOp, [numbers((20, 30), dtype), numbers((30,), dtype, 1), numbers((20, 1), dtype, 2)])


# Products

PRODUCTS: tuple[tuple[Shape, Shape], ...] = (
    ((1, 1), (1, 1)),
    ((17, 33), (65, 33)),
    ((0, 4), (3, 4)),
    ((4, 0), (3, 0)),
    ((2, 4), (0, 4)),
    ((5,), (3, 5)),
    ((2, 3, 5), (4, 5)),
    ((1, 784), (128, 784)),
)
MATMULS: tuple[tuple[Shape, Shape], ...] = (
    ((17, 33), (33, 9)),
    ((5,), (5,)),
    ((5,), (5, 3)),
    ((3, 5), (5,)),
    ((2, 3, 5), (5, 4)),
    ((2, 1, 3, 5), (4, 5, 2)),
    ((0, 5), (5, 3)),
    ((3, 0), (0, 2)),
    ((2, 3, 4), (4,)),
)


def products() -> Iterator[Row]:
    for (x, w), dtype in zip(PRODUCTS, cycle(NUMBERS), strict=False):
        data, weight = whole(x, dtype), whole(w, dtype, 1)
        yield Row(relex.DenseOp, [data, weight], np.matmul(data, weight.T))
    for (x, w), dtype in zip(MATMULS, cycle(NUMBERS), strict=False):
        data, weight = whole(x, dtype), whole(w, dtype, 1)
        yield Row(relex.MatmulOp, [data, weight], np.asarray(np.matmul(data, weight)))
    for operator in (relex.DenseOp, relex.MatmulOp):
        yield Row(operator, [numbers((5, 5), "bool"), numbers((5, 5), "bool", 1)])
        yield Row(operator, [numbers((5, 5), "int8"), numbers((5, 5), "int8", 1)])
    x = np.ones((len(SPECIAL), 3), np.float32)
    x[:, 1] = SPECIAL
    yield Row(relex.DenseOp, [x, np.ones((2, 3), np.float32)])


# Reductions


def axes_of(rank: int) -> list[Shape | None]:
    """All sets of dimensions, counted from the front or, the others, from the back."""
    places = range(-(rank // 2), rank - rank // 2)
    return [None, *(axes for count in range(rank + 1) for axes in combinations(places, count))]


REDUCED: tuple[Shape, ...] = ((), (1,), (17,), (3, 5), (0, 3), (2, 1, 4), (2, 3, 1, 4))
REDUCTIONS: dict[type[Operator], Callable[..., Any]] = {
    relex.SumOp: np.sum,
    relex.MaxOp: np.max,
    relex.MinOp: np.min,
    relex.ProdOp: np.prod,
    relex.MeanOp: np.mean,
}


def reductions() -> Iterator[Row]:
    cases = [(shape, axes, keep) for shape in REDUCED for axes in axes_of(len(shape)) for keep in (False, True)]
    for (operator, means), dtype in zip(
        REDUCTIONS.items(), ["float32", "int32", "float64", "int8", "float32"], strict=True
    ):
        for i, (shape, axes, keep) in enumerate(cases):
            if 0 not in shape or operator in (relex.SumOp, relex.ProdOp):
                given = {"dtype": dtype} if operator in (relex.SumOp, relex.ProdOp) else {}
                x = whole(shape, dtype)
                wanted = np.asarray(means(x, axis=axes, keepdims=keep, **given))
                yield Row(partial(operator, axis=axes, keepdims=keep), [x], wanted, near=4, is_more=i % 7 != 0)
    yield Row(relex.MeanOp, [numbers((0, 3))])
    for operator in (relex.SumOp, relex.MaxOp, relex.MinOp):
        for dtype in [*NUMBERS, "bool"][: None if operator is not relex.SumOp else -1]:
            yield Row(partial(operator, axis=0), [whole((7, 9), dtype)])
    yield Row(relex.SumOp, [np.array([127, 127, 1], np.int8)], np.array(-1, np.int8))
    rows = np.array([[a, b, 1] for a in SPECIAL[:5] for b in SPECIAL[:5]])
    for operator, dtype in product([*REDUCTIONS, relex.ArgmaxOp, relex.ArgminOp], FLOATS):
        yield Row(partial(operator, axis=1), [rows.astype(dtype)], is_more=dtype != FLOATS[0])
    yield Row(partial(relex.SumOp, axis=0), [np.array([[-np.inf, np.inf]])])
    # A sum begins with 0, whatever its terms are; which of two zeros is the larger is known.
    yield from (Row(partial(relex.SumOp, axis=axis), [np.array([[-0.0]], np.float32)]) for axis in ([], [0]))
    for operator in (relex.MaxOp, relex.MinOp):
        yield from (Row(partial(operator, axis=axis), [ROWS_OF_ZEROS]) for axis in ([1], []))
    yield from places_of_extremes()


def places_of_extremes() -> Iterator[Row]:
    for operator, means in ((relex.ArgmaxOp, np.argmax), (relex.ArgminOp, np.argmin)):
        # Few different numbers: the first of equal ones counts, or the last one.
        for shape in ((1,), (17,), (3, 5), (2, 3, 1, 4)):
            for axis in (None, *range(-1, len(shape) - 1)):
                keep = axis == 0
                make = partial(operator, axis=axis, keepdims=keep)
                x = whole(shape) % 3
                is_more = (axis != -1) == (operator is relex.ArgmaxOp)
                yield Row(make, [x], np.asarray(means(x, axis=axis, keepdims=keep)), is_more=is_more)
                yield Row(partial(make, select_last_index=True), [x], is_more=axis != -1)
        yield from (Row(partial(operator, axis=1), [numbers((9, 7), dtype)]) for dtype in [*NUMBERS, "bool"])
    x = np.array([[3, 1, 3, 1, 2], [np.nan, 0, np.nan, 9, -9]], np.float32)
    yield Row(partial(relex.ArgmaxOp, axis=1, select_last_index=True), [x], np.array([2, 2], np.int64))
    yield Row(partial(relex.ArgminOp, axis=1, select_last_index=True), [x], np.array([3, 2], np.int64))
    yield Row(partial(relex.ArgmaxOp, select_last_index=True), [x], np.array(7))
    yield Row(relex.ArgmaxOp, [np.array(np.nan)])
    yield Row(partial(relex.ArgminOp, axis=-1), [numbers((0, 3))])
    x = np.array([[1, np.nan, np.inf, np.nan], [-np.inf] * 4, [-0.0, 0.0, -1, -2]], np.float32)
    yield Row(partial(relex.ArgmaxOp, axis=1), [x], np.array([1, 0, 0], np.int64))


# Sorting and scans

SCANNED: tuple[Shape, ...] = ((1,), (2,), (3,), (8,), (33,), (0,), (3, 0), (0, 3), (4, 7, 2))


def sorting() -> Iterator[Row]:
    for i, shape in enumerate(SCANNED):
        # Few different numbers, so that most are equal to others.
        x = whole(shape)
        for axis, descending in product(range(-1, len(shape) - 1), (False, True)):
            wanted = np.argsort(-x if descending else x, axis=axis, kind="stable")
            make = partial(relex.ArgsortOp, axis=axis, descending=descending)
            is_more = (i + axis + descending) % 3 != 0
            yield Row(make, [x], wanted, is_more=is_more)
    for dtype in [*NUMBERS, "bool", "uint8", "uint32"]:
        x = numbers((2, 50), dtype)
        yield Row(relex.SortOp, [x], np.sort(x))
        yield Row(partial(relex.ArgsortOp, descending=True), [x])
    x = np.array([[np.nan, 0.0, np.inf, -0.0, -np.inf, -np.nan, 0.0, 1.0]], np.float32)
    yield Row(relex.ArgsortOp, [x], np.array([[4, 1, 3, 6, 7, 2, 0, 5]], np.int64))
    yield Row(partial(relex.ArgsortOp, descending=True), [x], np.array([[0, 5, 2, 7, 1, 3, 6, 4]], np.int64))
    rows = np.array([[a, b, c] for a in SPECIAL for b in SPECIAL for c in SPECIAL[:3]])
    yield from (Row(partial(relex.ArgsortOp, descending=descending), [rows]) for descending in (False, True))
    x = np.random.default_rng(2).integers(0, 2**13, (2, 2**14 + 3), dtype=np.int32)
    yield Row(relex.ArgsortOp, [x], np.argsort(x, kind="stable"))


def scanned(x: Array, *, add: Any, axis: int, exclusive: bool, reverse: bool) -> Array:
    """Sums or products of an array's first elements, with `add` of them."""
    rows = np.moveaxis(np.flip(x, axis) if reverse else x, axis, -1)
    found = add.accumulate(rows, axis=-1, dtype=x.dtype)
    if exclusive:
        found = np.concatenate([np.full_like(rows[..., :1], add.identity), found[..., :-1]], -1)[..., : rows.shape[-1]]
    found = np.moveaxis(found, -1, axis)
    return np.flip(found, axis) if reverse else found


def scans() -> Iterator[Row]:
    for operator, add in ((relex.CumsumOp, np.add), (relex.CumprodOp, np.multiply)):
        for i, (shape, exclusive, reverse) in enumerate(product(SCANNED, (False, True), (False, True))):
            axis = i % len(shape) - len(shape) * (i % 3 == 0)
            options: dict[str, Any] = {"axis": axis, "exclusive": exclusive, "reverse": reverse}
            is_more = i % 3 != (operator is relex.CumsumOp)
            x = whole(shape, "int32")
            yield Row(partial(operator, **options), [x], scanned(x, add=add, **options), is_more=is_more)
        yield from (Row(partial(operator, axis=1), [numbers((3, 5), dtype)]) for dtype in ("uint8", "uint32", "int8"))
        yield Row(operator, [np.array([1, np.inf, -np.inf, 2, np.nan, 3])])
    yield Row(partial(relex.CumsumOp, axis=1), [numbers((3, 100))], np.cumsum(numbers((3, 100)), axis=1))
    for exclusive in (False, True):
        yield Row(partial(relex.CumsumOp, exclusive=exclusive), [np.array([-0.0, -0.0, 0.0, -0.0], np.float32)])
    # Sums of narrow floats are computed in f32, and rounded once.
    for dtype in ("float16", "bfloat16"):
        x = numbers((3, 5)).astype(numpy_dtype(ELEMENTS[dtype]))
        yield Row(partial(relex.CumprodOp, axis=1, exclusive=True), [x])
        places = np.array([[0, 2], [0, 1], [2, 2]])
        yield Row(partial(relex.ScatterElementsOp, reduction="add"), [x, places, x[:, :2].copy()])


# Gathering and scattering


def gathering() -> Iterator[Row]:
    for axis in (0, 1, 2, -1):
        x = numbers((4, 3, 5), "int64", 5)
        order, make = np.argsort(x, axis=axis), partial(relex.GatherElementsOp, axis=axis)
        yield Row(make, [x, order], np.take_along_axis(x, order, axis))
        # From the end, and clipped.
        yield Row(make, [x, (order * 3 - 6)[:2, :2, :2].astype(np.int8)])
    x = numbers((3, 4, 5), seed=6)
    yield Row(relex.GatherNdOp, [x, np.array([[[0, 1]], [[2, -1]]], np.int64)], x[[[0], [2]], [[1], [-1]]])
    places = np.array([[2, 3, 4], [-3, -4, -5], [9, 9, 9]], np.int32)
    yield Row(relex.GatherNdOp, [x, places], x[[2, 0, 2], [3, 0, 3], [4, 0, 4]])
    places = np.array([[[0], [1]], [[2], [3]], [[-1], [-2]]], np.int64)
    wanted = np.stack([x[b, places[b, :, 0]] for b in range(3)])
    yield Row(partial(relex.GatherNdOp, batch_dims=1), [x, places], wanted)
    yield Row(relex.GatherNdOp, [x, np.zeros((0, 2), np.int64)])


def scattered(x: Array, indices: Array, updates: Array, *, axis: int, combine: Any) -> Array:
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


def scattering() -> Iterator[Row]:
    # Many of the same place, some from the end, some out of range.
    indices = np.random.default_rng(7).integers(-7, 7, (3, 4))
    rows = np.random.default_rng(8).integers(-6, 6, (6, 1))
    for i, (reduction, combine) in enumerate(COMBINE.items()):
        for axis, dtype in product((0, 1, -1), ("float32", "int8", "int64")):
            make = partial(relex.ScatterElementsOp, axis=axis, reduction=reduction)
            operands = [numbers((4, 5), dtype), indices, numbers((3, 4), dtype, 1)]
            with np.errstate(over="ignore"):
                wanted = scattered(*operands, axis=axis % 2, combine=combine)
            is_more = dtype != ("float32", "int8", "int64")[(i + axis) % 3]
            yield Row(make, operands, wanted, is_more=is_more)
        make, x, updates = partial(relex.ScatterNdOp, reduction=reduction), numbers((4, 3)), numbers((6, 3), seed=1)
        wanted = scattered(x, np.repeat(rows, 3, 1), updates, axis=0, combine=combine)
        yield Row(make, [x, rows, updates], wanted)
        yield Row(make, [x, np.random.default_rng(9).integers(-4, 4, (2, 3, 2)), updates[:2].copy()])
        make = partial(relex.ScatterNdOp, axis=1, reduction=reduction)
        yield Row(make, [x.T.copy(), rows, updates.T.copy()], wanted.T.copy())
        # All special numbers, one after the other, into each of them.
        special = np.array(SPECIAL)
        places, updates = np.zeros((len(SPECIAL),) * 2, np.int64), np.tile(special, (len(SPECIAL), 1))
        make = partial(relex.ScatterElementsOp, axis=1, reduction=reduction)
        yield Row(make, [special[:, None].copy(), places, updates])
    yield Row(relex.ScatterNdOp, [numbers((4, 3)), np.zeros((0, 1), np.int64), numbers((0, 3))])
    yield Row(relex.ScatterNdOp, [numbers((0, 3)), rows, numbers((6, 3))])


# Moves of elements

RESHAPES: tuple[tuple[Shape, Shape], ...] = (
    ((), ()),
    ((), (1, 1)),
    ((1, 1), ()),
    ((6,), (2, 3)),
    ((2, 3), (3, 2)),
    ((2, 3, 4), (2, -1)),
    ((4, 6), (2, 12)),
    ((1, 6, 1), (3, 1, 2, 1)),
    ((0, 3), (3, 0, 2)),
    ((0, 3), (-1, 3)),
    ((2, 5, 3, 7), (10, 21)),
    ((1, 16, 5, 5), (1, -1)),
)
SLICES: tuple[dict[str, list[int]], ...] = (
    {"axes": [2, 0], "begin": [-1, 1], "end": [-9, 3]},
    {"axes": [2, 0], "begin": [5, 1], "end": [0, 4], "strides": [-2, 1]},
    {"axes": [], "begin": [], "end": []},
)
CONCATS: tuple[tuple[list[Shape], int], ...] = (
    ([(3,)], 0),
    ([(3,), (1,), (4,)], 0),
    ([(2, 3), (2, 1), (2, 4)], -1),
    ([(2, 3), (0, 3), (1, 3)], 0),
    ([(2, 0), (1, 0)], 0),
    ([(2, 3, 4), (2, 5, 4)], 1),
)


def moves() -> Iterator[Row]:
    for shape in ((), (3,), (0, 3), (2, 1, 4)):
        yield Row(relex.PermuteDimsOp, [distinct(shape)], distinct(shape).T)
        for axes in permutations(range(-len(shape), 0)):
            yield Row(partial(relex.PermuteDimsOp, axes=axes), [distinct(shape)], distinct(shape).transpose(axes))
    for old, new in RESHAPES:
        yield Row(partial(relex.ReshapeOp, shape=new), [distinct(old)], distinct(old).reshape(new))
    x = distinct((2, 3))
    for axis in (0, -1, (0, 1), (0, -1), (1, 3), ()):
        yield Row(partial(relex.ExpandDimsOp, axis=axis), [x], np.expand_dims(x, axis))
    x = distinct((1, 3, 1, 2, 1))
    for axis in (None, 0, -1, (0, -1), (2,), ()):
        yield Row(partial(relex.SqueezeOp, axis=axis), [x], np.squeeze(x, axis))
    for old, new in (((), (2, 3)), ((3, 1), (3, 4)), ((3, 1), (2, 3, 1)), ((1, 3), (0, 3)), ((0,), (2, 0))):
        yield Row(partial(relex.BroadcastToOp, shape=new), [distinct(old)], np.broadcast_to(distinct(old), new))
    x = distinct((3, 1))
    yield Row(partial(relex.BroadcastToOp, shape=(2, -1, -1)), [x], np.stack([x, x]))
    for shapes, axis in CONCATS:
        parts = [distinct(shape) + np.int32(100 * i) for i, shape in enumerate(shapes)]
        yield Row(partial(relex.ConcatOp, axis=axis), parts, np.concatenate(parts, axis))
    x = distinct((4, 5, 6))
    for options in SLICES:
        steps = options.get("strides", [1] * len(options["axes"]))
        index = [slice(None)] * 3
        for axis, begin, end, step in zip(options["axes"], options["begin"], options["end"], steps, strict=True):
            index[axis] = slice(begin, end, step)
        yield Row(partial(relex.StridedSliceOp, **options), [x], x[tuple(index)])
    yield from taken()
    yield from padded()
    for dtype in (*NUMBERS, "bool"):
        x = numbers((3, 4), dtype)
        yield Row(relex.PermuteDimsOp, [x], x.T)
        yield Row(partial(relex.ConcatOp, axis=1), [x, x[:, :2].copy()], np.concatenate([x, x[:, :2]], 1))
    for make in (relex.PermuteDimsOp, partial(relex.ReshapeOp, shape=(2, 2)), partial(relex.PadOp, pad_width=(1, 1))):
        yield Row(make, [np.array([np.nan, -np.inf, -0.0, 1], np.float32)])


def taken() -> Iterator[Row]:
    for i, (shape, axis) in enumerate([((7,), None), ((7,), 0), ((3, 4), 1), ((3, 4), -2), ((2, 3, 4), 1)]):
        info = np.iinfo(INTEGERS[i % 3])
        indices = np.array([[0, 1, 2], [-1, 99, -100], [info.min, info.max, 3]], info.dtype)
        for places in (indices, np.array(2, info.dtype)):
            wanted = np.asarray(np.take(distinct(shape), places, axis=axis, mode="clip"))
            yield Row(partial(relex.TakeOp, axis=axis), [distinct(shape), places], wanted)
    yield Row(relex.TakeOp, [distinct((300,)), np.array([127, -128], np.int8)], np.array([127, 0], np.int32))
    for size in (3, 0):
        yield Row(relex.TakeOp, [distinct((size,)), np.zeros((0, 2), np.int64)])
    yield Row(partial(relex.TakeOp, axis=1), [distinct((0, 3)), np.zeros(2, np.int32)])


def padded() -> Iterator[Row]:
    widths: tuple[tuple[Shape, Shape], ...] = (((3,), (0, 0)), ((0,), (2, 1)), ((2, 3), (0, 1, 2, 0)))
    for shape, width in widths:
        pairs = np.array(width, np.int64).reshape(-1, 2)
        make = partial(relex.PadOp, pad_width=width, pad_value=-7)
        yield Row(make, [distinct(shape)], np.pad(distinct(shape), pairs, constant_values=-7))
    yield Row(partial(relex.PadOp, pad_width=()), [distinct(())], distinct(()))


# Normalizations

NORMALIZED: tuple[Shape, ...] = ((1,), (17,), (3, 5), (0, 3), (3, 0), (2, 1, 4), (2, 3, 4, 5))
LAYERS: tuple[tuple[Shape, Shape], ...] = (
    ((1,), (0,)),
    ((17,), (-1,)),
    ((3, 5), (0,)),
    ((0, 3), (1,)),
    ((3, 0), (1,)),
    ((2, 3, 4, 5), (1, -1)),
    ((2, 3, 4, 5), ()),
)


def softmax(x: Array, axis: int, *, logarithm: bool = False) -> Array:
    powers = np.exp(x.astype(np.longdouble))
    found = powers / powers.sum(axis=axis, keepdims=True)
    return (np.log(found) if logarithm else found).astype(x.dtype)


def layer_norm(x: Array, gamma: Array, beta: Array, axes: Shape) -> Array:
    if 0 in x.shape:
        return x
    wide = x.astype(np.longdouble)
    kept = [size if axis in [a % x.ndim for a in axes] else 1 for axis, size in enumerate(x.shape)]
    scale = gamma.reshape(kept) / np.sqrt(wide.var(axis=axes, keepdims=True) + 1e-3)
    return ((wide - wide.mean(axis=axes, keepdims=True)) * scale + beta.reshape(kept)).astype(x.dtype)


def batch_norm(x: Array, *parameters: Array, axis: int) -> Array:
    gamma, beta, mean, variance = (p.astype(np.longdouble) for p in parameters)
    wide = (np.moveaxis(x, axis, -1) - mean) / np.sqrt(variance + 1e-3) * gamma + beta
    return np.moveaxis(wide, -1, axis).astype(x.dtype)


def normalizations() -> Iterator[Row]:
    for shape, dtype in zip(NORMALIZED, cycle(FLOATS), strict=False):
        for axis in range(len(shape)):
            # Every other one is counted from the end.
            axis -= len(shape) if axis % 2 else 0
            x = numbers(shape, dtype) * 5
            yield Row(partial(relex.SoftmaxOp, axis=axis), [x], softmax(x, axis), near=64)
            logarithm = softmax(x, axis, logarithm=True)
            yield Row(partial(relex.LogSoftmaxOp, axis=axis), [x], logarithm, near=64, is_more=axis != 0)
    x = np.array([[1e4, -1e4, 0], [np.nan, 0, 1], [np.inf, 0, 1], [-np.inf, 0, 0], [-np.inf] * 3], np.float32)
    yield from (Row(operator, [x], ulps=64) for operator in (relex.SoftmaxOp, relex.LogSoftmaxOp))
    for (shape, axes), dtype in zip(LAYERS, cycle(FLOATS), strict=False):
        x, *given = numbers(shape, dtype), *(numbers(tuple(shape[a] for a in axes), dtype, seed) for seed in (1, 2))
        make = partial(relex.LayerNormOp, axes=axes, epsilon=1e-3)
        yield Row(make, [x, *given], layer_norm(x, *given, axes=axes), near=64)
    x = np.array([[1, np.nan, 2], [1, 2, 3], [np.inf, 0, 0]], np.float32)
    yield Row(relex.LayerNormOp, [x, np.ones(3, np.float32), np.zeros(3, np.float32)], near=4)
    for (shape, axis), dtype in zip((((2, 3), 1), ((2, 3, 4, 5), -1), ((0, 3, 2), 1), ((17,), 0)), cycle(FLOATS)):
        given = [numbers((shape[axis],), dtype, seed) for seed in range(1, 4)]
        operands = [numbers(shape, dtype), *given, abs(numbers((shape[axis],), dtype, 4))]
        make = partial(relex.BatchNormOp, axis=axis, epsilon=1e-3)
        yield Row(make, operands, batch_norm(*operands, axis=axis), near=64)
        yield Row(make, operands)
    one = np.ones(1, np.float32)
    nothing = np.full((2, 1), np.nan, np.float32)
    yield Row(relex.BatchNormOp, [np.ones((2, 1), np.float32), one, one, one, -one], nothing)


def rows() -> Iterator[Row]:
    """Return the rows of this file."""
    for family in (functions, functions_of_two, functions_of_three, products, reductions, sorting, scans, gathering):
        yield from family()
    for family in (scattering, moves, normalizations):
        yield from family()
