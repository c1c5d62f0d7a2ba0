"""Windows of convolution and pooling, which slide over the last dimensions of a tensor."""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import dedent, fill
from typing import Any, ClassVar, cast

from xdsl.ir import Attribute
from xdsl.irdl import prop_def

from relex.dialects.arrays import Array, np
from relex.dialects.errors import InferenceError
from relex.dialects.relex.operator import Operator
from relex.dialects.relex.properties import IntegersConstr, as_integers, integers
from relex.dialects.relex.types import Shape, SizedType, expect_integers, shape_str
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
    """Whether windows that begin inside, but extend beyond the end, count as well; they are filled up with padding."""

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


class SlidingWindows(Operator, ABC, script_namespace="nn"):
    """An operator over windows of the last `RANK` dimensions of data, which slide by `strides`, with gaps of
    `dilation`, over data surrounded by `padding`. By default strides and dilation are 1, the padding is 0."""

    RANK: ClassVar[int] = 0
    """The number of dimensions that windows slide over."""
    DOCUMENTATION: ClassVar[str] = ""
    """The docstring of the class for each rank: `{2s}` is the list `[2, 2]`, `{8x}` the shape `8x8`, `{space}` the
    dimensions `H, W` of the data, `{window}` and `{result}` the dimensions of a window and of the result, and `{sides}`
    the forms of `padding`."""

    def __init_subclass__(cls, **constants: Any) -> None:
        super().__init_subclass__(**constants)
        # The defaults have as many numbers as there are dimensions.
        if "RANK" in vars(cls):
            for name, default in (("strides", 1), ("padding", 0), ("output_padding", 0), ("dilation", 1)):
                if hasattr(cls, name):
                    setattr(cls, name, prop_def(IntegersConstr, default_value=integers([default] * cls.RANK)))

    @classmethod
    def documentation(cls) -> str:
        if not cls.DOCUMENTATION:
            return super().documentation()
        rank = cls.RANK
        names = _DIMENSIONS[-rank:]
        parts = {
            "rank": rank,
            "sides": _SIDES[rank],
            "space": ", ".join(names),
            "window": ", ".join(names.lower()),
            "result": ", ".join(f"{name}'" for name in names),
            **{f"{n}s": [n] * rank for n in range(1, 4)},
            **{f"{n}x": "x".join([str(n)] * rank) for n in range(1, 17)},
        }
        text, _, example = dedent(cls.DOCUMENTATION).strip().format(**parts).partition("\n\n")
        # Code stays on one line.
        words = re.sub("`.*?`", lambda code: code[0].replace(" ", "\0"), " ".join(text.split()))
        filled = fill(words, 116, break_on_hyphens=False).replace("\0", " ")
        return f"{filled}\n\n{example}"


_DIMENSIONS = "DHW"

_SIDES = {
    1: "both sides, or two (left, right)",
    2: "all sides, two (top and bottom, left and right) or four (top, left, bottom, right)",
    3: "all sides, three (for both sides of each dimension) or six (before each dimension, then after each)",
}
"""The forms of `padding` for each rank, for docstrings."""


def expect_rank(t: SizedType, rank: int, what: str) -> Sizes:
    """Return the shape of a tensor. Raises `InferenceError` unless it has this many dimensions."""
    shape = t.get_shape()
    if len(shape) != rank:
        raise InferenceError(f"expected {what} of rank {rank}, found {shape_str(shape)}")
    return shape


def contract(subscripts: str, parts: Array, weight: Array) -> Array:
    """Return sums of products as `np.einsum` does, large ones in the time of a matrix product."""
    sums = np.einsum(subscripts, parts, weight, optimize=True)
    # Matrix products leave out the 0 that a sum starts from: with it, no sum of numbers is -0.
    return sums + sums.dtype.type(0) if type(sums) is np.ndarray else sums
