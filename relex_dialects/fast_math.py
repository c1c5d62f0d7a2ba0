"""Fast-math flags: what may be done to floats besides what IEEE arithmetic says."""

from __future__ import annotations

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation


def fast_math_flags(op: Operation) -> frozenset[FastMathFlag]:
    """Return the flags of an op; none for one that has no such property."""
    flags = op.properties.get("fastmath")
    return frozenset(flags.data) if isinstance(flags, FastMathFlagsAttr) else frozenset()


def may_reassociate(op: Operation) -> bool:
    """Return whether a sum or product of several numbers may be computed in any order."""
    return FastMathFlag.REASSOC in fast_math_flags(op)
