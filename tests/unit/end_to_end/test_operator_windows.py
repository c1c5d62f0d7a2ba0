"""Convolution and pooling, compiled, against their NumPy semantics, and those against plain loops."""

from __future__ import annotations

from functools import partial
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from operator_checks import assert_same, check, expected, native
from programs import Array, MakeOperator, operator_module, operator_program, random_array
from xdsl.dialects.builtin import TensorType, f32

from relex.dialects import parse_module
from relex.dialects.relex import (
    AvgPool1dOp,
    AvgPool2dOp,
    AvgPool3dOp,
    Conv1dOp,
    Conv1dTransposeOp,
    Conv2dOp,
    Conv2dTransposeOp,
    Conv3dOp,
    Conv3dTransposeOp,
    MaxPool1dOp,
    MaxPool1dWithIndicesOp,
    MaxPool2dOp,
    MaxPool2dWithIndicesOp,
    MaxPool3dOp,
)
from relex.dialects.tir import BlockOp, IterKind
from relex.frontend.script import parse_script, print_script
from relex.lowering import LegalizeOpsPass, RelexPipelinePass
from relex.reference import interpret
from relex.runtime import build

# Shapes, element types and operators matter one by one, hardly in combination.
pytestmark = pytest.mark.sampled

Shape = tuple[int, ...]

CONVOLUTIONS: tuple[tuple[Shape, Shape, dict[str, Any]], ...] = (
    ((1, 1, 1, 1), (1, 1, 1, 1), {}),
    ((2, 3, 7, 5), (4, 3, 3, 2), {}),
    ((2, 3, 7, 5), (4, 3, 3, 3), {"padding": (1, 1)}),
    ((2, 3, 7, 5), (4, 3, 3, 3), {"padding": (1,), "strides": (2, 1)}),
    ((1, 2, 9, 8), (3, 2, 2, 3), {"padding": (0, 1, 2, 3), "dilation": (3, 2), "strides": (2, 3)}),
    ((2, 4, 5, 5), (6, 2, 3, 3), {"groups": 2, "padding": (1, 1)}),
    ((1, 3, 5, 5), (6, 1, 3, 3), {"groups": 3}),
    ((0, 3, 5, 5), (2, 3, 3, 3), {}),
    ((1, 3, 5, 5), (0, 3, 3, 3), {}),
    ((1, 0, 5, 5), (2, 0, 3, 3), {"padding": (1, 1)}),
    ((1, 1, 28, 28), (6, 1, 5, 5), {"padding": (2, 2)}),
)
POOLS: tuple[tuple[Shape, dict[str, Any]], ...] = (
    ((1, 1, 1, 1), {"pool_size": (1, 1)}),
    ((2, 3, 7, 5), {"pool_size": (2, 2)}),
    ((2, 3, 7, 5), {"pool_size": (2, 3), "strides": (2, 2)}),
    ((2, 3, 7, 5), {"pool_size": (3, 3), "strides": (2, 1), "padding": (1, 1)}),
    ((1, 1, 9, 8), {"pool_size": (2, 3), "padding": (0, 1, 1, 2), "dilation": (3, 2)}),
    ((0, 3, 5, 5), {"pool_size": (2, 2)}),
    # Windows at the corners only see padding.
    ((1, 1, 2, 2), {"pool_size": (1, 1), "padding": (2, 2)}),
)


