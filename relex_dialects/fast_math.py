"""Fast-math flags: what may be done to floats besides what IEEE arithmetic says."""

from __future__ import annotations

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation

SUM_FLAGS = FastMathFlagsAttr([FastMathFlag.REASSOC, FastMathFlag.ALLOW_CONTRACT])
"""The flags of a sum that may be computed in any order, and contracted with products among its terms."""

PRODUCT_FLAGS = FastMathFlagsAttr([FastMathFlag.ALLOW_CONTRACT])
"""The flags of a product that may be contracted with the sum that it is a term of."""


def fast_math_flags(op: Operation) -> frozenset[FastMathFlag]:
    """Return the flags of an op; none for one that has no such property."""
    flags = op.properties.get("fastmath")
    return frozenset(flags.data) if isinstance(flags, FastMathFlagsAttr) else frozenset()


def may_reassociate(op: Operation) -> bool:
    """Return whether a sum or product of several numbers may be computed in any order."""
    return FastMathFlag.REASSOC in fast_math_flags(op)


def add_flags(op: Operation, flags: FastMathFlagsAttr) -> None:
    """Give an op fast-math flags on top of those that it has."""
    op.properties["fastmath"] = FastMathFlagsAttr(fast_math_flags(op) | set(flags.data))
