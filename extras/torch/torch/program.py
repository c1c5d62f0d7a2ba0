"""Programs of torch.export as modules."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from relex.dialects.errors import CompileError, RelexError
from relex.dialects.sizes import IndexExpr, Size, named
from relex.frontend.importing.builder import Builder
from relex.frontend.importing.graph_importer import Missing, reading
from relex.frontend.importing.values import Computed, Known, refuse
from relex.frontend.torch import operators as operators
from relex.frontend.torch.complex_numbers import Pair, known_pair
from relex.frontend.torch.decompositions import rules
from relex.frontend.torch.guards import conditions
from relex.frontend.torch.import_table import find_import
from relex.frontend.torch.library import torch
from relex.frontend.torch.places import diagnostic_at
from relex.frontend.torch.symbols import size_names, size_of
from relex.frontend.torch.tensors import array_of, element_type_for
from relex.frontend.torch.torch_importer import TorchImporter, Value
from relex.frontend.torch.tracing import decompositions_in


def import_program(program: Any, file: str, shapes: Mapping[str, int], weights_as_arguments: bool) -> ModuleOp:
    """Return the module for a program. `file` names it in messages."""
    with reading("a program of torch.export", file):
        return _imported(program, file, shapes, weights_as_arguments)


def _imported(program: Any, file: str, shapes: Mapping[str, int], weights_as_arguments: bool) -> ModuleOp:
    expect_inference(program.graph, file)
    checked, program = program, decomposed(program)
    importer = TorchImporter(Builder(file))
    importer.check(checked.graph)
    inputs = _Inputs(program, importer, shapes)
    values = inputs.read(weights_as_arguments)
    with importer.collecting(partial(importer.report, "the sizes")):
        for condition in conditions(checked, inputs.sizes, inputs.given, file):
            importer.builder.require(condition, "")
    outputs = importer.run(program.graph_module, values)
    importer.expect_no_problems()
    changed = changed_inputs(program.graph_signature)
    results = results_of(importer, [value for i, value in enumerate(outputs) if i not in changed])
    new = results_of(importer, [outputs[i] for i in changed])
    replaced = {importer.builder.value(values[name]): len(results) + n for n, name in enumerate(changed.values())}
    return importer.finish([*results, *new], replaced)


def changed_inputs(signature: Any) -> dict[int, str]:
    """Return the outputs of a graph, by number, that are what a buffer or an argument becomes, each with the name of
    that input in the graph."""
    buffers = {path: name for name, path in signature.inputs_to_buffers.items()}
    specs = [(i, spec.target, spec.kind.name) for i, spec in enumerate(signature.output_specs)]
    return {i: buffers.get(target, target) for i, target, kind in specs if kind.endswith("_MUTATION")}


def initial_state(program: Any) -> dict[str, Any]:
    """Return copies of the buffers that a program changes."""
    program = decomposed(program)
    names = program.graph_signature.buffers_to_mutate.values()
    stored = {**program.constants, **program.state_dict}
    return {name: stored[name].detach().clone(memory_format=torch.contiguous_format) for name in names}


def expect_inference(graph: Any, file: str) -> None:
    """Raise `CompileError` for the graph of a model in training mode. Normalization by the statistics of what is given
    says `training`, too, but keeps none."""
    for node in graph.nodes:
        stated = dict(_stated(node))
        if True in (stated.get("training"), stated.get("train")) and stated.get("running_mean", node) is not None:
            message = f"the model is in training mode ('{node.target}'); expected model.eval()"
            raise CompileError(diagnostic_at(node, message, file))


def _stated(node: Any) -> Iterator[tuple[str, Any]]:
    schema = getattr(node.target, "_schema", None)
    if node.op == "call_function" and schema is not None:
        yield from zip((argument.name for argument in schema.arguments), node.args, strict=False)
        yield from node.kwargs.items()


def decomposed(program: Any) -> Any:
    """Return a program of operators that have imports, as far as torch can express others by them."""
    table = torch.export.default_decompositions()
    for overload in [overload for overload in table if find_import(str(overload))]:
        del table[overload]
    table.update(rules())
    program = _run(program, table)
    more = decompositions_in(program.graph)
    return _run(program, more) if more else program


def _run(program: Any, table: Any) -> Any:
    with warnings.catch_warnings():
        # About torch's own use of deprecated names.
        warnings.simplefilter("ignore")
        return program.run_decompositions(table)


def results_of(importer: TorchImporter, outputs: Sequence[Value]) -> list[Any]:
    """Return the values in the program that are the results of a graph."""
    results: list[Any] = []
    for i, value in enumerate(outputs):
        with importer.collecting(partial(importer.report, f"result {i}")):
            if isinstance(value, Pair):
                refuse("complex numbers as a result; torch.view_as_real makes pairs of them")
            if isinstance(value, IndexExpr):
                results.append(importer.builder.value(Known(value)))
            elif isinstance(value, Computed | Known):
                results.append(importer.builder.value(value))
            elif value is not None and not isinstance(value, Missing):
                refuse(f"expected a tensor, found {value}")
    return results


class _Inputs:
    """The inputs of a program's graph: arguments of the function, or constants."""

    def __init__(self, program: Any, importer: TorchImporter, shapes: Mapping[str, int]):
        self.program = program
        self.importer = importer
        self.shapes = shapes
        self.nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
        self.names = size_names(self.nodes.values())
        self._weights: dict[int, Known | Pair] = {}
        if unknown := set(shapes) - set(self.names.values()):
            known = ", ".join(sorted(self.names.values())) or "none"
            raise RelexError(f"'shapes' expected names among {known}, found {', '.join(sorted(unknown))}")

    @property
    def sizes(self) -> dict[Any, Size]:
        """The sizes that torch's symbols stand for."""
        return {symbol: self.shapes.get(name, named(name)) for symbol, name in self.names.items()}

    @property
    def given(self) -> dict[str, Any]:
        """What torch knows of the inputs of a call by name, in order."""
        return {name: self.nodes[name].meta["val"] for name in self.program.graph_signature.user_inputs}

    def read(self, weights_as_arguments: bool) -> dict[str, Value]:
        """Return the value of each input."""
        signature = self.program.graph_signature
        weights = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
        changed = changed_inputs(signature).values()
        values: dict[str, Value] = {}
        for name in signature.user_inputs:
            if name in self.nodes:
                values[name] = self._guarded(name, name)
        for name, path in weights.items():
            if not self.nodes[name].users and name not in changed:
                continue  # It is no part of the function.
            if weights_as_arguments or name in changed:
                values[name] = self._guarded(name, path)
            else:
                values[name] = self._constant(path, self.program.state_dict)
        for name, path in signature.inputs_to_lifted_tensor_constants.items():
            values[name] = self._constant(path, {})
        return values

    def _guarded(self, name: str, shown: str) -> Value:
        with self.importer.collecting(partial(self.importer.report, f"input '{shown}'")):
            return self._argument(name, shown)
        return Missing()

    def _argument(self, name: str, shown: str) -> Value:
        value = self.nodes[name].meta["val"]
        if not isinstance(value, torch.Tensor):
            if value is None or isinstance(value, int | float | bool | str):
                return value
            refuse(f"expected a tensor, found a {type(value).__name__}")
        sizes = [size_of(size, self.sizes) for size in value.shape]
        return self.importer.builder.add_argument(shown, element_type_for(value.dtype), sizes)

    def _constant(self, path: str, tensors: Mapping[str, Any]) -> Value:
        tensor = tensors.get(path)
        if tensor is None:
            tensor = self.program.constants[path]
        if id(tensor) not in self._weights:
            complex_or_real = known_pair(tensor, path) if tensor.is_complex() else Known(array_of(tensor), path)
            self._weights[id(tensor)] = complex_or_real
        return self._weights[id(tensor)]
