"""Batch normalization folded into the layer before it, compared with what it says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from programs import interpreted
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import parse_module
from relex.dialects.relex import BatchNormOp, ConstantOp
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
