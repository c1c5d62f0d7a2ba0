"""Resize and its relatives."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

import numpy as np
from xdsl.dialects.builtin import f32

from relex.dialects.sizes import Size, count
from relex.frontend import op
from relex.frontend.compositions import resampling
from relex.frontend.compositions.indexing import part_at
from relex.frontend.onnx import Computed, Known, OnnxNode, Operand, Tensor, imports, refuse


@imports("Upsample", "Resize")
def upsample(node: OnnxNode, x: Tensor, scales: Tensor | None = None) -> Operand:
    """The data, larger; of the first version of `Resize`, larger or smaller."""
    factors = _factors(node, node.given(scales, "scales"))
    sizes = [_scaled(size, factor) for size, factor in zip(node.shape(x), factors, strict=True)]
    settings = resampling.ResamplingSettings(node.text("mode", "nearest"), "asymmetric", resampling.BEFORE_OR_AFTER)
    return resampling.resized(node, x, list(range(len(sizes))), sizes, factors, settings)


def _factors(node: OnnxNode, scales: Tensor | None) -> list[float]:
    """Return scales that are known at import."""
    factors = [float(scale) for scale in node.known(scales, "scales")]
    if not all(factor > 0 for factor in factors):
        refuse(f"expected scales larger than 0, found {factors}")
    return factors


def _scaled(size: Size, factor: float) -> Size:
    """Return a size times a factor, rounded down. The product is one of f32: 10 times 1.3 is 13."""
    return floor(np.float32(size) * np.float32(factor)) if isinstance(size, int) else resampling.scaled(size, factor)


@imports("Resize", since=11)
def resize(
    node: OnnxNode, x: Tensor, roi: Tensor | None = None, scales: Tensor | None = None, sizes: Tensor | None = None
) -> Operand:
    """The data, larger or smaller, or a part of it."""
    shape = node.shape(x)
    axes = [axis % len(shape) for axis in node.integers("axes") or range(len(shape))]
    old = [shape[axis] for axis in axes]
    factors: Sequence[resampling.Scale]
    if sizes is not None and count(node.shape(sizes)):
        wanted = node.sizes(sizes, "sizes")
        if len(wanted) != len(axes) or any(isinstance(size, int) and size < 0 for size in wanted):
            refuse(f"expected {len(axes)} sizes, found {wanted}")
        policy = node.text("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            lengths = node.static_shape(x)
            ratios = [new / lengths[axis] for new, axis in zip(node.known_integers(sizes, "sizes"), axes, strict=True)]
            factor = min(ratios) if policy == "not_larger" else max(ratios)
            factors = [factor] * len(ratios)
            wanted = [floor(factor * lengths[axis] + 0.5) for axis in axes]
        else:
            factors = [resampling.scale_between(*pair) for pair in zip(old, wanted, strict=True)]
    elif isinstance(scales, Computed):
        if node.shape(scales) != (len(axes),):
            refuse(f"expected {len(axes)} scales, found {' x '.join(map(str, node.shape(scales)))}")
        factors = [part_at(scales, 0, i) for i in range(len(axes))]
        wanted = node.sizes(op.floor(op.multiply(op.astype(Known(np.array(old, object)), f32), scales)), "sizes")
    else:
        factors = _factors(node, scales)
        wanted = [_scaled(size, factor) for size, factor in zip(old, factors, strict=True)]
    mode = node.text("coordinate_transformation_mode", "half_pixel")
    region = [float(edge) for edge in node.known(roi, "a region")] if mode == "tf_crop_and_resize" else []
    settings = resampling.ResamplingSettings(
        node.text("mode", "nearest"),
        mode,
        node.text("nearest_mode", "round_prefer_floor"),
        node.number("cubic_coeff_a", -0.75),
        bool(node.integer("exclude_outside")),
        bool(node.integer("antialias")),
        node.number("extrapolation_value"),
        region,
    )
    return resampling.resized(node, x, axes, wanted, factors, settings)
