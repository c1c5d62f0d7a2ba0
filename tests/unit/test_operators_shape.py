"""Operators that move elements and compute nothing, compiled, against NumPy: nothing may differ."""

from __future__ import annotations

from functools import partial
from itertools import permutations
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_checks import assert_same, check, expected, infer, native
from programs import Array, MakeOperator, random_array, tensor_of
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32, i64

from relex.dialects.errors import InferenceError
from relex.dialects.relex import (
    BroadcastToOp,
    ConcatOp,
    ExpandDimsOp,
    PadOp,
    PermuteDimsOp,
    ReshapeOp,
    SqueezeOp,
    StridedSliceOp,
    TakeOp,
)

# Shapes, element types and operators matter one by one, hardly in combination.
pytestmark = pytest.mark.sampled

DTYPES = ["float32", "float64", "int8", "int32", "int64", "bool"]
SPECIAL = np.array([np.nan, -np.inf, -0.0, 1], np.float32)

Shape = tuple[int, ...]


def numbered(shape: Shape, dtype: str = "int32") -> Array:
    """An array whose elements all differ."""
    return np.arange(prod(shape), dtype=dtype).reshape(shape)


def assert_moves(make: MakeOperator, wanted: Array, *operands: Array) -> None:
    """Compiled and by its own semantics, an operator gives what NumPy gives."""
    assert_same(native(make, *operands), wanted)
    assert_same(expected(make, *operands), wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype: str) -> None:
    x = random_array(np.random.default_rng(0), dtype, (3, 4))
    indices = np.array([2, 0, 1], np.int64)
    assert_moves(PermuteDimsOp, x.T, x)
    assert_moves(partial(ReshapeOp, shape=(2, 6)), x.reshape(2, 6), x)
    assert_moves(partial(BroadcastToOp, shape=(2, 3, 4)), np.broadcast_to(x, (2, 3, 4)), x)
    assert_moves(partial(ConcatOp, axis=1), np.concatenate([x, x[:, :2]], axis=1), x, x[:, :2].copy())
    assert_moves(partial(TakeOp, axis=0), x[indices], x, indices)
    assert_moves(partial(PadOp, pad_width=(1, 0, 0, 2), pad_value=1), np.pad(x, ((1, 0), (0, 2)), constant_values=1), x)
    assert_moves(partial(StridedSliceOp, axes=[1], begin=[1], end=[4], strides=[2]), x[:, 1:4:2], x)


def test_special_values_stay_as_they_are() -> None:
    for make in (PermuteDimsOp, partial(ReshapeOp, shape=(2, 2)), partial(PadOp, pad_width=(1, 1), pad_value=-np.inf)):
        found, wanted = native(make, SPECIAL), expected(make, SPECIAL)
        np.testing.assert_array_equal(found.view(np.int32), wanted.view(np.int32))


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (0, 3), (2, 1, 4)], ids=str)
def test_permute_dims(shape: Shape) -> None:
    x = numbered(shape)
    assert_moves(PermuteDimsOp, x.T, x)
    for axes in permutations(range(len(shape))):
        assert_moves(partial(PermuteDimsOp, axes=axes), x.transpose(axes), x)
    negative = tuple(range(-1, -len(shape) - 1, -1))
    assert_moves(partial(PermuteDimsOp, axes=negative), x.transpose(negative), x)


RESHAPES: tuple[tuple[Shape, Shape], ...] = (
    ((), ()),
    ((), (1, 1)),
    ((1, 1), ()),
    ((6,), (2, 3)),
    ((2, 3), (6,)),
    ((2, 3), (3, 2)),
    ((2, 3, 4), (2, -1)),
    ((2, 3, 4), (4, 3, 2)),
    ((4, 6), (2, 12)),
    ((1, 6, 1), (3, 1, 2, 1)),
    ((2, 1, 3), (2, 3)),
    ((0, 3), (3, 0, 2)),
    ((0, 3), (-1, 3)),
    ((17,), (1, 17)),
    ((2, 5, 3, 7), (10, 21)),
    ((1, 16, 5, 5), (1, -1)),
)