def complete(padding: Shape) -> tuple[int, int, int, int]:
    top, left, bottom, right = padding * (4 // len(padding))
    return top, left, bottom, right


def places(size: Shape, options: dict[str, Any], kernel: Shape) -> list[list[list[int]]]:
    """For each of two dimensions and each window the places in the data, which may lie outside."""
    strides, dilation = options.get("strides", (1, 1)), options.get("dilation", (1, 1))
    top, left, bottom, right = complete(options.get("padding", (0, 0)))
    windows: list[list[list[int]]] = []
    for d, (before, behind) in enumerate(((top, bottom), (left, right))):
        last = size[d] + behind - (kernel[d] - 1) * dilation[d]
        starts = range(-before, last, strides[d])
        windows.append([[start + k * dilation[d] for k in range(kernel[d])] for start in starts])
    return windows


def convolve(x: Array, weight: Array, options: dict[str, Any]) -> Array:
    groups = options.get("groups", 1)
    height, width = x.shape[2:]
    rows, columns = places((height, width), options, weight.shape[2:])
    outputs, channels = weight.shape[:2]
    result = np.zeros((x.shape[0], outputs, len(rows), len(columns)), x.dtype)
    for o, (i, ys), (j, xs) in product(range(outputs), enumerate(rows), enumerate(columns)):
        first = o // (outputs // groups) * channels
        for (r, y), (s, z) in product(enumerate(ys), enumerate(xs)):
            if 0 <= y < height and 0 <= z < width:
                result[:, o, i, j] += (x[:, first : first + channels, y, z] * weight[o, :, r, s]).sum(axis=1)
    return result


def pool(x: Array, options: dict[str, Any]) -> list[list[Array]]:
    """What each window sees, padding left out."""
    height, width = x.shape[2:]
    rows, columns = places((height, width), options, options["pool_size"])
    inside = [[y for y in ys if 0 <= y < height] for ys in rows], [[z for z in zs if 0 <= z < width] for zs in columns]
    return [[x[:, :, ys][:, :, :, zs] for zs in inside[1]] for ys in inside[0]]


@pytest.mark.parametrize(("window", "loops"), [((1, 1), 1), ((1, 3), 2), ((2, 1), 2), ((2, 3), 3)])
def test_windows_of_one_element_have_no_loops(window: tuple[int, int], loops: int) -> None:
    """A sum over the channels alone is a product of matrices, to the schedule."""
    types = [TensorType(f32, (1, 4, 5, 6)), TensorType(f32, (3, 4, *window))]
    module = LegalizeOpsPass()(operator_module(Conv2dOp, types))
    (block,) = (op for op in module.walk() if isinstance(op, BlockOp))
    assert [v.kind for v in block.iter_vars].count(IterKind.REDUCE) == loops


@pytest.mark.parametrize(("data", "weight", "options"), CONVOLUTIONS, ids=str)
def test_conv2d(data: Shape, weight: Shape, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    make = partial(Conv2dOp, **options)
    x, w = (rng.integers(-9, 9, shape, dtype=np.int32) for shape in (data, weight))
    wanted = convolve(x, w, options)
    assert_same(native(make, x, w), wanted)
    assert_same(expected(make, x, w), wanted)
    x, w = (random_array(rng, "float32", shape) for shape in (data, weight))
    found, wanted = native(make, x, w), expected(make, x, w)
    # Both are within (K + 2) u sum|a b| of the exact value.
    bound = 2 * (prod(weight[1:]) + 2) * np.finfo(np.float32).eps / 2 * expected(make, abs(x), abs(w))
    assert found.shape == wanted.shape
    assert (abs(found - wanted) <= bound).all()


def test_padding_of_a_convolution_is_zero_even_for_infinite_weights() -> None:
    x, w = np.ones((1, 1, 2, 2), np.float32), np.full((1, 1, 3, 3), np.inf, np.float32)
    # 0 * inf is NaN: every window reaches into the padding.
    for found in (native(partial(Conv2dOp, padding=(1, 1)), x, w), expected(partial(Conv2dOp, padding=(1, 1)), x, w)):
        assert np.isnan(found).all()


@pytest.mark.parametrize(("shape", "options"), POOLS, ids=str)
def test_max_pool2d(shape: Shape, options: dict[str, Any]) -> None:
    make = partial(MaxPool2dOp, **options)
    for dtype, lowest in (("float32", -np.inf), ("int8", -128)):
        x = random_array(np.random.default_rng(2), dtype, shape)
        wanted = [[np.max(seen, axis=(2, 3), initial=lowest) for seen in row] for row in pool(x, options)]
        wanted = np.moveaxis(np.array(wanted, dtype), (0, 1), (2, 3))
        assert_same(native(make, x), wanted)
        assert_same(expected(make, x), wanted)


@pytest.mark.parametrize(("shape", "options"), POOLS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("include", [False, True])
def test_avg_pool2d(shape: Shape, options: dict[str, Any], dtype: str, include: bool) -> None:
    make = partial(AvgPool2dOp, count_include_pad=include, **options)
    # Small whole numbers: the sums are exact, and so is everything but one division.
    x = np.random.default_rng(3).integers(-9, 9, shape).astype(dtype)
    size = prod(options["pool_size"])
    with np.errstate(invalid="ignore"):
        wanted = [
            [seen.sum(axis=(2, 3)) / (size if include else seen.shape[2] * seen.shape[3]) for seen in row]
            for row in pool(x, options)
        ]
    wanted = np.moveaxis(np.array(wanted, dtype), (0, 1), (2, 3))
    assert_same(native(make, x), wanted)
    assert_same(expected(make, x), wanted)


def transposed(x: Array, weight: Array, stride: int, before: int, after: int, dilation: int, more: int) -> Array:
    """The transposed convolution along one dimension, element by element of the result."""
    size, span = x.shape[2], (weight.shape[2] - 1) * dilation + 1
    result = np.zeros((x.shape[0], weight.shape[1], (size - 1) * stride + span + more - before - after), x.dtype)
    for y, i, k in product(range(result.shape[2]), range(size), range(weight.shape[2])):
        if i * stride + k * dilation == y + before:
            result[:, :, y] += x[:, :, i] @ weight[:, :, k]
    return result


@pytest.mark.parametrize(
    ("stride", "before", "after", "dilation", "more"),
    [(1, 0, 0, 1, 0), (2, 1, 0, 1, 1), (3, 0, 2, 2, 2), (1, 3, 4, 1, 0), (2, 7, 0, 3, 0), (2, 1, 1, 3, 2)],
)
def test_transposed_convolution(stride: int, before: int, after: int, dilation: int, more: int) -> None:
    rng = np.random.default_rng(4)
    x, w = (rng.integers(-9, 9, shape, dtype=np.int32) for shape in ((2, 3, 5), (3, 4, 3)))
    wanted = transposed(x, w, stride, before, after, dilation, more)
    options = {"strides": [stride], "padding": [before, after], "dilation": [dilation], "output_padding": [more]}
    make = partial(Conv1dTransposeOp, **options)
    assert_same(native(make, x, w), wanted)
    assert_same(expected(make, x, w), wanted)
    # The same along the middle one of three dimensions, with two groups of equal weights.
    places = {"strides": [1, stride, 1], "padding": [0, before, 0, 0, after, 0]}
    places |= {"dilation": [1, dilation, 1], "output_padding": [0, more, 0]}
    wide, kernel = x[:, :, None, :, None], w[:, :, None, :, None]
    doubled = partial(Conv3dTransposeOp, groups=2, **places)
    found = native(doubled, np.concatenate([wide, wide], 1), np.concatenate([kernel, kernel]))
    assert_same(found[:, :4, 0, :, 0], wanted)
    assert_same(found[:, 4:, 0, :, 0], wanted)


TRANSPOSED: tuple[tuple[Shape, Shape, dict[str, Any]], ...] = (
    ((1, 1, 2, 3), (1, 1, 4, 4), {"strides": (2, 2), "padding": (1, 1)}),
    ((2, 3, 4, 3), (3, 17, 3, 2), {"strides": (2, 3), "padding": (1, 0, 2, 1)}),
    ((1, 17, 3, 4), (17, 1, 5, 4), {"strides": (3, 2), "groups": 17, "output_padding": (2, 1)}),
    ((1, 6, 3, 3), (6, 2, 2, 3), {"strides": (3, 2), "groups": 3, "padding": (4, 0, 0, 2)}),
    ((1, 2, 3, 4), (2, 3, 3, 2), {"strides": (4, 6), "dilation": (6, 4), "output_padding": (3, 0)}),
    ((2, 3, 2, 5), (3, 2, 2, 3), {"strides": (3, 2), "dilation": (2, 3), "padding": (1, 2)}),
    ((1, 3, 3, 7), (3, 2, 5, 6), {"strides": (3, 4), "padding": (2, 1, 1, 3)}),
    ((1, 2, 3, 3), (2, 2, 3, 2), {"strides": (5, 3), "dilation": (3, 2), "padding": (4, 1, 0, 1)}),
)


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("case", TRANSPOSED)
def test_transposed_convolution_by_phases(case: tuple[Shape, Shape, dict[str, Any]]) -> None:
    shape, weight, options = case
    rng = np.random.default_rng(7)
    x, w = (rng.integers(-9, 9, each).astype(np.float32) for each in (shape, weight))
    check(partial(Conv2dTransposeOp, **options), x, w)
    # An infinity reaches what its multiples are added to, and zeros around the data, but none between.
    w.flat[0] = np.inf
    make = partial(Conv2dTransposeOp, **options)
    assert_same(native(make, x, w), expected(make, x, w))


@pytest.mark.parametrize(
    ("window", "stride", "dilation", "padding", "products"),
    [
        (4, 2, 1, 0, 9 * 4),
        (3, 2, 1, 0, 9 * 3),
        (2, 2, 2, 0, 9 * 2),
        (2, 2, 1, 1, 7 * 2),
        (4, 2, 1, 1, 8 * 4),
        (3, 2, 1, 1, 8 * 3),
        (5, 3, 1, 2, 8 * 5),
        (4, 3, 2, 2, 8 * 4),
    ],
)
def test_transposed_convolutions_leave_out_zeros(
    window: int, stride: int, dilation: int, padding: int, products: int
) -> None:
    """Loops multiply no zeros between elements of the data: at each step of the strides, each element of the window."""
    make = partial(Conv1dTransposeOp, strides=[stride], padding=[padding], dilation=[dilation])
    text = operator_program(make, [np.zeros((1, 1, 8), "f"), np.zeros((1, 1, window), "f")])
    loops = RelexPipelinePass("loops", strict=True)(parse_module(text))
    blocks = [block for block in loops.walk() if isinstance(block, BlockOp) and block.init is not None]
    assert sum(prod(extent for extent in block.extents if isinstance(extent, int)) for block in blocks) == products


@pytest.mark.parametrize(
    ("conv", "max_pool", "avg_pool", "dimensions"),
    [(Conv1dOp, MaxPool1dOp, AvgPool1dOp, [3]), (Conv3dOp, MaxPool3dOp, AvgPool3dOp, [3, 1, 2])],
)
def test_other_ranks(conv: MakeOperator, max_pool: MakeOperator, avg_pool: MakeOperator, dimensions: list[int]) -> None:
    """One dimension more or less than two, of size 1, changes nothing."""
    rng = np.random.default_rng(6)
    x, w = rng.integers(-9, 9, (2, 3, 7, 1)).astype(np.float64), rng.integers(-9, 9, (4, 3, 3, 1)).astype(np.float64)

    def same(make: MakeOperator, of_two: MakeOperator, options: dict[str, int], *operands: Array) -> None:
        rank = len(dimensions)
        along = {name: [number if d == 0 else 1 for d in range(rank)] for name, number in options.items()}
        along["padding"] = [*[2, 0, 0][:rank], *[1, 0, 0][:rank]]
        flat = {name: [number, 1] for name, number in options.items()} | {"padding": [2, 0, 1, 0]}
        shaped = [array.reshape(*array.shape[:3], *[1] * (rank - 1)) for array in operands]
        found = native(partial(make, **along), *shaped)
        assert_same(
            found.reshape(native(partial(of_two, **flat), *operands).shape), native(partial(of_two, **flat), *operands)
        )
        check(partial(make, **along), *shaped)

    same(conv, Conv2dOp, {"strides": 2, "dilation": 2}, x, w)
    for make, of_two in ((max_pool, MaxPool2dOp), (avg_pool, AvgPool2dOp)):
        same(make, of_two, {"pool_size": 3, "strides": 2}, x)


def test_windows_that_do_not_fit() -> None:
    x = np.arange(1, 7, dtype=np.float32).reshape(1, 1, 6)
    options = {"pool_size": (3,), "strides": (2,), "ceil_mode": True}
    assert native(partial(MaxPool1dOp, **options), x).tolist() == [[[3, 5, 6]]]
    # What is missing at the end counts as little as padding; with `count_include_pad`, only the padding counts.
    assert native(partial(AvgPool1dOp, **options), x).tolist() == [[[2, 4, 5.5]]]
    padded = partial(AvgPool1dOp, padding=(1, 1), count_include_pad=True, pool_size=(4,), strides=(3,), ceil_mode=True)
    assert native(padded, x).tolist() == [[[1.5, 4.5, 3.0]]]
    # A window may begin in the padding before the data, but not in the one after it.
    late = partial(MaxPool1dOp, pool_size=(1,), strides=(7,), padding=(1, 1), ceil_mode=True)
    assert native(late, x).tolist() == [[[-np.inf]]]
    for make in (partial(MaxPool1dOp, **options), partial(AvgPool1dOp, **options), padded, late):
        check(make, x)


def test_max_pool_with_indices() -> None:
    x = np.array([[[1, 5, 5, np.nan, 2, np.nan]], [[-np.inf] * 6]], np.float32)
    make = partial(MaxPool1dWithIndicesOp, pool_size=(2,), strides=(2,), padding=(2, 0))
    best, places = native(make, x)
    np.testing.assert_array_equal(best, native(partial(MaxPool1dOp, pool_size=(2,), strides=(2,), padding=(2, 0)), x))
    assert places.tolist() == [[[-1, 1, 3, 5]], [[-1, 0, 2, 4]]]
    check(make, x)
    plane = random_array(np.random.default_rng(7), "int8", (2, 3, 5, 4)) % 4
    options = {"pool_size": (3, 2), "padding": (1, 1), "dilation": (2, 1), "ceil_mode": True, "strides": (2, 1)}
    best, places = native(partial(MaxPool2dWithIndicesOp, **options), plane)
    # A position leads to the maximum.
    assert_same(np.take_along_axis(plane.reshape(2, 3, 20), places.reshape(2, 3, -1), 2).reshape(best.shape), best)
    check(partial(MaxPool2dWithIndicesOp, **options), plane)


def test_several_results_everywhere() -> None:
    """Both results are used, one of them, or only the second, before and after fusion."""
    pool = "%y, %places = relex.max_pool1d_with_indices %r pool_size = [2] : (tensor<1x1x4xf32>)"
    types = "(tensor<1x1x3xf32>, tensor<1x1x3xi64>)"
    text = f"""
func.func @main(%x: tensor<1x1x4xf32>) -> {types} {{
  %a, %b = relex.dataflow -> {types[1:-1]} {{
    %r = relex.negative %x : (tensor<1x1x4xf32>) -> tensor<1x1x4xf32>
    {pool} -> {types}
    %z = relex.exp %y : (tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
    relex.output %z, %places : {types[1:-1]}
  }}
  func.return %a, %b : {types[1:-1]}
}}"""
    x = np.array([[[3, -1, 2, -5]]], np.float32)
    found, places = build(text)["main"](x)
    np.testing.assert_allclose(found, np.exp([[[1, 1, 5]]]), rtol=1e-6)
    assert places.tolist() == [[[1, 1, 3]]]
    assert interpret(parse_module(text))["main"](x)[1].tolist() == places.tolist()
    script = print_script(parse_module(text))
    assert parse_script(script).is_structurally_equivalent(parse_module(text)), script
