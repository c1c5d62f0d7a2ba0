"""Models that change their buffers or arguments: exported ones as arguments of the function, others in place."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiling import compiled

from relex.frontend.torch import from_exported, state_of
from relex.reference import interpret
from relex.runtime import build

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
nn: Any = torch.nn
pytestmark = [
    pytest.mark.usefixtures("fresh"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]


class Cache(nn.Module):
    """Keys and how often they were asked, in buffers."""

    keys: Any
    calls: Any
    register_buffer: Any

    def __init__(self, put: str):
        nn.Module.__init__(self)
        self.put = put
        self.register_buffer("keys", torch.zeros(1, 2, 8, 4))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64), persistent=False)
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x: Any, at: Any) -> Any:
        self.calls.add_(1)
        match self.put:
            case "index_copy":
                self.keys.index_copy_(2, at, x)
            case "index_put":
                self.keys[:, :, at] = x
            case "index_put of heads":
                self.keys[0, :, at] = x[0]
            case "scatter":
                self.keys.scatter_(2, at[None, None, :, None].expand(1, 2, 1, 4), x)
            case _:
                self.keys.copy_(torch.cat([self.keys[:, :, 1:], x], 2))
        return (self.keys * self.scale).sum(2) + self.calls


PUTS = ("index_copy", "index_put", "index_put of heads", "scatter", "shift")
IN_PLACE = ("index_copy", "index_put", "scatter")


def steps() -> list[tuple[Any, Any]]:
    return [(torch.rand(1, 2, 1, 4), torch.tensor([at])) for at in (3, 0, 7)]


@pytest.mark.sampled
@pytest.mark.parametrize("of", [build, interpret])
@pytest.mark.parametrize("put", PUTS)
def test_exported_models_change_their_buffers(put: str, of: Callable[[Any], Any]) -> None:
    model = Cache(put).eval()
    program = torch.export.export(model, steps()[0])
    main, state = of(from_exported(program))["main"], state_of(program)
    assert set(state) == {"keys", "calls"}
    assert {spec.name for spec in main.signature.inputs if spec.is_inout} == set(state)
    for x, at in steps():
        np.testing.assert_allclose(main(x, at, **state), model(x, at).numpy(), 1e-6, 1e-6)
        assert state["calls"] == model.calls
        assert torch.equal(state["keys"], model.keys)


@pytest.mark.parametrize("put", IN_PLACE)
def test_only_the_rows_of_a_cache_are_written(put: str) -> None:
    core = str(build(from_exported(torch.export.export(Cache(put).eval(), steps()[0]))).ir("core"))
    assert "memref.copy" not in core
    assert "permute_dims" not in core
    assert "%keys)" in next(line for line in core.splitlines() if "func.call @scatter" in line and "_in_place(" in line)


def test_a_file_has_the_first_values(tmp_path: Path) -> None:
    path = tmp_path / "cache.pt2"
    torch.export.save(torch.export.export(Cache("index_copy").eval(), steps()[0]), path)
    (x, at), state = steps()[0], state_of(path)
    build(path)["main"](x, at, **state)
    assert torch.equal(state["keys"][:, :, 3:4], x)


def test_exported_functions_change_their_arguments() -> None:
    class Twice(nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            y.mul_(2)
            x.copy_(y)
            return x + 1, y

    main = build(from_exported(torch.export.export(Twice(), (torch.ones(3), torch.ones(3)))))["main"]
    x, y = torch.zeros(3), torch.ones(3)
    more, same = main(x, y)
    assert (more.tolist(), same.tolist(), x.tolist(), y.tolist()) == ([3] * 3, [2] * 3, [2] * 3, [2] * 3)


# torch.compile


@pytest.mark.sampled
@pytest.mark.parametrize("freeze", [False, True])
@pytest.mark.parametrize("put", PUTS)
@pytest.mark.usefixtures("all_by_relex")
def test_compiled_models_change_their_buffers(put: str, freeze: bool) -> None:
    models = [Cache(put).eval(), Cache(put).eval()]
    fast = compiled(models[0], options={"freeze": freeze})
    for x, at in steps():
        torch.testing.assert_close(fast(x, at), models[1](x, at))
        assert torch.equal(models[0].keys, models[1].keys)
        assert torch.equal(models[0].calls, models[1].calls)


def added(x: Any, y: Any) -> Any:
    x.add_(y)
    return x.sum() * y


def exchanged(x: Any, y: Any) -> Any:
    old = x.clone()
    x.copy_(y)
    y.copy_(old)
    return old + 1


def zeroed(x: Any, y: Any) -> Any:
    x.zero_()
    y[1:] = x[1:] + 1
    return y * 3


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", [added, exchanged, zeroed])
@pytest.mark.usefixtures("all_by_relex")
def test_compiled_functions_change_their_arguments(function: Callable[..., Any], dynamic: bool) -> None:
    fast = compiled(function, dynamic=dynamic)
    for size in (3, 4):
        x, y = torch.rand(size, 2), torch.rand(size, 2)
        own = x.clone(), y.clone()
        torch.testing.assert_close(fast(x, y), function(*own))
        assert torch.equal(x, own[0])
        assert torch.equal(y, own[1])


def test_gradients_know_that_an_argument_has_changed() -> None:
    x = torch.ones(2)
    version = x._version
    compiled(added)(x, torch.ones(2))
    assert x._version > version


def summed(x: Any, y: Any) -> Any:
    x.copy_(x + y.flip(0))
    return x.sum()


def test_arguments_that_share_memory_are_changed_by_torch() -> None:
    fast, results = compiled(summed), list[Any]()
    for function in (fast, summed):
        memory = torch.arange(6.0)
        results.append([function(memory[:4], torch.ones(4)), function(memory[:4], memory[1:5]), memory])
    for found, wanted in zip(*results, strict=True):
        assert torch.equal(found, wanted)


@pytest.mark.usefixtures("all_by_relex")
def test_a_view_of_an_argument_is_changed() -> None:
    def change(x: Any) -> Any:
        return x.t().add_(1).sum()

    x = torch.zeros(2, 3)
    assert compiled(change)(x) == 6
    assert (x == 1).all()


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.usefixtures("all_by_relex")
def test_batch_norm_in_training_keeps_the_statistics_of_the_batches(affine: bool) -> None:
    norms = [nn.BatchNorm2d(3, affine=affine) for _ in range(2)]
    functions = compiled(norms[0]), norms[1]
    with torch.no_grad():
        for batch in (2, 5, 3):
            x = torch.randn(batch, 3, 4, 2) * 2 + 1
            found, wanted = (function(x) for function in functions)
            torch.testing.assert_close(found, wanted)
    for (name, found), wanted in zip(norms[0].named_buffers(), norms[1].buffers(), strict=True):
        torch.testing.assert_close(found, wanted, msg=name)


class Counted(nn.Module):
    """Counts its calls in a buffer that it assigns to itself, beside statistics in training."""

    calls: Any
    register_buffer: Any

    def __init__(self) -> None:
        nn.Module.__init__(self)
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return self.norm(x) * self.calls


@pytest.mark.usefixtures("all_by_relex")
def test_a_buffer_that_is_assigned_to_itself_counts_on() -> None:
    model = Counted()
    fast, x = compiled(model), torch.randn(4, 3)
    with torch.no_grad():
        for calls in (1, 2, 3):
            torch.testing.assert_close(fast(x), nn.BatchNorm1d(3)(x).detach() * calls)
    assert model.calls == 3
    assert model.norm.num_batches_tracked == 3


def test_a_change_of_memory_in_another_order_is_left_to_torch(caplog: pytest.LogCaptureFixture) -> None:
    x = torch.zeros(2, 3).t()
    with caplog.at_level(logging.WARNING, "relex.torch"):
        assert compiled(added)(x, torch.ones(3, 2)).sum() == 36
    assert (x == 1).all()
    assert "an in-place update of an argument" in caplog.text