@pytest.mark.parametrize(("old", "new"), RESHAPES, ids=str)
def test_reshape(old: Shape, new: Shape) -> None:
    x = numbered(old)
    assert_moves(partial(ReshapeOp, shape=new), x.reshape(new), x)


@settings(max_examples=20)
@given(st.permutations([1, 2, 2, 3, 5]), st.permutations([1, 2, 2, 3, 5]), st.data())
def test_reshape_between_any_factors(old: list[int], new: list[int], data: st.DataObject) -> None:
    def merged(sizes: list[int]) -> Shape:
        cut = data.draw(st.integers(0, len(sizes) - 1))
        return (*sizes[:cut], prod(sizes[cut : cut + 2]), *sizes[cut + 2 :])

    x = numbered(merged(old))
    shape = merged(new)
    assert_moves(partial(ReshapeOp, shape=shape), x.reshape(shape), x)


@pytest.mark.parametrize("axis", [0, -1, (0, 1), (0, -1), (1, 3), ()], ids=str)
def test_expand_dims(axis: int | Shape) -> None:
    for shape in ((2, 3), (0, 3), (1, 1)):
        x = numbered(shape)
        assert_moves(partial(ExpandDimsOp, axis=axis), np.expand_dims(x, axis), x)


@pytest.mark.parametrize("axis", [None, 0, -1, (0, -1), (2,), ()], ids=str)
def test_squeeze(axis: int | Shape | None) -> None:
    for shape in ((1, 3, 1, 2, 1), (1, 0, 1, 2, 1), (1, 1, 1)):
        x = numbered(shape)
        assert_moves(partial(SqueezeOp, axis=axis), np.squeeze(x, axis), x)


@pytest.mark.parametrize(
    ("old", "new"),
    [((), (2, 3)), ((1,), (4,)), ((3, 1), (3, 4)), ((3, 1), (2, 3, 1)), ((1, 3), (0, 3)), ((1,), (0,)), ((0,), (2, 0))],
    ids=str,
)
def test_broadcast_to(old: Shape, new: Shape) -> None:
    x = numbered(old)
    assert_moves(partial(BroadcastToOp, shape=new), np.broadcast_to(x, new), x)
    kept = (*new[: len(new) - len(old)], *(-1 for _ in old))
    assert_moves(partial(BroadcastToOp, shape=kept), np.broadcast_to(x, (*new[: len(new) - len(old)], *old)), x)


@pytest.mark.parametrize(
    ("shapes", "axis"),
    [
        ([(3,)], 0),
        ([(3,), (1,), (4,)], 0),
        ([(2, 3), (2, 1), (2, 4)], 1),
        ([(2, 3), (2, 1), (2, 4)], -1),
        ([(2, 3), (0, 3), (1, 3)], 0),
        ([(0, 3), (0, 3)], 0),
        ([(2, 0), (1, 0)], 0),
        ([(2, 3, 4), (2, 5, 4)], 1),
    ],
    ids=str,
)
def test_concat(shapes: list[Shape], axis: int) -> None:
    parts = [numbered(shape) + 100 * i for i, shape in enumerate(shapes)]
    parts = [part.astype(np.int32) for part in parts]
    assert_moves(partial(ConcatOp, axis=axis), np.concatenate(parts, axis=axis), *parts)


places = st.integers(-9, 9)


@settings(max_examples=20)
@given(places, places, places.filter(bool), st.sampled_from([0, 1, 5, 7]))
def test_strided_slice_is_a_slice(begin: int, end: int, stride: int, size: int) -> None:
    x = numbered((2, size))
    make = partial(StridedSliceOp, axes=[-1], begin=[begin], end=[end], strides=[stride])
    assert_moves(make, x[:, begin:end:stride], x)


