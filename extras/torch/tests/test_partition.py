"""Graphs of which relex compiles parts, around nodes that torch runs."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from compiling import compiled, messages

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
nn: Any = torch.nn
pytestmark = pytest.mark.usefixtures("fresh")


def half_of(x: Any) -> Any:
    return x / 2


def fill_with(x: Any, value: float) -> None:
    x.fill_(value)


custom_op: Any = torch.library.custom_op
halved: Any = custom_op("relex_tests::halved", half_of, mutates_args=(), schema="(Tensor x) -> Tensor")
halved.register_fake(torch.empty_like)
fill: Any = custom_op("relex_tests::fill", fill_with, mutates_args=("x",), schema="(Tensor(a!) x, float value) -> ()")


class Network(nn.Module):
    def __init__(self: Any) -> None:
        nn.Module.__init__(self)
        self.first, self.norm, self.last = nn.Linear(6, 32), nn.LayerNorm(32), nn.Linear(32, 3)

    def forward(self, x: Any) -> Any:
        hidden = halved(self.norm(self.first(x).relu()).tanh())
        return self.last(hidden.sigmoid() + 1), hidden


def views(x: Any) -> Any:
    """A view that one part makes and another changes."""
    y = torch.relu(x * 2 + 1).exp()
    view, half = y[:, 1:], halved(y)
    view.add_(1)
    return (half + y).sin().cos(), view, y


def filled(x: Any) -> Any:
    """An operator that changes a part of what was computed before."""
    y = (x * 2).exp().sin()
    fill(y[0], 3.0)
    return (y + 1).cos().tanh(), y


def lists(x: Any) -> Any:
    """Values that are lists of tensors, of which one is computed by torch."""
    a, b = (x * 2).exp().sin().split(2, 0)
    c, d = torch.chunk(halved(a) + b.cos() + a.sin(), 2, 1)
    return c * d + 1, torch.mode(d, 0).values, (c.exp() * 2 + d).sum()


def sizes(x: Any) -> Any:
    n = x.shape[0]
    y = (x * n).tanh().sin().cos()
    return halved(y).cos().reshape(n * 2, -1) * n, y.sum().exp().tanh()


def arguments(x: Any) -> Any:
    x.mul_(2)
    y = halved((x + 1).tanh().sin())
    x.add_(y)
    return (x + y).cos().sin()


def changed_at(x: Any) -> Any:
    """A place that only a run knows, which torch's tracer cannot pass."""
    y = (x * 2).tanh().sin()
    y[x.argmax() % 4] = 1.0
    return (y + 1).cos().exp()


@pytest.mark.parametrize("function", [views, filled, lists, sizes, arguments, changed_at])
def test_parts_give_what_torch_gives(function: Callable[[Any], Any], caplog: pytest.LogCaptureFixture) -> None:
    fast = compiled(function)
    with caplog.at_level(logging.WARNING, "relex.torch"):
        for shape in ((4, 6), (4, 6), (4, 10)):
            x = torch.randn(shape)
            given = x.clone()
            found, wanted = fast(x), function(given)
            torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(x, given)
    assert all("nodes of a graph are run by torch: " in message for message in messages(caplog))


@pytest.mark.parametrize("options", [{}, {"freeze": True}])
def test_weights_of_parts(options: Any, caplog: pytest.LogCaptureFixture) -> None:
    model = Network().eval()
    fast = compiled(model, options=options)
    with caplog.at_level(logging.WARNING, "relex.torch"):
        for rows in (3, 5, 8):
            x = torch.randn(rows, 6)
            torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-5)
    assert all(message.startswith("1 of 1") for message in messages(caplog))
    before = fast(x)[0]
    with torch.no_grad():
        model.last.bias += 1
    torch.testing.assert_close(fast(x)[0], before + (not options))


def test_few_nodes_are_left_to_torch(caplog: pytest.LogCaptureFixture) -> None:
    def short(x: Any) -> Any:
        return halved(x + 1) * 2

    with caplog.at_level(logging.WARNING, "relex.torch"):
        torch.testing.assert_close(compiled(short)(torch.ones(3)), torch.full((3,), 2.0))
    assert ["a graph of 5 nodes is run by torch"] == [message.partition(":")[0] for message in messages(caplog)]
