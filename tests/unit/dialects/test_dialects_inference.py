"""The type rules of the graph operators agree with NumPy: on shapes, on element types, on what is refused."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import test
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, bf16, f16, f32, f64, i1, i8, i32, i64
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from relex.dialects.dtypes import FLOATS, element_type_of, numpy_dtype
from relex.dialects.errors import InferenceError
from relex.dialects.relex import (
    AddOp,
    CeilOp,
    DenseOp,
    Elementwise,
    ErfOp,
    FloorOp,
    MatmulOp,
    Operator,
    PowerOp,
    Relex,
    RoundOp,
    TruncOp,
)

shapes = st.lists(st.integers(0, 3), max_size=4).map(tuple)


def build(op: type[Operator], *types: TensorType) -> Operator:
    """An operator on values of these types. Raises `InferenceError` as its type rule does."""
    return op(*test.TestOp(result_types=types).results)


def arity(op: type[Operator]) -> int:
    return len(op.get_irdl_definition().operands)


def keeps_floats(op: type[Operator]) -> bool:
    """Whether an operator makes floats of floats without being told more."""
    try:
        return build(op, *[TensorType(f32, ())] * arity(op)).result_types == (TensorType(f32, ()),)
    except (InferenceError, TypeError):
        return False


ELEMENTWISE = [op for op in Relex.operations if issubclass(op, Elementwise) and keeps_floats(op)]
"""Those whose operands and result have one element type, and which take floats."""
OPERATORS = [*ELEMENTWISE, DenseOp, MatmulOp]
FLOATS_ONLY = (CeilOp, ErfOp, FloorOp, RoundOp, TruncOp)
"""These refuse integers, which NumPy takes, or takes in part."""
NUMPY_TYPES = [f16, f32, f64, i1, i8, i32, i64]


def result_type(operator: Operator) -> TensorType[Attribute]:
    (found,) = operator.result_types
    assert isa(found, TensorType)
    return found


def evaluate(op: type[Operator], shapes: Sequence[tuple[int, ...]], element_type: Attribute) -> npt.NDArray[Any]:
    """What NumPy makes of ones. Raises `ValueError` or `TypeError` for shapes and types that it refuses."""
    try:
        operator = build(op, *[TensorType(element_type, (1, 1))] * arity(op))
    except InferenceError:
        operator = build(op, *[TensorType(f32, (1, 1))] * arity(op))
    return operator.evaluate(*(np.ones(shape, numpy_dtype(element_type)) for shape in shapes))


@pytest.mark.parametrize("op", [*ELEMENTWISE, MatmulOp], ids=lambda op: op.name)
@settings(max_examples=20)
@given(data=st.data())
def test_shapes_agree_with_numpy(op: type[Operator], data: st.DataObject) -> None:
    operands = [data.draw(shapes) for _ in range(arity(op))]
    types = [TensorType(f32, shape) for shape in operands]
    try:
        expected = np.shape(evaluate(op, operands, f32))
    except ValueError:
        with pytest.raises(InferenceError):
            build(op, *types)
        return
    operator = build(op, *types)
    assert result_type(operator) == TensorType(f32, expected)
    operator.verify()


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name)
@pytest.mark.parametrize("element_type", NUMPY_TYPES, ids=str)
def test_element_types_agree_with_numpy(op: type[Operator], element_type: Attribute) -> None:
    if op in FLOATS_ONLY and element_type not in FLOATS:
        return
    shape = (2, 2) if op in (DenseOp, MatmulOp) else (2,)
    types = [TensorType(element_type, shape)] * arity(op)
    try:
        found = evaluate(op, [shape] * arity(op), element_type)
    except TypeError:
        found = None
    if found is None or found.dtype != numpy_dtype(element_type):
        # NumPy refuses, or promotes: to a float where integers are divided.
        with pytest.raises(InferenceError, match=f"expected operands of .* found {element_type}"):
            build(op, *types)
        return
    assert result_type(build(op, *types)).element_type == element_type == element_type_of(found.dtype)


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name)
def test_bf16_is_taken_as_other_floats(op: type[Operator]) -> None:
    assert result_type(build(op, *[TensorType(bf16, (2, 2))] * arity(op))).element_type == bf16


@pytest.mark.parametrize("op", [op for op in OPERATORS if arity(op) > 1], ids=lambda op: op.name)
def test_element_types_do_not_mix(op: type[Operator]) -> None:
    types = [TensorType(f32, (2, 2)), *[TensorType(f64, (2, 2))] * (arity(op) - 1)]
    with pytest.raises(InferenceError, match="expected operands of one element type, found f32 and f64"):
        build(op, *types)


@pytest.mark.parametrize("op", [*ELEMENTWISE, MatmulOp, DenseOp], ids=lambda op: op.name)
@settings(max_examples=20)
@given(data=st.data())
def test_dynamic_sizes_stand_for_what_they_meet(op: type[Operator], data: st.DataObject) -> None:
    """What is accepted with all sizes known is accepted with any of them unknown, and the result agrees."""
    operands = [data.draw(shapes) for _ in range(arity(op))]
    try:
        static = result_type(build(op, *[TensorType(f32, shape) for shape in operands])).get_shape()
    except InferenceError:
        return
    hidden = [tuple(data.draw(st.sampled_from([size, DYNAMIC_INDEX])) for size in shape) for shape in operands]
    found = result_type(build(op, *[TensorType(f32, shape) for shape in hidden])).get_shape()
    pairs = zip(sum(operands, ()), sum(hidden, ()), strict=True)
    # A size of 1 that is not known to be 1 does not broadcast.
    ones = any(size == 1 and seen == DYNAMIC_INDEX for size, seen in pairs)
    assert len(found) == len(static)
    assert ones or all(f in (s, DYNAMIC_INDEX) for f, s in zip(found, static, strict=True))


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        ([(DYNAMIC_INDEX,), (4,)], (4,)),
        ([(DYNAMIC_INDEX,), (1,)], (DYNAMIC_INDEX,)),
        ([(DYNAMIC_INDEX,), (0,)], (0,)),
        ([(DYNAMIC_INDEX,), (DYNAMIC_INDEX,)], (DYNAMIC_INDEX,)),
        ([(DYNAMIC_INDEX,), ()], (DYNAMIC_INDEX,)),
        ([(1, DYNAMIC_INDEX), (3, 1)], (3, DYNAMIC_INDEX)),
    ],
)
def test_dynamic_sizes_never_broadcast(operands: list[tuple[int, ...]], expected: tuple[int, ...]) -> None:
    for order in (operands, operands[::-1]):
        operator = build(AddOp, *(TensorType(f32, shape) for shape in order))
        assert result_type(operator) == TensorType(f32, expected)


SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 3e38, 1e-45], np.float32)


@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_evaluation_is_quiet_and_exact(op: type[Operator]) -> None:
    operands = np.broadcast_arrays(*np.ix_(*[SPECIAL] * arity(op)))
    operator = build(op, *[TensorType(f32, x.shape) for x in operands])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = operator.evaluate(*operands)
        build(MatmulOp, *[TensorType(f32, (9, 1)), TensorType(f32, (1, 9))]).evaluate(SPECIAL[:, None], SPECIAL[None])
        build(DenseOp, *[TensorType(f32, (9, 1)), TensorType(f32, (9, 1))]).evaluate(SPECIAL[:, None], SPECIAL[:, None])
    assert found.dtype == np.float32
    if op is PowerOp:
        return  # 1 to any power is 1, and so is any number to the power of 0.
    nan = np.any([np.isnan(x) for x in operands], axis=0)
    assert np.isnan(found[nan]).all()
