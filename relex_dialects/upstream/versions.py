"""
What differs between xDSL 0.74 and 0.75, wherever relex has to know: all other code means the same with both.

Each part says what takes its place once 0.74 is no longer supported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import AnyFloat, FloatAttr, FloatData, IndexType, IntegerAttr, IntegerType, f32, i64
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

if TYPE_CHECKING:
    from xdsl.universe import Universe

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


# Numbers in xDSL's interpreter, for which other packages write the meaning of their ops. 0.75 has attributes, 0.74
# numbers. Without 0.74: let the function return what it returns for 0.75.


def interpreter_value(value: Any, kind: Attribute) -> Any:
    """Return what xDSL's interpreter takes for a value of a type: a number may be an attribute there."""
    if IS_0_74:
        return value
    if isinstance(kind, AnyFloat):
        return FloatAttr(float(value), kind)
    if isinstance(kind, IndexType):
        kind = i64
    return IntegerAttr(int(value), kind, truncate_bits=True) if isa(kind, IntegerType) else value


# Readers of program files in xDSL's own tools, `Frontend`s, which 0.74 does not have. Without 0.74: import `Frontend`
# from xdsl.utils.frontend and `get_all_frontends` from xdsl.frontend; call `Universe` itself.


def frontend_class() -> type:
    """Return the class that frontends derive from. There is none in 0.74."""
    return import_module("xdsl.utils.frontend").Frontend


def xdsl_frontends() -> Mapping[str, Callable[[], type]]:
    """Return xDSL's own frontends by name."""
    return {} if IS_0_74 else import_module("xdsl.frontend").get_all_frontends()


def universe(frontends: Mapping[str, Callable[[], type]], **others: Any) -> Universe:
    """Return a universe, without the frontends if xDSL has no place for them. `others` are `Universe`'s parameters."""
    from xdsl.universe import Universe

    parts: dict[str, Any] = others if IS_0_74 else {**others, "all_frontends": dict(frontends)}
    return Universe(**parts)
