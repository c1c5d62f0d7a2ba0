"""Comparison with ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from xdsl.dialects.builtin import ModuleOp

from relex.frontend.onnx import from_onnx
from relex.runtime import build


def expect_as_onnx_runtime(
    model: ModelProto,
    *feeds: Mapping[str, Any],
    rtol: float = 1e-6,
    atol: float = 0.0,
    run: Callable[[ModuleOp], Mapping[str, Callable[..., Any]]] = build,
) -> Any:
    """Compile a model, compare its results with ONNX Runtime for each set of inputs, and return it."""
    runtime: Any = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = runtime.InferenceSession(model.SerializeToString(), options)
    main = run(from_onnx(model))["main"]
    for feed in feeds:
        results: Any = main(*feed.values())
        expected = session.run(None, dict(feed))
        found: list[Any] = [*results] if len(expected) > 1 else [results]
        for mine, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, wanted, rtol, atol, strict=True)
    return main
