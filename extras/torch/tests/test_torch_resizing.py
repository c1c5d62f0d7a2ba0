"""Images of dynamic sizes that become as large as others, as in U-Nets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")

PAIRS = [((7, 6), (9, 13)), ((33, 20), (66, 41)), ((5, 3), (10, 6)), ((20, 31), (7, 8)), ((14, 7), (20, 10))]


@pytest.mark.parametrize(
    "given",
    [
        {"mode": "nearest"},
        {"mode": "nearest-exact"},
        {"mode": "bilinear"},
        {"mode": "bilinear", "align_corners": True},
        {"mode": "bicubic"},
    ],
    ids=str,
)
def test_as_large_as_another(given: dict[str, Any]) -> None:
    from relex.frontend.torch import from_exported
    from relex.runtime import build

    class Resized(torch.nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return torch.nn.functional.interpolate(x, size=y.shape[2:], **given)

    dynamic = {2: torch.export.Dim.AUTO, 3: torch.export.Dim.AUTO}
    model, first = Resized(), [torch.randn(1, 2, *size) for size in PAIRS[0]]
    main = build(from_exported(torch.export.export(model, tuple(first), dynamic_shapes=(dynamic, dynamic))))["main"]
    for pair in PAIRS:
        x, y = (torch.randn(1, 2, *size) for size in pair)
        tolerance = 0 if "nearest" in given["mode"] else 1e-5
        np.testing.assert_allclose(main(x, y), model(x, y).numpy(), tolerance, tolerance)
