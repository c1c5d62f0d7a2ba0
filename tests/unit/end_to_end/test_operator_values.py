"""Operators, compiled and by their own semantics, on operands of many shapes, types and special numbers."""

from __future__ import annotations

from functools import partial
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_checks import Groups, assert_close, assert_same, check, expected, native
from operator_values import distinct, numbers, rows
from programs import Array, operator_of

from relex.dialects import parse_module, relex
from relex.reference import interpret
from relex.runtime import build

ROWS = sorted(rows(), key=lambda row: row.is_more)
"""The rows that only `--full` runs come last: what is compiled together runs together."""

GROUPS = Groups([(row.make, row.operands) for row in ROWS])
NUMBERS = [
    pytest.param(i, id=f"{operator_of(row.make).name}-{i}", marks=[pytest.mark.full] if row.is_more else [])
    for i, row in enumerate(ROWS)
]


def assert_signs_of_zeros(found: Array, wanted: Array) -> None:
    if wanted.dtype.kind == "f":
        zeros = wanted == 0
        np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(wanted[zeros]))


def assert_near(found: Array, wanted: Array, near: int) -> None:
    """Equal up to some roundings at the size of the largest number."""
    if not near or wanted.dtype.kind != "f":
        assert_same(found, wanted)
        return
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    scale = np.spacing(abs(wanted).max(initial=1, where=np.isfinite(wanted)).astype(wanted.dtype))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=near * scale)


@pytest.mark.parametrize("number", NUMBERS)
def test_rows(number: int, group: tuple[int, ...]) -> None:
    row, place = ROWS[number], GROUPS.place_of(number, group)
    if row.wanted is None and not row.near:
        check(row.make, *row.operands, ulps=row.ulps, place=place)
        if not row.ulps:
            assert_signs_of_zeros(place.native(*row.operands), expected(row.make, *row.operands))
        return
    wanted = expected(row.make, *row.operands) if row.wanted is None else row.wanted
    for found in (place.native(*row.operands), expected(row.make, *row.operands)):
        if row.ulps:
            assert_close(found, wanted, row.ulps)
        else:
            assert_near(found, wanted, row.near)


def test_strict_sums_equal_the_plain_loop() -> None:
    x, w = numbers((3, 100)), numbers((5, 100), seed=1)
    products, sums = np.zeros((3, 5), np.float32), np.zeros(3, np.float32)
    for k in range(100):
        products, sums = products + x[:, None, k] * w[None, :, k], sums + x[:, k]
    assert_same(native(relex.DenseOp, x, w, strict=True), products)
    assert not np.array_equal(native(relex.DenseOp, x, w), products)
    assert_same(native(partial(relex.SumOp, axis=1), x, strict=True), sums)


@settings(max_examples=10)
@given(st.permutations([1, 2, 2, 3, 5]), st.permutations([1, 2, 2, 3, 5]), st.data())
def test_reshape_between_any_factors(old: list[int], new: list[int], data: st.DataObject) -> None:
    def merged(sizes: list[int]) -> tuple[int, ...]:
        cut = data.draw(st.integers(0, len(sizes) - 1))
        return (*sizes[:cut], prod(sizes[cut : cut + 2]), *sizes[cut + 2 :])

    x, shape = distinct(merged(old)), merged(new)
    assert_same(native(partial(relex.ReshapeOp, shape=shape), x), x.reshape(shape))


@settings(max_examples=10)
@given(st.integers(-9, 9), st.integers(-9, 9), st.integers(-9, 9).filter(bool), st.sampled_from([0, 1, 5, 7]))
def test_a_strided_slice_is_a_slice(begin: int, end: int, stride: int, size: int) -> None:
    x = distinct((2, size))
    make = partial(relex.StridedSliceOp, axes=[-1], begin=[begin], end=[end], strides=[stride])
    assert_same(native(make, x), x[:, begin:end:stride])
    assert_same(expected(make, x), x[:, begin:end:stride])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.sampled
def test_softmax_of_rows_that_are_hidden(dtype: str, axis: int) -> None:
    info, inf = np.finfo(dtype), np.inf
    rows = [[-inf] * 3, [0, -inf, 1], [np.nan, -inf, -inf], [inf, -inf, -inf], [-inf, inf, inf], [float(info.min)] * 3]
    x = np.moveaxis(np.array(rows, dtype), 1, axis).copy()
    safe, plain = (native(partial(relex.SoftmaxOp, axis=axis, safe=safe), x) for safe in (True, False))
    wanted = expected(partial(relex.SoftmaxOp, axis=axis, safe=True), x)
    np.testing.assert_allclose(safe, wanted, rtol=float(info.eps))
    hidden, others = (np.moveaxis(found, axis, -1) for found in (safe, plain))
    assert not hidden[0].any()
    np.testing.assert_array_equal(hidden[1:], others[1:])


@pytest.mark.parametrize("exclusive", ["exclusive ", ""])
def test_scans_of_dynamic_sizes_before_short_rows(exclusive: str) -> None:
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
