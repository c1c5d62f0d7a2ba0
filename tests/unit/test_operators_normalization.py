"""Normalizations, compiled, against their NumPy semantics, and those against the textbook in double precision."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from operator_checks import assert_same, check, expected, infer, native
from programs import Array, MakeOperator, random_array, tensor_of
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32

from relex.dialects.errors import InferenceError
from relex.dialects.relex import BatchNormOp, LayerNormOp, LogSoftmaxOp, Operator, SoftmaxOp

# Shapes, element types and operators matter one by one, hardly in combination.
pytestmark = pytest.mark.sampled

SHAPES: tuple[tuple[int, ...], ...] = ((1,), (17,), (3, 5), (0, 3), (3, 0), (2, 1, 4), (2, 3, 4, 5))
FLOATS = ["float32", "float64"]


def assert_near(found: Array, wanted: Array, ulps: int = 64) -> None:
    """Equal up to some roundings at the size of the largest number."""
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    scale = np.spacing(abs(wanted).max(initial=1).astype(wanted.dtype))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=ulps * scale)


def softmax(x: Array, axis: int) -> Array:
    powers = np.exp(x.astype(np.longdouble))
    return powers / powers.sum(axis=axis, keepdims=True)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax(shape: tuple[int, ...], dtype: str) -> None:
    x = random_array(np.random.default_rng(0), dtype, shape) * 5
    for axis in range(len(shape)):
        # Every other one is counted from the end.
        axis -= len(shape) if axis % 2 else 0
        wanted = softmax(x, axis)
        for make, reference in ((SoftmaxOp, wanted), (LogSoftmaxOp, np.log(wanted))):
            assert_near(native(partial(make, axis=axis), x), reference.astype(dtype))
            assert_near(expected(partial(make, axis=axis), x), reference.astype(dtype))


@pytest.mark.parametrize("make", [SoftmaxOp, LogSoftmaxOp])
def test_softmax_neither_overflows_nor_hides_nan(make: type[Operator]) -> None:
    x = np.array([[1e4, -1e4, 0], [np.nan, 0, 1], [np.inf, 0, 1], [-np.inf, 0, 0], [-np.inf] * 3], np.float32)
    found, wanted = native(make, x), expected(make, x)
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[[1, 2, 4]]).all()
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", *FLOATS])
def test_softmax_of_rows_that_are_hidden(dtype: str) -> None:
    info, inf = np.finfo(dtype), np.inf
    rows = [[-inf] * 3, [0, -inf, 1], [np.nan, -inf, -inf], [inf, -inf, -inf], [-inf, inf, inf], [float(info.min)] * 3]
    x = np.array(rows, dtype)
    for axis, data in ((1, x), (0, x.T.copy())):
        safe, plain = (native(partial(SoftmaxOp, axis=axis, safe=safe), data) for safe in (True, False))
        np.testing.assert_allclose(safe, expected(partial(SoftmaxOp, axis=axis, safe=True), data), rtol=float(info.eps))
        hidden, others = (np.moveaxis(found, axis, -1) for found in (safe, plain))
        assert not hidden[0].any()
        np.testing.assert_array_equal(hidden[1:], others[1:])
    empty = np.zeros((2, 0), dtype)
    assert native(partial(SoftmaxOp, safe=True), empty).shape == (2, 0)


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((1,), (0,)),
        ((17,), (-1,)),
        ((3, 5), (-1,)),
        ((3, 5), (0,)),
        ((0, 3), (1,)),
        ((3, 0), (1,)),
        ((2, 3, 4, 5), (1, -1)),
        ((2, 3, 4, 5), ()),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", FLOATS)
def test_layer_norm(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(1)
    x = random_array(rng, dtype, shape)
    gamma, beta = (random_array(rng, dtype, [shape[axis] for axis in axes]) for _ in range(2))
    gamma, beta = np.asarray(gamma), np.asarray(beta)
    make = partial(LayerNormOp, axes=axes, epsilon=1e-3)
    wide = x.astype(np.longdouble)
    kept = [size if axis in [a % len(shape) for a in axes] else 1 for axis, size in enumerate(shape)]
    if 0 in shape:
        wanted = x
    else:
        scale = gamma.reshape(kept) / np.sqrt(wide.var(axis=axes, keepdims=True) + 1e-3)
        wanted = ((wide - wide.mean(axis=axes, keepdims=True)) * scale + beta.reshape(kept)).astype(dtype)
    assert_near(native(make, x, gamma, beta), wanted)
    assert_near(expected(make, x, gamma, beta), wanted)


def test_layer_norm_keeps_nan_in_its_row() -> None:
    x = np.array([[1, np.nan, 2], [1, 2, 3], [np.inf, 0, 0]], np.float32)
    found = native(LayerNormOp, x, np.ones(3, np.float32), np.zeros(3, np.float32))
    assert np.isnan(found).all(axis=1).tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("shape", "axis"), [((2, 3), 1), ((2, 3, 4, 5), 1), ((2, 3, 4, 5), -1), ((0, 3, 2), 1), ((17,), 0)], ids=str
)
@pytest.mark.parametrize("dtype", FLOATS)
def test_batch_norm(shape: tuple[int, ...], axis: int, dtype: str) -> None:
    rng = np.random.default_rng(2)
    x = random_array(rng, dtype, shape)
    gamma, beta, mean, variance = (random_array(rng, dtype, [shape[axis]]) for _ in range(4))
    operands = (x, gamma, beta, mean, abs(variance))
    # Elementwise, so nothing may differ.
    check(partial(BatchNormOp, axis=axis, epsilon=1e-3), *operands)
    wide = [np.moveaxis(x, axis, -1).astype(np.longdouble), *(a.astype(np.longdouble) for a in operands[1:])]
    wanted = (wide[0] - wide[3]) / np.sqrt(wide[4] + 1e-3) * wide[1] + wide[2]
    assert_near(
        expected(partial(BatchNormOp, axis=axis, epsilon=1e-3), *operands), np.moveaxis(wanted, -1, axis).astype(dtype)
    )


def test_batch_norm_of_a_negative_variance_is_nan() -> None:
    one = np.ones(1, np.float32)
    found = native(BatchNormOp, np.ones((2, 1), np.float32), one, one, one, -one)
    assert_same(found, np.full((2, 1), np.nan, np.float32))


def test_type_rules() -> None:
    x = TensorType(f32, (2, DYNAMIC_INDEX, 4))
    row, unknown = TensorType(f32, (4,)), TensorType(f32, (DYNAMIC_INDEX,))
    assert infer(SoftmaxOp, x) == x
    assert infer(partial(LogSoftmaxOp, axis=1), x) == x
    assert infer(LayerNormOp, x, row, unknown) == x
    assert infer(BatchNormOp, x, row, unknown, row, row) == x


@pytest.mark.parametrize(
    ("make", "shapes", "message"),
    [
        (SoftmaxOp, [()], r"expected an axis in 0..-1 for rank 0, found -1"),
        (partial(SoftmaxOp, axis=2), [(2, 3)], r"expected an axis in -2..1 for rank 2, found 2"),
        (LayerNormOp, [(2, 3), (2,), (3,)], "expected equal sizes of gamma and data, found 2 and 3"),
        (LayerNormOp, [(2, 3), (3,), (1, 3)], "expected beta of shape 3, found 1x3"),
        (partial(LayerNormOp, axes=(1, 0)), [(2, 3), (3, 2), (3, 2)], "expected axes in ascending order, found 1, 0"),
        (BatchNormOp, [(2, 3), (3,), (3,), (2,), (3,)], "expected equal sizes of moving_mean and data, found 2 and 3"),
    ],
)
def test_refused(make: MakeOperator, shapes: list[tuple[int, ...]], message: str) -> None:
    with pytest.raises(InferenceError, match=message):
        infer(make, *(tensor_of(np.zeros(shape)) for shape in shapes))


def test_integers_are_refused() -> None:
    x, row = tensor_of(np.zeros((2, 3), np.int32)), tensor_of(np.zeros(3, np.int32))
    for make, operands in ((SoftmaxOp, [x]), (LayerNormOp, [x, row, row]), (BatchNormOp, [x, row, row, row, row])):
        with pytest.raises(InferenceError, match="expected operands of f16 or bf16 or f32 or f64, found i32"):
            infer(make, *operands)
