"""Transposes that cancel, and those that move into weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import interpreted
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.relex import PermuteDimsOp
from relex.frontend import BlockBuilder, Var, const, op
from relex.lowering import RelexPipelinePass
from relex.passes import CancelTransposesPass

RNG = np.random.default_rng(0)
TO_LAST, TO_FIRST = [0, 2, 3, 1], [0, 3, 1, 2]

Expression = Callable[[Any], Any]


def constant(*shape: int) -> Any:
    return const(RNG.uniform(0.5, 2, shape).astype(np.float32))


def as_list(results: Any) -> list[Any]:
    """Return several results, or one, as a list."""
    return [*results] if isinstance(results, tuple | list) else [results]  # pyright: ignore[reportUnknownVariableType]


def function_of(shape: Sequence[int | str], expression: Expression) -> ModuleOp:
    builder = BlockBuilder()
    with builder.function("main", [x := Var("x", shape, "float32")]):
        builder.emit_func_output([builder.emit(result) for result in as_list(expression(x))])
    return builder.get()


def transposes(module: ModuleOp) -> int:
    return sum(isinstance(o, PermuteDimsOp) for o in module.walk())


def operators(module: ModuleOp) -> list[str]:
    names = [o.name.removeprefix("relex.") for o in module.walk() if o.name.startswith("relex.")]
    return [name for name in names if name != "constant"]


def compare(module: ModuleOp, after: ModuleOp, shape: Sequence[int | str], rtol: float = 0) -> None:
    """Expect the same results, to the bit by default."""
    after.verify()
    x = RNG.standard_normal([2 if isinstance(size, str) else size for size in shape]).astype(np.float32)
    results = (as_list(interpreted(str(m), "graph")["main"](x)) for m in (after, module))
    for found, wanted in zip(*results, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol)


def last(x: Any) -> Any:
    return op.permute_dims(x, TO_LAST)


def first(x: Any) -> Any:
    return op.permute_dims(x, TO_FIRST)


def residual(x: Any) -> Any:
    """Two branches of a network whose channels are the last dimension, around convolutions that have them first."""
    kernel = constant(4, 4, 3, 3)
    start = last(op.conv2d(x, kernel, padding=[1, 1]))
    branch = last(op.conv2d(first(op.relu(start)), kernel, padding=[1, 1]))
    return first(op.relu(op.add(op.add(branch, constant(4)), start)))


SHAPE = (2, 4, 5, 7)
CASES: dict[str, tuple[Expression, int]] = {
    "a pair": (lambda x: first(last(x)), 0),
    "elementwise": (lambda x: first(op.relu(op.add(last(x), constant(4)))), 0),
    "a constant of pixels": (lambda x: first(op.multiply(constant(5, 1, 4), last(x))), 0),
    "a scalar": (lambda x: first(op.multiply(constant(), last(x))), 0),
    "a choice": (lambda x: first(op.where(op.greater(last(x), constant(1)), last(x), constant(7, 4))), 0),
    "another type": (lambda x: first(op.astype(last(x), "int32")), 0),
    "a network": (residual, 0),
    "normalization": (lambda x: first(op.batch_norm(last(x), *(constant(4) for _ in range(4)), axis=3)), 0),
    "softmax": (lambda x: first(op.softmax(last(x), axis=-1)), 0),
    "concatenation": (lambda x: first(op.concat(op.relu(last(x)), last(x), axis=3)), 0),
    "two operands": (lambda x: op.add(last(op.relu(x)), last(x)), 1),
    "one for many results": (lambda x: [first(op.relu(last(x))), op.exp(op.relu(last(x)))], 1),
    "of no use": (lambda x: op.relu(last(x)), 1),
    "another order": (lambda x: op.permute_dims(op.relu(last(x)), [0, 2, 1, 3]), 1),
    "a sum between": (lambda x: op.permute_dims(op.sum(last(x), 0, True), TO_FIRST), 2),
    "a larger result": (lambda x: first(op.add(last(op.sum(x, 1, True)), constant(5, 7, 4))), 0),
}


@pytest.mark.parametrize("case", CASES)
def test_transposes_that_cancel(case: str) -> None:
    expression, left = CASES[case]
    module = function_of(SHAPE, expression)
    after = CancelTransposesPass()(module)
    assert transposes(after) == left, after
    compare(module, after, SHAPE)


def test_sizes_may_be_open() -> None:
    shape = ("n", 4, "h", "w")
    module = function_of(shape, lambda x: first(op.relu(op.add(last(x), constant(4)))))
    after = CancelTransposesPass()(module)
    assert transposes(after) == 0
    compare(module, after, shape)


WEIGHTS: dict[str, tuple[Sequence[int | str], Expression, list[str]]] = {
    "dense": ((4, 4), lambda x: op.dense(x, op.permute_dims(x, [1, 0])), ["matmul"]),
    "matmul": ((3, 4), lambda x: op.matmul(x, op.permute_dims(x, [1, 0])), ["dense"]),
    "flat, dense": (
        ("n", 4, 5, 7),
        lambda x: op.dense(op.reshape(last(x), [-1, 140]), constant(3, 140)),
        ["reshape", "dense"],
    ),
    "flat, matmul": (
        ("n", 4, 5, 7),
        lambda x: op.matmul(op.reshape(last(x), [-1, 140]), constant(140, 3)),
        ["reshape", "matmul"],
    ),
    "heads": (
        (2, 3, 4, 5),
        lambda x: op.dense(op.reshape(op.permute_dims(x, [0, 1, 3, 2]), [2, 3, 20]), constant(6, 20)),
        ["reshape", "dense"],
    ),
    "dimensions that stay": (
        (2, 3, 4, 5),
        lambda x: op.dense(op.reshape(op.permute_dims(x, [0, 2, 1, 3]), [2, 4, 15]), constant(6, 15)),
        ["permute_dims", "reshape", "dense"],
    ),
    "rows": (
        (2, 3, 4, 5),
        lambda x: op.dense(op.reshape(last(x), [4, 30]), constant(6, 30)),
        ["permute_dims", "reshape", "dense"],
    ),
}


@pytest.mark.parametrize("case", WEIGHTS)
def test_transposes_that_move_into_weights(case: str) -> None:
    shape, expression, left = WEIGHTS[case]
    module = function_of(shape, expression)
    after = CancelTransposesPass()(module)
    assert operators(after) == left
    compare(module, after, shape, rtol=1e-5)
    if "flat" in case:
        # Sums are in another order.
        assert operators(CancelTransposesPass(strict=True)(module)) == ["permute_dims", *left]


def test_default_compilation() -> None:
    module = function_of(SHAPE, lambda x: op.dense(op.reshape(last(last(first(x))), [2, 140]), constant(3, 140)))
    for strict, left in ((False, 0), (True, 1)):
        assert transposes(RelexPipelinePass("graph", strict)(module)) == left


ORDERS = st.permutations([0, 1, 2])
STEPS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: op.relu(x),
    lambda x, y: op.softmax(x, axis=1),
    lambda x, y: op.add(x, y),
    lambda x, y: op.multiply(x, constant(3, 1)),
    lambda x, y: op.concat(x, y, axis=2),
    lambda x, y: op.strided_slice(x, [0], [0], [3]),
    lambda x, y: op.maximum(x, constant(1)),
]


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from(range(-8, len(STEPS))), st.integers(0, 5), ORDERS), max_size=12))
def test_random_graphs(steps: list[tuple[int, int, list[int]]]) -> None:
    """All tensors are cubes, so that everything fits; a negative step is a transpose."""

    def expression(x: Any) -> Any:
        values = [x]
        for step, place, order in steps:
            one, other = values[-1 - place % len(values)], values[-1]
            made = op.permute_dims(one, order) if step < 0 else STEPS[step](one, other)
            values.append(op.strided_slice(made, [2], [0], [3]) if step == 4 else made)
        return values[-3:]

    module = function_of((3, 3, 3), expression)
    after = CancelTransposesPass()(module)
    assert transposes(after) <= transposes(module)
    compare(module, after, (3, 3, 3))
