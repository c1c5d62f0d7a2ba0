"""Sizes: numbers, or expressions of names whose values are known at run time."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

from relex.dialects.element_types import MAX_SIZE as MAX_SIZE
from relex.dialects.index.expr import Index, name_of_size

MAX_ARGUMENT_SIZE = 2**57
"""The maximum size of an argument, in each dimension and in bytes. No machine has more memory; only an empty one could
be larger."""

Size: TypeAlias = Index

Sizes = tuple[Size, ...]
"""One size for each dimension."""


def count(sizes: Sequence[Size]) -> Size:
    """Return the number of elements."""
    return prod(sizes, start=1)


def sources(arguments: Sequence[Sizes]) -> dict[str, tuple[int, int]]:
    """Return for each name the first argument and its dimension of that size."""
    found: dict[str, tuple[int, int]] = {}
    for i, sizes in enumerate(arguments):
        for dimension, size in enumerate(sizes):
            if (name := name_of_size(size)) is not None:
                found.setdefault(name, (i, dimension))
    return found
