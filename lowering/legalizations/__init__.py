"""Legalizations: a tensor expression for each graph operator.

Other packages add their operators with the same decorator; nothing else needs to change:

    @legalizes(SquareOp)
    def square(op: SquareOp, x: Tensor) -> Tensor:
        return compute(x.shape, lambda *i: x[i] * x[i], name="square")
"""

# Importing the module of a family of operators fills the table.
from relex.lowering.legalizations import (
    arithmetic,
    convolution,
    gathering,
    indexing,
    linear,
    normalization,
    reductions,
    scans,
    shape,
)
from relex.lowering.legalizations.broadcasting import broadcast_indices, elementwise
from relex.lowering.legalizations.table import LEGALIZATIONS, Legalization, apply_legalization, legalizes

__all__ = [
    "LEGALIZATIONS",
    "Legalization",
    "apply_legalization",
    "arithmetic",
    "broadcast_indices",
    "convolution",
    "elementwise",
    "gathering",
    "indexing",
    "legalizes",
    "linear",
    "normalization",
    "reductions",
    "scans",
    "shape",
]


def __dir__() -> list[str]:
    return __all__
