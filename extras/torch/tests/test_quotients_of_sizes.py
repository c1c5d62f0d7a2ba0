"""Dynamic sizes that are divided by others."""

from __future__ import annotations

from typing import Any

import pytest
from compiling import compiled_alone

import relex
from relex.frontend.torch import from_exported

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
pytestmark = pytest.mark.usefixtures("fresh")


class Windows(torch.nn.Module):
    """Parts of 7 x 7 pixels of an image that is padded to whole ones, as in a Swin transformer."""

    def forward(self, x: Any) -> Any:
        h, w = x.shape[1:3]
        x = torch.nn.functional.pad(x, (0, 0, 0, (7 - w % 7) % 7, 0, (7 - h % 7) % 7))
        b, h, w, c = x.shape
        return x.view(b, h // 7, 7, w // 7, 7, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 49, c)


def test_windows_of_padded_images() -> None:
    auto = torch.export.Dim.AUTO
    program = torch.export.export(Windows(), (torch.randn(1, 8, 15, 3),), dynamic_shapes=({1: auto, 2: auto},))
    main = relex.build(from_exported(program))["main"]
    for h, w in ((8, 15), (14, 9), (22, 28), (50, 13)):
        x = torch.randn(1, h, w, 3)
        torch.testing.assert_close(torch.as_tensor(main(x)), Windows()(x))


def test_quotients_that_are_no_expressions() -> None:
    def parts(x: Any, y: Any) -> Any:
        n, m = x.shape[0], y.shape[0]
        rounded_up, rest = -(-n // m), n % m
        return torch.ones(n // m), x[:rest] * 2, torch.zeros(rounded_up, 2), (n * m) // m + x, y * (n * m // n)

    function = compiled_alone(parts, dynamic=True)
    for n, m in ((7, 3), (12, 4), (5, 11), (64, 63)):
        x, y = torch.randn(n), torch.randn(m)
        for found, wanted in zip(function(x, y), parts(x, y), strict=True):
            torch.testing.assert_close(found, wanted)
