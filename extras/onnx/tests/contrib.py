"""Models of one node in the domain that ONNX Runtime adds, compared with it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_runtime import expect_as_onnx_runtime

from relex.runtime import build

MICROSOFT = "com.microsoft"
RNG = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    """Return random floats."""
    return RNG.normal(size=shape).astype(np.float32)


def one_node(
    operator: str,
    inputs: Sequence[Any],
    outputs: Sequence[str] = ("y",),
    constants: Collection[int] = (),
    domain: str = MICROSOFT,
    is_open: bool = True,
    **attributes: Any,
) -> tuple[Any, dict[str, Any]]:
    """Return a model and its arguments, whose first sizes are dynamic if it `is_open`; inputs with some numbers are
    constants, None for those that are not given. Outputs without a name are not asked for."""
    arrays = {f"i{k}": np.asarray(array) for k, array in enumerate(inputs) if array is not None}
    fixed = {f"i{k}" for k in constants}
    given = [_declared(name, array, is_open) for name, array in arrays.items() if name not in fixed]
    names = ["" if array is None else f"i{k}" for k, array in enumerate(inputs)]
    node = helper.make_node(operator, names, list(outputs), domain=domain, **attributes)
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs if name]
    stored = [numpy_helper.from_array(arrays[name], name) for name in sorted(fixed)]
    graph = helper.make_graph([node], "layer", given, results, stored)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    feed = {name: array for name, array in arrays.items() if name not in fixed}
    return helper.make_model(graph, opset_imports=sets, ir_version=8), feed


def _declared(name: str, array: Any, is_open: bool) -> Any:
    """Return the declaration of an input. A size of 1 stays, as it would not broadcast."""
    first = [f"{name}_n"] if is_open and array.ndim > 1 and array.shape[0] > 1 else array.shape[:1]
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_value_info(name, kind, [*first, *array.shape[1:]])


def expect_same(
    operator: str, inputs: Sequence[Any], *outputs: str, rtol: float = 1e-4, run: Any = build, **given: Any
) -> None:
    """Compare the results of a node."""
    model, feed = one_node(operator, inputs, outputs or ("y",), **given)
    runtime: Any = pytest.importorskip("onnxruntime")
    for result in model.graph.output:  # ONNX Runtime says of which types they are.
        result.ClearField("type")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    session = runtime.InferenceSession(model.SerializeToString(), options)
    types = {"float": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "int32": TensorProto.INT32}
    types |= {"uint8": TensorProto.UINT8, "int64": TensorProto.INT64}
    for result, found in zip(model.graph.output, session.get_outputs(), strict=True):
        result.CopyFrom(helper.make_tensor_value_info(result.name, types[found.type[7:-1]], None))
    expect_as_onnx_runtime(model, feed, rtol=rtol, atol=rtol / 10, run=run)
