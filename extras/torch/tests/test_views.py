"""Results of `torch.compile` that share memory with arguments or with each other."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, cast

import pytest
from compiling import compiled

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
nn: Any = torch.nn
pytestmark = [
    pytest.mark.usefixtures("fresh"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]


def of_computed(x: Any) -> tuple[Any, ...]:
    y = x + 1
    return y[0], y.t(), x * 2, y


def of_inner(x: Any) -> tuple[Any, ...]:
    y = (x * 2).t()
    return y[1:], y[:, 0]


def of_a_view(x: Any) -> tuple[Any, ...]:
    y = x[1:].unsqueeze(0)
    return y, y.squeeze(0).t()[0], y.sum()


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "view": lambda x: x.view(-1),
    "reshape": lambda x: x.reshape(-1, 1, 2),
    "transposed and reshaped, which copies": lambda x: x.t().reshape(-1),
    "t": lambda x: x.t(),
    "permute": lambda x: x.permute(1, 0),
    "slice": lambda x: x[1:, ::2],
    "slice by a size": lambda x: x[x.shape[0] // 2 :],
    "select": lambda x: x[-1],
    "unsqueeze": lambda x: x[None],
    "expand": lambda x: x[:1].expand(5, -1),
    "as_strided": lambda x: x.as_strided((2, 2), (1, 2), 1),
    "diagonal": lambda x: x.diagonal(),
    "unfold": lambda x: x.unfold(0, 2, 1),
    "detach": lambda x: x.detach(),
    "another type": lambda x: x.view(torch.int32),
    "the argument itself": lambda x: x,
    "narrow, and a sum": lambda x: (x.narrow(1, 0, 2), x.sum()),
    "parts": lambda x: (*torch.chunk(x, 2, 0), x),
    "parts of sizes": lambda x: torch.split(x, [1, x.shape[0] - 1]),
    "one by one": lambda x: torch.unbind(x, 1),
    "a result twice": lambda x: (lambda y: (y, y))(x.neg()),
    "views of a result": of_computed,
    "views of what is no result": of_inner,
    "views of a view": of_a_view,
    "a size": lambda x: (x[1:], x.shape[0]),
}


def tensors_of(results: Any) -> list[Any]:
    given = cast("list[Any]", results) if isinstance(results, tuple | list) else [results]
    return [tensor for tensor in given if isinstance(tensor, torch.Tensor)]


def written(results: Any, arguments: Any) -> list[Any]:
    """Write into one result after another; return what all tensors hold afterwards."""
    tensors = tensors_of(results)
    found: list[Any] = []
    for i, tensor in enumerate(tensors):
        flat = tensor.view(torch.int32) if tensor.dtype == torch.int32 else tensor
        if all(stride or size == 1 for stride, size in zip(flat.stride(), flat.shape, strict=True)):
            flat.add_(10 * (i + 1))
        found.append([t.clone().tolist() for t in (*tensors, *arguments)])
    return [found, [t.shape for t in tensors]]


@pytest.mark.sampled
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.usefixtures("all_by_relex")
def test_results_share_what_they_share_in_torch(name: str, dynamic: bool) -> None:
    function = FUNCTIONS[name]
    model = compiled(function, dynamic=dynamic)
    for rows in (4, 4, 6):
        outcomes: list[Any] = []
        for run in (function, model):
            whole = torch.arange(rows * 4.0 + 4).view(rows + 1, 4)
            # Arguments may be views themselves.
            for x in (whole[1:].clone(), whole[1:]):
                results = run(x)
                outcomes.append(written(results, (x, whole)))
        assert outcomes[:2] == outcomes[2:]


def test_a_row_that_is_written_after_a_graph_break() -> None:
    class Cache(nn.Module):
        k: Any

        def forward(self, x: Any) -> Any:
            row = self.k[1]
            print(end="")
            row.copy_(x)
            return self.k.sum()

    for options in ({}, {"freeze": False}):
        model = Cache().eval()
        model.register_buffer("k", torch.zeros(4, 3))
        assert compiled(model, options=options)(torch.ones(3)).item() == 3
        assert model.k[1].tolist() == [1, 1, 1]


def test_views_of_parameters_even_if_they_are_frozen() -> None:
    layer = nn.Linear(3, 2).eval()
    view = compiled(lambda: layer.weight.t(), options={"freeze": True})()
    assert view.data_ptr() == layer.weight.data_ptr()
    assert view.shape == (3, 2)


@pytest.mark.usefixtures("all_by_relex")
def test_changes_in_place() -> None:
    def change(x: Any, y: Any) -> Any:
        x.copy_(y)
        return x + 1

    x = torch.zeros(2)
    assert compiled(change)(x, torch.ones(2)).tolist() == [2, 2]
    assert x.tolist() == [1, 1]


def test_memory_shared_in_another_way() -> None:
    from relex.dialects.errors import RelexError
    from relex.frontend.torch.views import views_of

    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    nodes = [graph.call_function(torch.ops.aten.relu.default, (x,)) for _ in range(2)]
    memory = torch.ones(3)
    for node in nodes:
        node.meta["val"] = memory[1:]
    with pytest.raises(RelexError, match="results share memory: 'relu_default' and 'relu_default_1'"):
        views_of(nodes, {})


def steps(tensor: Any) -> list[tuple[int, int]]:
    """Return the sizes and strides of a tensor; along a dimension of size 1, nobody takes a step."""
    return [(n, step if n > 1 else 0) for n, step in zip(tensor.shape, tensor.stride(), strict=True)]


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda x: x.transpose(0, 2) + 1,
    "in another order": lambda x: x.permute(1, 2, 0) * 2,
    "expanded": lambda x: (x + 1)[:, :1].expand(-1, 5, -1),
    "every second": lambda x: (x + 1)[..., ::2],
    "and a part": lambda x: (lambda y: (y, y[0], y.sum(1)))(x.transpose(0, 2) + 1),
    "in order": lambda x: x.transpose(0, 2).contiguous(),
}


@pytest.mark.sampled
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.usefixtures("all_by_relex")
def test_results_are_kept_as_in_torch(name: str, dynamic: bool) -> None:
    function = LAYOUTS[name]
    model = compiled(function, dynamic=dynamic)
    for shape in ((2, 3, 4), (1, 3, 4), (3, 1, 1), (5, 4, 2)):
        wanted, found = tensors_of(function(torch.rand(shape))), tensors_of(model(torch.rand(shape)))
        assert [*map(steps, wanted)] == [*map(steps, found)]


@pytest.mark.usefixtures("all_by_relex")
def test_means_of_images_whose_channels_are_last() -> None:
    """torch gives their dimensions of size 1 the strides of such images."""

    def pooled(x: Any) -> Any:
        return nn.functional.adaptive_avg_pool2d(x + 1, 1).flatten(1) * 2

    fast = compiled(pooled)
    for batch in (2, 3, 5):
        x = torch.rand(batch, 4, 3, 3).to(memory_format=torch.channels_last)
        torch.testing.assert_close(fast(x), pooled(x))


def strided(x: Any) -> Any:
    y = x + 1
    windows = torch.as_strided(y, (2, 3), (3, 1), 1) * 2
    columns = torch.as_strided(x.t() * 2, (3, 4), (1, 3)) + 1
    y.diagonal().fill_(7)
    y[0] = torch.as_strided(x.exp(), (4,), (1,), 4)
    return y, windows, columns, torch.as_strided_scatter(x * 3, x[0, :2] * 2, (2,), (4,), 2)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.usefixtures("all_by_relex")
def test_views_by_other_strides(dynamic: bool) -> None:
    function = compiled(strided, dynamic=dynamic)
    for rows in (3, 5):
        x = torch.rand(rows, 4)
        torch.testing.assert_close(function(x), strided(x))


def test_views_by_strides_of_parts_are_left_to_torch(caplog: pytest.LogCaptureFixture) -> None:
    def shifted(x: Any) -> Any:
        return torch.as_strided((x + 1)[:, 1:], (3, 3), (1, 3)) * 2

    with caplog.at_level(logging.WARNING, "relex.torch"):
        x = torch.rand(3, 4)
        assert torch.equal(compiled(shifted)(x), shifted(x))
    assert "a view by strides of a part of a tensor; view the whole tensor" in caplog.text
