"""
The effect of a pass on the numbers that a program computes, declared in its class and checked by `--check-each`.

    class ChainMatmulsPass(RelexPass):
        name = "chain-matmuls"
        numerics = reassociates

A pass that declares nothing is `exact`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from xdsl.passes import ModulePass

from relex.dialects.errors import DTypeError, RangeError, kind_of


@dataclass(frozen=True)
class Numerics:
    """The difference allowed between the results before and after a pass, beyond what the ops of the program leave
    open."""

    reassociates: bool = False
    """Sums and products may be computed in any order, across ops."""
    rtol: float = 0.0
    """The largest difference relative to the result."""
    atol: float = 0.0
    """The difference that is allowed on top, also where the result is zero."""
    operands: float = 0.0
    """The largest difference, relative to the operand, by which operands of products may be rounded."""
    rows: float = 0.0
    """The largest difference, relative to the largest number of a row, by which data of products may be rounded."""
    relaxes: bool = False
    """Loops may be computed as the flags say that `annotate-fast-math` gives them, before the pass, too."""

    def __str__(self) -> str:
        parts = [name for name in ("reassociates", "relaxes") if getattr(self, name)]
        if self.rtol or self.atol:
            more = f", atol={self.atol:g}" if self.atol else ""
            parts.append(f"approximate(rtol={self.rtol:g}{more})")
        if self.operands:
            parts.append(f"rounds_operands({self.operands:g})")
        if self.rows:
            parts.append(f"rounds_rows({self.rows:g})")
        return " and ".join(parts) or "exact"


exact = Numerics()
"""Every result is one that the program could give before the pass: bit by bit the same, except where the ops leave a
choice, as in the order of a matrix product's sums or in the last digits of `exp`."""

reassociates = Numerics(reassociates=True)
"""The same for real numbers: sums and products may be regrouped, reordered and distributed, quotients become products
with the reciprocal. Results differ by rounding; where a regrouped product may overflow, they are not compared."""

relaxes = Numerics(relaxes=True)
"""The same as long as hand-written loops count as annotated by `annotate-fast-math`: their products may be contracted,
and their reductions computed in any order."""


def approximate(*, rtol: float, atol: float = 0.0) -> Numerics:
    """Return the numerics of a pass that changes results by at most `rtol * abs(result) + atol`. NaN and infinities
    stay. Raises `RangeError` for a negative or infinite number."""
    for name, value in (("rtol", rtol), ("atol", atol)):
        if isinstance(value, bool) or not isinstance(value, int | float):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise DTypeError(f"expected {name} to be a number, found {kind_of(value)}")
        if not 0 <= value < inf:
            raise RangeError(f"expected {name} to be 0 or more and finite, found {value:g}")
    return Numerics(rtol=rtol, atol=atol)


def rounds_operands(rtol: float) -> Numerics:
    """Return the numerics of a pass that rounds operands of matrix products and convolutions, each by at most `rtol`
    times its size, and may change the order of their sums. Operands near the largest number may become infinite."""
    return Numerics(reassociates=True, operands=rtol)


def rounds_rows(rtol: float) -> Numerics:
    """Return the numerics of a pass that rounds data of matrix products, each number by at most `rtol` times the
    largest number of its row, and may change the order of their sums."""
    return Numerics(reassociates=True, rows=rtol)


def numerics_of(p: ModulePass | type[ModulePass]) -> Numerics:
    """Return the numerics that any xDSL pass declares. Raises `DTypeError` if its attribute is something else."""
    declared = getattr(p, "numerics", exact)
    if not isinstance(declared, Numerics):
        raise DTypeError(
            f"expected numerics of pass '{p.name}' to be exact, reassociates, relaxes or "
            f"approximate(rtol=...), found {kind_of(declared)}"
        )
    return declared


def together(passes: Iterable[ModulePass]) -> Numerics:
    """Return the numerics of passes one after the other."""
    found = [numerics_of(p) for p in passes]
    return Numerics(
        any(n.reassociates for n in found),
        sum(n.rtol for n in found),
        sum(n.atol for n in found),
        sum(n.operands for n in found),
        sum(n.rows for n in found),
        any(n.relaxes for n in found),
    )
