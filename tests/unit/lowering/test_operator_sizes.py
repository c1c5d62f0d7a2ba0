"""The code of an operator does not grow with its operands."""

from __future__ import annotations

import pytest
from operator_sizes import OPERATORS, Types, code_size, growths, operator_of
from programs import MakeOperator
from xdsl.dialects.builtin import f64

from relex.dialects.relex import AsSizesOp
from relex.dialects.relex.block_panels import Unpacking
from relex.dialects.relex.random_numbers import RandomTensor
from relex.dialects.target.machine import Target

TARGET = Target("x86_64-unknown-linux-gnu", "haswell", "+avx2,+fma")
"""With doubles, a row is more vectors than on others, and less is left to LLVM."""

FEW = 500
"""Operations that cannot hold a copy for each vector of 4096 elements."""

NEVER = RandomTensor | AsSizesOp | Unpacking
"""The shape of random numbers is a property, the size of their key is fixed, sizes are as many as dimensions, and the
columns of unpacked weights are a property."""


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(
    ("make", "types"), OPERATORS, ids=[f"{operator_of(make).name}-{i}" for i, (make, _) in enumerate(OPERATORS)]
)
def test_code_stays_as_long(make: MakeOperator, types: Types) -> None:
    found = list(growths(make, types))
    assert found or issubclass(operator_of(make), NEVER) or not any(t.get_shape() for t in types)
    for growth in found:
        large = code_size(growth.program(4096, f64), TARGET)
        # With 256 elements, tiles may be others, as everything fits into the first-level cache; with 1024, nothing may
        # be left over at the end of a row.
        smaller = (code_size(growth.program(n, f64), TARGET) for n in (256, 1024))
        assert large <= FEW or large <= 1.5 * max(smaller), str(growth)
