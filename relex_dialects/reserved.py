"""Names of C library functions that compiled code may call implicitly."""

from __future__ import annotations

from collections.abc import Iterable

MEMORY = frozenset("malloc free memcpy memmove memset abort".split())
"""Called for allocation, copies and failed assertions."""

MATH = frozenset(
    "acos acosh asin asinh atan atan2 atanh cbrt ceil cos cosh erf exp exp10 exp2 expm1 fabs floor fma fmax fmin fmod "
    "ldexp log log10 log1p log2 nearbyint pow rint round roundeven sin sincos sinh sqrt tan tanh trunc".split()
)
"""Called for ops of `math` and for the intrinsics of the same names; on f32 with the suffix f."""


def functions_of(names: Iterable[str]) -> frozenset[str]:
    """Return functions of `MATH` under their names for f64 and f32."""
    return frozenset(name + suffix for name in names for suffix in ("", "f"))


RESERVED = MEMORY | functions_of(MATH)
