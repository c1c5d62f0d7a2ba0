"""What an operator gives, compiled and by its own semantics, and how the two compare."""

from __future__ import annotations

import numpy as np
from programs import Array, MakeOperator, interpreted, operator_program, tensor_of
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.utils.test_value import create_ssa_value

from relex.runtime import build

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.5, 1e-45, 3e38]


def infer(make: MakeOperator, *types: TensorType) -> Attribute:
    """The type of the operator's result."""
    return make(*map(create_ssa_value, types)).result_types[0]


def native(make: MakeOperator, *operands: Array, strict: bool = False) -> Array:
    """What the compiled operator gives."""
    return build(operator_program(make, operands), strict=strict)["main"](*operands)


def expected(make: MakeOperator, *operands: Array) -> Array:
    """What the operator's own semantics give."""
    operator = make(*(create_ssa_value(tensor_of(array)) for array in operands))
    return np.asarray(operator.evaluate(*operands))


def assert_same(found: Array, wanted: Array) -> None:
    """Equal, NaN included; zeros of either sign are."""
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    np.testing.assert_array_equal(found, wanted)


def assert_close(found: Array, wanted: Array, ulps: int) -> None:
    """Equal up to some units in the last place of the wanted number; NaN and infinities at the same places."""
    if not ulps:
        assert_same(found, wanted)
        return
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    with np.errstate(invalid="ignore"):
        near = abs(found - wanted) <= ulps * np.spacing(abs(wanted))
    np.testing.assert_array_equal(found[~(same | near)], wanted[~(same | near)])


def check(make: MakeOperator, *operands: Array, ulps: int = 0) -> None:
    """The operator agrees with its semantics on every level, interpreted as loops and at the core, and compiled."""
    wanted = expected(make, *operands)
    for level in ("loops", "core"):
        assert_close(interpreted(operator_program(make, operands), level)["main"](*operands), wanted, ulps)
    assert_close(native(make, *operands), wanted, ulps)