def test_strided_slice_of_several_dimensions() -> None:
    x = numbered((4, 5, 6))
    assert_moves(partial(StridedSliceOp, axes=[2, 0], begin=[-1, 1], end=[-9, 3]), x[1:3, :, -1:-9], x)
    assert_moves(partial(StridedSliceOp, axes=[2, 0], begin=[5, 1], end=[0, 4], strides=[-2, 1]), x[1:4, :, 5:0:-2], x)
    assert_moves(partial(StridedSliceOp, axes=[], begin=[], end=[]), x, x)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((7,), None), ((7,), 0), ((3, 4), 1), ((3, 4), -2), ((2, 3, 4), 1)], ids=str
)
def test_take(dtype: str, shape: Shape, axis: int | None) -> None:
    x = numbered(shape)
    info = np.iinfo(dtype)
    for indices in (np.array([[0, 1, 2], [-1, 99, -100], [info.min, info.max, 3]], dtype), np.array(2, dtype)):
        assert_moves(partial(TakeOp, axis=axis), np.take(x, indices, axis=axis, mode="clip"), x, indices)


def test_take_with_small_indices_reaches_far_places() -> None:
    x = numbered((300,))
    assert_moves(TakeOp, np.array([127, 0], np.int32), x, np.array([127, -128], np.int8))


def test_take_of_nothing() -> None:
    check(TakeOp, numbered((3,)), np.zeros((0, 2), np.int64))
    check(TakeOp, numbered((0,)), np.zeros((0, 2), np.int64))
    check(partial(TakeOp, axis=1), numbered((0, 3)), np.zeros(2, np.int32))


@pytest.mark.parametrize(
    ("shape", "widths"),
    [((3,), (0, 0)), ((3,), (2, 1)), ((0,), (2, 1)), ((2, 3), (0, 1, 2, 0)), ((2, 0), (1, 1, 0, 0))],
    ids=str,
)
def test_pad(shape: Shape, widths: Shape) -> None:
    x = numbered(shape)
    pairs = np.array(widths, np.int64).reshape(-1, 2)
    assert_moves(partial(PadOp, pad_width=widths), np.pad(x, pairs), x)
    assert_moves(partial(PadOp, pad_width=widths, pad_value=-7), np.pad(x, pairs, constant_values=-7), x)


def test_a_scalar_has_nothing_around_it() -> None:
    assert_moves(partial(PadOp, pad_width=()), numbered(()), numbered(()))


UNKNOWN = DYNAMIC_INDEX


@pytest.mark.parametrize(
    ("make", "shapes", "result"),
    [
        (partial(PermuteDimsOp, axes=[1, 0]), [(UNKNOWN, 3)], (3, UNKNOWN)),
        (partial(ReshapeOp, shape=[-1, 6]), [(UNKNOWN, 3)], (UNKNOWN, 6)),
        (partial(ReshapeOp, shape=[2, 6]), [(UNKNOWN, 3)], (2, 6)),
        (partial(ExpandDimsOp, axis=1), [(UNKNOWN, 3)], (UNKNOWN, 1, 3)),
        (partial(SqueezeOp, axis=0), [(UNKNOWN, 3)], (3,)),
        (partial(BroadcastToOp, shape=[2, -1, 3]), [(UNKNOWN, 1)], (2, UNKNOWN, 3)),
        (partial(BroadcastToOp, shape=[5]), [(UNKNOWN,)], (5,)),
        (ConcatOp, [(UNKNOWN, 3), (2, UNKNOWN)], (UNKNOWN, 3)),
        (partial(ConcatOp, axis=1), [(UNKNOWN, 3), (2, 4)], (2, 7)),
        (partial(StridedSliceOp, axes=[0], begin=[0], end=[2]), [(UNKNOWN, 3)], (UNKNOWN, 3)),
        (partial(PadOp, pad_width=[1, 1, 1, 0]), [(UNKNOWN, 3)], (UNKNOWN, 4)),
    ],
    ids=str,
)
def test_type_rules(make: MakeOperator, shapes: list[Shape], result: Shape) -> None:
    assert infer(make, *(TensorType(f32, shape) for shape in shapes)) == TensorType(f32, result)


def test_type_rule_of_take() -> None:
    x, indices = TensorType(f32, (3, UNKNOWN)), TensorType(i64, (2, UNKNOWN))
    assert infer(partial(TakeOp, axis=0), x, indices) == TensorType(f32, (2, UNKNOWN, UNKNOWN))


