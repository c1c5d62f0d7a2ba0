"""Histograms, as mixtures of experts count tokens."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")


def compiled(x: Any, given: dict[str, Any]) -> Any:
    from relex.frontend.torch import from_exported
    from relex.runtime import build

    class Histogram(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.histc(x, **given)

    return build(from_exported(torch.export.export(Histogram(), (x,))))["main"]


@pytest.mark.sampled
@pytest.mark.parametrize(
    "given", [{"bins": 4, "max": 3}, {"bins": 5}, {"bins": 7, "min": -1.5, "max": 2}, {"bins": 1, "min": 1, "max": 1}]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_histograms(given: dict[str, Any], dtype: str) -> None:
    whole, single = [0.0, 1, 2, 3, 3, 1, 0, 2, 5, -1], [2.0, 2, 2]
    for numbers in (whole, single, np.random.default_rng(0).normal(size=(4, 9))):
        x = torch.tensor(numbers, dtype=getattr(torch, dtype))
        np.testing.assert_array_equal(compiled(x, given)(x), torch.histc(x, **given).numpy(), strict=True)


def test_numbers_in_no_part() -> None:
    x, given = torch.tensor([1.0, nan, 2.0, inf, -inf, 3.5]), {"bins": 4, "min": 0, "max": 3}
    assert compiled(x, given)(x).tolist() == torch.histc(x, **given).tolist()
    with pytest.raises(Exception, match="expected elements that are finite"):
        compiled(x, {"bins": 4})(x)
