"""Functions of numbers that importers of all formats have under the same names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relex.frontend import op
from relex.frontend.graph_expressions import Operand

_ALIKE = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh erf exp floor log relu sigmoid sin sinh sqrt tan tanh".split()
)

OF_NUMBERS: dict[str, Callable[[Operand], Operand]] = {name: getattr(op, name) for name in _ALIKE}
"""Functions of one number that ONNX, PyTorch and relex name alike, except for capital letters."""


def reciprocal(x: Operand) -> Operand:
    """Return `1 / x`."""
    return op.divide(1.0, x)


def square(x: Operand) -> Operand:
    """Return `x * x`."""
    return op.multiply(x, x)


def clamped(x: Operand, bounds: Sequence[Operand | None], numbers: Sequence[float | None]) -> Operand:
    """Return elements between two bounds, either of which may be missing, and of which the second wins. `numbers` are
    the bounds that are known at import."""
    known = [number for number in numbers if number is not None and number == number]
    if len(known) == sum(bound is not None for bound in bounds) and known == sorted(known):
        return op.clip(x, *numbers) if known else x
    low, high = bounds
    y = x if low is None else op.maximum(x, low)
    return y if high is None else op.minimum(y, high)
