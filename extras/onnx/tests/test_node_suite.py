"""The node cases of the package onnx: all by the interpreter, and a sample compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from node_suite import PASSES, WITH_VALUES, cases, disagreements, read_table

from relex.reference import interpret
from relex.runtime import build

PARTS = 4

EXPANDED = "_expanded"

LARGE = (EXPANDED, "attention", "Attention")
"""Parts of the names of cases that take long to compile, or that are equal to others but for their form."""


def test_the_table_has_each_case() -> None:
    assert set(read_table()) == set(cases())


@pytest.mark.parametrize("part", range(PARTS))
def test_interpreted(part: int, some: Callable[[Iterable[str], int], list[str]]) -> None:
    """No result is wrong, and each refusal has its reason. Of the cases that write an operator as a function of others,
    which have separate cases, some are enough."""
    names = [name for name in cases() if EXPANDED not in name]
    names += some((name for name in cases() if EXPANDED in name), 30)
    assert not list(disagreements(names[part::PARTS], interpret))


@pytest.mark.parametrize("part", range(2))
def test_compiled(part: int) -> None:
    table = read_table()
    passing = [name for name in cases() if table[name][0] in (PASSES, WITH_VALUES)]
    sample = [name for name in passing if not any(text in name for text in LARGE)][::72]
    assert not list(disagreements(sample[part::2], build))
