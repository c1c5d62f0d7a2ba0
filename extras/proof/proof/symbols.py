"""Heads of terms: for ops of a program, and for those that identities name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from xdsl.dialects import arith, vector
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation

from relex.dialects.fast_math import fast_math_flags
from relex.reference.interpreter.arith import FLOAT_FUNCTIONS, MODULAR_FUNCTIONS, SIGNED_FUNCTIONS, UNSIGNED_FUNCTIONS
from relex.reference.interpreter.math import FUNCTIONS
from relex.reference.interpreter.scalars import choose
from relex.reference.proof.terms import Head


def _of_unsigned(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of unsigned integers for those without a sign, which NumPy has as signed ones."""

    def run(*values: Any) -> Any:
        dtype: np.dtype[Any] = values[0].dtype
        return np.asarray(function(*(value.view(f"u{dtype.itemsize}") for value in values))).view(dtype)[()]

    return run


_NAMED: dict[str, Callable[..., Any]] = {
    **{kind.name: function for kind, function in FLOAT_FUNCTIONS.items()},
    **{kind.name: function for kind, function in FUNCTIONS.items() if kind is not vector.FMAOp},
    arith.SelectOp.name: choose,
    **{kind.name: function for kind, function in SIGNED_FUNCTIONS.items()},
    **{kind.name: _of_unsigned(function) for kind, function in UNSIGNED_FUNCTIONS.items()},
}
_MODULAR = {kind.name: functions for kind, functions in MODULAR_FUNCTIONS.items()}


@cache
def head_of(name: str, dtype: np.dtype[Any], properties: str = "") -> Head:
    """Return the head of an op whose operands have the type of its result."""
    if name in _MODULAR:
        return Head(name, dtype, properties, _MODULAR[name][dtype == np.bool_])
    return Head(name, dtype, properties, _NAMED.get(name))


def flags(op: Operation, *allowed: FastMathFlag) -> str:
    """Return the fast-math flags of an op that are among those allowed, as the properties of a head."""
    return ",".join(sorted(flag.value for flag in fast_math_flags(op) & set(allowed)))
