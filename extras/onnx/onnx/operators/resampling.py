"""Resize and its relatives."""

from __future__ import annotations

from math import floor

import numpy as np

from relex.dialects.sizes import Size
from relex.frontend.compositions.resampling import BEFORE_OR_AFTER, ResamplingSettings, resized, scale_between, scaled
from relex.frontend.onnx import OnnxNode, Operand, Tensor, imports


@imports("Upsample", "Resize")
def upsample(node: OnnxNode, x: Tensor, scales: Tensor | None = None) -> Operand:
    """The data, larger; of the first version of `Resize`, larger or smaller."""
    factors = [float(scale) for scale in node.known(node.given(scales, "scales"), "scales")]
    sizes = [_scaled(size, factor) for size, factor in zip(node.shape(x), factors, strict=True)]
    settings = ResamplingSettings(node.text("mode", "nearest"), "asymmetric", BEFORE_OR_AFTER)
    return resized(node, x, list(range(len(sizes))), sizes, factors, settings)


def _scaled(size: Size, factor: float) -> Size:
    """Return a size times a factor, rounded down. The product is one of f32: 10 times 1.3 is 13."""
    return floor(np.float32(size) * np.float32(factor)) if isinstance(size, int) else scaled(size, factor)


@imports("Resize", since=11)
def resize(
    node: OnnxNode, x: Tensor, roi: Tensor | None = None, scales: Tensor | None = None, sizes: Tensor | None = None
) -> Operand:
    """The data, larger or smaller, or a part of it."""
    shape = node.shape(x)
    axes = [axis % len(shape) for axis in node.integers("axes") or range(len(shape))]
    old = [shape[axis] for axis in axes]
    factors: list[float | None]
    if sizes is not None and node.known(sizes, "sizes").size:
        wanted: list[Size] = node.known(sizes, "sizes").tolist()
        policy = node.text("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            lengths = node.static_shape(x)
            ratios = [new / lengths[axis] for new, axis in zip(node.known_integers(sizes, "sizes"), axes, strict=True)]
            factor = min(ratios) if policy == "not_larger" else max(ratios)
            factors = [factor] * len(ratios)
            wanted = [floor(factor * lengths[axis] + 0.5) for axis in axes]
        else:
            factors = [scale_between(*pair) for pair in zip(old, wanted, strict=True)]
    else:
        given = [float(scale) for scale in node.known(scales, "scales")]
        factors, wanted = [*given], [_scaled(size, factor) for size, factor in zip(old, given, strict=True)]
    mode = node.text("coordinate_transformation_mode", "half_pixel")
    region = [float(edge) for edge in node.known(roi, "a region")] if mode == "tf_crop_and_resize" else []
    settings = ResamplingSettings(
        node.text("mode", "nearest"),
        mode,
        node.text("nearest_mode", "round_prefer_floor"),
        node.number("cubic_coeff_a", -0.75),
        bool(node.integer("exclude_outside")),
        bool(node.integer("antialias")),
        node.number("extrapolation_value"),
        region,
    )
    return resized(node, x, axes, wanted, factors, settings)
