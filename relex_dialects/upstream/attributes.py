"""Attributes that programs are full of, each made once: xDSL verifies every one that is made, at any place."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

INDEX = IndexType()


@lru_cache(maxsize=2**12, typed=True)
def index_attr(value: int) -> IntegerAttr[IndexType]:
    """Return a number of the type `index`."""
    return IntegerAttr(value, INDEX)


@lru_cache(maxsize=2**12, typed=True)
def integer_attr(value: int, kind: IntegerType | IndexType) -> IntegerAttr[Any]:
    """Return a number of an integer type."""
    return IntegerAttr(value, kind)


def number_attr(value: float, kind: Attribute) -> FloatAttr[AnyFloat] | IntegerAttr[Any]:
    """Return a number of a float type, or of an integer type."""
    if isa(kind, AnyFloat):
        return FloatAttr(value, kind)
    assert isa(kind, IntegerType | IndexType)
    return integer_attr(int(value), kind)
