"""Models of ONNX as modules."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from google.protobuf.message import DecodeError
from onnx import GraphProto, ModelProto, ValueInfoProto, checker, version_converter
from onnx.checker import ValidationError
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.errors import CompileError, Diagnostic, RelexError, one_line, types_str
from relex.dialects.sizes import MAX_ARGUMENT_SIZE, Size, named
from relex.frontend.importing.builder import Builder
from relex.frontend.importing.graph_importer import reading, size_name
from relex.frontend.onnx import operators as operators
from relex.frontend.onnx.assumptions import Assumptions
from relex.frontend.onnx.node_order import in_order
from relex.frontend.onnx.onnx_importer import OnnxImporter, versions_of
from relex.frontend.onnx.reading import Shapes
from relex.frontend.onnx.tensors import array_of, dtype_of
from relex.frontend.onnx.values import AnyValue, Computed, Known, Missing, Unsupported, element_type_of, refuse

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
        inputs = _Inputs(importer, model.graph, shapes, values).read()
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


class _Inputs:
    """The inputs of a graph: arguments of the function, or arrays."""

    def __init__(self, importer: OnnxImporter, graph: GraphProto, shapes: Shapes, values: Mapping[str, Any]):
        self.importer = importer
        self.graph = graph
        self.shapes = dict(shapes)
        self.values = dict(values)
        self.names: dict[str, str] = {}
        """The names of sizes as relex writes them, by their names in the model."""

    def read(self) -> dict[str, AnyValue]:
        """Return the values of the inputs. Those that are initializers as well are constants."""
        constants = {tensor.name for tensor in self.graph.initializer}
        arguments = [i for i in self.graph.input if i.name not in constants or i.name in self.values]
        sizes = {size for i in self.graph.input for size in _declared(i) or () if isinstance(size, str)}
        known = {i.name for i in self.graph.input} | sizes | set(map(size_name, sizes))
        for given, what in ((self.shapes, "shapes"), (self.values, "values")):
            if unknown := [name for name in given if name not in known]:
                raise RelexError(
                    f"'{what}' expected names among {', '.join(sorted(known)) or 'none'}, found {', '.join(unknown)}"
                )
        made: dict[str, AnyValue] = {}
        for argument in arguments:
            made[argument.name] = Missing()
            with self.importer.collecting(partial(self.importer.report_at, "input", argument.name)):
                made[argument.name] = self._read(argument)
        return made

    def _read(self, argument: ValueInfoProto) -> AnyValue:
        if argument.type.WhichOneof("value") != "tensor_type":
            refuse(f"expected a tensor, found a {(argument.type.WhichOneof('value') or 'value without a type')[:-5]}")
        dtype = dtype_of(argument.type.tensor_type.elem_type)
        if argument.name in self.values:
            return Known(_frozen(self.values[argument.name], dtype), argument.name)
        return self.importer.builder.add_argument(argument.name, element_type_of(dtype), self._sizes(argument))

    def _sizes(self, argument: ValueInfoProto) -> list[Size]:
        """Return the sizes of an argument: numbers and names."""
        declared = _declared(argument)
        shape = map(self._checked, self._shape(argument.name, declared))
        return [size if isinstance(size, int) else named(self._name(size)) for size in shape]

    def _name(self, size: str) -> str:
        """Return the name of a size as relex writes it, another one for each name in the model."""
        if size not in self.names:
            made = size_name(size)
            while made in self.names.values():
                made += "_"
            self.names[size] = made
        return self.names[size]

    def _shape(self, name: str, declared: Sequence[int | str] | None) -> Sequence[int | str]:
        """Return the sizes of an input, given or as declared."""
        given = self.shapes.get(name)
        if isinstance(given, int):
            given = None if any(name in (_declared(i) or ()) for i in self.graph.input) else (given,)
        if given is None:
            if declared is None:
                refuse("expected a shape, found none; 'shapes' gives one")
            return [self._closed(size) for size in declared]
        if isinstance(given, str) or (declared is not None and not _fits(given, declared)):
            refuse(f"expected a shape like {types_str(declared or ())} in 'shapes', found {given}")
        as_declared = declared or [f"{name}_d{i}" for i in range(len(given))]
        return [self._closed(d) if size is None else size for d, size in zip(as_declared, given, strict=True)]

    def _closed(self, size: int | str) -> int | str:
        if isinstance(size, int):
            return size
        found = self.shapes.get(size, self.shapes.get(size_name(size)))
        return found if isinstance(found, int | str) else size

    def _checked(self, size: int | str) -> int | str:
        if isinstance(size, int) and not 0 <= size <= MAX_ARGUMENT_SIZE:
            refuse(f"expected sizes from 0 to {MAX_ARGUMENT_SIZE}, found {size}")
        return size


def _declared(argument: ValueInfoProto) -> list[int | str] | None:
    """Return the sizes of an input, numbers and names, None if it has no shape. Those without a name are called after
    the input: two of them need not be equal."""
    t = argument.type.tensor_type
    if not t.HasField("shape"):
        return None
    return [
        d.dim_value
        if d.HasField("dim_value") and d.dim_value >= 0
        else d.dim_param
        if _is_name(d.dim_param)
        else f"{argument.name}_d{i}"
        for i, d in enumerate(t.shape.dim)
    ]


def _is_name(text: str) -> bool:
    """Return whether a text is the name of a size: exporters write `?`, `-1` and `None` for any size that they do not
    know."""
    return any(map(str.isalpha, text)) and text not in ("None", "unknown")


def _fits(given: Sequence[int | str | None], declared: Sequence[int | str]) -> bool:
    return len(given) == len(declared) and all(
        not isinstance(d, int) or g in (d, None) for g, d in zip(given, declared, strict=True)
    )


def _frozen(value: Any, dtype: np.dtype[Any]) -> Any:
    array = np.asarray(value)
    if array.dtype != dtype and not np.can_cast(array.dtype, dtype, "same_kind"):
        raise Unsupported(f"expected elements of {dtype.name} in 'values', found {array.dtype.name}")
    return array.astype(dtype)


def _results(importer: OnnxImporter, graph: GraphProto, outputs: Sequence[AnyValue]) -> list[Any]:
    results: list[Any] = []
    for output, value in zip(graph.output, outputs, strict=True):
        with importer.collecting(partial(importer.report_at, "output", output.name)):
            if not isinstance(value, Known | Computed):
                refuse("expected a tensor as a result of the model, found a sequence or an optional value")
            results.append(importer.builder.value(value))
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
