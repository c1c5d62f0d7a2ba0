"""Steps of optimizers, against formulas of the standard."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models import model, node, value
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from relex.dialects.errors import CompileError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret

TRAINING = "ai.onnx.preview.training"
KEPT = {"Adagrad": 1, "Adam": 2, "Momentum": 1}
MODE: dict[str, Any] = {"alpha": 0.5, "beta": 0.7, "norm_coefficient": 0.1, "mode": "nesterov"}


def of(operator: str, tensors: int, dtype: Any, **given: Any) -> Any:
    names = [f"t{i}" for i in range(tensors)]
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    inputs = [value("r", kind, []), value("t", TensorProto.INT64, [])] + [value(name, kind, ["n", 2]) for name in names]
    results = [f"y{i}" for i in range(tensors - tensors // (2 + KEPT[operator]))]
    nodes = [node(operator, " ".join(["r", "t", *names]), " ".join(results), domain=TRAINING, **given)]
    made = model(nodes, inputs, results, checked=False)
    made.opset_import.append(helper.make_opsetid(TRAINING, 1))
    return made


@pytest.mark.parametrize("operator", KEPT)
@pytest.mark.parametrize("time", [0, 3])
@pytest.mark.parametrize("variables", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_steps(operator: str, time: int, variables: int, dtype: Any) -> None:
    rng = np.random.default_rng(time)
    given = MODE if operator == "Momentum" else {"norm_coefficient": 0.1}
    made = of(operator, variables * (2 + KEPT[operator]), dtype, **given)
    tensors = [np.abs(rng.normal(size=(3, 2))).astype(dtype) for _ in range(variables * (2 + KEPT[operator]))]
    tensors[0][0, 0] = np.nan
    feed = [np.array(0.25, dtype), np.array(time), *tensors]
    found: Any = interpret(from_onnx(made))["main"](*feed)
    evaluator: Any = ReferenceEvaluator(made)
    expected = evaluator.run(None, dict(zip((i.name for i in made.graph.input), feed, strict=True)))
    for mine, wanted in zip(found, expected, strict=True):
        assert mine.dtype == dtype
        np.testing.assert_allclose(mine, wanted, 1e-5 if dtype == np.float32 else 1e-7)


def test_what_is_refused() -> None:
    with pytest.raises(CompileError, match="expected 3 tensors for each variable, found 4 in all"):
        from_onnx(of("Adagrad", 4, np.float32))
    with pytest.raises(CompileError, match="attribute 'mode': expected standard or nesterov, found other"):
        from_onnx(of("Momentum", 3, np.float32, **{**MODE, "mode": "other"}))
