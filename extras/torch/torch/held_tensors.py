"""Tensors that graphs of torch's functions hold themselves, as steps of optimizers do: inputs like all others."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from relex.frontend.torch.library import torch


def with_tensors_as_inputs(graph: Any) -> tuple[Any, Sequence[Any]]:
    """Return a graph whose own tensors are its last inputs, and these tensors. Of what a graph holds, a trace would
    change the tensors themselves, and an import would make constants."""
    own = [node for node in graph.graph.nodes if node.op == "get_attr"]
    tensors: dict[int, Any] = {id(value): value for node in own if _is_tensor(value := _held(graph, node))}
    if not tensors:
        return graph, ()
    made = torch.fx.Graph()
    made.output(made.graph_copy(graph.graph, {}))
    inputs: dict[int, Any] = {}
    *_, last = [None, *(node for node in made.nodes if node.op == "placeholder")]
    for node in [node for node in made.nodes if node.op == "get_attr"]:
        tensor = _held(graph, node)
        if not _is_tensor(tensor):
            continue
        if id(tensor) not in inputs:
            with made.inserting_before(next(iter(made.nodes))) if last is None else made.inserting_after(last):
                held: Any = made.placeholder(f"held_{len(inputs)}")
            held.meta = {**node.meta, "tensor_dict": {"_dynamo_static_input_type": "held"}}
            inputs[id(tensor)] = last = held
        node.replace_all_uses_with(inputs[id(tensor)])
        made.erase_node(node)
    return torch.fx.GraphModule(graph, made), [tensors[key] for key in inputs]


def _held(graph: Any, node: Any) -> Any:
    return attrgetter(node.target)(graph)


def _is_tensor(value: object) -> bool:
    return isinstance(value, torch.Tensor)
