"""Attributes that programs are full of, each made once: xDSL verifies every one that is made, at any place."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType

INDEX = IndexType()


@lru_cache(maxsize=2**12, typed=True)
def index_attr(value: int) -> IntegerAttr[IndexType]:
    """Return a number of the type `index`."""
    return IntegerAttr(value, INDEX)


@lru_cache(maxsize=2**12, typed=True)
def integer_attr(value: int, kind: IntegerType | IndexType) -> IntegerAttr[Any]:
    """Return a number of an integer type."""
    return IntegerAttr(value, kind)
