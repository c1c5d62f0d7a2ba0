"""What convolution and pooling have in common: windows that slide over the last dimensions of data."""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar

from xdsl.irdl import prop_def

from relex.dialects.arrays import Array, np
from relex.dialects.errors import InferenceError
from relex.dialects.relex.operator import Operator
from relex.dialects.relex.properties import IntegersConstr, integers
from relex.dialects.relex.types import SizedType, shape_str
from relex.dialects.sizes import Sizes


class SlidingWindows(Operator, ABC):
    """An operator over windows of the last `RANK` dimensions of data, which slide by `strides`, with gaps of
    `dilation`, over data surrounded by `padding`. By default strides and dilation are 1, the padding is 0."""

    SCRIPT_NAMESPACE: ClassVar = "nn"
    RANK: ClassVar[int] = 0
    """The number of dimensions that windows slide over."""

    def __init_subclass__(cls, **options: Any) -> None:
        # The defaults have as many numbers as there are dimensions.
        if "RANK" in vars(cls):
            for name, default in (("strides", 1), ("padding", 0), ("output_padding", 0), ("dilation", 1)):
                if hasattr(cls, name):
                    setattr(cls, name, prop_def(IntegersConstr, default_value=integers([default] * cls.RANK)))
        super().__init_subclass__(**options)


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