@pytest.mark.parametrize(
    ("make", "shapes", "message"),
    [
        (partial(PermuteDimsOp, axes=[0]), [(2, 3)], "expected 2 axes, found 1"),
        (partial(PermuteDimsOp, axes=[0, 0]), [(2, 3)], "expected axes that differ, found 0, 0"),
        (partial(ReshapeOp, shape=[4]), [(2, 3)], "expected a shape with as many elements as 2x3 has, found 4"),
        (partial(ReshapeOp, shape=[4, -1]), [(2, 3)], "as 2x3 has, found 4x-1"),
        (partial(ReshapeOp, shape=[0, -1]), [(0, 3)], "as 0x3 has, found 0x-1"),
        (partial(ReshapeOp, shape=[-1, -1]), [(2, 3)], "expected one size of -1 at most, found 2"),
        (partial(ReshapeOp, shape=[-2, 3]), [(2, 3)], "expected sizes of -1 or more, found -2, 3"),
        (partial(ReshapeOp, shape=[4]), [(UNKNOWN, 3)], r"as \?x3 has, found 4"),
        (partial(ReshapeOp, shape=[4]), [(UNKNOWN, 0)], r"as \?x0 has, found 4"),
        (partial(ExpandDimsOp, axis=[0, 0]), [(2,)], "expected axes that differ"),
        (partial(ExpandDimsOp, axis=2), [(2,)], r"expected an axis in -2..1 for rank 2, found 2"),
        (partial(SqueezeOp, axis=0), [(2, 1)], "expected dimensions of size 1 to remove, found 2"),
        (SqueezeOp, [(UNKNOWN, 1)], r"expected an axis, as any '\?' may be 1, found none for \?x1"),
        (partial(BroadcastToOp, shape=[3]), [(2,)], "expected a shape that 2 broadcasts to, found 3"),
        (partial(BroadcastToOp, shape=[3]), [(1, 3)], "expected a shape that 1x3 broadcasts to, found 3"),
        (partial(BroadcastToOp, shape=[-1, 3]), [(3,)], "expected a shape that 3 broadcasts to, found -1x3"),
        (ConcatOp, [], "expected tensors to join, found none"),
        (ConcatOp, [(2,), (2, 3)], "expected tensors of one rank, found 2 and 2x3"),
        (ConcatOp, [(2, 3), (2, 4)], "expected equal sizes of dimension 1, found 3 and 4"),
        (partial(ConcatOp, axis=1), [(2,), (2,)], r"expected an axis in -1..0 for rank 1, found 1"),
        (partial(StridedSliceOp, axes=[0], begin=[0, 1], end=[2]), [(2,)], "expected 1 begin, found 2"),
        (partial(StridedSliceOp, axes=[0], begin=[0], end=[2], strides=[0]), [(2,)], "expected strides other than 0"),
        (partial(StridedSliceOp, axes=[0, 0], begin=[0, 0], end=[2, 2]), [(2,)], "expected axes that differ"),
        (partial(PadOp, pad_width=[1]), [(2,)], "expected 2 widths, found 1"),
        (partial(PadOp, pad_width=[1, -1]), [(2,)], "expected widths of 0 or more, found 1, -1"),
    ],
    ids=str,
)
def test_refused(make: MakeOperator, shapes: list[Shape], message: str) -> None:
    with pytest.raises(InferenceError, match=message):
        infer(make, *(TensorType(f32, shape) for shape in shapes))


def test_take_refused() -> None:
    x, indices = numbered((2, 3)), np.zeros(2, np.int64)
    with pytest.raises(InferenceError, match="expected an axis, or a tensor of rank 1, found 2x3"):
        infer(TakeOp, tensor_of(x), tensor_of(indices))
    with pytest.raises(InferenceError, match=r"expected indices of i8 or i16 .* or ui64, found f32"):
        infer(partial(TakeOp, axis=0), tensor_of(x), tensor_of(SPECIAL))
    with pytest.raises(InferenceError, match="expected elements to take from, found none in 0"):
        infer(TakeOp, tensor_of(numbered((0,))), tensor_of(indices))


def test_values_have_the_type_of_the_elements() -> None:
    with pytest.raises(InferenceError, match=r"expected a number of type i32, found 0\.5"):
        infer(partial(PadOp, pad_width=[1, 1], pad_value=0.5), tensor_of(numbered((2,))))
