"""
What differs between xDSL 0.74 and 0.75, wherever relex has to know: all other code means the same with both.

Each part says what takes its place once 0.74 is no longer supported.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps

from xdsl.dialects.builtin import AnyFloat, FloatAttr, FloatData, f32

IS_0_74 = not hasattr(f32, "round")
"""Known by what it lacks: the version of a package is in a file, which takes time to find and read."""


# Numbers that are too large for their type. 0.75 rounds them to infinity, as IEEE 754 has it. 0.74 raises OverflowError
# for f32 and f16, also where `canonicalize` folds a sum or a product of constants; here it learns to do the same.
# Without 0.74: delete.


def _rounds_to_infinity(initialize: Callable[..., None]) -> Callable[..., None]:
    @wraps(initialize)
    def initialize_rounded(attr: FloatAttr, data: float | FloatData, type: int | AnyFloat) -> None:
        try:
            initialize(attr, data, type)
        except OverflowError:
            initialize(attr, math.copysign(math.inf, data.data if isinstance(data, FloatData) else data), type)

    return initialize_rounded


if IS_0_74:
    FloatAttr.__init__ = _rounds_to_infinity(FloatAttr.__init__)
