"""Differences, and refusals, that small programs of many kinds have shown."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from math import inf, nan
from typing import Any

import pytest
from compiling import compiled_alone

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
functional: Any = torch.nn.functional
operators: Any = import_module("torch._higher_order_ops")
nn: Any = torch.nn
pytestmark = [
    pytest.mark.usefixtures("fresh"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]


def layer(**settings: Any) -> Any:
    return nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, **settings).eval()


MODELS: dict[str, tuple[Callable[[], Any], Callable[[], list[Any]]]] = {
    "encoder": (lambda: nn.TransformerEncoder(layer(), 2).eval(), lambda: [torch.randn(2, 5, 16)]),
    "norm first": (lambda: layer(norm_first=True, activation="gelu"), lambda: [torch.randn(3, 4, 16)]),
    "a mask of queries": (layer, lambda: [torch.randn(2, 5, 16), torch.ones(5, 5).triu(1).bool()]),
    "a mask of batches": (
        layer,
        lambda: [torch.randn(2, 5, 16), None, torch.tensor([[0, 0, 1, 1, 1], [0, 0, 0, 0, 0]]).bool()],
    ),
    "encoder and decoder": (
        lambda: nn.Transformer(16, 2, 1, 1, 32, batch_first=True).eval(),
        lambda: [torch.randn(2, 5, 16), torch.randn(2, 3, 16)],
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_layers_that_torch_computes_in_one_step(name: str) -> None:
    make, inputs = MODELS[name]
    model, given = make(), inputs()
    torch.testing.assert_close(compiled_alone(model)(*given), model(*given), rtol=1e-4, atol=1e-5)


def test_weights_of_attention() -> None:
    model = nn.MultiheadAttention(16, 4, batch_first=True).eval()

    def attend(x: Any) -> Any:
        return [*model(x, x, x), *model(x, x, x, average_attn_weights=False)]

    x = torch.randn(2, 5, 16)
    torch.testing.assert_close(compiled_alone(attend)(x), attend(x), rtol=1e-4, atol=1e-5)


GRID = torch.tensor([[[[nan, 0.3], [inf, 0.0], [-inf, -9.0], [0.1, 0.2], [-1.3, 1.2]]]]).repeat(2, 2, 1, 1)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_samples_of_images(mode: str, padding: str) -> None:
    """Also where infinite pixels are not sampled, and at positions that are no numbers."""

    def sampled(x: Any, grid: Any) -> list[Any]:
        return [functional.grid_sample(x, grid, mode, padding, aligned) for aligned in (False, True)]

    function = compiled_alone(sampled, dynamic=True)
    # PyTorch compiles anew for sizes of 1, and where sizes that were equal in the first call are not.
    for sizes in ((5, 3, 6, 7), (2, 2, 3, 6)):
        x, grid = torch.randn(sizes), 1.5 * torch.randn(sizes[0], 8, 4, 2)
        torch.testing.assert_close(function(x, grid), sampled(x, grid), rtol=1e-4, atol=1e-5)
    image = torch.randn(2, 2, 3, 3)
    torch.testing.assert_close(function(image, GRID), sampled(image, GRID), equal_nan=True)
    image[0, 0, 0, 0] = inf
    inside = torch.tensor([[[[0.4, 0.5], [1.8, 1.9], [0.9, 0.9]]]]).repeat(2, 2, 1, 1)
    if mode != "bicubic":
        torch.testing.assert_close(function(image, inside), sampled(image, inside), equal_nan=True)


def test_samples_of_volumes() -> None:
    def sampled(x: Any, grid: Any) -> list[Any]:
        return [functional.grid_sample(x, grid, mode, align_corners=False) for mode in ("bilinear", "nearest")]

    x, grid = torch.randn(2, 3, 5, 4, 3), 1.5 * torch.randn(2, 2, 2, 2, 3)
    grid[0, 0, 0, 0, 0], grid[1, 0, 0, 0, 1] = nan, inf
    torch.testing.assert_close(compiled_alone(sampled)(x, grid), sampled(x, grid), rtol=1e-4, atol=1e-5)


def test_adaptive_pools() -> None:
    """Of dynamic sizes, of more windows than pixels, and with the places of the maxima."""

    def pooled(x: Any) -> list[Any]:
        whole = functional.adaptive_max_pool2d(x, (3, 2), return_indices=True)
        return [functional.adaptive_avg_pool2d(x, (3, 2)), functional.adaptive_max_pool2d(x, 2), *whole]

    function = compiled_alone(pooled, dynamic=True)
    for sizes in ((2, 3, 8, 7), (3, 3, 5, 9), (2, 3, 6, 4), (2, 3, 2, 1)):
        x = torch.randn(sizes)
        torch.testing.assert_close(function(x), pooled(x))


def test_windows_that_extend_beyond_images_of_dynamic_sizes() -> None:
    def pooled(x: Any) -> list[Any]:
        largest = functional.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True)
        means = [functional.avg_pool2d(x, 3, 2, 1, True, included) for included in (True, False)]
        return [*largest, *means, functional.avg_pool2d(x, (2, 3), ceil_mode=True, divisor_override=5)]

    function = compiled_alone(pooled, dynamic=True)
    for sizes in ((2, 3, 8, 9), (1, 3, 5, 7), (2, 2, 4, 3), (1, 3, 17, 33)):
        x = torch.randn(sizes)
        torch.testing.assert_close(function(x), pooled(x))


def test_places_of_maxima_in_volumes() -> None:
    def pooled(x: Any) -> Any:
        return functional.adaptive_max_pool3d(x, (2, 3, 2), return_indices=True)

    x = torch.randn(2, 3, 5, 4, 3)
    torch.testing.assert_close(compiled_alone(pooled)(x), pooled(x))


def labels(x: Any) -> list[Any]:
    targets = torch.tensor([[0, 1, -1, 2], [3, -1, -1, -1], [-1, 1, 1, 1]])
    ways = ("none", "mean", "sum")
    return [
        *(functional.multilabel_margin_loss(x, targets, reduction=way) for way in ways),
        functional.multilabel_margin_loss(x[0], targets[0]),
    ]


def quantized(x: Any) -> list[Any]:
    scales, zeros = torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0, 1, 2], dtype=torch.int32)
    return [
        torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255),
        torch.fake_quantize_per_channel_affine(x, scales, zeros, 0, -128, 127),
        torch.fake_quantize_per_tensor_affine(x, torch.tensor(0.1), torch.tensor(0, dtype=torch.int32), -8, 7),
    ]


def diagonals(x: Any) -> list[Any]:
    y, z = x * 1, x * 2
    y.diagonal().mul_(2)
    z.fill_diagonal_(3, wrap=True)
    wide = x.unsqueeze(2).expand(3, 4, 5).diagonal_scatter(torch.ones(4, 3), 1, 0, 2)
    return [x.diagonal_scatter(x[0, :3]), x.diagonal_scatter(x[0, :2], -1), x.diagonal_scatter(x[:, 0], 1), wide, y, z]


def clipped(x: Any) -> list[Any]:
    """Return tensors by the functions of lists that gradients are clipped with."""
    norms = torch._foreach_norm([x, x * 2])
    parts = torch._foreach_mul([x, x[0]], torch.clamp(1 / torch.stack(norms).norm(), max=1.0))
    changed = [x * 1, x * 2]
    torch._foreach_add_(changed, [x, x], alpha=2)
    torch._foreach_lerp_(changed, [x, x], 0.25)
    return [*norms, *parts, *changed, *torch._foreach_addcdiv([x], [x], [x + 9.0], 0.5)]


def gammas(x: Any) -> list[Any]:
    wide = x.double()
    return [torch.lgamma(x), torch.digamma(x), torch.lgamma(wide), torch.digamma(wide), torch.lgamma(wide * 1e10)]


def waves(x: Any) -> Any:
    return x.sin() * x.sum()


def cubes(x: Any) -> Any:
    return (x**3).sum()


PROGRAMS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "labels that end": (labels, torch.randn(3, 4)),
    "rounded as integers": (quantized, torch.tensor([[nan, inf, -inf, 1e10], [0.5, -3.0, 7.7, 0.05]] * 2)[:3]),
    "diagonals that change": (diagonals, torch.randn(3, 4)),
    "empty rows below diagonals": (lambda x: (x * 1).fill_diagonal_(1.5, wrap=True), torch.randn(9, 3)),
    "bytes": (lambda x: [x.any(), x.all(1), x.any(0, keepdim=True)], torch.tensor([[0, 1], [2, 3]]).byte()),
    "a scalar in order": (lambda x: [*x.sort(), x.argsort(), *x.sort(descending=True)], torch.tensor(2.5)),
    "functions of lists": (clipped, torch.randn(2, 3)),
    "gamma functions": (gammas, torch.tensor([0.0, -0.0, 1.0, 2.0, 0.3, 5.5, 12.0, -0.5, -2.0, -7.3, inf, -inf, nan])),
    "distances between rows": (
        lambda x: [functional.pdist(x), functional.pdist(x, 1.0), functional.pdist(x, inf)],
        torch.randn(4, 3),
    ),
    "slopes in inference": (functional.rrelu, torch.randn(9)),
    "jacobians": (torch.func.jacrev(waves), torch.randn(3)),
    "second derivatives": (torch.func.hessian(cubes), torch.randn(3)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    function, x = PROGRAMS[name]
    torch.testing.assert_close(compiled_alone(function)(x), function(x), equal_nan=True)


def test_sizes_as_results() -> None:
    """Of tensors of which nothing else is used."""

    def sizes(x: Any, y: Any) -> list[Any]:
        return [x.shape[0] * x.shape[1], x.numel() // 2, y * 2, x.shape[1] + 1]

    function = compiled_alone(sizes, dynamic=True)
    for rows in (3, 5):
        found = function(torch.ones(rows, 4), torch.ones(rows))
        assert found[:2] + found[3:] == [4 * rows, 2 * rows, 5]
        assert all(type(n) is int for n in found[:2])


def scanned(x: Any) -> Any:
    first = {"a": torch.zeros(4), "b": torch.ones(4)}

    def step(state: Any, row: Any) -> Any:
        return {"a": torch.tanh(state["a"] + row), "b": state["b"] * 2}, {"o": row + state["b"]}

    return operators.scan(step, first, x, reverse=True)


def mapped(x: Any) -> Any:
    def row_and_place(row: Any, y: Any) -> Any:
        return row + y, row.argmax()

    return operators.map(row_and_place, x, torch.arange(4.0))


@pytest.mark.parametrize("function", [scanned, mapped])
def test_loops_over_rows(function: Callable[[Any], Any]) -> None:
    compiled = compiled_alone(function, dynamic=True)
    for rows in (3, 6):
        x = torch.randn(rows, 4)
        torch.testing.assert_close(compiled(x), function(x))


def test_integers_of_few_bits() -> None:
    """As exporters of quantized models write them."""
    import_module("torch.ao.quantization.fx._decomposed")
    ops: Any = torch.ops.quantized_decomposed
    scales, zeros = torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0, 1, -2])

    def round_trip(x: Any) -> list[Any]:
        whole = ops.quantize_per_tensor(x, 0.05, 3, -128, 127, torch.int8)
        rows = ops.quantize_per_channel(x, scales, zeros, 0, -128, 127, torch.int8)
        return [
            whole,
            ops.dequantize_per_tensor(whole, 0.05, 3, -128, 127, torch.int8),
            rows,
            ops.dequantize_per_channel(rows, scales, zeros, 0, -128, 127, torch.int8),
            ops.quantize_per_tensor.tensor(x, scales[0], zeros[1], 0, 255, torch.uint8),
        ]

    x = torch.randn(3, 5) * 5
    torch.testing.assert_close(compiled_alone(round_trip)(x), round_trip(x))
