"""Extremes and sums of all elements up to each one, reductions into places, and operators of constants."""

from __future__ import annotations

from importlib import import_module
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from compiling import compiled_alone

import relex
from relex.dialects.errors import CompileError
from relex.frontend.torch import from_exported

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
tree: Any = import_module("torch.utils._pytree")
pytestmark = [
    pytest.mark.usefixtures("fresh"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]

NUMBERS = [[1.0, -0.0, 0.0, 3.0, 3.0, -2.0], [nan, 1.0, inf, inf, -inf, 9.0], [-inf, -inf, 2.0, nan, 5.0, nan]]


def expect_same(found: Any, wanted: Any) -> None:
    for mine, other in zip(tree.tree_leaves(found), tree.tree_leaves(wanted), strict=True):
        torch.testing.assert_close(torch.as_tensor(mine), other, equal_nan=True)


def scans(x: Any) -> Any:
    whole = x.nan_to_num(0, 7, -7).int()
    extremes = torch.cummax(x, 0), torch.cummax(whole, -1), torch.cummin(x, -1), torch.cummin(whole > 0, 0)
    sums = [torch.logcumsumexp(y, d) for y, d in ((x, 0), (x, 1), (x.double(), 1), (x.bfloat16(), 0))]
    return extremes, sums, torch.cummax(x[0, 0], 0), torch.logcumsumexp(x[0, 0], 0)


def of_rows(x: Any) -> Any:
    return torch.cummin(x, 0), torch.cummax(x.int(), 1), torch.logcumsumexp(x, 0)


def test_scans_of_any_length() -> None:
    """Of equal elements the last one is meant, and NaN is more extreme than numbers."""
    x = torch.tensor(NUMBERS)
    function = compiled_alone(scans)
    expect_same(function(x), scans(x))
    function = compiled_alone(of_rows, dynamic=True)
    for y in (torch.randn(5, 33), torch.randn(1, 4), torch.randn(3, 7)[:, 1:], torch.randn(3, 1)):
        expect_same(function(y), of_rows(y))


def test_scans_of_no_elements() -> None:
    def both(x: Any) -> Any:
        return torch.cummax(x, 1), torch.logcumsumexp(x, 0)

    function = compiled_alone(both, dynamic=True)
    for shape in ((3, 4), (0, 4), (3, 0)):
        expect_same(function(torch.ones(shape)), both(torch.ones(shape)))


def test_scans_by_export() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.cummax(x, 1).values, torch.logcumsumexp(x, 1), torch.ops.aten.norm.Scalar(x, 3)

    sizes = ({1: torch.export.Dim("length", max=99)},)
    main = relex.build(from_exported(torch.export.export(Model(), (torch.randn(2, 5),), dynamic_shapes=sizes)))["main"]
    for length in (2, 5, 64):
        x = torch.randn(2, length)
        expect_same(main(x), Model()(x))


@pytest.mark.parametrize("reduce", ["prod", "mean", "amax", "amin"])
def test_reductions_into_parts(reduce: str) -> None:
    def reduced(x: Any, i: Any, y: Any) -> Any:
        whole, parts = x.long(), y.long()
        return (
            x.index_reduce(0, i, y, reduce),
            x.index_reduce(0, i, y, reduce, include_self=False),
            whole.index_reduce(0, i, parts, reduce, include_self=False),
            x.T.index_reduce(1, i, y.T, reduce),
        )

    function = compiled_alone(reduced)
    x, y = torch.randn(4, 3) * 9, torch.randn(5, 3) * 9
    expect_same(function(x, torch.tensor([0, 2, 0, 3, 2]), y), reduced(x, torch.tensor([0, 2, 0, 3, 2]), y))
    with pytest.raises(IndexError, match="expected indices from 0 to 3, found 4"):
        function(x, torch.tensor([0, 2, 0, 4, 2]), y)


def test_products_of_batches() -> None:
    layer = torch.nn.Bilinear(3, 4, 5)

    def products(bias: Any, x: Any, y: Any) -> Any:
        several = [torch.addbmm(bias, x, y), torch.addbmm(bias, x, y, beta=0, alpha=2), bias.addbmm(x, y, beta=0.5)]
        return several, layer(x[0], y[0, :2, :4])

    function = compiled_alone(products, dynamic=True)
    for batch in (4, 1, 0):
        x, y = torch.randn(max(batch, 1), 2, 3)[:batch], torch.randn(max(batch, 1), 3, 6)[:batch]
        if batch:
            expect_same(function(torch.randn(2, 6).fill_(2), x, y), products(torch.full((2, 6), 2.0), x, y))


def test_a_known_number_of_positions() -> None:
    def places(x: Any) -> Any:
        return torch.nonzero_static(x, size=4), torch.nonzero_static(x, size=2, fill_value=7)

    function = compiled_alone(places)
    for x in (torch.eye(3), torch.zeros(3, 3), torch.ones(3, 3)):
        expect_same(function(x), places(x))


def test_operators_of_constants() -> None:
    """What has no import is computed when a model is imported, if it is a function of constants."""

    class Windowed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()  # pyright: ignore[reportUnknownMemberType]
            self.mixing = torch.nn.Parameter(torch.randn(6, 6) + 3 * torch.eye(6))

        def forward(self, x: Any) -> Any:
            inverse = torch.linalg.pinv(self.mixing)
            return x * torch.hamming_window(6) + torch.blackman_window(6), x @ inverse

    model, x = Windowed().eval(), torch.randn(2, 6)
    exported = torch.export.export(model, (x,))
    expect_same(relex.build(from_exported(exported))["main"](x), model(x))
    with pytest.raises(CompileError, match="no import for the operator; compute it before or after the program"):
        from_exported(exported, weights_as_arguments=True)


def test_constants_that_torch_refuses() -> None:
    class Singular(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()  # pyright: ignore[reportUnknownMemberType]
            self.mixing = torch.nn.Parameter(torch.zeros(2, 2))

        def forward(self, x: Any) -> Any:
            return x @ torch.linalg.solve(self.mixing, torch.eye(2))

    exported = torch.export.export(Singular().eval(), (torch.ones(2, 2),))
    with pytest.raises(CompileError, match="matrix is singular"):
        from_exported(exported)


def test_random_numbers_name_a_way_out() -> None:
    class Noisy(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x + torch.rand_like(x)

    with pytest.raises(CompileError, match="random numbers; pass them as an argument"):
        from_exported(torch.export.export(Noisy(), (torch.from_numpy(np.ones(3)),)))
