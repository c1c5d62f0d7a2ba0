"""Models of NNSmith, a few of them, and what decides whether relex or ONNX Runtime is right."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import nnsmith_models
import numpy as np
import pytest
from nnsmith_models import Outcome, doubled, judge, references, summary
from onnx import ModelProto, TensorProto, helper, parser

LACKING = [name for name in ("nnsmith", "torch", "onnxruntime") if find_spec(name) is None]


def model(text: str) -> ModelProto:
    return helper.make_model(parser.parse_graph(text), opset_imports=[helper.make_opsetid("", 17)])


def verdict(text: str, x: Any, found: Any, other: Any) -> str:
    """What becomes of a model `net (float[n] x) => (... y)` by the results of relex and of ONNX Runtime."""
    return judge(model(text), {"x": np.array(x, np.float32)}, [found], [other])[0]


SUM = "net (float[3] x) => (float[1] y) { y = ReduceSum(x) }"
FLOOR = "net (float[2] x) => (float[2] y) { s = Sqrt(x) y = Floor(s) }"
INTEGER = "net (float[2] x) => (int32[2] y) { s = Sqrt(x) y = Cast <to = 6> (s) }"
NONZERO = "net (float[1] x) => (bool[1] y) { s = Mul(x, x) y = Cast <to = 9> (s) }"
PLACE = "net (float[3] x) => (int64[1] y) { s = Sqrt(x) y = ArgMax(s) }"


def test_rounding_is_no_difference() -> None:
    a = np.array([1.0], np.float32)
    assert verdict(SUM, [0.5, 0.25, 0.25], a, np.nextafter(a, np.float32(2))) == "equal"
    assert verdict(SUM, [0.5, 0.25, 0.25], a, a + np.float32(1e-3)) == "differs"
    # Most of the sum cancels.
    assert verdict(SUM, [1e6, 0.25, -1e6], np.array([0.25], np.float32), np.array([0.375], np.float32)) == "unstable"


def test_where_rounding_decides() -> None:
    assert verdict(FLOOR, [4, 5], np.array([2, 2], np.float32), np.array([1, 2], np.float32)) == "unstable"
    assert verdict(FLOOR, [4, 5], np.array([2, 2], np.float32), np.array([2, 1], np.float32)) == "differs"


def test_numbers_that_are_nearly_zero() -> None:
    """They may be rounded to zero, and nodes of f16 computed in f32."""
    assert verdict(NONZERO, [1e-20], np.array([True]), np.array([False])) == "unstable"
    assert verdict(NONZERO, [1e-10], np.array([True]), np.array([False])) == "differs"


def test_what_onnx_leaves_open() -> None:
    """The integer of NaN, and the largest of numbers that are NaN."""
    assert verdict(INTEGER, [-1, 5], np.array([0, 2], np.int32), np.array([-(2**31), 2], np.int32)) == "unstable"
    assert verdict(INTEGER, [-1, 5], np.array([0, 2], np.int32), np.array([0, 1], np.int32)) == "differs"
    assert verdict(PLACE, [-1, 5, 4], np.array([0]), np.array([1])) == "unstable"
    assert verdict(PLACE, [1, 5, 4], np.array([0]), np.array([1])) == "differs"


def test_other_types_and_shapes_differ() -> None:
    assert verdict(SUM, [0, 0, 0], np.array([0], np.float32), np.array([0], np.float64)) == "differs"
    assert verdict(SUM, [0, 0, 0], np.array([0], np.float32), np.array(0, np.float32)) == "differs"


def test_the_reference_has_64_bits() -> None:
    text = "net (float16[2] x) => (float[2] y) <float one = {1.0}> { c = Cast <to = 1> (x) y = Add(c, one) }"
    wide = doubled(model(text))
    assert {i.type.tensor_type.elem_type for i in (*wide.graph.input, *wide.graph.output)} == {TensorProto.DOUBLE}
    expected, *near = references(model(text), {"x": np.array([0.1, 0.2], np.float16)})
    assert expected[0].dtype == np.float64
    # f16 rounds to 11 bits; what may differ is more than that, and not much more.
    assert 2**-12 < np.max([np.abs(results[0] - expected[0]) for results in near]) < 2**-5


def test_the_summary_counts() -> None:
    text = summary([Outcome(0, "equal", "", ("Add",)), Outcome(1, "no model", "why"), Outcome(2, "differs", "how")])
    assert text.startswith("2 models: 1 equal, 1 differs\n     1 no model: why\n")


@pytest.mark.skipif(bool(LACKING), reason=f"not installed: {', '.join(LACKING)}")
def test_some_models(tmp_path: Path) -> None:
    program = [sys.executable, "-W", "ignore", nnsmith_models.__file__]
    options = ["--models", "10", "--nodes", "5", "--output", str(tmp_path)]
    done = subprocess.run([*program, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("10 models: ")
    assert not list(tmp_path.iterdir())
