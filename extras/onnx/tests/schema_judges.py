"""What is expected of a draw, by `onnx.reference` or by ONNX Runtime, and how results differ from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

import numpy as np
import onnx
from onnx import ModelProto, checker, shape_inference
from onnx.reference import ReferenceEvaluator
from schema_draws import Draw

Array = Any


class NoResult(Exception):
    """Why there is nothing to compare with."""


@dataclass
class Judge:
    """What is expected of a draw, and by whom."""

    name: str
    results: list[list[Array]]


def judged(draw: Draw) -> Judge:
    """Return what is expected. Raises `NoResult`."""
    try:
        model = complete(draw.model)
    except (onnx.shape_inference.InferenceError, checker.ValidationError, NoResult) as e:
        raise NoResult(f"checker: {in_one_line(e)}") from e
    reasons: list[str] = []
    for name, run in (("onnx.reference", _by_reference), ("ONNX Runtime", by_onnx_runtime)):
        try:
            results = run(model, draw.feeds)
        except Exception as e:
            reasons.append(f"{name}: {type(e).__name__}: {in_one_line(e)}")
            continue
        outputs = [*model.graph.output] * len(results)
        if all(map(_fits, outputs, [result for each in results for result in each])):
            return Judge(name, [_declared(model, each) for each in results])
        reasons.append(f"{name}: a result of another shape than the model's")
    raise NoResult("; ".join(reasons))


def _fits(output: onnx.ValueInfoProto, result: Array) -> bool:
    """Return whether a result has the shape that shape inference gives, as far as it knows one."""
    if not output.type.tensor_type.HasField("shape"):
        return True
    sizes = output.type.tensor_type.shape.dim
    shape = np.shape(result)
    known = [(d.dim_value, n) for d, n in zip(sizes, shape, strict=False) if d.HasField("dim_value")]
    return len(sizes) == len(shape) and all(size == n for size, n in known)


def complete(model: ModelProto) -> ModelProto:
    """Return a model with the types of its outputs. Raises an error for one that breaks the standard's rules."""
    strict = not any(_is_function(node) for node in model.graph.node)
    # Some of the standard's own definitions by other operators break its rules for types.
    inferred = shape_inference.infer_shapes(model, check_type=strict, strict_mode=strict, data_prop=True)
    for output in inferred.graph.output:
        if not output.type.tensor_type.elem_type:
            raise NoResult(f"no type for '{output.name}'")
    shaped = ModelProto()
    shaped.CopyFrom(inferred)
    for output in shaped.graph.output:
        # The checker asks for a shape, even one that depends on data.
        output.type.tensor_type.shape.SetInParent()
    cast(Any, checker).check_model(shaped)
    return inferred


def _is_function(node: onnx.NodeProto) -> bool:
    return cast(Any, onnx.defs.get_schema(node.op_type, node.domain)).has_function


def _by_reference(model: ModelProto, feeds: Sequence[Mapping[str, Array]]) -> list[list[Array]]:
    evaluator: Any = ReferenceEvaluator(model)
    return [cast("list[Array]", evaluator.run(None, dict(feed))) for feed in feeds]


def by_onnx_runtime(model: ModelProto, feeds: Sequence[Mapping[str, Array]]) -> list[list[Array]]:
    """Return the results of ONNX Runtime. Raises any error if it has none."""
    runtime: Any = import_module("onnxruntime")
    runtime.set_default_logger_severity(4)
    options: Any = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session: Any = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [session.run(None, dict(feed)) for feed in feeds]


def _declared(model: ModelProto, results: Sequence[Array]) -> list[Array]:
    """Return results with the element types that the standard says: the reference computes some in wider ones."""
    made: list[Array] = []
    for output, result in zip(model.graph.output, results, strict=True):
        with np.errstate(all="ignore"):
            dtype = onnx.helper.tensor_dtype_to_np_dtype(output.type.tensor_type.elem_type)
            made.append(np.asarray(result).astype(dtype))
    return made


def compared(
    draw: Draw,
    expected: Sequence[Sequence[Array]],
    found: Sequence[Sequence[Array]],
    epsilon: float = 0.0,
    finite: bool = False,
) -> str:
    """Return how results differ, or nothing. They are as exact as the coarsest float among them and the inputs, or as
    `epsilon`. With `finite`, NaN and infinities in either are as good as anything."""
    constants = [onnx.numpy_helper.to_array(c) for c in draw.model.graph.initializer]
    for feed, many, others in zip(draw.feeds, expected, found, strict=True):
        if len(many) != len(others):
            return f"{len(many)} results, relex {len(others)}"
        inputs = [*feed.values(), *constants]
        for i, (a, b) in enumerate(zip(map(np.asarray, many), others, strict=True)):
            if a.dtype != b.dtype or a.shape != b.shape:
                return f"{a.dtype}{list(a.shape)}, relex {b.dtype}{list(b.shape)}"
            close = _close(a, b, inputs, epsilon)
            if finite and a.dtype.kind not in "biu":
                close |= ~np.isfinite(a.astype(np.float64)) | ~np.isfinite(b.astype(np.float64))
            if not close.all():
                at = tuple(int(k) for k in np.argwhere(~close)[0])
                values = f"{a[at]}, relex {b[at]} at {list(at)} of result {i}"
                return f"{values}, {(~close).sum()} of {close.size} elements"
    return ""


_EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


def _close(a: Array, b: Array, inputs: Sequence[Array], epsilon: float) -> Array:
    """Return where results are equal but for rounding. Integers and floats of 8 bits and fewer are exact, or one step
    apart if there is an `epsilon`; others may be some units in the last place apart, of the element or of what it is a
    sum of."""
    if a.dtype.kind in "biu":
        return np.asarray(np.abs(a.astype(np.float64) - b) <= 1) if epsilon else np.asarray(a == b)
    if a.dtype.kind == "c":
        return np.isclose(a, b, 1e-5, 1e-5, equal_nan=True)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    if a.dtype.name in _EPSILON:
        epsilon = max(epsilon, *(_EPSILON.get(x.dtype.name, 0.0) for x in (a, *inputs)))
    elif epsilon:
        # The next float of 8 or 4 bits.
        epsilon = 1 / 64
    terms = max([1.0, *(_ordinary(x) for x in (*inputs, wide_a) if x.dtype.kind not in "bc")])
    return np.isclose(wide_a, wide_b, 32 * epsilon, 16 * epsilon * terms, equal_nan=True)


def _ordinary(x: Array) -> float:
    """Return the largest absolute value that is no special number."""
    wide = np.abs(x.astype(np.float64))
    return float(wide[wide < 1e4].max(initial=0))


def in_one_line(error: BaseException) -> str:
    """Return the message of an error."""
    text = " ".join(str(error).split())
    return text[:300]
