"""The backend of `torch.compile`: graphs that torch has recorded, compiled by relex."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from relex.dialects.errors import RelexError, describe
from relex.dialects.sizes import IndexExpr, Size, evaluate, named, names_in
from relex.frontend import op
from relex.frontend.graph_expressions import Expr
from relex.frontend.importing.builder import Builder
from relex.frontend.importing.values import Known
from relex.frontend.torch import operators as operators
from relex.frontend.torch.complex_numbers import Pair, known_pair
from relex.frontend.torch.held_tensors import with_tensors_as_inputs
from relex.frontend.torch.library import torch
from relex.frontend.torch.partition import Compile, RefusedNodesError, compiled_in_parts, origins_in
from relex.frontend.torch.program import expect_inference, results_of
from relex.frontend.torch.symbols import size_names, size_of
from relex.frontend.torch.tensor_calls import PLAIN, TensorCalls
from relex.frontend.torch.tensors import array_of, element_type_for
from relex.frontend.torch.torch_importer import TorchImporter, Value
from relex.frontend.torch.tracing import trace
from relex.frontend.torch.views import (
    View,
    inputs_of_results,
    order_in_memory,
    sizes_at,
    strides_with_gaps,
    viewed,
    views_of,
)
from relex.passes import RemoveIndexChecksPass
from relex.passes.graph.layout.permutations import inverse

LOG = logging.getLogger("relex.torch")

Run = Callable[..., Sequence[Any]]


def relex(graph: Any, inputs: Sequence[Any], **settings: Any) -> Run:
    """Compile a graph of torch for inference: `torch.compile(model, backend="relex")`.

    `options={"freeze": True}` makes constants of parameters and buffers, which later changes do not reach;
    `options={"check_indices": False}` leaves out the checks of indices. Nodes that relex cannot import are run by
    torch, between parts that are compiled, and so are graphs that it cannot compile; the reason is in the log
    `relex.torch`.
    """
    options: Mapping[str, Any] = settings.get("options") or {}
    if unknown := set(options) - {"freeze", "check_indices"}:
        raise RelexError(f"expected the options 'freeze' and 'check_indices', found {', '.join(sorted(unknown))}")
    passes = [] if options.get("check_indices", True) else [RemoveIndexChecksPass()]

    def compiled(part: Any, given: Sequence[Any]) -> Run:
        return compile_graph(part, given, passes, freeze=bool(options.get("freeze")))

    try:
        return compiled(graph, inputs)
    except Exception as e:
        # Torch's tracer raises its own errors; whatever happens, the model has to run.
        return _run_by_torch(graph, inputs, e, compiled)


def _run_by_torch(graph: Any, inputs: Sequence[Any], error: Exception, compile_part: Compile) -> Run:
    """Return what runs a graph that relex cannot compile: parts that relex can compile around nodes that it cannot
    import, or torch."""
    LOG.debug("the error", exc_info=error)
    nodes = len(graph.graph.nodes)
    if isinstance(error, RefusedNodesError):
        try:
            found = compiled_in_parts(graph, inputs, error.nodes, compile_part)
        except Exception as e:
            LOG.debug("parts", exc_info=e)
            found = None
        if found is not None:
            run, left = found
            LOG.warning("%d of %d nodes of a graph are run by torch: %s", left, nodes, _reason(error))
            return run
    LOG.warning("a graph of %d nodes is run by torch: %s", nodes, _reason(error))
    return graph.forward


def _reason(error: Exception) -> str:
    return "; ".join(str(error).splitlines()) if isinstance(error, RelexError) else describe(error)


def compile_graph(graph: Any, inputs: Sequence[Any], passes: Sequence[ModulePass] = (), *, freeze: bool = False) -> Run:
    """Compile a graph of torch. Raises an error if relex cannot."""
    from relex.runtime import build

    if torch.is_grad_enabled() and any(isinstance(x, torch.Tensor) and x.requires_grad for x in inputs):
        raise RelexError("gradients are recorded; expected a call under torch.no_grad()")
    if others := {type(x).__name__ for x in inputs if isinstance(x, torch.Tensor) and type(x) not in PLAIN}:
        raise RelexError(f"expected plain tensors, found inputs of the class {', '.join(sorted(others))}")
    expect_inference(graph.graph, "model")
    whole, held = with_tensors_as_inputs(graph)
    weights = _weights(whole, [*inputs, *held])
    imported = _imported(trace(whole), whole.graph, weights if freeze else {}, inputs_of_results(whole.graph))
    main, places = build(imported.module, passes=passes)["main"], imported.places
    results, sizes_of = imported.results, imported.sizes_of
    call = TensorCalls(main, places, [*weights], imported.changed)

    def run_plain(*given: Any) -> Sequence[Any]:
        computed = call(given)
        return graph.forward(*given) if computed is None else computed

    if imported.are_plain and not held:
        return run_plain

    def run(*given: Any) -> Sequence[Any]:
        arguments = (*given, *held) if held else given
        computed = call(arguments)
        if computed is None:
            return graph.forward(*given)
        sizes = sizes_of(arguments)
        return [result(arguments, computed, sizes) for result in results]

    return run


def _weights(graph: Any, inputs: Sequence[Any]) -> dict[int, Any]:
    """Return the parameters and buffers among the inputs of a graph, by their places."""
    nodes = [node for node in graph.graph.nodes if node.op == "placeholder"]
    return {
        i: tensor
        for i, (node, tensor) in enumerate(zip(nodes, inputs, strict=True))
        if isinstance(tensor, torch.Tensor) and "_dynamo_static_input_type" in node.meta.get("tensor_dict", {})
    }


def _has_effect(node: Any) -> bool:
    """Return whether a node stays although nothing uses it. Torch forgets some of its assertions."""
    aten = torch.ops.aten
    return node.is_impure() or node.target in (aten._assert_async.default, aten._linalg_check_errors.default)


Make = Callable[[Sequence[Any], Sequence[Any], Mapping[str, int]], Any]
"""Makes a result of a graph, given its inputs, the results of the compiled function, and the sizes of the call."""


@dataclass(frozen=True)
class _Imported:
    """A graph as a module, and how to call it."""

    module: ModuleOp
    places: Sequence[int]
    """The inputs of the graph that the function takes."""
    changed: Sequence[int]
    """The inputs of the graph that a call changes."""
    results: Sequence[Make]
    sizes_of: Callable[[Sequence[Any]], Mapping[str, int]]
    """Returns the sizes of a call that results need, given the inputs."""
    are_plain: bool
    """Whether the graph has the results of the function, as they are."""


def _imported(traced: Any, graph: Any, frozen: Mapping[int, Any], shared: Sequence[int | None]) -> _Imported:
    """Import the trace of a graph, except for the results that are views: torch makes them. `shared` are the inputs
    whose memory the results are in."""
    nodes = [node for node in traced.graph.nodes if node.op == "placeholder"]
    names = {symbol: named(name) for symbol, name in size_names(nodes).items()}
    changes = _without_changes(traced)
    views = _without_views(traced, names, changes, [None if i is None else nodes[i] for i in shared])
    importer = TorchImporter(Builder("model"))
    values: dict[str, Value] = {}
    places: list[int] = []
    for i, node in enumerate(nodes):
        if not node.users and node not in changes:
            continue
        value = node.meta["val"]
        if not isinstance(value, torch.Tensor):
            values[node.name] = size_of(value, names) if isinstance(value, torch.SymInt) else value
        elif i in frozen and node not in changes:
            tensor = frozen[i]
            values[node.name] = (
                known_pair(tensor, node.name) if tensor.is_complex() else Known(array_of(tensor), node.name)
            )
        else:
            places.append(i)
            sizes = [size_of(size, names) for size in value.shape]
            values[node.name] = importer.builder.add_argument(node.name, element_type_for(value.dtype), sizes)
    (made,) = (node.args[0] for node in traced.graph.nodes if node.op == "output")
    found: dict[Any, Value] = dict(zip(made, importer.run(traced, values), strict=True))
    if importer.refused and (origins := origins_in(graph, importer.refused)):
        raise RefusedNodesError(importer.problems, origins)
    importer.expect_no_problems()
    if any(isinstance(value, Pair) for value in found.values()):
        raise RelexError("complex numbers as a result")
    bases = {view.base for view in views}
    computed = {node: value for node, value in found.items() if node in bases and isinstance(value, Expr | IndexExpr)}
    known = {str(size) for size in names.values()}
    at_call = {
        n: size for n, size in computed.items() if isinstance(size, IndexExpr) and known.issuperset(names_in(size))
    }
    computed = {node: value for node, value in computed.items() if node not in at_call}
    orders = {node: order_in_memory(node) or [] for node, value in computed.items() if isinstance(value, Expr)}
    wanted = [_as_kept(value, orders.get(node, [])) for node, value in computed.items()]
    results = results_of(importer, [importer.builder.tensor(x) for x in wanted])
    new = results_of(importer, [importer.builder.tensor(found[node]) for node in changes.values()])
    replaced = {importer.builder.value(values[node.name]): len(results) + n for n, node in enumerate(changes)}
    module = importer.finish([*results, *new], replaced)
    order = list(computed)

    def make(view: View) -> Make:
        base, steps = view.base, view.steps
        if base in nodes:
            place = nodes.index(base)
            return lambda arguments, tensors, sizes: viewed(arguments[place], steps, sizes)
        is_condition = isinstance(base, torch.fx.Node) and isinstance(base.meta.get("val"), torch.SymBool)
        if base in at_call:
            convert, size = bool if is_condition else int, at_call[base]
            return lambda arguments, tensors, sizes: convert(evaluate(size, sizes))
        if base not in computed:
            value = bool(found[base]) if is_condition else found.get(base, base)
            return lambda arguments, tensors, sizes: value
        place = order.index(base)
        is_float = isinstance(base, torch.fx.Node) and isinstance(base.meta.get("val"), torch.SymFloat)
        if is_float or isinstance(computed[base], IndexExpr):
            kind = float if is_float else bool if is_condition else int
            return lambda arguments, tensors, sizes: kind(tensors[place])
        dimensions, gapped = orders[base], strides_with_gaps(base)
        if gapped is not None and not steps:
            return lambda arguments, tensors, sizes: torch.empty_strided(
                tensors[place].shape, gapped, dtype=tensors[place].dtype
            ).copy_(tensors[place])
        if dimensions == sorted(dimensions):
            if not steps:
                return lambda arguments, tensors, sizes: tensors[place]
            return lambda arguments, tensors, sizes: viewed(tensors[place], steps, sizes)
        own = inverse(tuple(dimensions))
        return lambda arguments, tensors, sizes: viewed(tensors[place].permute(own), steps, sizes)

    are_plain = [*range(len(order))] == [
        order.index(view.base) if view.base in orders and _is_kept(view, orders[view.base]) else None for view in views
    ]
    has_sizes = bool(at_call) or any(step.has_sizes for view in views for step in view.steps)
    sizes_of = sizes_at(nodes, names if has_sizes else {})
    changed = [nodes.index(node) for node in changes]
    return _Imported(module, places, changed, [*map(make, views)], sizes_of, are_plain)


def _as_kept(value: Value, order: Sequence[int]) -> Expr:
    """Return a result of the compiled function: a tensor whose dimensions are in the order of memory, or a size."""
    if isinstance(value, IndexExpr):
        return Known([value])
    return value if list(order) == sorted(order) else op.permute_dims(value, list(order))


def _is_kept(view: View, order: Sequence[int]) -> bool:
    """Return whether a result is a tensor of the compiled function, as it is."""
    return not view.steps and list(order) == sorted(order) and strides_with_gaps(view.base) is None


def _without_changes(traced: Any) -> dict[Any, Any]:
    """Remove the updates of inputs from a graph. Return the inputs that change, each with what it becomes."""
    updates = [node for node in traced.graph.nodes if node.target is torch.ops.aten.copy_.default]
    changes: dict[Any, Any] = {}
    for node in updates:
        place, new = node.args[0], node.args[1]
        if place.op != "placeholder" or order_in_memory(place) != [*range(place.meta["val"].dim())]:
            continue  # The import refuses it.
        node.replace_all_uses_with(new)
        traced.graph.erase_node(node)
        changes[place] = new
    return changes


def _copied(node: Any) -> Any:
    """Return what a node is a copy of, in the same shape and type."""
    while isinstance(node, torch.fx.Node) and node.target is torch.ops.aten.copy.default:
        old, new = (argument.meta["val"] for argument in node.args[:2])
        if old.dtype != new.dtype or old.shape != new.shape:
            break
        node = node.args[1]
    return node


def _without_views(
    traced: Any, names: Mapping[Any, Size], changes: Mapping[Any, Any], shared: Sequence[Any]
) -> list[View]:
    """Return the results of a graph as views, and let it return what they are views of, as far as it computes that, and
    what inputs become. A result in the memory of an input that changes is a view of the input after the call. Raises
    `RelexError` for results of which it is not known what they see."""
    (output,) = (node for node in traced.graph.nodes if node.op == "output")
    views = views_of(output.args[0], names, [*changes.values()])
    for i, (view, place) in enumerate(zip(views, shared, strict=True)):
        if place is not None and place in changes and view.base in (changes[place], _copied(changes[place])):
            views[i] = View(place, view.steps)
        elif view.base in changes or place in changes:
            raise RelexError(f"a result may be in the memory of an input that changes: '{view.base}'")
    bases = dict.fromkeys(view.base for view in views if isinstance(view.base, torch.fx.Node))
    output.args = ([base for base in bases if base.op != "placeholder"] + [*dict.fromkeys(changes.values())],)
    traced.graph.eliminate_dead_code(_has_effect)
    return views
