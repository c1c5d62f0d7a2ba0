"""Sliding windows over the last two dimensions of a tensor, for convolution and pooling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.ir import Attribute

from relex.dialects.arrays import Array, np
from relex.dialects.errors import InferenceError
from relex.dialects.relex.properties import as_integers
from relex.dialects.relex.types import Shape, expect_integers, shape_str
from relex.dialects.sizes import Size, Sizes, at_most


@dataclass(frozen=True)
class Windows:
    """Sliding windows: their height and width, their strides, the padding around the tensor, and their dilation."""

    size: Sizes
    strides: Shape
    padding: Shape
    """Top, left, bottom, right."""
    dilation: Shape

    @classmethod
    def read(cls, size: Sequence[Size], properties: Mapping[str, Attribute]) -> Windows:
        """Create windows from the properties `strides`, `padding` and `dilation`. Raises `InferenceError` for invalid
        ones."""
        padding = expect_integers(as_integers(properties["padding"]), "paddings", least=0)
        if len(padding) not in (1, 2, 4):
            raise InferenceError(f"expected 1, 2 or 4 paddings, found {len(padding)}")
        if not all([at_most(1, extent) for extent in size]):
            raise InferenceError(f"expected windows of 1 element or more, found {shape_str(size)}")
        return cls(
            tuple(size),
            expect_integers(as_integers(properties["strides"]), "strides", count=2, least=1),
            padding * (4 // len(padding)),
            expect_integers(as_integers(properties["dilation"]), "dilations", count=2, least=1),
        )

    @property
    def before(self) -> Shape:
        """The padding at the top and at the left."""
        return self.padding[:2]

    @property
    def after(self) -> Shape:
        """The padding at the bottom and at the right."""
        return self.padding[2:]

    def counts(self, sizes: Sequence[Size]) -> Sizes:
        """Return the number of windows that fit in a height and a width."""
        return tuple(self._count(dimension, size) for dimension, size in enumerate(sizes))

    @property
    def spans(self) -> Sizes:
        """The height and width that a window covers, including the gaps of dilation."""
        return tuple((size - 1) * step + 1 for size, step in zip(self.size, self.dilation, strict=True))

    def _count(self, dimension: int, size: Size) -> Size:
        room = self.before[dimension] + size + self.after[dimension]
        span = self.spans[dimension]
        if not at_most(span, room):
            raise InferenceError(f"expected windows of {room} elements at most, as the padded data has, found {span}")
        return (room - span) // self.strides[dimension] + 1

    def over(self, x: Array, fill: float) -> Array:
        """Return the windows of an array, as two more dimensions after those that number the windows."""
        widths = [(0, 0)] * (x.ndim - 2) + list(zip(self.before, self.after, strict=True))
        padded = np.pad(x, widths, constant_values=x.dtype.type(fill))
        windows = np.lib.stride_tricks.sliding_window_view(padded, cast(Any, self.spans), axis=(-2, -1))
        (down, right), (inner_down, inner_right) = self.strides, self.dilation
        return windows[..., ::down, ::right, ::inner_down, ::inner_right]
