"""Functions that torch transforms inside a graph, as by `vmap`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from compiling import compiled_alone

from relex.dialects.errors import CompileError

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
pytestmark = [
    pytest.mark.usefixtures("fresh"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]


def masked(x: Any, chosen: Any) -> Any:
    places = torch.arange(x.shape[0])

    def is_seen(row: Any, column: Any) -> Any:
        return chosen[row, column] & (column <= row)

    every = torch.vmap(torch.vmap(is_seen, in_dims=(None, 0)), in_dims=(0, None))
    return x.masked_fill(~every(places, places), 0) + 1


def changed(x: Any, chosen: Any) -> Any:
    y = x.clone()
    y[0] = torch.vmap(torch.dot)(x, x * chosen)
    return y.relu_()


@pytest.mark.parametrize("function", [masked, changed])
def test_vmap(function: Any) -> None:
    fast = compiled_alone(function, fullgraph=True)
    for n in (4, 5, 7):
        x, chosen = torch.randn(n, n), torch.rand(n, n) > 0.4
        x[0, 0] = torch.nan
        torch.testing.assert_close(fast(x, chosen), function(x, chosen), equal_nan=True)


def test_state_after_errors() -> None:
    """An error inside leaves no transformation open, so that torch runs the graph."""
    tracing: Any = import_module("relex.frontend.torch.tracing")
    functorch = torch._C._functorch

    def failing(x: Any) -> Any:
        raise ValueError("no function of torch")

    def backend(graph: Any, inputs: Any) -> Any:
        last = next(node for node in graph.graph.nodes if "decrement" in str(node.target))
        with graph.graph.inserting_before(last):
            node = graph.graph.call_function(failing, (last.prev.args[0],))
        with pytest.raises(CompileError, match="ValueError: no function of torch"):
            tracing.trace(graph)
        graph.graph.erase_node(node)
        return graph.forward

    x, chosen = torch.randn(3, 3), torch.rand(3, 3) > 0.4
    slow = torch.compile(masked, backend=backend, fullgraph=True)
    torch.testing.assert_close(slow(x, chosen), masked(x, chosen))
    assert functorch.get_dynamic_layer_stack_depth() == 0
