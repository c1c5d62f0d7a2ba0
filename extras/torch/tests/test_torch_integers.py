"""Integers beside numbers that are floats: the results of torch, or none."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from compiling import compiled

from relex.dialects.errors import CompileError

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")


def imported(function: Callable[[Any], Any], given: Any) -> Any:
    from relex.frontend.torch import from_exported
    from relex.runtime import build

    class Model(torch.nn.Module):
        def forward(self, given: Any) -> Any:
            return function(given)

    main = build(from_exported(torch.export.export(Model(), (given,))))["main"]
    return torch.from_numpy(main(given))


def check(function: Callable[[Any], Any], given: Any) -> None:
    found, wanted = imported(function, given), function(given)
    assert found.dtype == wanted.dtype
    assert torch.equal(found, wanted)


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "float32"])
@pytest.mark.parametrize("ends", [(0, 4.5, 1.5), (0.5, 5, 1.5), (5, 0, -1.5), (0.9, 5, 1), (0, 10, 3)])
def test_numbers_in_steps(dtype: str, ends: tuple[float, float, float]) -> None:
    """The length of i64 is computed in whole numbers, of others in floats."""
    kind = getattr(torch, dtype)
    check(lambda x: torch.arange(*ends, dtype=kind) * x, torch.ones((), dtype=kind))


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
@pytest.mark.parametrize("factors", [(2, 3), (1.5, 2.0), (0.5, 1), (0, 2.5)])
def test_factors_of_products(dtype: str, factors: tuple[float, float]) -> None:
    x = torch.arange(9).reshape(3, 3).to(getattr(torch, dtype))
    beta, alpha = factors
    check(lambda x: torch.addmm(x[0], x, x, beta=beta, alpha=alpha), x)
    check(lambda x: torch.addmv(x[1], x, x[2], beta=beta, alpha=alpha), x)


def test_bytes_are_not_interpolated() -> None:
    """Torch rounds them after each dimension, by weights of 16 bits."""
    from relex.dialects.errors import CompileError

    x = torch.arange(72, dtype=torch.uint8).reshape(1, 2, 6, 6) * 3
    resize = torch.nn.functional.interpolate
    check(lambda x: resize(x, size=(4, 9)), x)
    for mode, kind in (("bilinear", "linear"), ("bicubic", "cubic")):
        with pytest.raises(
            CompileError, match=f"elements of type ui8 resized by the mode {kind}; convert them to floats"
        ):
            imported(partial(resize, size=(4, 9), mode=mode), x)


def test_bytes_are_interpolated_by_torch_when_compiled() -> None:
    """PyTorch's kernels have weights of 16 bits."""

    def resized(x: Any) -> Any:
        return torch.nn.functional.interpolate(x, size=(4, 9), mode="bilinear")

    torch._dynamo.reset()
    x = torch.arange(72, dtype=torch.uint8).reshape(1, 2, 6, 6) * 3
    with torch.no_grad():
        assert torch.equal(compiled(resized)(x), resized(x))
    torch._dynamo.reset()


@pytest.mark.parametrize(
    "function",
    [
        torch.frac,
        torch.nn.functional.glu,
        torch.nn.functional.hardshrink,
        partial(torch.round, decimals=1),
        partial(torch.nn.functional.unfold, kernel_size=2),
    ],
    ids=["frac", "glu", "hardshrink", "round", "unfold"],
)
def test_kernels_that_only_floats_have(function: Callable[[Any], Any]) -> None:
    """PyTorch exports a call with integers, and refuses it when it runs."""
    x = torch.arange(16).reshape(1, 1, 4, 4)
    with pytest.raises(RuntimeError, match="not implemented for 'Long'"):
        function(x)
    with pytest.raises(CompileError, match="PyTorch has no such kernel"):
        imported(function, x)
    imported(function, x.float())
