"""TVM's operators on images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32

from relex.dialects.arrays import Array
from relex.frontend import op
from relex.frontend.graph_expressions import Operand, const
from relex.frontend.script.compositions import DType, Given, Result, as_type, composed

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


@composed("R.image.resize2d")
def resize2d(
    data: Given,
    size: int | Sequence[int],
    roi: float | Sequence[float] | None = None,
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "round",
    cubic_alpha: float = -0.75,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: DType | None = None,
) -> Result:
    return _resized(
        data, size, layout, "HW", method, coordinate_transformation_mode, rounding_method, cubic_alpha, out_dtype,
        is_plain=not cubic_exclude,
    )  # fmt: skip


@composed("R.image.resize3d")
def resize3d(
    data: Given,
    size: int | Sequence[int],
    roi: float | Sequence[float] | None = None,
    layout: str = "NCDHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "round",
    cubic_alpha: float = -0.75,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: DType | None = None,
) -> Result:
    return _resized(
        data, size, layout, "DHW", method, coordinate_transformation_mode, rounding_method, cubic_alpha, out_dtype,
        is_plain=not cubic_exclude,
    )  # fmt: skip


def _resized(
    data: Given,
    size: int | Sequence[int],
    layout: str,
    dimensions: str,
    method: str,
    mode: str,
    rounding: str,
    alpha: float,
    dtype: DType | None,
    *,
    is_plain: bool,
) -> Operand:
    if sorted(layout) != sorted(f"NC{dimensions}"):
        raise ValueError(f"expected layout to be 'NC{dimensions}' in some order, found '{layout}'")
    if mode not in _POSITIONS or not is_plain:
        known = ", ".join(_POSITIONS)
        raise ValueError(f"expected one of the modes {known}, without cubic_exclude, found '{mode}'")
    wanted = [size] * len(dimensions) if isinstance(size, int) else size
    is_moved = method == "nearest_neighbor"
    x: Operand = data if is_moved else as_type(data, f32, data.element_type)
    # The last dimension first, as TVM takes means of rows.
    for letter, new in reversed([*zip(dimensions, wanted, strict=True)]):
        axis = data.axis(layout.index(letter))
        old = data.size(axis)
        at = np.asarray(_POSITIONS[mode](np.arange(new, dtype=np.float32), old, new), np.float32)
        taps = _taps(method, at, rounding or ("round" if mode == "align_corners" else "floor"), alpha)
        x = _along(x, axis, data.rank, old, taps)
    return as_type(x, dtype or data.element_type, data.element_type if is_moved else f32)


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


def _along(x: Operand, axis: int, rank: int, old: int, taps: _Taps) -> Operand:
    total: Operand | None = None
    for places, weights in taps:
        part: Operand = op.take(x, const(np.clip(places, 0, old - 1).astype(np.int64)), axis)
        if weights is not None:
            part = op.multiply(part, const(weights.reshape([-1 if d == axis else 1 for d in range(rank)])))
        total = part if total is None else op.add(total, part)
    assert total is not None
    return total
