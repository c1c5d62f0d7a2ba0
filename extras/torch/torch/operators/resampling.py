"""Data made larger or smaller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from relex.frontend.compositions.resampling import ResamplingSettings, resized, scale_between, scaled
from relex.frontend.torch import Operand, Tensor, TorchNode, refuse
from relex.frontend.torch.import_table import IMPORTS

KINDS = {
    "upsample_nearest": (("1d", "2d", "3d"), "nearest", "asymmetric", "floor"),
    "_upsample_nearest_exact": (("1d", "2d", "3d"), "nearest", "half_pixel", "round_prefer_ceil"),
    "upsample_linear": (("1d",), "linear", "half_pixel", "floor"),
    "upsample_bilinear": (("2d",), "linear", "half_pixel", "floor"),
    "upsample_trilinear": (("3d",), "linear", "half_pixel", "floor"),
    "upsample_bicubic": (("2d",), "cubic", "half_pixel", "floor"),
    "_upsample_bilinear": (("2d_aa",), "linear", "half_pixel", "floor"),
    "_upsample_bicubic": (("2d_aa",), "cubic", "half_pixel", "floor"),
}
"""Operators: the ranks that they exist for, and their modes. At the end of a rank, `_aa` says that all elements under a
pixel of the result count, without aliases of fine patterns."""


def _upsample(rank: int, mode: str, transformation: str, nearest: str) -> Callable[..., Operand]:
    def imported(node: TorchNode, x: Tensor, sizes: Sequence[Any] | None, *options: Any) -> Operand:
        aligned = mode != "nearest" and options[0]
        factors = _factors(options)
        old = node.shape(x)[-rank:]
        wanted = sizes or [scaled(size, factor) for size, factor in zip(old, factors, strict=True)]
        scales: list[float | None] = [*factors]
        if aligned or not factors:
            scales = [scale_between(*pair) for pair in zip(old, wanted, strict=True)]
        if mode != "nearest" and not node.is_float(x):
            refuse(f"elements of type {x.element_type} resized by the mode {mode}; convert them to floats first")
        settings = ResamplingSettings(mode, "align_corners" if aligned else transformation, nearest, multiplies=True)
        if node.name.endswith("_aa"):
            if aligned:
                refuse("corners that are aligned, without aliases; expected align_corners=False")
            settings = replace(settings, cubic=-0.5, exclude=True, antialias=True)
        return resized(node, x, list(range(2, 2 + rank)), wanted, scales, settings)

    return imported


def _factors(options: Sequence[Any]) -> list[float]:
    """Return the factors among the arguments: one list of them, or one for each dimension."""
    given = [option for option in options if option is not None and not isinstance(option, bool)]
    return [*cast("list[float]", given[0])] if given and isinstance(given[0], list) else given


RESAMPLING = {f"{prefix}{suffix}": (suffix, modes) for prefix, (ranks, *modes) in KINDS.items() for suffix in ranks}
"""The names of the operators."""

for _name, (_suffix, _modes) in RESAMPLING.items():
    IMPORTS.add(_upsample(int(_suffix[0]), *_modes), f"aten.{_name}")
