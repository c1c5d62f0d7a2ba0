"""The code of an operator does not grow with its operands."""

from __future__ import annotations

import pytest
from operator_cases import CASES
from operator_sizes import Growth, code_size, growths, operator_of
from xdsl.dialects.builtin import f64

from relex.dialects.relex import AsSizesOp
from relex.dialects.relex.block_panels import Unpacking
from relex.dialects.relex.random_numbers import RandomTensor
from relex.dialects.target.machine import Target

TARGET = Target("x86_64-unknown-linux-gnu", "haswell", "+avx2,+fma")
"""With doubles, a row is more vectors than on others, and less is left to LLVM."""

FEW = 500
"""Operations that cannot hold a copy for each vector of 4096 elements."""

GROWTHS = list(growths())


def test_no_operator_is_forgotten() -> None:
    # The size of a key is fixed, the shape of random numbers is a property, and so are the columns of unpacked weights;
    # sizes are as many as dimensions may be.
    assert {operator_of(growth.make) for growth in GROWTHS} == {
        kind
        for make, operands in CASES
        if any(operand.ndim for operand in operands)
        and not issubclass(kind := operator_of(make), RandomTensor | AsSizesOp | Unpacking)
    }


@pytest.mark.sampled(every=12)
@pytest.mark.parametrize("growth", GROWTHS, ids=str)
def test_code_stays_as_long(growth: Growth) -> None:
    large = code_size(growth.program(4096, f64), TARGET)
    # With 256 elements, tiles may be others, as everything fits into the first-level cache; with 1024, nothing may be
    # left over at the end of a row.
    assert large <= FEW or large <= 1.5 * max(code_size(growth.program(n, f64), TARGET) for n in (256, 1024))
