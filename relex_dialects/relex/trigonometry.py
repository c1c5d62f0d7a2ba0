"""Trigonometric and hyperbolic functions."""

from __future__ import annotations

from relex.dialects.relex.declared import declared
from relex.dialects.relex.elementwise import FloatFunction


@declared
class SinOp(FloatFunction):
    """The sine of an angle in radians; NaN for infinity."""


@declared
class CosOp(FloatFunction):
    """The cosine of an angle in radians; NaN for infinity."""


@declared
class TanOp(FloatFunction):
    """The tangent of an angle in radians; NaN for infinity."""


@declared
class AsinOp(FloatFunction):
    """The inverse sine, from -pi/2 to pi/2; NaN outside of -1 to 1."""


@declared
class AcosOp(FloatFunction):
    """The inverse cosine, from 0 to pi; NaN outside of -1 to 1."""


@declared
class AtanOp(FloatFunction):
    """The inverse tangent, from -pi/2 to pi/2."""


@declared
class SinhOp(FloatFunction):
    """The hyperbolic sine."""


@declared
class CoshOp(FloatFunction):
    """The hyperbolic cosine."""


@declared
class AsinhOp(FloatFunction):
    """The inverse hyperbolic sine."""


@declared
class AcoshOp(FloatFunction):
    """The inverse hyperbolic cosine, which is not negative; NaN below 1."""


@declared
class AtanhOp(FloatFunction):
    """The inverse hyperbolic tangent; infinite for -1 and 1, NaN beyond."""
