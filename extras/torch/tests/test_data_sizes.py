"""Results whose sizes depend on data, by `torch.export` and by `torch.compile`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from importlib import import_module
from math import nan
from typing import Any

import numpy as np
import pytest
from compiling import compiled, compiled_alone

import relex
from relex.dialects.errors import RelexError
from relex.frontend.torch import from_exported

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
dynamo: Any = import_module("torch._dynamo")
tree: Any = import_module("torch.utils._pytree")
pytestmark = [
    pytest.mark.usefixtures("fresh"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]


@pytest.fixture(autouse=True)
def captured() -> Generator[None]:
    """Let `torch.compile` record what it otherwise leaves to Python."""
    with dynamo.config.patch(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True):
        yield


def exported(function: Callable[..., Any], inputs: Sequence[Any], sizes: Any = None) -> Any:
    class Model(torch.nn.Module):
        def forward(self, *given: Any) -> Any:
            return function(*given)

    program = torch.export.export(Model(), tuple(inputs), dynamic_shapes=sizes)
    return relex.build(from_exported(program))["main"]


def masks(x: Any) -> Any:
    mask = x > 0
    flat = x[mask]
    return flat * 2, x.masked_select(mask[0]), x[mask[:, 0]].sum(0), x[:, mask[0]] + 1, flat[:2], flat.view(-1, 1) + 1


def mixed(x: Any) -> Any:
    mask = x > 0
    return x[mask[:, 0], torch.tensor([1])], x[None][:, mask].shape[1], torch.cat([x[mask], x[0]]), x[mask].softmax(0)


def stored(x: Any) -> Any:
    mask, y, z = x > 0, x.clone(), x.clone()
    y[mask] = x[mask] * 3
    z[mask[:, 0]] = 7.0
    more = x.index_put((mask[:, 0],), torch.ones(x.shape[1]), accumulate=True)
    wider = x[0].masked_scatter(mask, torch.arange(12.0))
    return y, z, more, x.masked_scatter(mask, x[mask] - 1), x.masked_scatter(mask[0], torch.arange(12.0)), wider


def places(x: Any) -> Any:
    chosen = (x[:, 0] > 0).nonzero().squeeze(1)
    return torch.nonzero(x), torch.where(x > 0), torch.zeros_like(x).index_add(0, chosen, x[chosen] * 2)


def repeated(x: Any) -> Any:
    times = x[:, 0].clamp(0, 3).long()
    rows = torch.repeat_interleave(x, times, dim=0)
    return rows + 1, torch.repeat_interleave(times.int()), torch.repeat_interleave(x[:, 1], times)


def different(x: Any) -> Any:
    whole = x.round().long()
    return torch.unique(x), torch.unique(whole, return_inverse=True, return_counts=True), torch.unique(x > 0)


def rows_of_equal(x: Any) -> Any:
    given = {"return_inverse": True, "return_counts": True}
    return torch.unique_consecutive(x, **given), torch.unique_consecutive(x > 0, dim=0, **given)


def counted(x: Any) -> Any:
    numbers = x.clamp(0).long().flatten()
    return torch.bincount(numbers), torch.bincount(numbers, weights=x.flatten().double(), minlength=5)


MATRICES = [
    torch.tensor([[1.0, -2, 3, 3], [-1, 5, 3, 3], [2, 0, 0, -7]]),
    torch.full((3, 4), -1.0),
    torch.full((3, 4), 2.0),
    torch.tensor([[nan, nan, 0.0, -0.0], [nan, nan, 1, 1], [1, 1, nan, 1]]),
]
FUNCTIONS = [masks, mixed, stored, places, repeated, different, rows_of_equal, counted]


def inputs_of(function: Callable[..., Any]) -> list[Any]:
    """Return the matrices; NaN has no integer."""
    return MATRICES[: 3 if function in (repeated, different, counted) else 4]


@pytest.mark.sampled
@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_exported(function: Callable[..., Any], is_dynamic: bool) -> None:
    sizes = {"given": ({0: torch.export.Dim("rows", min=0)},)} if is_dynamic else None
    inputs = inputs_of(function)
    main = exported(function, inputs[:1], sizes)
    if is_dynamic:
        inputs = [*inputs, *([inputs[0][:0], inputs[0][:1]] if function in (places, different) else [])]
    for x in inputs:
        for found, wanted in zip(main(x), tree.tree_leaves(function(x)), strict=True):
            expected = np.asarray(wanted)
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_allclose(found, expected, 1e-6)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_compiled(function: Callable[..., Any]) -> None:
    fast = compiled_alone(function, fullgraph=True)
    for x in inputs_of(function):
        for found, wanted in zip(tree.tree_leaves(fast(x)), tree.tree_leaves(function(x)), strict=True):
            if not isinstance(wanted, torch.Tensor):
                assert (found, type(found)) == (wanted, type(wanted))
                continue
            torch.testing.assert_close(found, wanted, equal_nan=True)
            if wanted.numel():
                assert found.stride() == wanted.stride()


# Numbers of tensors


def sliced(x: Any, n: Any) -> Any:
    size = n.item()
    torch._check(size >= 0)
    torch._check(size <= x.shape[0])
    return x[:size] * 2, x[size:], torch.arange(size), torch.zeros(size, 3) + 1, size


def last(x: Any, n: Any) -> Any:
    size = n.item()
    torch._check(size >= 1)
    torch._check(size <= x.shape[0])
    return x[:size].sum(), x[size - 1] + 0


def computed(x: Any, n: Any) -> Any:
    number = n.item()
    return x * number, x + (number * 2 - 1), x * (n > 2).item(), x + (n * 0.1).item()


@pytest.mark.parametrize("of", ["export", "compile"])
@pytest.mark.parametrize(("function", "numbers"), [(sliced, (3, 0, 7)), (last, (3, 1, 7)), (computed, (3, 0, -4))])
def test_numbers(function: Callable[..., Any], numbers: Sequence[int], of: str) -> None:
    x = torch.arange(7.0)
    fast = exported(function, (x, torch.tensor(3))) if of == "export" else compiled_alone(function, fullgraph=True)
    for number in numbers:
        given = x, torch.tensor(number)
        for found, wanted in zip(tree.tree_leaves(fast(*given)), tree.tree_leaves(function(*given)), strict=True):
            torch.testing.assert_close(torch.as_tensor(found), torch.as_tensor(wanted))


def put_where_large(x: Any, y: Any) -> Any:
    return x.masked_scatter(x > 2, y)


def twice_where_positive(x: Any) -> Any:
    return (x * 2)[x > 0] + 1


def test_sizes_that_do_not_fit() -> None:
    x = torch.arange(7.0)
    main = exported(sliced, (x, torch.tensor(3)))
    for number in (-1, 8):
        with pytest.raises(RelexError):
            main(x, torch.tensor(number))
    least = exported(last, (x, torch.tensor(3)))
    with pytest.raises(RelexError, match="u0 >= 1"):
        least(x, torch.tensor(0))
    few = exported(put_where_large, (x, torch.ones(3)))
    with pytest.raises(RelexError, match="as many elements as the mask has places"):
        few(x, torch.ones(3))
    times = exported(torch.repeat_interleave, (x, torch.ones(7, dtype=torch.int64)))
    with pytest.raises(RelexError):
        times(x, torch.full((7,), -1))


def test_assertions_that_follow_are_not_computed() -> None:
    """torch asserts that a mask leaves no more elements than there are."""

    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x[x > 0]

    for sizes in (None, ({0: torch.export.Dim("rows")},)):
        text = str(from_exported(torch.export.export(Model(), (torch.ones(7),), dynamic_shapes=sizes)))
        assert "relex.assert" not in text
        assert "relex.compress" in text


@pytest.mark.usefixtures("all_by_relex")
def test_graphs_that_are_recorded_by_default() -> None:
    """Without its options, torch records no operators of such results, and leaves them to Python."""
    with dynamo.config.patch(capture_dynamic_output_shape_ops=False, capture_scalar_outputs=False):
        fast = compiled(twice_where_positive)
        for x in MATRICES[:3]:
            assert torch.equal(fast(x), twice_where_positive(x))
