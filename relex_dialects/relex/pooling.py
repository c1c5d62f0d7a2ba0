"""Pooling over one, two or three dimensions. The layout is batch, channels, then the dimensions."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from math import prod
from typing import ClassVar, cast

from xdsl.dialects.builtin import UnitAttr, i64
from xdsl.ir import Attribute
from xdsl.irdl import opt_prop_def, prop_def, result_def

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import FLOATS, NUMBERS, TensorConstr, tensor_operand_def
from relex.dialects.relex.declared import for_ranks
from relex.dialects.relex.extremes import largest
from relex.dialects.relex.operator import Exactness, Operand, SeveralResults
from relex.dialects.relex.properties import IntegersConstr, as_integers
from relex.dialects.relex.sliding_windows import SlidingWindows, Windows, expect_rank
from relex.dialects.relex.types import Shape, SizedType, expect_element_type, expect_integers
from relex.dialects.tir.op_pattern import OpPattern


class Pool(SlidingWindows, ABC, pattern=OpPattern.OUT_ELEMENTWISE_FUSABLE):
    """One element for each window of `pool_size`."""

    data = tensor_operand_def()
    pool_size = prop_def(IntegersConstr)
    strides = prop_def(IntegersConstr)
    padding = prop_def(IntegersConstr)
    dilation = prop_def(IntegersConstr)
    ceil_mode = opt_prop_def(UnitAttr)

    ALLOWED: ClassVar[tuple[Attribute, ...]] = NUMBERS
    """The element types that the operand may have."""

    def __init__(
        self,
        data: Operand,
        pool_size: Sequence[int],
        strides: Sequence[int] | None = None,
        padding: Sequence[int] | None = None,
        dilation: Sequence[int] | None = None,
        ceil_mode: bool = False,
    ):
        properties = {"pool_size": pool_size, "strides": strides, "padding": padding, "dilation": dilation}
        super().__init__(data, properties={**properties, "ceil_mode": ceil_mode})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        return cls.pooled(operands, properties)

    @classmethod
    def pooled(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        """Return the type with one element for each window."""
        (operand,) = operands
        element_type = expect_element_type(operand, cls.ALLOWED, "operands")
        data = expect_rank(operand, 2 + cls.RANK, "data")
        return SizedType(element_type, (*data[:2], *cls.read(properties).counts(data[2:])))

    @classmethod
    def read(cls, properties: Mapping[str, Attribute]) -> Windows:
        """Return the windows that properties describe."""
        size = expect_integers(as_integers(properties["pool_size"]), "sizes of a window", count=cls.RANK, least=1)
        return Windows.read(size, properties)

    @property
    def terms(self) -> int:
        return prod(as_integers(self.pool_size))

    @property
    def windows(self) -> Windows:
        """The windows that the elements of the result are computed from."""
        return self.read(self.properties)

    @property
    def window_axes(self) -> Shape:
        """The dimensions of a window, among the dimensions of all windows."""
        return tuple(range(-self.RANK, 0))


class MaxPool(Pool, ABC, exactness=Exactness.NUMBERS):
    """The maximum of each window."""

    DOCUMENTATION: ClassVar = """
    The maximum of each window; NaN if an element is NaN. Padding never wins: a window that contains nothing else yields
    the lowest value of the type. `padding` is one number for {sides}. With `ceil_mode`, windows that begin inside but
    do not fit count as well.

    ```mlir
    %y = relex.max_pool{rank}d %x pool_size = {2s} strides = {2s}
        : (tensor<1x3x{8x}xf32>) -> tensor<1x3x{4x}xf32>
    ```
    """

    def evaluate(self, x: Array) -> Array:
        lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
        return largest(self.windows.over(x, lowest), axes=self.window_axes)


class MaxPoolWithIndices(SeveralResults, Pool, ABC, exactness=Exactness.NUMBERS):
    """The maximum of each window, and where it is."""

    DOCUMENTATION: ClassVar = """
    The maximum of each window, as `relex.max_pool{rank}d`, and its position in the data, counted in row-major order
    within the channel: the position of the first maximum, or of the first NaN. A window that only contains padding has
    the position -1.

    ```mlir
    %y, %places = relex.max_pool{rank}d_with_indices %x pool_size = {2s} strides = {2s}
        : (tensor<1x3x{8x}xf32>) -> (tensor<1x3x{4x}xf32>, tensor<1x3x{4x}xi64>)
    ```
    """

    result = result_def(TensorConstr)
    indices = result_def(TensorConstr)

    @classmethod
    def infer_results(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> tuple[SizedType, ...]:
        pooled = cls.pooled(operands, properties)
        return pooled, SizedType(i64, pooled.get_shape())

    def evaluate_results(self, x: Array) -> tuple[Array, ...]:
        windows, sizes = self.windows, x.shape[2:]
        lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
        seen = windows.over(x, lowest)
        best = largest(seen, axes=self.window_axes)
        # A shift by 1, so that padding has the number 0.
        numbered = cast(Array, np.arange(1, prod(sizes) + 1, dtype=np.int64)).reshape(sizes)
        numbers = windows.over(numbered, 0) - 1
        wanted = np.expand_dims(best, self.window_axes)
        found = ((seen == wanted) | (seen != seen)) & (numbers >= 0)
        beyond = np.iinfo(np.int64).max
        place = np.where(found, numbers, beyond).min(self.window_axes)
        return best, np.where(place == beyond, -1, place)


class AvgPool(Pool, ABC, allowed=FLOATS):
    """The mean of each window. Padding counts, as zeros, only with `count_include_pad`; what `ceil_mode` adds to it
    never does."""

    DOCUMENTATION: ClassVar = """
    The mean of each window. Padding counts, as zeros, only with `count_include_pad`; without it, a window that contains
    nothing else yields NaN, the mean of no elements. Floats only, as for `relex.mean`. `padding` is one number for
    {sides}. With `ceil_mode`, windows that begin inside but do not fit count as well; what they lack never counts.

    ```mlir
    %y = relex.avg_pool{rank}d %x pool_size = {3s} padding = {1s} count_include_pad
        : (tensor<1x3x{8x}xf32>) -> tensor<1x3x{8x}xf32>
    ```
    """

    count_include_pad = opt_prop_def(UnitAttr)

    def __init__(
        self,
        data: Operand,
        pool_size: Sequence[int],
        strides: Sequence[int] | None = None,
        padding: Sequence[int] | None = None,
        dilation: Sequence[int] | None = None,
        ceil_mode: bool = False,
        count_include_pad: bool = False,
    ):
        properties = {"pool_size": pool_size, "strides": strides, "padding": padding, "dilation": dilation}
        more = {"ceil_mode": ceil_mode, "count_include_pad": count_include_pad}
        super(Pool, self).__init__(data, properties={**properties, **more})

    def evaluate(self, x: Array) -> Array:
        windows = self.windows
        sizes = x.shape[2:]
        counted = np.ones(sizes, x.dtype)
        if self.count_include_pad is not None:
            counted = np.pad(counted, list(zip(windows.before, windows.after, strict=True)), constant_values=1)
            ends = cast(Shape, windows.ends(sizes))
            beyond = [end - after for end, after in zip(ends, windows.after, strict=True)]
            counts = Windows(windows.size, windows.strides, (0,) * self.RANK + tuple(beyond), windows.dilation)
        else:
            counts = windows
        total, count = (w.over(a, 0).sum(self.window_axes) for w, a in ((windows, x), (counts, counted)))
        return total / count[tuple(map(slice, total.shape[2:]))]


MaxPool1dOp, MaxPool2dOp, MaxPool3dOp = for_ranks(MaxPool, "MaxPool{}dOp")
MaxPool1dWithIndicesOp, MaxPool2dWithIndicesOp, MaxPool3dWithIndicesOp = for_ranks(
    MaxPoolWithIndices, "MaxPool{}dWithIndicesOp"
)
AvgPool1dOp, AvgPool2dOp, AvgPool3dOp = for_ranks(AvgPool, "AvgPool{}dOp")
