"""Graphs of torch that relex compiles in parts, between nodes that torch runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from operator import getitem
from typing import Any

from relex.dialects.errors import CompileError, Diagnostic
from relex.frontend.torch.library import torch

LOG = logging.getLogger("relex.torch")

MIN_CALLS = 3
"""The number of calls from which a part is compiled: a single layer takes as long by torch."""

Compile = Callable[[Any, Sequence[Any]], Callable[..., Sequence[Any]]]
"""Compiles a graph, given its inputs, None for those that are only known at a call."""


class RefusedNodesError(CompileError):
    """Nodes of a graph that cannot be imported; `nodes` are their names in the graph that torch has recorded."""

    def __init__(self, problems: Sequence[Diagnostic], nodes: Collection[str]):
        super().__init__([*dict.fromkeys(problems)])
        self.nodes = nodes


def origins_in(graph: Any, nodes: Sequence[Any]) -> set[str] | None:
    """Return the names of the nodes of a graph that nodes of its trace were made for; None if that is not known."""
    names = {_origin(node, id(graph)) for node in nodes}
    return None if None in names else {name for name in names if name}


def _origin(node: Any, graph: int) -> str | None:
    waiting = [*node.meta.get("from_node", ())]
    while waiting:
        source = waiting.pop()
        if source.node_info is not None and source.node_info.graph_id == graph:
            return source.node_info.name
        waiting += source.from_node
    return None


def compiled_in_parts(
    graph: Any, inputs: Sequence[Any], refused: Collection[str], compile_part: Compile
) -> tuple[Callable[..., Sequence[Any]], int] | None:
    """
    Compile what comes before, between and after nodes that are `refused`. Return what runs the graph, and the number of
    nodes that torch runs; None if there is nothing to compile, or if nodes change how others are run, as
    transformations of functions do.

    ```
    y = linear(x); y = relu(y); y = exp(y); z = mode(y); a = linear(z); a = tanh(a); a = sum(a)
    // mode is refused
    y = part_0(x); z = mode(y); a = part_2(z)
    ```
    """
    if any(getattr(node.target, "__module__", "").startswith("torch._functorch") for node in graph.graph.nodes):
        return None
    numbers, by_torch = _parts(graph, refused)
    split_module = import_module("torch.fx.passes.split_module").split_module
    split = split_module(graph, graph, numbers.__getitem__, keep_original_order=True, tuple_return=True)
    given = dict(zip((node.name for node in graph.graph.nodes if node.op == "placeholder"), inputs, strict=True))
    has_parts, left = False, 0
    for name, part in list(split.named_children()):
        calls = [node for node in part.graph.nodes if node.op.startswith("call")]
        if int(name.removeprefix("submod_")) not in by_torch and len(calls) >= MIN_CALLS and _is_of_tensors(part):
            names = [node.name for node in part.graph.nodes if node.op == "placeholder"]
            try:
                run = compile_part(part, [given.get(name) for name in names])
            except Exception as e:
                LOG.debug("a part", exc_info=e)
            else:
                delattr(split, name)
                setattr(split, name, run)
                has_parts = True
                continue
        left += len(calls)
    return (split.forward, left) if has_parts else None


def _parts(graph: Any, refused: Collection[str]) -> tuple[dict[Any, int], set[int]]:
    """Return the number of the part of each call, and the parts that torch runs. What a call returns besides tensors
    is split where it is made."""
    numbers: dict[Any, int] = {}
    by_torch: set[int] = set()
    current = 0
    for node in graph.graph.nodes:
        if not node.op.startswith("call"):
            continue
        if node.target is getitem and node.args[0] in numbers and not _is_passed(node.args[0]):
            numbers[node] = numbers[node.args[0]]
            continue
        is_refused = node.name in refused
        if is_refused != (current in by_torch):
            current += 1
        if is_refused:
            by_torch.add(current)
        numbers[node] = current
    return numbers, by_torch


def _is_passed(node: Any) -> bool:
    """Return whether a node has a value that parts may pass to each other."""
    return isinstance(node.meta.get("example_value"), torch.Tensor | torch.SymInt | int)


def _is_of_tensors(part: Any) -> bool:
    placeholders = [node for node in part.graph.nodes if node.op == "placeholder"]
    (output,) = (node for node in part.graph.nodes if node.op == "output")
    return all(map(_is_passed, [*placeholders, *output.all_input_nodes]))
