"""The backend of `torch.compile`: graphs that torch has recorded, compiled by relex."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from relex.dialects.errors import RelexError, describe
from relex.dialects.sizes import IndexExpr, named
from relex.frontend.expressions import Expr
from relex.frontend.importing.builder import Builder
from relex.frontend.importing.values import Known
from relex.frontend.torch import operators as operators
from relex.frontend.torch.graphs import Importer, Value
from relex.frontend.torch.library import torch
from relex.frontend.torch.program import expect_inference, results_of, size_names, size_of
from relex.frontend.torch.table import find_import
from relex.frontend.torch.tensors import array_of, element_type_for, tensor_of
from relex.passes import RemoveIndexChecksPass

LOG = logging.getLogger("relex.torch")

Run = Callable[..., Sequence[Any]]


def relex(graph: Any, inputs: Sequence[Any], **settings: Any) -> Run:
    """Compile a graph of torch for inference: `torch.compile(model, backend="relex")`.

    `options={"freeze": True}` makes constants of parameters and buffers, which later changes do not reach;
    `options={"check_indices": False}` leaves out the checks of indices. A graph that relex cannot compile is run by
    torch; the reason is in the log `relex.torch`.
    """
    options: Mapping[str, Any] = settings.get("options") or {}
    if unknown := set(options) - {"freeze", "check_indices"}:
        raise RelexError(f"expected the options 'freeze' and 'check_indices', found {', '.join(sorted(unknown))}")
    passes = [] if options.get("check_indices", True) else [RemoveIndexChecksPass()]
    try:
        return _compiled(graph, inputs, passes, freeze=bool(options.get("freeze")))
    except Exception as e:
        # Torch's tracer raises errors of its own; whatever happens, the model has to run.
        LOG.warning("a graph of %d nodes is run by torch: %s", len(graph.graph.nodes), _reason(e))
        LOG.debug("the error", exc_info=e)
        return graph.forward


def _reason(error: Exception) -> str:
    return "; ".join(str(error).splitlines()) if isinstance(error, RelexError) else describe(error)


def _compiled(graph: Any, inputs: Sequence[Any], passes: Sequence[ModulePass], *, freeze: bool) -> Run:
    from relex.runtime import build

    if torch.is_grad_enabled() and any(isinstance(x, torch.Tensor) and x.requires_grad for x in inputs):
        raise RelexError("gradients are recorded; expected a call under torch.no_grad()")
    expect_inference(graph.graph, "model")
    frozen = _weights(graph, inputs) if freeze else {}
    traced = trace(graph)
    module, places, results = _imported(traced, frozen)
    main = build(module, passes=passes)["main"]

    def run(*arguments: Any) -> list[Any]:
        computed: Any = main(*(arguments[place].detach() for place in places))
        found: Iterator[Any] = iter(cast("tuple[Any]", computed) if isinstance(computed, tuple) else (computed,))
        return [result.make(arguments, found) for result in results]

    return run


def _weights(graph: Any, inputs: Sequence[Any]) -> dict[int, Any]:
    """Return the parameters and buffers among the inputs of a graph, by their places."""
    nodes = [node for node in graph.graph.nodes if node.op == "placeholder"]
    return {
        i: tensor
        for i, (node, tensor) in enumerate(zip(nodes, inputs, strict=True))
        if isinstance(tensor, torch.Tensor) and "_dynamo_static_input_type" in node.meta.get("tensor_dict", {})
    }


def trace(graph: Any) -> Any:
    """Return a graph of ATen operators that changes nothing in place, for a graph of torch's functions."""
    proxy_tensor: Any = import_module("torch.fx.experimental.proxy_tensor")
    rules: Mapping[Any, Any] = import_module("torch._decomp").core_aten_decompositions()
    table = {overload: rule for overload, rule in rules.items() if not find_import(str(overload))}
    _fix_floats(graph.graph)
    fakes = [node.meta["example_value"] for node in graph.graph.nodes if node.op == "placeholder"]

    def run(*arguments: Any) -> Any:
        return torch.fx.Interpreter(graph).run(*arguments)

    functional = torch.func.functionalize(run, remove="mutations")
    plain_attention = torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)
    with torch.no_grad(), torch.fx.traceback.preserve_node_meta(), plain_attention:
        traced = proxy_tensor.make_fx(functional, table, tracing_mode="symbolic")(*fakes)
    traced.graph.eliminate_dead_code(_has_effect)
    return traced


def _has_effect(node: Any) -> bool:
    """Return whether a node stays although nothing uses it. Torch forgets one of its assertions."""
    return node.is_impure() or node.target is torch.ops.aten._assert_async.default


def _fix_floats(graph: Any) -> None:
    """Turn Python numbers that torch keeps symbolic, such as the epsilon of a layer, into constants; torch compiles
    again for other numbers."""
    guard_scalar = import_module("torch.fx.experimental.symbolic_shapes").guard_scalar
    for node in list(graph.nodes):
        if node.op == "call_method" and node.target == "item":
            number = getattr(node.args[0].meta.get("example_value"), "item_memo", None)
            if number is not None:
                node.replace_all_uses_with(guard_scalar(number))
                graph.erase_node(node)


def _imported(traced: Any, frozen: Mapping[int, Any]) -> tuple[ModuleOp, list[int], list[Result]]:
    """Return the module for a graph, the places of the inputs that it takes, and how its results are made of those that
    it returns."""
    importer = Importer(Builder("model"))
    nodes = [node for node in traced.graph.nodes if node.op == "placeholder"]
    names = {symbol: named(name) for symbol, name in size_names(nodes).items()}
    values: dict[str, Value] = {}
    places: list[int] = []
    for i, node in enumerate(nodes):
        value = node.meta["val"]
        if not isinstance(value, torch.Tensor):
            values[node.name] = size_of(value, names) if isinstance(value, torch.SymInt) else value
        elif i in frozen:
            values[node.name] = Known(array_of(frozen[i]), node.name)
        elif node.users:
            places.append(i)
            sizes = [size_of(size, names) for size in value.shape]
            values[node.name] = importer.builder.add_argument(node.name, element_type_for(value.dtype), sizes)
    outputs = importer.run(traced, values)
    (made,) = (node.args[0] for node in traced.graph.nodes if node.op == "output")
    results = [_result(value, node, nodes) for value, node in zip(outputs, made, strict=True)]
    computed = [
        Known([x]) if isinstance(x, IndexExpr) else x for x, r in zip(outputs, results, strict=True) if r.computed
    ]
    importer.expect_no_problems()
    return importer.finish(results_of(importer, computed)), places, results


@dataclass
class Result:
    """A result of a graph, and how to make it."""

    computed: bool
    """True if the compiled function returns it."""
    make: Callable[[Sequence[Any], Iterator[Any]], Any]
    """Return it, given the arguments of the graph and what the function has returned, in order."""


def _result(value: Value, node: Any, placeholders: Sequence[Any]) -> Result:
    if node in placeholders:
        place = placeholders.index(node)
        return Result(False, lambda arguments, found: arguments[place])
    if isinstance(value, IndexExpr):
        return Result(True, lambda arguments, found: int(next(found)[0]))
    if isinstance(value, Expr):
        return Result(True, lambda arguments, found: tensor_of(next(found)))
    return Result(False, lambda arguments, found: value)
