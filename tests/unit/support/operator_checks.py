"""What an operator gives, compiled and by its own semantics, and how the two compare."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from programs import Array, MakeOperator, compiled, interpreted, operator_program, tensor_of
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.utils.test_value import create_ssa_value

from relex.runtime import Executable

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.5, 1e-45, 3e38]


def infer(make: MakeOperator, *types: TensorType) -> Attribute:
    """The type of the operator's result."""
    return make(*map(create_ssa_value, types)).result_types[0]


@lru_cache(maxsize=4)
def executable(text: str, strict: bool) -> Executable:
    """A program as native code. Tests call the same one for several operands, one after the other."""
    return compiled(text, strict=strict)


def native(make: MakeOperator, *operands: Array, strict: bool = False) -> Any:
    """What the compiled operator gives."""
    return executable(operator_program(make, operands), strict)["main"](*operands)


def expected(make: MakeOperator, *operands: Array) -> Any:
    """What the operator's own semantics give."""
    return only_one(all_expected(make, *operands))


def all_expected(make: MakeOperator, *operands: Array) -> Sequence[Array]:
    """All results that the operator's own semantics give."""
    operator = make(*(create_ssa_value(tensor_of(array)) for array in operands))
    return [np.asarray(result) for result in operator.evaluate_results(*operands)]


def all_of(results: Array | tuple[Array, ...]) -> Sequence[Array]:
    """The results of a function, as a list."""
    return results if isinstance(results, tuple) else [results]


def only_one(results: Sequence[Array]) -> Any:
    """A result alone if it is the only one, as functions return it."""
    return results[0] if len(results) == 1 else tuple(results)


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
    text = operator_program(make, operands)
    at_levels = [interpreted(text, level, strict=False)["main"](*operands) for level in ("loops", "core")]
    for found in (*at_levels, native(make, *operands)):
        for one, wanted in zip(all_of(found), all_expected(make, *operands), strict=True):
            assert_close(one, wanted, ulps)
