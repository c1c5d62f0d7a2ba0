"""Signs and angles, elements in order, and reductions into places, by `torch.compile` and by `torch.export`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from math import inf, nan
from typing import Any

import pytest
from compiling import compiled_alone

import relex
from relex.dialects.errors import CompileError
from relex.frontend.torch import from_exported

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
dynamo: Any = import_module("torch._dynamo")
tree: Any = import_module("torch.utils._pytree")
pytestmark = [
    pytest.mark.usefixtures("fresh"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]


def exported(function: Callable[..., Any], inputs: Sequence[Any], sizes: Any = None) -> Any:
    class Model(torch.nn.Module):
        def forward(self, *given: Any) -> Any:
            return function(*given)

    return torch.export.export(Model(), tuple(inputs), dynamic_shapes=None if sizes is None else (tuple(sizes),))


def expect_same(found: Any, wanted: Any) -> None:
    for mine, other in zip(tree.tree_leaves(found), tree.tree_leaves(wanted), strict=True):
        torch.testing.assert_close(torch.as_tensor(mine), other, equal_nan=True)


def signs(y: Any, x: Any) -> Any:
    a, b = (part.nan_to_num().clamp(-9, 9).int() for part in (y, x))
    extremes = torch.fmax(y, x), torch.fmin(y, x), torch.fmax(a, b)
    whole = torch.atan2(a, b), torch.signbit(b)
    signed = torch.copysign(x, y), torch.copysign(y, -1.0), torch.signbit(x)
    return torch.atan2(y, x), torch.angle(y), torch.angle(torch.complex(x, y)), *extremes, *whole, *signed


def middles(x: Any) -> Any:
    whole = x.nan_to_num(4).long()
    # Which one of equal elements is at the place is left open.
    middles = x.median(), x.nanmedian(), x.median(1), whole.median(0).values, whole.median()
    return (
        *middles,
        x.nanmedian(1, keepdim=True).values,
        whole.kthvalue(2, 1).values,
        torch.zeros(0).median(),
        torch.tensor(3.0).median(0),
    )


def among(bounds: Any, x: Any) -> Any:
    places = [torch.searchsorted(bounds, x, right=right, out_int32=right) for right in (False, True)]
    unordered, rows = bounds.flip(0), bounds.expand(2, -1).contiguous()
    sorter = torch.arange(4, -1, -1)
    more = torch.searchsorted(unordered, x, sorter=sorter), torch.searchsorted(rows, x, side="right")
    return *places, torch.bucketize(x, bounds), torch.searchsorted(bounds, 2.0), torch.isin(x, bounds), *more


def into_places(x: Any, places: Any, new: Any) -> Any:
    kinds = [(kind, there) for kind in ("sum", "prod", "mean", "amax", "amin") for there in (True, False)]
    floats = [torch.scatter_reduce(x, 0, places, new, kind, include_self=there) for kind, there in kinds]
    whole = [(9 * x).long(), places, (9 * new).long()]
    integers = [torch.scatter_reduce(whole[0], 0, *whole[1:], kind, include_self=there) for kind, there in kinds]
    return floats, integers, torch.isin(places, 2, invert=True), torch.tril_indices(3, 4)


SPECIAL = [1.0, -1.0, 0.0, -0.0, nan, inf, -inf, 2.0]
CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "signs": (
        signs,
        [torch.tensor(SPECIAL).repeat(8), torch.tensor(SPECIAL[:4] + SPECIAL[5:] + [3.0]).repeat_interleave(8)],
    ),
    "middles": (middles, [torch.tensor([[3.0, 1, nan, 2], [5, 4, 6, 1], [nan, nan, nan, nan]])]),
    "among": (among, [torch.tensor([0.0, 1, 1, 2.5, 4]), torch.tensor([[-1.0, 1, 2.5, nan], [9, 0, 4, 3]])]),
    "places": (
        into_places,
        [torch.arange(15.0).view(5, 3) - 7, torch.tensor([[0, 1, 2], [0, 4, 2]]), torch.ones(2, 3) / 3],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_compiled(name: str) -> None:
    function, inputs = CASES[name]
    expect_same(compiled_alone(function)(*inputs), function(*inputs))


@pytest.mark.parametrize("name", ["signs", "among"])
def test_exported(name: str) -> None:
    function, inputs = CASES[name]
    expect_same(relex.build(from_exported(exported(function, inputs)))["main"](*inputs), function(*inputs))


def test_medians_along_dynamic_sizes() -> None:
    def function(x: Any) -> Any:
        return x.median(0).values, x.nanmedian(), x.var(), x.std(0, correction=0)

    x = CASES["middles"][1][0]
    n = torch.export.Dim("n", min=2)
    main = relex.build(from_exported(exported(function, [x], [{0: n}])))["main"]
    for given in (x, x[:2], x.nan_to_num().repeat(3, 1)):
        expect_same(main(given), function(given))


def parts(x: Any) -> Any:
    rows = torch.unique(x, dim=0, return_inverse=True, return_counts=True)
    return (
        rows,
        torch.unique(x, dim=1),
        torch.unique(x > 0, dim=0, return_inverse=True),
        torch.unique(x[:, None], dim=0),
    )


ROWS = torch.tensor([[1.0, 2, 0], [0, 0, 1], [1, 2, 0], [-1, 3, 5], [0, -0.0, 1], [1, 2, -9]])


def test_different_parts() -> None:
    with dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        expect_same(compiled_alone(parts)(ROWS), parts(ROWS))


def test_different_parts_of_dynamic_sizes() -> None:
    def function(x: Any) -> Any:
        return torch.unique(x, dim=0, return_inverse=True, return_counts=True)

    n, m = torch.export.Dim("n"), torch.export.Dim("m")
    main = relex.build(from_exported(exported(function, [ROWS], [{0: n}])))["main"]
    for given in (ROWS, ROWS[:1], ROWS.repeat(3, 1)):
        expect_same(main(given), function(given))
    program = exported(function, [ROWS], [{0: n, 1: m}])
    with pytest.raises(CompileError, match="different parts of m elements; fix the sizes with `shapes=`"):
        from_exported(program)


def sampled(x: Any, grid: Any) -> Any:
    return torch.nn.functional.grid_sample(x, grid, padding_mode="border", align_corners=False)


def test_samples_of_a_grid_of_dynamic_sizes() -> None:
    inputs = [torch.arange(60.0).view(1, 3, 5, 4).sin(), torch.arange(28.0).view(1, 7, 2, 2).cos() * 1.3]
    sizes = [{2: torch.export.Dim("h", min=2), 3: torch.export.Dim("w", min=2)}, {1: torch.export.Dim("k")}]
    main = relex.build(from_exported(exported(sampled, inputs, sizes)))["main"]
    for given in (inputs, [inputs[0][:, :, :4, :3], inputs[1][:, :6]]):
        expect_same(main(*(x.contiguous() for x in given)), sampled(*given))


def test_images_without_aliases() -> None:
    def function(x: Any) -> Any:
        interpolate = torch.nn.functional.interpolate
        modes = [(mode, size) for mode in ("bilinear", "bicubic") for size in ((3, 5), (16, 4))]
        return [interpolate(x, size, mode=mode, antialias=True) for mode, size in modes]

    x = torch.arange(2 * 9 * 7.0).view(1, 2, 9, 7).sin()
    expect_same(compiled_alone(function)(x), function(x))


def test_floats_of_dynamic_sizes() -> None:
    def function(x: Any) -> Any:
        n = x.shape[0]
        return x * (n**0.5), x.sum() / (n - 0.5), torch.full((2,), n / 3), x + n / 2

    x = torch.arange(12.0).view(4, 3)
    main = relex.build(from_exported(exported(function, [x], [{0: torch.export.Dim("n")}])))["main"]
    for given in (x, x[:3]):
        expect_same(main(given.contiguous()), function(given))


def test_parts_of_dynamic_dimensions() -> None:
    def function(x: Any) -> Any:
        y = x.clone()
        y[:, 1::2] += 1
        y[-2:] = 3
        y[:, -1] = y[:, 0]
        return y, x.roll((1, -2), (0, 1)), x.unfold(1, 2, 1), torch.nn.functional.unfold(x[None, None], 2, padding=1)

    x = torch.arange(20.0).view(4, 5)
    n, m = torch.export.Dim("n", min=2), torch.export.Dim("m", min=4)
    main = relex.build(from_exported(exported(function, [x], [{0: n, 1: m}])))["main"]
    for given in (x, x[:3, :4]):
        expect_same(main(given.contiguous()), function(given))


def test_bags() -> None:
    def function(weight: Any, indices: Any, offsets: Any) -> Any:
        bag = torch.nn.functional.embedding_bag
        modes = [bag(indices, weight, offsets, mode=mode) for mode in ("sum", "mean", "max")]
        return *modes, *(bag(indices, weight, offsets, mode=mode, padding_idx=2) for mode in ("sum", "mean", "max"))

    given = torch.arange(12.0).view(4, 3) - 20, torch.tensor([1, 2, 3, 2, 0, 2]), torch.tensor([0, 3, 3, 4])
    expect_same(compiled_alone(function)(*given), function(*given))


def test_circular_padding() -> None:
    def function(x: Any) -> Any:
        return torch.nn.functional.pad(x, (1, 2, 2, 1), mode="circular")

    x = torch.arange(30.0).view(1, 2, 3, 5)
    expect_same(compiled_alone(function)(x), function(x))


def test_diagonals_of_dynamic_sizes() -> None:
    def function(x: Any) -> Any:
        return x.diagonal(), x.diagonal(-1) + 1, x + torch.eye(*x.shape), torch.eye(x.shape[0])

    x = torch.arange(20.0).view(4, 5)
    main = relex.build(from_exported(exported(function, [x], [{0: torch.export.Dim("n", min=3)}])))["main"]
    for given in (x, x[:3], x.repeat(2, 1)):
        expect_same(main(given.contiguous()), function(given))
