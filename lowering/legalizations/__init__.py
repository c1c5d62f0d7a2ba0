"""Legalizations: a tensor expression for each graph operator.

Other packages add their operators with the same decorator; nothing else needs to change:

    @legalizes(SquareOp)
    def square(op: SquareOp, x: Tensor) -> Tensor:
        return compute(x.shape, lambda *i: x[i] * x[i], name="square")
"""

from importlib import import_module
from pkgutil import iter_modules

from relex.lowering.legalizations.broadcasting import broadcast_indices, elementwise
from relex.lowering.legalizations.legalization_table import (
    LEGALIZATIONS,
    CountAndFill,
    Legalization,
    apply_legalization,
    legalizes,
)

for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")  # It fills the table.

__all__ = [
    "LEGALIZATIONS",
    "CountAndFill",
    "Legalization",
    "apply_legalization",
    "broadcast_indices",
    "elementwise",
    "legalizes",
]


def __dir__() -> list[str]:
    return __all__
