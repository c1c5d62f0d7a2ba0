"""The order of nodes: the standard wants each after those whose results it uses, but runtimes take any order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

from onnx import GraphProto, ModelProto, NodeProto


def in_order(model: ModelProto) -> ModelProto:
    """Return a model whose graph has each node after those whose results it uses: the model itself if it has them so,
    or if no order does."""
    nodes = model.graph.node
    makers = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    needed = {i: {makers[name] for name in _used(node) if name in makers} for i, node in enumerate(nodes)}
    if all(before < i for i, others in needed.items() for before in others):
        return model
    try:
        order = list(TopologicalSorter(needed).static_order())
    except CycleError:
        return model  # The check says what is wrong.
    made = ModelProto()
    made.CopyFrom(model)
    del made.graph.node[:]
    made.graph.node.extend(nodes[i] for i in order)
    return made


def _used(node: NodeProto) -> Iterator[str]:
    """Yield the names that a node uses, also in graphs of its attributes."""
    yield from node.input
    for attribute in node.attribute:
        graphs: Sequence[GraphProto] = [*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])]
        for graph in graphs:
            made = {name for inner in graph.node for name in inner.output} | {i.name for i in graph.input}
            made |= {tensor.name for tensor in graph.initializer}
            for inner in graph.node:
                yield from (name for name in _used(inner) if name not in made)
