"""Where programs come from, other than MLIR text.

`from relex import frontend as relax` has the names that programs use which were written for TVM's builder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from relex.frontend import op as op
    from relex.frontend.block_builder import BlockBuilder as BlockBuilder
    from relex.frontend.expressions import DynTensorType as DynTensorType
    from relex.frontend.expressions import Expr as Expr
    from relex.frontend.expressions import Var as Var
    from relex.frontend.expressions import const as const

_HOMES = {
    "BlockBuilder": "relex.frontend.block_builder",
    "DynTensorType": "relex.frontend.expressions",
    "Expr": "relex.frontend.expressions",
    "Var": "relex.frontend.expressions",
    "const": "relex.frontend.expressions",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "op":
        return import_module("relex.frontend.op")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
