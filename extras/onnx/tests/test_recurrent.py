"""Recurrent layers, against ONNX Runtime: few steps one after another, many or a dynamic number as a loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models import FLOAT, model, node, value
from onnx import ModelProto, TensorProto, numpy_helper
from onnx_runtime import expect_as_onnx_runtime

from relex.frontend.onnx import from_onnx
from relex.reference import interpret

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
SIZE, DATA, BATCH = 5, 3, 2
RNG = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    """Return random floats."""
    return RNG.standard_normal(shape).astype(np.float32)


def layer(
    operator: str, length: int | str, direction: str, *, has_lengths: bool = False, has_state: bool = False
) -> ModelProto:
    """Return a model of one layer that returns all steps and the last states. Its arguments, besides the data, are
    lengths of the sequences and the first states."""
    gates, directions = GATES[operator], 1 + (direction == "bidirectional")
    weights = {
        "W": normal(directions, gates * SIZE, DATA),
        "R": normal(directions, gates * SIZE, SIZE),
        "B": normal(directions, 2 * gates * SIZE),
    }
    states = ["h", "c"] if operator == "LSTM" else ["h"]
    given = [value("x", FLOAT, [length, BATCH, DATA])]
    given += [value("lengths", int(TensorProto.INT32), [BATCH])] if has_lengths else []
    given += [value(name, FLOAT, [directions, BATCH, SIZE]) for name in states] if has_state else []
    inputs = " ".join(["x W R B", "lengths" if has_lengths else "", *(states if has_state else [])]).rstrip()
    results = ["y", *(f"last_{name}" for name in states)]
    made = node(operator, inputs, " ".join(results), hidden_size=SIZE, direction=direction)
    return model([made], given, results, [numpy_helper.from_array(array, name) for name, array in weights.items()])


def arguments(made: ModelProto, steps: int, lengths: tuple[int, int]) -> dict[str, Any]:
    """Return what a layer is called with."""
    found: dict[str, Any] = {}
    for info in made.graph.input:
        shape = [steps if d.dim_param else d.dim_value for d in info.type.tensor_type.shape.dim]
        found[info.name] = np.array(lengths, np.int32) if info.name == "lengths" else normal(*shape)
    return found


@pytest.mark.parametrize("operator", [*GATES])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("steps", [1, 16, 17, 48])
@pytest.mark.sampled
def test_fixed_steps(operator: str, direction: str, steps: int) -> None:
    """Many steps are a loop, and what is compiled does not grow with their number."""
    made = layer(operator, steps, direction, has_lengths=True, has_state=True)
    feeds = [arguments(made, steps, (steps, last)) for last in (steps, 1)]
    program = from_onnx(made)
    assert ("scf.for" in str(program)) == (steps > 16)
    if steps > 16:
        assert len([*program.walk()]) < 120 * (1 + (direction == "bidirectional"))
    expect_as_onnx_runtime(made, *feeds, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("operator", [*GATES])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("has_lengths", [False, True])
@pytest.mark.sampled
def test_dynamic_steps(operator: str, direction: str, has_lengths: bool) -> None:
    made = layer(operator, "t", direction, has_lengths=has_lengths)
    feeds = [arguments(made, steps, (steps, 1)) for steps in (1, 3, 20)]
    assert "scf.for" in str(from_onnx(made))
    expect_as_onnx_runtime(made, *feeds, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("operator", [*GATES])
def test_the_loop_computes_what_the_steps_do(operator: str) -> None:
    """A loop of 17 trips ends like 16 steps and then one."""
    rest, state = RNG.bit_generator.state, list[Any]()
    long = layer(operator, 17, "forward", has_state=True)
    given = arguments(long, 17, (17, 17))
    for steps in (16, 1):
        RNG.bit_generator.state = rest  # The same weights.
        made = layer(operator, steps, "forward", has_state=True)
        x = given["x"][:16] if steps == 16 else given["x"][16:]
        first = state or [given[name] for name in given if name != "x"]
        _, *state = interpret(from_onnx(made))["main"](x, *first)
    _, *wanted = interpret(from_onnx(long))["main"](*given.values())
    for found, right in zip(state, wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-6)
