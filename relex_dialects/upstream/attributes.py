"""Attributes that programs are full of, each made once: xDSL verifies every one that is made, at any place."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute

from relex.dialects.upstream.hints import isa
from relex.dialects.upstream.versions import FloatAttr

INDEX = IndexType()


@lru_cache(maxsize=2**12, typed=True)
def index_attr(value: int) -> IntegerAttr[IndexType]:
    """Return a number of the type `index`."""
    return IntegerAttr(value, INDEX)


@lru_cache(maxsize=2**12, typed=True)
def integer_attr(value: int, kind: IntegerType | IndexType) -> IntegerAttr[Any]:
    """Return a number of an integer type."""
    return IntegerAttr(value, kind)


def float_attr(value: float, kind: AnyFloat) -> FloatAttr[AnyFloat]:
    """Return a number of a float type, rounded. Raises `OverflowError` for a finite one that is too large for it."""
    attr = FloatAttr(value, kind)
    if math.isfinite(value) and not math.isfinite(attr.value.data):
        raise OverflowError(f"expected a number of type {kind}, found {value}")
    return attr


def number_attr(value: float, kind: Attribute) -> FloatAttr[AnyFloat] | IntegerAttr[Any]:
    """Return a number of a float type, or of an integer type."""
    if isa(kind, AnyFloat):
        return float_attr(value, kind)
    assert isa(kind, IntegerType | IndexType)
    return integer_attr(int(value), kind)
