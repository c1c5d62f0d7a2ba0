"""TVM's operators on images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32, f64

from relex.dialects.arrays import Array
from relex.dialects.dtypes import numpy_dtype
from relex.frontend import op
from relex.frontend.graph_expressions import Operand, const
from relex.frontend.script.compositions import DType, Given, Result, as_type, axes_of_layout, composed, default_layout

_Positions = Callable[["Array", int, int], Any]

_POSITIONS: dict[str, _Positions] = {
    "half_pixel": lambda at, old, new: (at + np.float32(0.5)) * np.float32(old / new) - np.float32(0.5),
    "align_corners": lambda at, old, new: at * np.float32((old - 1) / max(new - 1, 1)),
    "asymmetric": lambda at, old, new: at * np.float32(old / new),
    "pytorch_half_pixel": lambda at, old, new: _POSITIONS["half_pixel"](at, old, new) if new > 1 else 0 * at,
    "tf_half_pixel_for_nn": lambda at, old, new: (at + np.float32(0.5)) * np.float32(old / new),
}
"""Where the elements of a resized dimension are in the old one, by `coordinate_transformation_mode`."""

_ROUNDINGS: dict[str, Callable[[Array], Any]] = {
    "round": np.round,
    "round_prefer_floor": lambda at: np.ceil(at - np.float32(0.5)),
    "round_prefer_ceil": lambda at: np.floor(at + np.float32(0.5)),
    "floor": lambda at: np.floor(at + np.float32(1e-5)),
    "ceil": lambda at: np.ceil(at - np.float32(1e-5)),
}
"""The nearest elements, by `rounding_method`."""


@composed("R.image.resize2d", "R.image.resize3d")
def resize(
    data: Given,
    size: int | Sequence[int],
    roi: float | Sequence[float] | None = None,
    layout: str | None = None,
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "round",
    cubic_alpha: float = -0.75,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: DType | None = None,
) -> Result:
    """`roi` and `extrapolation_value` are for the mode `tf_crop_and_resize`, which is not supported."""
    mode = coordinate_transformation_mode
    if mode not in _POSITIONS or cubic_exclude:
        known = ", ".join(_POSITIONS)
        raise ValueError(f"expected one of the modes {known}, without cubic_exclude, found '{mode}'")
    axes = axes_of_layout(data, layout or default_layout(data))
    wanted = [size] * len(axes) if isinstance(size, int) else size
    rounding = rounding_method or ("round" if mode == "align_corners" else "floor")
    computed = data.element_type if method == "nearest_neighbor" or data.element_type == f64 else f32
    x = as_type(data, computed, data.element_type)
    # The last dimension first, as TVM takes means of rows.
    for axis, new in reversed([*zip(axes, wanted, strict=True)]):
        old = data.size(axis)
        at = np.asarray(_POSITIONS[mode](np.arange(new, dtype=np.float32), old, new), np.float32)
        taps = _taps(method, at, rounding, cubic_alpha)
        x = _along(x, axis, data.rank, old, taps, numpy_dtype(computed))
    return as_type(x, out_dtype or data.element_type, computed)


_Taps = Sequence[tuple[Array, "Array | None"]]
"""Places of elements, and their weights in a sum."""


def _taps(method: str, at: Array, rounding: str, alpha: float) -> _Taps:
    first = np.floor(at)
    rest = at - first
    match method:
        case "nearest_neighbor" if rounding in _ROUNDINGS:
            return [(_ROUNDINGS[rounding](at), None)]
        case "linear":
            return [(first, 1 - rest), (first + 1, rest)]
        case "cubic":
            return [(first + i, _cubic(abs(rest - i), np.float32(alpha))) for i in (-1, 0, 1, 2)]
        case _:
            raise ValueError(f"expected method to be nearest_neighbor, linear or cubic, found '{method}', '{rounding}'")


def _cubic(distance: Array, a: Any) -> Array:
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.asarray(np.where(distance <= 1, near, far), np.float32)


def _along(x: Operand, axis: int, rank: int, old: int, taps: _Taps, kind: np.dtype[Any]) -> Operand:
    total: Operand | None = None
    for places, weights in taps:
        part: Operand = op.take(x, const(np.clip(places, 0, old - 1).astype(np.int64)), axis)
        if weights is not None:
            shape = [-1 if d == axis else 1 for d in range(rank)]
            part = op.multiply(part, const(weights.astype(kind).reshape(shape)))
        total = part if total is None else op.add(total, part)
    assert total is not None
    return total
