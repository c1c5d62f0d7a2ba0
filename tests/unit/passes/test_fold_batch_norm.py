"""Batch normalization folded into the layer before it, compared with what it says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from programs import interpreted
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import parse_module
from relex.dialects.relex import BatchNormOp, ConstantOp, MultiplyOp
from relex.frontend import BlockBuilder, Var, const, op
from relex.lowering import RelexPipelinePass
from relex.passes import FoldBatchNormPass
from relex.runtime import build

RNG = np.random.default_rng(0)


def network(layer: str, dtype: str, bias: Sequence[int] | None) -> ModuleOp:
    """A layer with constant weights, perhaps a bias, and a normalization of its 6 channels."""

    def random(*shape: int):
        return const(RNG.standard_normal(shape).astype(dtype))

    builder = BlockBuilder()
    x = Var("x", (2, 4, 5, 7) if layer == "conv2d" else ("n", 4), dtype)
    with builder.function("main", [x]):
        if layer == "conv2d":
            y = op.conv2d(x, random(6, 2, 3, 3), strides=[1, 2], padding=[1, 1], groups=2)
        else:
            y = op.dense(x, random(6, 4))
        if bias is not None:
            y = op.add(y, random(*bias))
        variance = const(RNG.random(6).astype(dtype))
        y = op.batch_norm(y, random(6), random(6), random(6), variance, epsilon=1e-3)
        builder.emit_func_output(builder.emit(y))
    return builder.get()


CASES: list[tuple[str, str, Sequence[int] | None]] = [
    ("conv2d", "float32", None),
    ("conv2d", "float64", [6, 1, 1]),
    ("conv2d", "float32", []),
    ("conv2d", "float32", [1]),
    ("dense", "float32", None),
    ("dense", "float32", [6]),
    ("dense", "float64", [1, 6]),
]


@pytest.mark.parametrize(("layer", "dtype", "bias"), CASES)
def test_results_agree_up_to_rounding(layer: str, dtype: str, bias: Sequence[int] | None) -> None:
    module = network(layer, dtype, bias)
    x = RNG.standard_normal((2, 4, 5, 7) if layer == "conv2d" else (3, 4)).astype(dtype)
    wanted = interpreted(str(module), "graph")["main"](x)
    folded = FoldBatchNormPass()(module)
    folded.verify()
    assert not any(isinstance(o, BatchNormOp) for o in folded.walk())
    # Nothing of the normalization stays.
    assert sum(isinstance(o, ConstantOp) for o in folded.walk()) == 2
    tolerance = 100 * float(np.finfo(dtype).eps)
    for found in (interpreted(str(folded), "graph")["main"](x), build(module)["main"](x)):
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def test_only_strict_compilation_keeps_it() -> None:
    module = network("conv2d", "float32", None)
    for strict in (False, True):
        text = str(RelexPipelinePass("graph", strict)(module))
        assert ("relex.batch_norm" in text) == strict


@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_numbers_that_are_not_finite_stay(special: float) -> None:
    text = str(network("dense", "float32", None))
    module = parse_module(text)
    mean = next(o for o in module.walk() if isinstance(o, BatchNormOp)).moving_mean.owner
    assert isinstance(mean, ConstantOp)
    array = np.zeros(6, np.float32)
    array[2] = special
    mean.properties["value"] = ConstantOp(array).value
    assert FoldBatchNormPass()(module).is_structurally_equivalent(module)


Expression = Callable[[Any], Any]
"""Maps a tensor to an expression of operators."""


def constant(*shape: int) -> Any:
    """Numbers away from zero, so that quotients are not large."""
    return const(RNG.uniform(0.5, 2, shape).astype(np.float32))


def normal(y: Any, channels: int, axis: int) -> Any:
    """A normalization with constant parameters."""
    return op.batch_norm(y, *(constant(channels) for _ in range(4)), axis=axis)


def function_of(shape: Sequence[int | str], expression: Expression) -> ModuleOp:
    builder = BlockBuilder()
    with builder.function("main", [x := Var("x", shape, "float32")]):
        builder.emit_func_output(builder.emit(expression(x)))
    return builder.get()


def names(module: ModuleOp) -> list[str]:
    """The operators of a module."""
    return [o.name.removeprefix("relex.") for o in module.walk() if o.name.startswith("relex.")]


def operators(module: ModuleOp) -> list[str]:
    return [name for name in names(module) if name != "constant"]


LAYERS: dict[str, tuple[Sequence[int | str], Expression, int, int]] = {
    "conv1d": ((2, 4, 9), lambda x: op.conv1d(x, constant(6, 2, 3), groups=2), 6, 1),
    "conv3d": ((1, 2, 4, 5, 3), lambda x: op.conv3d(x, constant(3, 2, 2, 3, 1)), 3, 1),
    "conv2d_transpose": (
        (2, 4, 3, 4),
        lambda x: op.conv2d_transpose(x, constant(4, 3, 2, 3), strides=[2, 1], groups=2),
        6,
        1,
    ),
    "matmul": (("n", 4), lambda x: op.matmul(x, constant(4, 6)), 6, 1),
    "matmul of several": ((2, 3, 4), lambda x: op.matmul(x, constant(2, 4, 6)), 6, 2),
    "matmul of a vector": ((4,), lambda x: op.matmul(x, constant(4, 6)), 6, 0),
}


def compare(module: ModuleOp, folded: ModuleOp, shape: Sequence[int | str]) -> None:
    """Expect the same results up to rounding."""
    folded.verify()
    x = RNG.standard_normal([3 if isinstance(size, str) else size for size in shape]).astype(np.float32)
    wanted = interpreted(str(module), "graph")["main"](x)
    np.testing.assert_allclose(interpreted(str(folded), "graph")["main"](x), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("layer", LAYERS)
def test_layers_with_channels(layer: str) -> None:
    shape, made, channels, axis = LAYERS[layer]
    module = function_of(shape, lambda x: normal(made(x), channels, axis))
    folded = FoldBatchNormPass()(module)
    assert operators(folded) == [layer.split()[0], "add"]
    assert names(folded).count("constant") == 2
    compare(module, folded, shape)


SHAPE = (2, 4, 5, 7)


def convolved(x: Any) -> Any:
    return op.conv2d(x, constant(6, 4, 3, 3))


CHAINS: dict[str, tuple[Expression, list[str]]] = {
    "a normalization, a factor and an addend": (
        lambda x: op.add(op.multiply(normal(convolved(x), 6, 1), constant(6, 1, 1)), constant(6, 1, 1)),
        ["conv2d", "add"],
    ),
    "all arithmetic": (
        lambda x: op.divide(
            op.subtract(constant(1, 6, 1, 1), op.subtract(convolved(x), constant(1))), constant(6, 1, 1)
        ),
        ["conv2d", "add"],
    ),
    "two normalizations": (lambda x: normal(normal(convolved(x), 6, 1), 6, 1), ["conv2d", "add"]),
    "a factor alone": (lambda x: op.multiply(constant(6, 1, 1), convolved(x)), ["conv2d"]),
    "a bias alone": (lambda x: op.add(convolved(x), constant(6, 1, 1)), ["conv2d", "add"]),
    "without a layer": (
        lambda x: op.add(op.multiply(normal(op.relu(x), 4, 1), constant(4, 1, 1)), constant(4, 1, 1)),
        ["relu", "batch_norm"],
    ),
    "an addend without a layer": (lambda x: op.add(normal(x, 4, 1), constant(4, 1, 1)), ["batch_norm"]),
    "a factor of positions": (
        lambda x: op.multiply(normal(convolved(x), 6, 1), constant(3, 5)),
        ["conv2d", "add", "multiply"],
    ),
    "another dimension": (lambda x: normal(convolved(x), 5, 3), ["conv2d", "batch_norm"]),
    "a reciprocal": (lambda x: op.divide(constant(1), convolved(x)), ["conv2d", "divide"]),
    "a result that grows": (lambda x: op.multiply(convolved(x), constant(3, 1, 1, 1, 1)), ["conv2d", "multiply"]),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_functions_of_channels(chain: str) -> None:
    expression, left = CHAINS[chain]
    module = function_of(SHAPE, expression)
    folded = FoldBatchNormPass()(module)
    assert operators(folded) == left
    compare(module, folded, SHAPE)
    assert FoldBatchNormPass()(folded).is_structurally_equivalent(folded)


def test_one_constant_in_several_places() -> None:
    """A weight that is the data as well, and the same numbers as gamma and beta."""
    same = constant(4, 4)

    def expression(x: Any) -> Any:
        square = op.multiply(op.matmul(same, same), constant(4))
        one = constant(4)
        return op.add(square, op.multiply(op.batch_norm(x, one, one, one, one, axis=1), constant(4)))

    module = function_of((4, 4), expression)
    folded = FoldBatchNormPass()(module)
    assert not any(isinstance(o, MultiplyOp) for o in folded.walk())
    compare(module, folded, (4, 4))


def test_integers_and_vectors_stay() -> None:
    """Products of integers wrap around, and a vector on the right has no channels."""
    x = Var("x", (4, 4), "int32")
    builder = BlockBuilder()
    with builder.function("main", [x]):
        product = op.matmul(x, const(np.ones((4, 4), np.int32)))
        builder.emit_func_output(builder.emit(op.multiply(product, const(np.int32(3)))))
    vector = function_of((4, 4), lambda x: op.multiply(op.matmul(x, constant(4)), constant(4)))
    for module in (builder.get(), vector):
        assert FoldBatchNormPass()(module).is_structurally_equivalent(module)
