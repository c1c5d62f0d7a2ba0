"""Models of ONNX as modules."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from google.protobuf.message import DecodeError
from onnx import GraphProto, ModelProto, checker, version_converter
from onnx.checker import ValidationError
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.errors import CompileError, Diagnostic, one_line
from relex.frontend.importing.builder import Builder
from relex.frontend.importing.graph_importer import reading
from relex.frontend.onnx import operators as operators
from relex.frontend.onnx.assumptions import Assumptions
from relex.frontend.onnx.inputs import Inputs
from relex.frontend.onnx.node_order import in_order
from relex.frontend.onnx.onnx_importer import OnnxImporter, versions_of
from relex.frontend.onnx.reading import Shapes
from relex.frontend.onnx.tensors import array_of
from relex.frontend.onnx.values import AnyValue, tensors_in

OLDEST = 7
"""The oldest version of the standard's operators that is imported as it is; older ones are converted."""


MOST_TRIES = 16
"""How often a model is imported at most, with other assumptions about conditions that its sizes decide."""


def import_model(
    model: ModelProto, file: str, folder: Path | None, shapes: Shapes, values: Mapping[str, Any]
) -> ModuleOp:
    """Return the module for a model. `file` names it in messages; data beside it is in `folder`."""
    with reading("an ONNX model, found one that cannot be read", file):
        return _imported(model, file, folder, shapes, values)


def _imported(model: ModelProto, file: str, folder: Path | None, shapes: Shapes, values: Mapping[str, Any]) -> ModuleOp:
    model = in_order(model)
    _check(model, file)
    model = _converted(model, file)
    functions = {("" if f.domain == "ai.onnx" else f.domain, f.name, f.overload): f for f in model.functions}

    def run(importer: OnnxImporter) -> ModuleOp:
        inputs = Inputs(importer, model.graph, shapes, values).read()
        outputs = importer.run_graph(model.graph, ChainMap(), inputs)
        importer.expect_no_problems()
        results = _results(importer, model.graph, outputs)
        try:
            return importer.finish(results)
        except CompileError:
            importer.assumptions.blame_all()
            raise

    assumptions, first = Assumptions(), None
    for _ in range(MOST_TRIES):
        importer = OnnxImporter(
            Builder(file),
            versions_of(model.opset_import),
            functions,
            partial(array_of, folder=folder),
            assumptions=assumptions,
        )
        try:
            return run(importer)
        except CompileError as e:
            first = first or e
            others = assumptions.others()
            if others is None:
                break
            assumptions = others
    assert first is not None
    raise first


def _results(importer: OnnxImporter, graph: GraphProto, outputs: Sequence[AnyValue]) -> list[Any]:
    """Return the results of the function: one for each tensor, and for each element of a sequence."""
    results: list[Any] = []
    for output, value in zip(graph.output, outputs, strict=True):
        with importer.collecting(partial(importer.report_at, "output", output.name)):
            results += map(importer.builder.value, tensors_in(value))
    if outputs and not results and not importer.problems:
        importer.report("", "expected results, found only empty sequences and values that are absent")
    return results


def _check(model: ModelProto, file: str) -> None:
    """Raise `CompileError` for a model that breaks the rules of the standard, except that operators may be unknown,
    which the import reports, and that shapes may be missing."""
    if not model.opset_import and not model.graph.node:
        raise CompileError(Diagnostic("expected an ONNX model, found no graph in it", file))
    shell = _without_data(model)
    for declared in (*shell.graph.input, *shell.graph.output):
        if declared.type.HasField("tensor_type") and not declared.type.tensor_type.HasField("shape"):
            declared.type.tensor_type.shape.SetInParent()
    try:
        cast(Any, checker).check_model(shell)
    except ValidationError as e:
        if "No Op registered" not in str(e):
            raise CompileError(Diagnostic(one_line(e).partition(" ==> ")[0], file)) from e


def _without_data(model: ModelProto) -> ModelProto:
    """Return a model with constants without elements, to be checked: data is checked when it is read, and not copied
    before."""
    shell = ModelProto()
    for field, value in model.ListFields():
        if field.name == "graph":
            for part, contents in model.graph.ListFields():
                if part.name != "initializer":
                    _set(shell.graph, part.name, contents)
        else:
            _set(shell, field.name, value)
    for tensor in model.graph.initializer:
        shell.graph.initializer.add(name=tensor.name, data_type=tensor.data_type, dims=[0])
    return shell


def _set(message: Any, name: str, value: Any) -> None:
    """Set a field of a message to a copy of a value."""
    field = getattr(message, name)
    if hasattr(field, "extend"):
        field.extend(value)
    elif hasattr(field, "CopyFrom"):
        field.CopyFrom(value)
    else:
        setattr(message, name, value)


def _converted(model: ModelProto, file: str) -> ModelProto:
    version = versions_of(model.opset_import).get("", OLDEST)
    if version >= OLDEST:
        return model
    try:
        return version_converter.convert_version(model, OLDEST)
    except Exception as e:
        message = f"operator set {version} cannot be converted to {OLDEST}: {one_line(e)}"
        raise CompileError(Diagnostic(message, file)) from e


def read_model(data: bytes, file: str) -> ModelProto:
    """Read a model from the bytes of a file. Raises `CompileError`."""
    model = ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError as e:
        raise CompileError(Diagnostic(f"expected an ONNX model of {len(data)} bytes: {one_line(e)}", file)) from e
    return model
