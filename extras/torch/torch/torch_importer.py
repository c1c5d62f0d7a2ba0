"""The import of graphs of ATen operators: nodes in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from relex.dialects.errors import Diagnostic
from relex.frontend import op
from relex.frontend.graph_expressions import Expr
from relex.frontend.importing.builder import Builder
from relex.frontend.importing.graph_importer import GraphImporter, Missing
from relex.frontend.importing.loops import Row, conditional, counted
from relex.frontend.importing.regions import branch
from relex.frontend.importing.values import Known, refuse
from relex.frontend.torch.complex_numbers import import_pairs, known_pair, takes_pairs
from relex.frontend.torch.constants import NO_IMPORT, computed_at_import, is_better_at_import
from relex.frontend.torch.floats import expect_floats
from relex.frontend.torch.import_table import find_import
from relex.frontend.torch.library import torch, tree
from relex.frontend.torch.node import TorchNode
from relex.frontend.torch.places import diagnostic_at, place_of
from relex.frontend.torch.tensors import array_of

_WITH_GRAPHS = ("wrap_with_set_grad_enabled", "cond", "while_loop", "scan", "map_impl")
"""What takes graphs among its arguments."""

Value = Any
"""The imported value of a node: a tensor, a number, an expression of sizes, a list of values, None, or `Missing`."""


class TorchImporter(GraphImporter):
    """The import of graphs into one function."""

    def __init__(self, builder: Builder):
        super().__init__(builder)
        self.refused: list[Any] = []
        """The nodes of the outermost graph that could not be imported."""
        self._outermost: Any = None

    def run(self, module: Any, inputs: Mapping[str, Value]) -> list[Value]:
        """Import the graph of a `GraphModule`, given its inputs by name. Return its results, in order."""
        values: dict[Any, Value] = {}
        for node in module.graph.nodes:
            match node.op:
                case "placeholder":
                    values[node] = inputs.get(node.name, Missing())
                case "get_attr":
                    values[node] = self._attribute(module, node)
                case "output":
                    return tree.tree_leaves(_resolved(node.args[0], values))
                case _:
                    values[node] = self._call(node, values)
        return []

    def _attribute(self, module: Any, node: Any) -> Value:
        found = attrgetter(node.target)(module)
        if not isinstance(found, torch.Tensor):
            return found
        with self.collecting(partial(self._problem, node)):
            return known_pair(found, node.target) if found.is_complex() else Known(array_of(found), node.target)
        return Missing()

    def _call(self, node: Any, values: Mapping[Any, Value]) -> Value:
        outer, outermost = self.builder.location, self._outermost
        self._outermost = outermost or node
        self.builder.location = place_of(node, self.builder.file)
        value: Value = Missing()
        with self.importing(partial(self._problem, node)):
            value = tree.tree_map_only(Expr, self.builder.tensor, self._import(node, values))
        self.builder.location, self._outermost = outer, outermost
        return value

    def _import(self, node: Any, values: Mapping[Any, Value]) -> Value:
        function = find_import(target_name(node.target))
        arguments = [_resolved(argument, values) for argument in _arguments(node)]
        if any(isinstance(value, Missing) for value in tree.tree_leaves(arguments)):
            return Missing()
        if takes_pairs(node, arguments):
            return import_pairs(node, self.builder, arguments)
        is_missing = function is None and str(node.target) not in _WITH_GRAPHS
        if is_missing or is_better_at_import(node.target, arguments):
            return computed_at_import(node.target, arguments)
        expect_floats(node.target, _value_of(node.args[:1]))
        if function is None:
            return self._call_graphs(str(node.target), arguments)
        return function(TorchNode(node, self.builder), *arguments)

    def _call_graphs(self, target: str, arguments: Sequence[Any]) -> list[Value]:
        """Import graphs in place of a call that takes them: as they are, as branches, or as a loop."""
        match target, arguments:
            case "cond", (condition, then, otherwise, inputs):
                if not isinstance(condition, Expr):
                    return self._run_on(then if condition else otherwise, inputs)
                if isinstance(known := self.builder.tensor(condition), Known):
                    return self._run_on(then if known.array.item() else otherwise, inputs)
                then_values, other_values = (partial(self._run_on, graph, inputs) for graph in (then, otherwise))
                return [*branch(self.builder, known, then_values, other_values)]
            case "while_loop", (condition, body, first, others):
                if not all(isinstance(value, Expr) for value in first):
                    refuse("a loop that carries numbers; tensors without dimensions hold them")

                def holds(state: Sequence[Any]) -> Any:
                    return self._run_on(condition, [*state, *others])[0]

                def trip(i: Any, running: Any, state: Sequence[Any]) -> tuple[Any, list[Any], list[Any]]:
                    following = self._run_on(body, [*state, *others])
                    return holds(following), following, []

                return [*conditional(self.builder, None, holds(first), trip, first)]
            case "scan", (body, first, rows, others):
                return self._over_rows(body, first, rows, others)
            case "map_impl", (body, rows, others):
                return self._over_rows(body, (), rows, others)
            case _, (_, inner, *inputs):
                return self._run_on(inner, inputs)
            case _:
                refuse(NO_IMPORT)

    def _over_rows(
        self, body: Any, first: Sequence[Value], rows: Sequence[Value], others: Sequence[Value]
    ) -> list[Value]:
        """Import a loop over the rows of tensors. Return what it carries at the end, and the rows that it makes."""
        tensors = [self.builder.tensor(x) for x in rows]

        def trip(number: Any, state: Sequence[Any]) -> tuple[list[Any], list[Row]]:
            parts = [self.builder.tensor(op.take(x, number, 0)) for x in tensors]
            found = self._run_on(body, [*state, *parts, *others])
            return found[: len(first)], [Row(x, number) for x in found[len(first) :]]

        return [*counted(self.builder, tensors[0].sizes[0], trip, first)]

    def _run_on(self, module: Any, inputs: Sequence[Value]) -> list[Value]:
        """Import a graph with these inputs."""
        names = [placeholder.name for placeholder in module.graph.nodes if placeholder.op == "placeholder"]
        return self.run(module, dict(zip(names, inputs, strict=True)))

    def check(self, graph: Any) -> None:
        """Refuse what operators do not take, in a graph that torch has not yet expressed by others."""
        for node in graph.nodes:
            with self.importing(partial(self._problem, node)):
                expect_floats(node.target, _value_of(node.args[:1]))

    def report(self, what: str, message: str) -> None:
        """Add a problem of an input or a result."""
        self.problems.append(Diagnostic(f"{what}: {message}", self.builder.file))

    def _problem(self, node: Any, reason: str, attribute: str = "") -> None:
        self.refused.append(self._outermost or node)
        self.problems.append(diagnostic_at(node, f"'{target_name(node.target)}': {reason}", self.builder.file))


def target_name(target: Any) -> str:
    """Return the name of what a node calls: `aten.view.default`, `operator.add`."""
    if isinstance(target, torch._ops.OpOverload | torch._ops.HigherOrderOperator):
        return str(target)
    return f"{target.__module__.removeprefix('_')}.{target.__name__}" if callable(target) else str(target)


def _arguments(node: Any) -> list[Any]:
    """Return the arguments of a call, with defaults, in the order of the operator's schema."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return [*node.args, *node.kwargs.values()]
    return [
        node.args[i] if i < len(node.args) else node.kwargs.get(argument.name, argument.default_value)
        for i, argument in enumerate(schema.arguments)
    ]


def _resolved(argument: Any, values: Mapping[Any, Value]) -> Any:
    """Return an argument with values in place of nodes."""
    return tree.tree_map_only(torch.fx.Node, values.__getitem__, argument)


def _value_of(arguments: Sequence[Any]) -> Any:
    """Return what torch knows of the first argument, if it is computed."""
    return next((x.meta.get("val") for x in arguments if isinstance(x, torch.fx.Node)), None)
