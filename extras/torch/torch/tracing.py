"""Graphs of torch's functions as graphs of ATen operators."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

from relex.frontend.torch.decompositions import rules
from relex.frontend.torch.floats import for_floats
from relex.frontend.torch.import_table import find_import
from relex.frontend.torch.library import torch
from relex.frontend.torch.operators.resampling import RESAMPLING
from relex.frontend.torch.partition import RefusedNodesError
from relex.frontend.torch.places import diagnostic_at
from relex.frontend.torch.symbols import depends_on_data


def trace(graph: Any) -> Any:
    """Return a graph of ATen operators that changes nothing in place, for a graph of torch's functions."""
    proxy_tensor: Any = import_module("torch.fx.experimental.proxy_tensor")
    known: Mapping[Any, Any] = {**import_module("torch._decomp").core_aten_decompositions(), **rules()}
    table = {overload: for_floats(overload, rule) for overload, rule in known.items() if not find_import(str(overload))}
    _fix_numbers(graph.graph)
    _fill_diagonals_by_views(graph.graph)
    fakes = [node.meta["example_value"] for node in graph.graph.nodes if node.op == "placeholder"]

    def run(*arguments: Any) -> Any:
        return _Interpreter(graph).run(*arguments)

    make_fx = proxy_tensor.make_fx
    plain_attention = torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)
    preserved = torch.fx.traceback.preserve_node_meta()
    with torch.no_grad(), preserved, plain_attention, _operators_kept(), _transforms_ended():
        if any(map(_is_of_transform, graph.graph.nodes)):
            # Functionalization takes no functions that torch transforms.
            run = make_fx(run, tracing_mode="symbolic")(*fakes)
        functional = torch.func.functionalize(run, remove="mutations")
        traced = make_fx(functional, table, tracing_mode="symbolic")(*fakes)
        more = {overload: for_floats(overload, rule) for overload, rule in decompositions_in(traced.graph).items()}
        if more or any(map(_changes_in_place, traced.graph.nodes)):
            # Some of torch's rules change tensors in place.
            again = torch.func.functionalize(traced, remove="mutations")
            traced = make_fx(again, {**table, **more}, tracing_mode="symbolic")(*fakes)
    return traced


class _Interpreter(torch.fx.Interpreter):
    """Runs a graph, and refuses the node at which torch's tracer raises an error."""

    def run_node(self, n: Any) -> Any:
        inner: Any = super()
        try:
            return inner.run_node(n)
        except Exception as e:
            name, (reason, *_) = n.target if isinstance(n.target, str) else n.name, [*str(e).splitlines(), ""]
            message = f"'{name}': {type(e).__name__}: {reason}"
            raise RefusedNodesError([diagnostic_at(n, message, "model")], {n.name}) from e


def decompositions_in(graph: Any) -> dict[Any, Any]:
    """Return torch's decompositions of operators of a graph that are part of core ATen and have no import."""
    called = {node.target for node in graph.nodes if node.op == "call_function"}
    missing = [t for t in called if isinstance(t, torch._ops.OpOverload) and find_import(str(t)) is None]
    return torch._decomp.get_decompositions(missing) if missing else {}


def _changes_in_place(node: Any) -> bool:
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.is_mutable:
        return False
    return node.target is not torch.ops.aten.copy_.default or node.args[0].op != "placeholder"


def _is_of_transform(node: Any) -> bool:
    """Return whether a node begins or ends a function that torch transforms, as by `vmap`, or is a part of it."""
    return getattr(node.target, "__module__", "").startswith("torch._functorch")


@contextmanager
def _transforms_ended() -> Generator[None]:
    """End the transformations of functions that an error leaves open: torch's state is the same for all code."""
    functorch = torch._C._functorch
    depth = functorch.get_dynamic_layer_stack_depth()
    try:
        yield
    finally:
        functorch.pop_dynamic_layer_stack_and_undo_to_depth(depth)


def _fix_numbers(graph: Any) -> None:
    """Turn Python numbers that torch keeps symbolic into constants, such as the epsilon of a layer or the size of a
    window, unless they are sizes of tensors; torch compiles again for other numbers."""
    guard_scalar = import_module("torch.fx.experimental.symbolic_shapes").guard_scalar
    values = [node.meta.get("example_value") for node in graph.nodes if node.op == "placeholder"]
    sizes = [size for value in values if isinstance(value, torch.Tensor) for size in value.shape]
    symbols = {symbol for size in sizes if isinstance(size, torch.SymInt) for symbol in size.node.expr.free_symbols}
    for value in values:
        if (
            isinstance(value, torch.SymInt)
            and not depends_on_data(value)
            and not value.node.expr.free_symbols <= symbols
        ):
            guard_scalar(value)
    for node in list(graph.nodes):
        if node.op == "call_method" and node.target == "item":
            number = getattr(node.args[0].meta.get("example_value"), "item_memo", None)
            if number is not None and not depends_on_data(number):
                node.replace_all_uses_with(guard_scalar(number))
                graph.erase_node(node)


def _fill_diagonals_by_views(graph: Any) -> None:
    """Replace a method that torch cannot express without changes in place."""
    for node in graph.nodes:
        if node.op == "call_method" and node.target == "fill_diagonal_":
            node.op, node.target = "call_function", _fill_diagonal


def _fill_diagonal(x: Any, fill_value: Any, wrap: bool = False) -> Any:
    """Fill the diagonal of a tensor. With `wrap`, a matrix has one again below its end, after an empty row."""
    if x.dim() == 2:
        height, width = x.shape
        for begin in range(0, height if wrap else 1, width + 1):
            x[begin:].diagonal().fill_(fill_value)
    else:
        for i in range(x.shape[0]):
            x[(i,) * x.dim()].fill_(fill_value)
    return x


@contextmanager
def _operators_kept() -> Generator[None]:
    """Keep operators that resize images, and the ones that have rules here. What torch makes of them gives other
    results than its kernels, such as for infinities, and for bytes."""
    key = torch._C.DispatchKey
    kinds = [getattr(torch.ops.aten, name) for name in RESAMPLING]
    overloads = [*rules(), *(overload for kind in kinds for overload in (kind.default, kind.vec))]
    before = [dict(overload.py_kernels) for overload in overloads]
    for overload in overloads:
        for name in (key.Autograd, key.CompositeImplicitAutograd):
            overload.py_kernels.pop(name, None)
        overload._dispatch_cache.clear()
    for kind in kinds:
        kind.vec.py_impl(key.CompositeImplicitAutograd)(partial(_resized, kind.default))
    try:
        yield
    finally:
        for overload, kept in zip(overloads, before, strict=True):
            overload.py_kernels.clear()
            overload.py_kernels.update(kept)
            overload._dispatch_cache.clear()


def _resized(kind: Any, x: Any, sizes: Sequence[Any] | None, *options: Any) -> Any:
    *aligned, factors = options
    factors = factors or [None] * (x.dim() - 2)
    sizes = sizes or [_scaled(size, factor) for size, factor in zip(x.shape[2:], factors, strict=True)]
    return kind(x, sizes, *aligned, *factors)


def _scaled(size: Any, factor: float) -> Any:
    return size * int(factor) if factor == int(factor) else torch.sym_int(size * factor)
