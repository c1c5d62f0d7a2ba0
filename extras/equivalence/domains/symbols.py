"""Functions of numbers by name: what a domain implements for ops of `arith` and `math`, and for NumPy's functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from xdsl.dialects import arith, llvm, math, vector
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation

from relex.dialects.fast_math import fast_math_flags
from relex.reference.interpreter.arith import FLOAT_FUNCTIONS, MODULAR_FUNCTIONS, SIGNED_FUNCTIONS, UNSIGNED_FUNCTIONS
from relex.reference.interpreter.math import FUNCTIONS
from relex.reference.interpreter.scalars import choose, dtype_of
from relex.reference.interpreter.vector_forms import CASTS

SUM = "sum"
"""The name of float sums in any order."""


@dataclass(frozen=True)
class SymbolHead:
    """A function that is applied to numbers, or symbols: the name of an op, the dtype of its result, and properties
    that matter."""

    name: str
    dtype: np.dtype[Any]
    properties: str = ""
    function: Callable[..., Any] | None = field(default=None, compare=False, repr=False)
    """Computes the result for NumPy's numbers."""
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Each term that is looked up asks for it.
        object.__setattr__(self, "_hash", hash((self.name, self.dtype, self.properties)))

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return f"{self.name}{{{self.properties}}}" if self.properties else self.name

    @property
    def flags(self) -> frozenset[FastMathFlag]:
        """The fast-math flags among the properties."""
        return _flags_in(self.properties)


@cache
def _flags_in(properties: str) -> frozenset[FastMathFlag]:
    parts = {part.strip() for part in properties.split(",")}
    return frozenset(flag for flag in FastMathFlag if flag.value in parts)


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
    SUM: FLOAT_FUNCTIONS[arith.AddfOp],
}
_MODULAR = {kind.name: functions for kind, functions in MODULAR_FUNCTIONS.items()}


@cache
def head_of(name: str, dtype: np.dtype[Any], properties: str = "") -> SymbolHead:
    """Return the head of an op whose operands have the type of its result."""
    if name in _MODULAR:
        return SymbolHead(name, dtype, properties, _MODULAR[name][dtype == np.bool_])
    return SymbolHead(name, dtype, properties, _NAMED.get(name))


def flags(op: Operation, *allowed: FastMathFlag) -> str:
    """Return the fast-math flags of an op, or those among some, as the properties of a head."""
    found = fast_math_flags(op)
    return ",".join(sorted(flag.value for flag in (found & set(allowed) if allowed else found)))


_PROPERTIES = frozenset({"fastmath", "overflowFlags", "operandSegmentSizes", "op_bundle_sizes"})
"""Properties that do not change the result, or that are read as flags."""

_SAME_AS: dict[type[Operation], str] = {
    **{kind: other.name for kind, other in CASTS.items()},
    vector.FMAOp: math.FmaOp.name,
}
"""Ops that mean the same as one of another dialect."""


def head_for(op: Operation, function: Callable[..., Any]) -> SymbolHead:
    """Return the head for an op: with the types of its operands, where they differ from the type of the result, and all
    properties."""
    dtype = dtype_of(op, op.results[0].type)
    operands = [dtype_of(op, v.type).name for v in op.operands]
    parts = [] if all(d == dtype.name for d in operands) else [" ".join(operands)]
    parts += [f"{key}={value}" for key, value in sorted(op.properties.items()) if key not in _PROPERTIES]
    parts += [flags(op)]
    return SymbolHead(_SAME_AS.get(type(op), op.name), dtype, ", ".join(filter(None, parts)), function)


_CHOICE = "llvm.vp.select."
_ELEMENTWISE = (_CHOICE, "llvm.is.fpclass.", "llvm.ssub.sat.")


def is_choice(op: Operation) -> bool:
    """Return whether an op is an intrinsic that chooses between elements of vectors."""
    return isinstance(op, llvm.CallIntrinsicOp) and op.intrin.data.startswith(_CHOICE)


def mixes_elements(op: Operation) -> bool:
    """Return whether an op is an intrinsic whose results depend on several elements, as those that permute them do."""
    return isinstance(op, llvm.CallIntrinsicOp) and not op.intrin.data.startswith(_ELEMENTWISE)
