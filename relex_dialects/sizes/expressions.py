"""Sizes: numbers, or expressions of names that are known at run time."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

from relex.dialects.index.expr import Index, name_of_size

MAX_SIZE = 2**63 - 1
"""Of a tensor, in each dimension and in bytes: what an index can hold."""

MAX_ARGUMENT_SIZE = 2**57
"""Of an argument, in each dimension and in bytes. No machine has more memory; only what is empty could be larger."""

Size: TypeAlias = Index

Sizes = tuple[Size, ...]
"""The size of each dimension."""


def count(sizes: Sequence[Size]) -> Size:
    """The number of elements."""
    return prod(sizes, start=1)


def sources(arguments: Sequence[Sizes]) -> dict[str, tuple[int, int]]:
    """For each name, the first argument and its dimension that have that size."""
    found: dict[str, tuple[int, int]] = {}
    for i, sizes in enumerate(arguments):
        for dimension, size in enumerate(sizes):
            if (name := name_of_size(size)) is not None:
                found.setdefault(name, (i, dimension))
    return found
