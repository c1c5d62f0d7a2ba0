"""Sliding windows over the last dimensions of a tensor, for convolution and pooling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.ir import Attribute

from relex.dialects.arrays import Array, np
from relex.dialects.errors import InferenceError
from relex.dialects.relex.properties import as_integers
from relex.dialects.relex.types import Shape, expect_integers, shape_str
from relex.dialects.sizes import Size, Sizes, at_most, larger, smaller


@dataclass(frozen=True)
class Windows:
    """Sliding windows: their sizes, their strides, the padding around the tensor, and their dilation."""

    size: Sizes
    strides: Shape
    padding: Shape
    """Before each dimension, then after each."""
    dilation: Shape
    ceil_mode: bool = False
    """Whether windows that begin inside, but do not fit, count as well; what they lack is padding."""

    @classmethod
    def read(cls, size: Sequence[Size], properties: Mapping[str, Attribute]) -> Windows:
        """Create windows from the properties `strides`, `padding`, `dilation` and `ceil_mode`. Raises `InferenceError`
        for invalid ones."""
        rank = len(size)
        padding = expect_integers(as_integers(properties["padding"]), "paddings", least=0)
        if len(padding) not in (allowed := sorted({1, rank, 2 * rank})):
            *others, last = map(str, allowed)
            raise InferenceError(f"expected {', '.join(others)} or {last} paddings, found {len(padding)}")
        if not all([at_most(1, extent) for extent in size]):
            raise InferenceError(f"expected windows of 1 element or more, found {shape_str(size)}")
        return cls(
            tuple(size),
            expect_integers(as_integers(properties["strides"]), "strides", count=rank, least=1),
            padding * (2 * rank // len(padding)),
            expect_integers(as_integers(properties["dilation"]), "dilations", count=rank, least=1),
            "ceil_mode" in properties,
        )

    @property
    def rank(self) -> int:
        """The number of dimensions that the windows slide over."""
        return len(self.size)

    @property
    def before(self) -> Shape:
        """The padding before each dimension, at the top and at the left."""
        return self.padding[: self.rank]

    @property
    def after(self) -> Shape:
        """The padding after each dimension, at the bottom and at the right."""
        return self.padding[self.rank :]

    def counts(self, sizes: Sequence[Size]) -> Sizes:
        """Return the number of windows along each dimension of a tensor."""
        return tuple(self._count(dimension, size) for dimension, size in enumerate(sizes))

    @property
    def spans(self) -> Sizes:
        """The extents that a window covers, including the gaps of dilation."""
        return tuple((size - 1) * step + 1 for size, step in zip(self.size, self.dilation, strict=True))

    def _count(self, dimension: int, size: Size) -> Size:
        room = self.before[dimension] + size + self.after[dimension]
        span, stride = self.spans[dimension], self.strides[dimension]
        if not at_most(span, room):
            raise InferenceError(f"expected windows of {room} elements at most, as the padded data has, found {span}")
        if not self.ceil_mode or stride == 1:
            return (room - span) // stride + 1
        # The last window begins in the data, or in the padding before it.
        return smaller((room - span + stride - 1) // stride + 1, (self.before[dimension] + size + stride - 1) // stride)

    def ends(self, sizes: Sequence[Size]) -> Sizes:
        """Return the padding after each dimension with what the last windows need beyond it."""
        if not self.ceil_mode:
            return self.after
        reached = zip(self.counts(sizes), self.strides, self.spans, self.before, sizes, self.after, strict=True)
        return tuple(
            larger(after, (count - 1) * stride + span - before - size)
            for count, stride, span, before, size, after in reached
        )

    def over(self, x: Array, fill: float) -> Array:
        """Return the windows of an array, as more dimensions after those that number the windows."""
        sizes = x.shape[x.ndim - self.rank :]
        widths = [(0, 0)] * (x.ndim - self.rank) + list(zip(self.before, cast(Shape, self.ends(sizes)), strict=True))
        padded = np.pad(x, widths, constant_values=x.dtype.type(fill))
        axes = tuple(range(-self.rank, 0))
        windows = np.lib.stride_tricks.sliding_window_view(padded, cast(Any, self.spans), axis=axes)
        counts = cast(Shape, self.counts(sizes))
        shown = [slice(0, (count - 1) * step + 1, step) for count, step in zip(counts, self.strides, strict=True)]
        return windows[(..., *shown, *(slice(None, None, step) for step in self.dilation))]
