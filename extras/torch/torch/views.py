"""Results of graphs that share memory with arguments or with each other: views, which torch makes at each call."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from relex.dialects.errors import RelexError
from relex.dialects.sizes import IndexExpr, Size, evaluate
from relex.frontend.torch.library import torch, tree
from relex.frontend.torch.symbols import are_equal, hint, size_of

Sizes = Mapping[Any, Size]
"""The sizes that torch's symbols stand for."""


@dataclass(frozen=True)
class ViewStep:
    """A call of an operator that views its first argument, or takes one of several views. Its other arguments may be
    sizes of the call."""

    target: Callable[..., Any]
    arguments: Sequence[Any]
    options: Mapping[str, Any]

    def apply(self, value: Any, sizes: Mapping[str, int]) -> Any:
        """Return the view of a tensor."""

        def at_call(size: IndexExpr) -> int:
            return evaluate(size, sizes)

        arguments = tree.tree_map_only(IndexExpr, at_call, self.arguments)
        return self.target(value, *arguments, **self.options)

    @property
    def has_sizes(self) -> bool:
        """True if the arguments depend on sizes of the call."""
        return any(isinstance(part, IndexExpr) for part in tree.tree_leaves(self.arguments))


@dataclass(frozen=True)
class View:
    """A result of a graph: a view of the node `base`, or that node itself."""

    base: Any
    steps: Sequence[ViewStep]


def inputs_of_results(graph: Any) -> list[int | None]:
    """Return for each result of a graph of torch's functions the input whose memory it is in, None for others."""
    places: dict[Any, int] = {}
    for i, node in enumerate(node for node in graph.nodes if node.op == "placeholder"):
        if (memory := _memory_of(node)) is not None:
            places.setdefault(memory, i)
    (output,) = (node for node in graph.nodes if node.op == "output")
    return [places.get(_memory_of(result)) for result in tree.tree_leaves(output.args[0])]


def _memory_of(node: Any) -> Any:
    """Return what stands for the memory of a node of a graph of torch's functions; None if it is no tensor."""
    value: Any = node.meta.get("example_value") if isinstance(node, torch.fx.Node) else None
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
        return None
    return torch.multiprocessing.reductions.StorageWeakRef(value.untyped_storage())


def views_of(results: Sequence[Any], names: Sizes, bases: Sequence[Any] = ()) -> list[View]:
    """Return the results of a graph: those that share memory with an argument or with one of some other `bases` as
    views of it, those that share memory with each other, or have gaps in it, as views of the tensor that has it, and
    all others by themselves. Raises `RelexError` for others that share memory."""
    chains = [_chain(node) if _is_tensor(node) else [node] for node in results]
    users = Counter(chain[-1] for chain in chains)
    made: list[View] = []
    for node, chain in zip(results, chains, strict=True):
        *views, base = chain
        is_kept = base is node or not (base.op == "placeholder" or base in bases or users[base] > 1)
        if not is_kept or (base is not node and order_in_memory(node) is None):
            made.append(View(base, [_step(view, names) for view in reversed(views)]))
        else:
            made.append(View(node, ()))
    _expect_apart([view.base for view in made])
    return made


def order_in_memory(node: Any) -> list[int] | None:
    """Return the dimensions of a tensor in the order in which its elements are in memory, outermost first; None if
    there are gaps between them, or some share their place."""
    value = node.meta["val"]
    strides = [hint(stride) for stride in value.stride()]
    order = sorted(range(value.dim()), key=lambda d: strides[d], reverse=True)
    expected: Any = 1
    for d in reversed(order):
        if are_equal(value.shape[d], 1):
            continue
        if not are_equal(value.stride(d), expected):
            return None
        expected = expected * value.shape[d]
    return order


def strides_with_gaps(node: Any) -> Sequence[int] | None:
    """Return the strides of a tensor that has gaps between its elements; None if it has none, if elements share their
    place, or if the strides are dynamic."""
    sizes, strides = node.meta["val"].shape, node.meta["val"].stride()
    if order_in_memory(node) is not None or not all(isinstance(n, int) for n in (*sizes, *strides)):
        return None
    least = 1
    for stride, size in sorted((stride, size) for stride, size in zip(strides, sizes, strict=True) if size != 1):
        if stride < least:
            return None
        least = stride * size
    return strides


def viewed(tensor: Any, steps: Sequence[ViewStep], sizes: Mapping[str, int]) -> Any:
    """Return a view of a tensor."""
    for step in steps:
        tensor = step.apply(tensor, sizes)
    return tensor


def sizes_at(placeholders: Sequence[Any], names: Sizes) -> Callable[[Sequence[Any]], Mapping[str, int]]:
    """Return a function that returns the sizes with these names, given the inputs of a graph."""
    sources: dict[str, tuple[int, int]] = {}
    for place, node in enumerate(placeholders):
        value = node.meta.get("val")
        for dimension, size in enumerate((value,) if isinstance(value, torch.SymInt) else getattr(value, "shape", ())):
            if isinstance(size, torch.SymInt) and size.node.expr in names:
                sources.setdefault(str(names[size.node.expr]), (place, dimension))

    def sizes(inputs: Sequence[Any]) -> dict[str, int]:
        found = {name: (inputs[place], dimension) for name, (place, dimension) in sources.items()}
        return {name: int(x) if isinstance(x, int) else x.shape[d] for name, (x, d) in found.items()}

    return sizes


def _chain(node: Any) -> list[Any]:
    """Return a node, what it is a view of, and so on."""
    chain = [node]
    # No memory of a program has complex numbers.
    while _is_view(chain[-1]) and not _is_complex(chain[-1].args[0]):
        chain.append(chain[-1].args[0])
    return chain


def _is_complex(node: Any) -> bool:
    return _is_tensor(node) and node.meta["val"].is_complex()


def _is_view(node: Any) -> bool:
    if node.op != "call_function":
        return False
    if node.target is operator.getitem:
        return _is_view(node.args[0])
    return node.target is torch.ops.aten._unsafe_view.default or getattr(node.target, "is_view", False)


def _is_tensor(node: object) -> bool:
    return isinstance(node, torch.fx.Node) and isinstance(cast(Any, node).meta.get("val"), torch.Tensor)


def _step(node: Any, names: Sizes) -> ViewStep:
    def size(argument: Any) -> Size:
        return size_of(argument.meta["val"], names)

    arguments = tree.tree_map_only(torch.fx.Node, size, node.args[1:])
    if any(isinstance(value, torch.fx.Node) for value in node.kwargs.values()):
        raise RelexError(f"a result is a view by '{node.target}' with sizes among its options")
    return ViewStep(node.target, arguments, dict(node.kwargs))


def _expect_apart(bases: Sequence[Any]) -> None:
    """Raise `RelexError` if tensors share memory that are no views of the same one."""
    seen: dict[Any, Any] = {}
    for node in bases:
        if _is_tensor(node) and node.op != "placeholder":
            storage = torch.multiprocessing.reductions.StorageWeakRef(node.meta["val"].untyped_storage())
            if seen.setdefault(storage, node) is not node:
                raise RelexError(f"results share memory: '{seen[storage]}' and '{node}'")
