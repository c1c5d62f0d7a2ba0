"""The import of graphs: nodes in order, scopes, and functions."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn, cast

import onnx
from onnx import FunctionProto, GraphProto, NodeProto, TypeProto, helper

from relex.dialects.errors import Diagnostic
from relex.dialects.relex.types import without_names
from relex.frontend.graph_expressions import Expr
from relex.frontend.importing.builder import name_value
from relex.frontend.importing.graph_importer import GraphImporter, Missing
from relex.frontend.onnx.assumptions import Assumptions, Choice
from relex.frontend.onnx.import_table import find_import
from relex.frontend.onnx.node import OnnxNode
from relex.frontend.onnx.standard import defaults, function_body, is_function, schema_of
from relex.frontend.onnx.tensors import onnx_type
from relex.frontend.onnx.values import AnyValue, Computed, Items, Known, refuse

Scope = ChainMap[str, AnyValue]

MAX_NODES = 200_000
"""The number of nodes at most that functions and loops may unfold to."""


@dataclass
class OnnxImporter(GraphImporter):
    """The import of a model into one function."""

    versions: Mapping[str, int]
    """The version of each operator set."""
    functions: Mapping[tuple[str, str, str], FunctionProto]
    """The functions of the model, by domain, name and overload."""
    read_tensor: Callable[[onnx.TensorProto | onnx.SparseTensorProto], Any]
    path: tuple[str, ...] = ()
    """The nodes around the current one."""
    calls: tuple[str, ...] = ()
    """The functions around the current node, to find recursion."""
    nodes: int = 0
    assumptions: Assumptions = field(default_factory=Assumptions)

    def _assume(self, first: Choice) -> Choice:
        return self.assumptions.make(self.path, first)

    def run_graph(self, graph: GraphProto, scope: Scope, inputs: Mapping[str, AnyValue]) -> list[AnyValue]:
        """Import a graph, given its inputs, in the scope of what is around it."""
        inner = scope.new_child()
        inner.update(inputs)
        sparse = [(tensor.values.name, tensor) for tensor in graph.sparse_initializer]
        for name, tensor in (*((tensor.name, tensor) for tensor in graph.initializer), *sparse):
            if name not in inner.maps[0]:
                inner[name] = self._initializer(name, tensor)
        self.run_nodes(graph.node, inner)
        return [self._output(output.name, inner) for output in graph.output]

    def run_nodes(self, nodes: Sequence[NodeProto], scope: Scope) -> None:
        """Import nodes in order."""
        for i, node in enumerate(nodes):
            name = node.name or f"{node.op_type}_{i}"
            outer, outer_location = self.path, self.builder.location
            self.path = (*outer, name)
            self.builder.location = self.builder.place("/".join(self.path))
            try:
                with self.assumptions.tracking():
                    self._run_node(node, scope)
            finally:
                self.path, self.builder.location = outer, outer_location

    def _run_node(self, node: NodeProto, scope: Scope) -> None:
        for name in node.output:
            if name in scope.maps[0]:
                self._problem(node, f"expected a name for each value, found '{name}' again")
        outputs: Sequence[AnyValue] = ()
        with self.importing(partial(self._problem, node)):
            self.nodes += 1
            if self.nodes > MAX_NODES:
                refuse(f"more than {MAX_NODES} nodes, with the nodes of loops and functions")
            inputs = [self._input(name, scope) for name in node.input]
            outputs = self._import(node, inputs, scope)
        for i, name in enumerate(node.output):
            if name:
                scope[name] = outputs[i] if i < len(outputs) else Missing()
                self.assumptions.note(scope[name])

    def _input(self, name: str, scope: Scope) -> AnyValue | None:
        if not name:
            return None
        if name not in scope:
            refuse(f"expected an input that is computed before, found '{name}'")
        self.assumptions.use(scope[name])
        return scope[name]

    def _import(self, node: NodeProto, inputs: Sequence[AnyValue | None], scope: Scope) -> Sequence[AnyValue]:
        """Return the outputs of a node."""
        domain = "" if node.domain == "ai.onnx" else node.domain
        if (called := (domain, node.op_type, node.overload)) in self.functions:
            return self._call_function(node, self.functions[called], inputs)
        if domain not in self.versions:
            refuse(f"expected an operator set that the model imports, found '{domain}'")
        version = self.versions[domain]
        function = find_import(domain, node.op_type, version)
        if any(isinstance(value, Missing) for value in inputs):
            if function is None and not is_function(node.op_type, version, domain):
                self._refuse_unknown(node, version, domain)
            return ()
        if function is None:
            body = function_body(node, version, domain, [_type_of(value) for value in inputs])
            if body is None:
                self._refuse_unknown(node, version, domain)
            return self._call_function(node, body, inputs)

        def run(graph: GraphProto, values: Sequence[AnyValue]) -> list[AnyValue]:
            return self.run_graph(graph, scope, dict(zip((i.name for i in graph.input), values, strict=False)))

        wrapped = OnnxNode(node, version, self.builder, run, self._assume)
        result = function(wrapped, *inputs)
        return self._emitted(node, cast("list[Any]", result) if isinstance(result, list | tuple) else [result])

    def _emitted(self, node: NodeProto, results: Sequence[Any]) -> list[AnyValue]:
        """Return the results of an import as values, with the names of the model."""
        made: list[AnyValue] = []
        for i, result in enumerate(results):
            if isinstance(result, Expr):
                tensor = self.builder.tensor(result)
                if isinstance(tensor, Computed) and i < len(node.output) and tensor.value.name_hint is None:
                    name_value(tensor.value, node.output[i])
                made.append(tensor)
            else:
                made.append(result)
        return made

    def _call_function(
        self, node: NodeProto, function: FunctionProto, inputs: Sequence[AnyValue | None]
    ) -> list[AnyValue]:
        """Import the body of a function in place of a call."""
        name = f"{function.domain}.{function.name}{function.overload and ':'}{function.overload}"
        if name in self.calls:
            refuse(f"a function that calls itself: {' -> '.join((*self.calls, name))}")
        domain = "" if node.domain == "ai.onnx" else node.domain
        standard = defaults(node.op_type, self.versions.get(domain, 1), domain)
        attributes = [*function.attribute_proto, *node.attribute]
        given = {**standard, **{attribute.name: attribute for attribute in attributes}}
        named = dict(zip(function.input, inputs, strict=False))
        scope: Scope = ChainMap({name: value for name, value in named.items() if value is not None})
        missing = {name for name in function.input if name not in scope}
        outer, outer_versions = self.calls, self.versions
        self.calls = (*outer, name)
        self.versions = {**self.versions, **versions_of(function.opset_import)}
        try:
            self.run_nodes([_filled(inner, given, missing) for inner in function.node], scope)
        finally:
            self.calls, self.versions = outer, outer_versions
        # A call need not name all results, and the body may be without those that it does not.
        asked = dict(zip(function.output, node.output, strict=False))
        return [self._output(name, scope) if asked.get(name) else Missing() for name in function.output]

    def _output(self, name: str, scope: Scope) -> AnyValue:
        if name not in scope:
            self.report("", f"expected an output that is computed, found '{name}'")
            return Missing()
        self.assumptions.use(scope[name])
        return scope[name]

    def _initializer(self, name: str, tensor: onnx.TensorProto | onnx.SparseTensorProto) -> AnyValue:
        with self.collecting(partial(self.report, name)):
            return Known(self.read_tensor(tensor), name)
        return Missing()

    def _problem(self, node: NodeProto, reason: str, attribute: str = "") -> None:
        where = f" attribute '{attribute}'" if attribute else ""
        path, message = "/".join(self.path), f"'{node.op_type}' node{where}: {reason}"
        notes = self.assumptions.blame()
        self.problems.append(Diagnostic(message, self.builder.place(path).filename.data, notes=notes, reason=message))

    def _refuse_unknown(self, node: NodeProto, version: int, domain: str) -> NoReturn:
        """Refuse a node whose operator has no import, whatever is assumed."""
        self.assumptions.forget()
        refuse(_no_entry(node, version, domain))

    def report_at(self, what: str, name: str, message: str) -> None:
        """Add a problem of an input or output."""
        self.assumptions.blame_all()
        self.problems.append(Diagnostic(f"{what}: {message}", self.builder.place(name).filename.data))

    def report(self, path: str, message: str) -> None:
        """Add a problem at a path in the model."""
        self.assumptions.blame_all()
        self.problems.append(Diagnostic(message, self.builder.place(path).filename.data, reason=message))


def versions_of(imports: Sequence[onnx.OperatorSetIdProto]) -> dict[str, int]:
    """Return the version of each operator set."""
    return {"" if i.domain == "ai.onnx" else i.domain: i.version for i in imports}


def _no_entry(node: NodeProto, version: int, domain: str) -> str:
    of = f" of '{domain}'" if domain else ""
    if schema_of(node.op_type, version, domain) is None:
        return f"no such operator{of} in version {version}"
    return f"no import for the operator{of} in version {version}"


def _type_of(value: AnyValue | None) -> TypeProto:
    """Return the ONNX type of a value, for bodies of functions that depend on it."""
    match value:
        case Known():
            elem = helper.np_dtype_to_tensor_dtype(value.array.dtype) if value.array.dtype != object else 7
            return helper.make_tensor_type_proto(elem, value.array.shape)
        case Computed():
            sizes = [None if size < 0 else size for size in without_names(value.sizes)]
            return helper.make_tensor_type_proto(onnx_type(value.element_type), sizes)
        case Items(values=values) if values:
            return helper.make_sequence_type_proto(_type_of(values[0]))
        case _:
            return TypeProto()


def _filled(node: NodeProto, given: Mapping[str, onnx.AttributeProto], missing: set[str]) -> NodeProto:
    """Return a node of a function with the attributes of the call in place of references to them, and without the
    inputs that the call does not give."""
    filled = NodeProto()
    filled.CopyFrom(node)
    del filled.attribute[:]
    for attribute in node.attribute:
        new = onnx.AttributeProto()
        new.CopyFrom(attribute)
        if attribute.ref_attr_name:
            if attribute.ref_attr_name not in given:
                continue
            new.CopyFrom(given[attribute.ref_attr_name])
            new.name = attribute.name
        for graph in [new.g] if new.HasField("g") else list(new.graphs):
            inner = [_filled(n, given, missing) for n in graph.node]
            del graph.node[:]
            graph.node.extend(inner)
        filled.attribute.append(new)
    for i, name in enumerate(filled.input):
        if name in missing:
            filled.input[i] = ""
    return filled
