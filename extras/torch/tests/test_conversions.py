"""Numbers of one type as numbers of another, and steps that are computed in a wider one."""

from __future__ import annotations

from importlib import import_module
from math import inf, nan
from platform import machine
from typing import Any

import pytest
from compiling import compiled_alone

import relex
from relex.frontend.torch import from_exported

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
tree: Any = import_module("torch.utils._pytree")
pytestmark = [
    pytest.mark.usefixtures("fresh"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]

INTEGERS = ("int8", "uint8", "int16", "int32", "int64")
LARGE = [nan, inf, -inf, 1e20, -1e20, 300.0, -3.7, 3e9, -3e9, 5e9, 2.0**31, -(2.0**31), -(2.0**63), 2.0**63, 1.5]


@pytest.mark.skipif(machine() not in ("x86_64", "AMD64"), reason="other processors convert otherwise")
def test_floats_out_of_the_range_of_integers() -> None:
    def converted(x: Any) -> Any:
        kinds = [getattr(torch, name) for name in INTEGERS]
        within = x.clamp(-100, 100).to(torch.int8), x.clamp(0, 300).to(torch.uint8)
        return [x.to(kind) for kind in kinds], within, x.half().to(torch.uint8), x.bfloat16().to(torch.int64)

    function = compiled_alone(converted, dynamic=True)
    for dtype in (torch.float32, torch.float64):
        x = torch.tensor(LARGE * 3, dtype=dtype)
        for found, wanted in zip(tree.tree_leaves(function(x)), tree.tree_leaves(converted(x)), strict=True):
            torch.testing.assert_close(found, wanted, rtol=0, atol=0)


def test_clamped_numbers_are_converted_at_once() -> None:
    class Quantized(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.round().clamp(-128, 127).to(torch.int8)

    assert "relex.where" not in str(from_exported(torch.export.export(Quantized(), (torch.ones(3),))))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_variances_of_small_floats_are_rounded_once(name: str) -> None:
    def spreads(x: Any) -> Any:
        return x.var(1), x.std(0), x.var(), torch.std_mean(x), x.var(1, correction=0), torch.var_mean(x, 1)

    x = (torch.randn(40, 33) * 3 + 1).to(getattr(torch, name))
    found, wanted = (tree.tree_leaves(run(x)) for run in (compiled_alone(spreads, dynamic=True), spreads))
    for mine, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(mine, other, rtol=0, atol=0)


def test_reductions_of_few_elements() -> None:
    """A variance of at most one element has a number of dynamic size, less one, which is always 0."""

    def reduced(x: Any) -> Any:
        return x[:1].var(0), x[:1].std(0, correction=0), x[:, :0].logsumexp(1), x[:, :0].logsumexp((0, 1), keepdim=True)

    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return reduced(x)

    sizes = ({0: torch.export.Dim("rows")},)
    main = relex.build(from_exported(torch.export.export(Model(), (torch.ones(3, 4),), dynamic_shapes=sizes)))["main"]
    for rows in (2, 7):
        x = torch.randn(rows, 4)
        for found, wanted in zip(main(x), reduced(x), strict=True):
            torch.testing.assert_close(torch.as_tensor(found), wanted, equal_nan=True)
