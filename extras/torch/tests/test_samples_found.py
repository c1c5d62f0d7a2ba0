"""Differences that PyTorch's own samples of its operators have shown."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest
from compiling import compiled_alone

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
functional: Any = torch.nn.functional
pytestmark = [
    pytest.mark.usefixtures("fresh"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]


def special(*sizes: int, dtype: Any = torch.float32) -> Any:
    numbers = torch.tensor([nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-3, 3.0])
    return numbers.repeat(torch.Size(sizes).numel() // 11 + 1)[: torch.Size(sizes).numel()].reshape(sizes).to(dtype)


INDICES, OFFSETS = torch.tensor([4, 2, 2, 0, 1, 3, 0]), torch.tensor([0, 2, 2, 5])

EQUAL: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "slopes that are not finite": (lambda xs: functional.prelu(*xs), [special(2, 11, 3), special(11)]),
    "rows of other bags": (
        lambda x: [functional.embedding_bag(INDICES, x, OFFSETS, mode=mode) for mode in ("sum", "mean")],
        special(5, 3),
    ),
    "weights of bags": (
        lambda xs: functional.embedding_bag(INDICES, xs[0], OFFSETS, mode="sum", per_sample_weights=xs[1]),
        [torch.randn(5, 3), torch.randn(7)],
    ),
    "infinite neighbors": (
        lambda x: [functional.interpolate(x, scale_factor=1.7, mode="linear"), functional.interpolate(x, size=9)],
        torch.tensor([[[1.0, 2.0, inf, 3.0], [5.0, -1.0, 4.0, -inf]]]),
    ),
    "norms of f16": (lambda x: torch.linalg.vector_norm(x, dim=-1), special(4, 3, dtype=torch.float16) * 300),
    "groups of f16": (lambda x: functional.group_norm(x, 2), torch.randn(2, 6, 5).half()),
    "roots of mean squares": (lambda x: functional.rms_norm(x, [7]), torch.randn(3, 7)),
    "statistics of layers": (lambda x: torch.native_layer_norm(x, [4, 5], None, None, 1e-5), torch.randn(3, 4, 5)),
    "statistics of groups": (
        lambda x: torch.native_group_norm(x, None, None, 2, 6, 5, 3, 1e-5),
        torch.randn(2, 6, 5),
    ),
    "probabilities": (
        lambda xs: [functional.binary_cross_entropy(*xs, reduction=how) for how in ("none", "mean", "sum")],
        [torch.tensor([0.0, 1.0, 0.25, 1e-30, 1 - 1e-7]), torch.tensor([1.0, 0.0, 0.5, 1.0, 1.0])],
    ),
    "scalars along a dimension": (
        lambda x: [x.argmax(0), x.argmin(-1), *x.topk(1, 0), x.sgn(), (x > 0).sgn()],
        torch.tensor(2.0),
    ),
    "no indices, of another rank": (
        lambda xs: xs[0].gather(0, xs[1]),
        [torch.tensor([1.0, 2.0]), torch.zeros(2, 0, dtype=torch.int64)],
    ),
    "a column that loses its dimension": (
        lambda xs: torch.einsum("ijk,ik->j", xs),
        [torch.randn(4, 5, 6), torch.randn(4, 6)],
    ),
    "rules that change in place": (
        lambda xs: functional.margin_ranking_loss(*xs),
        [*torch.randn(2, 9), torch.ones(9)],
    ),
}


@pytest.mark.parametrize("name", EQUAL)
def test_results_are_equal(name: str) -> None:
    function, inputs = EQUAL[name]
    torch.testing.assert_close(compiled_alone(function)(inputs), function(inputs), equal_nan=True)


def test_images_are_resized_by_one_operator() -> None:
    """By their size or a factor, fixed or dynamic."""
    rules = dict(torch.ops.aten.upsample_bilinear2d.vec.py_kernels)
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic"):

        def resize(x: Any, mode: str = mode) -> Any:
            return functional.interpolate(x, scale_factor=2, mode=mode)

        function = compiled_alone(resize, dynamic=True)
        for image in (torch.randn(1, 2, 6, 5), torch.randn(1, 2, 3, 9)):
            torch.testing.assert_close(function(image), resize(image))
    assert torch.ops.aten.upsample_bilinear2d.vec.py_kernels == rules


def test_arguments_that_are_checked() -> None:
    entropy = compiled_alone(functional.binary_cross_entropy)
    assert entropy(torch.tensor([0.5]), torch.tensor([1.0])) > 0
    for number in (1.5, -0.1, nan):
        with pytest.raises(RuntimeError, match="expected elements from 0 to 1"):
            entropy(torch.tensor([number]), torch.tensor([1.0]))


DIVISIONS: dict[str, Callable[[Any, Any], Any]] = {
    "floor": lambda x, y: x // y,
    "trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "remainder": torch.remainder,
    "fmod": torch.fmod,
}


@pytest.mark.parametrize("name", DIVISIONS)
def test_integers_divided_by_zero(name: str) -> None:
    divide = DIVISIONS[name]
    function = compiled_alone(divide, dynamic=True)
    for dtype in (torch.int64, torch.int8, torch.uint8):
        x, y = torch.tensor([7, 9, 0], dtype=dtype), torch.tensor([2, 0, 5], dtype=dtype)
        assert function(x, y | 1).tolist() == divide(x, y | 1).tolist()
        assert not function(x[:0], y[:0]).numel()
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            divide(x, y)
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            function(x, y)


def test_all_and_any_of_no_elements() -> None:
    def found(x: Any) -> list[Any]:
        return [x.all(), x.any(), x.all(0), x.any(1), x.any(0, keepdim=True)]

    function = compiled_alone(found, dynamic=True)
    for rows in (3, 2, 0):
        x = torch.randn(rows, 4) > 0
        torch.testing.assert_close(function(x), found(x))


def test_pools_are_undone() -> None:
    pooled, places = functional.max_pool2d(torch.randn(2, 3, 4, 6), 2, return_indices=True)

    def unpooled(x: Any, places: Any) -> Any:
        return functional.max_unpool2d(x, places, 2)

    undo = compiled_alone(unpooled)
    torch.testing.assert_close(undo(pooled, places), functional.max_unpool2d(pooled, places, 2))
    for place in (-1, 24):
        with pytest.raises(IndexError, match=f"expected indices from 0 to 23, found {place}"):
            undo(pooled, torch.full_like(places, place))


def test_numbers_that_are_no_sizes() -> None:
    """They are constants; for others, torch compiles again."""

    def shifted(x: Any, steps: int) -> Any:
        return torch.nn.functional.pad(x, (steps, 1)) * steps

    function = compiled_alone(shifted, dynamic=True)
    for size, steps in ((5, 2), (5, 3), (8, 3), (8, 5)):
        x = torch.randn(size)
        torch.testing.assert_close(function(x, steps), shifted(x, steps))
