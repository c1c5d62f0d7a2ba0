"""What PyTorch makes of numbers that are not finite, of numbers near zeros of functions, and of sizes of 0."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, nan
from typing import Any

import pytest
from compiling import compiled_alone

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
functional: Any = torch.nn.functional
pytestmark = pytest.mark.usefixtures("fresh")


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_samples_of_volumes_outside(padding: str) -> None:
    """At positions that are no integers."""

    def sampled(x: Any, grid: Any) -> list[Any]:
        return [functional.grid_sample(x, grid, "nearest", padding, aligned) for aligned in (False, True)]

    grid = torch.zeros(1, 1, 1, 7, 3)
    grid[..., 0] = torch.tensor([nan, inf, -inf, 1e10, -1e10, 2.0**31, 5.0])
    x = torch.arange(4.0).reshape(1, 1, 1, 1, 4)
    torch.testing.assert_close(compiled_alone(sampled)(x, grid), sampled(x, grid))


def test_channels_rounded_as_integers() -> None:
    """By zeros that are floats, and all digits of f64."""
    scales, zeros = torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0.4, 1.3, -2.7])

    def rounded(x: Any) -> list[Any]:
        return [
            torch.fake_quantize_per_channel_affine(x, scales, zeros, 0, -10, 10),
            torch.fake_quantize_per_channel_affine(x, scales, zeros.to(torch.int32), 0, -10, 10),
            torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255),
        ]

    compiled, x = compiled_alone(rounded), torch.arange(24).reshape(3, 8) * 0.137 - 1
    ties = torch.tensor([[0.05, 0.15, 0.25]]) * 3
    near = torch.cat([ties.double() * (1 + shift) for shift in (-2e-8, 2e-8, 0)])
    for given in (x, near):
        torch.testing.assert_close(compiled(given), rounded(given), rtol=0, atol=0)


def test_logarithms_of_gamma_near_its_ones() -> None:
    numbers = 1 + 1e-8, 1 - 1e-10, 1.0, 0.875, 0.87, 1.126, 1.874, 2 + 1e-9, 2 - 1e-12, 2.0, 2.125, 1e-9, -0.5, inf, nan
    x = torch.tensor(numbers, dtype=torch.float64)
    torch.testing.assert_close(compiled_alone(torch.lgamma)(x), torch.lgamma(x), rtol=1e-12, atol=0, equal_nan=True)


def test_lists_with_numbers() -> None:
    def changed(x: Any) -> list[Any]:
        parts = [x * 1, x + 1, x * 2, x > 1]
        torch._foreach_maximum_(parts[:1], 0.2)
        torch._foreach_zero_(parts[1:2])
        torch._foreach_copy_(parts[2:], [x[:1].double(), x > 0])
        limits = [*torch._foreach_minimum([x], [0.2]), *torch._foreach_maximum([x], [x * 2])]
        return [*parts, *limits, *torch._foreach_pow(2.0, [x]), *torch._foreach_maximum([x], 0.3)]

    x = torch.tensor([nan, 1.0, -2.0])
    torch.testing.assert_close(compiled_alone(changed)(x), changed(x), equal_nan=True)


def test_labels_out_of_range() -> None:
    """After the end of a row, too."""
    compiled, x = compiled_alone(functional.multilabel_margin_loss), torch.randn(2, 3)
    right = torch.tensor([[1, -1, 0], [2, 0, 1]])
    torch.testing.assert_close(compiled(x, right), functional.multilabel_margin_loss(x, right))
    for label in (3, -2):
        wrong = torch.tensor([[1, -1, label], [2, 0, 1]])
        for call in (functional.multilabel_margin_loss, compiled):
            with pytest.raises(RuntimeError):
                call(x, wrong)


def test_distances_of_no_rows_and_of_no_numbers() -> None:
    def distances(x: Any) -> list[Any]:
        return [functional.pdist(x), functional.pdist(x, 0)]

    for x in (torch.randn(0, 3), torch.randn(1, 3), torch.tensor([[nan, 1.0], [2.0, 2.0], [inf, 2.0]])):
        torch.testing.assert_close(compiled_alone(distances, dynamic=False)(x), distances(x), equal_nan=True)


def pools(x: Any) -> list[Any]:
    return [
        functional.adaptive_avg_pool2d(x, (0, 3)),
        functional.adaptive_max_pool2d(x, (0, 3)),
        *functional.adaptive_max_pool2d(x, (3, 0), return_indices=True),
    ]


def test_pools_without_windows() -> None:
    x = torch.randn(2, 3, 4, 5)
    torch.testing.assert_close(compiled_alone(pools)(x), pools(x))


POOLS: list[Callable[[Any, Any], Any]] = [functional.adaptive_avg_pool2d, functional.adaptive_max_pool2d]


@pytest.mark.parametrize("pool", POOLS)
def test_pools_of_data_without_pixels(pool: Callable[[Any, Any], Any]) -> None:
    def pooled(x: Any) -> Any:
        return pool(x, (2, 3))

    for call in (pooled, compiled_alone(pooled)):
        with pytest.raises(RuntimeError, match=r"non-zero size|expected sizes other than 0"):
            call(torch.randn(2, 3, 0, 5))


@pytest.mark.parametrize(
    ("pool", "options"),
    [
        (functional.max_pool1d, {"kernel_size": 3, "stride": 1, "padding": 1}),
        (functional.max_pool2d, {"kernel_size": (2, 3), "stride": 2, "ceil_mode": True}),
        (functional.max_pool2d, {"kernel_size": 3, "stride": 1, "padding": 1, "dilation": 2}),
        (functional.max_pool3d, {"kernel_size": 2, "padding": 1}),
        (functional.adaptive_max_pool1d, {"output_size": 2}),
        (functional.adaptive_max_pool2d, {"output_size": (2, 3)}),
        (functional.adaptive_max_pool2d, {"output_size": (1, 4)}),
        (functional.adaptive_max_pool3d, {"output_size": (1, 2, 4)}),
    ],
)
def test_places_of_maxima_that_are_no_numbers(pool: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """The last one of a window counts, whether windows are equal or not."""

    def pooled(x: Any) -> Any:
        return pool(x, **options, return_indices=True)

    numbers = torch.tensor([nan, -1.0, 1.0, 2.0])
    x = numbers[torch.randint(0, 4, (2, 3, 4, 6, 8), generator=torch.Generator().manual_seed(0))]
    x = x[0, 0] if "2d" in pool.__name__ else x[0, 0, 0] if "1d" in pool.__name__ else x
    torch.testing.assert_close(compiled_alone(pooled)(x), pooled(x), equal_nan=True)
