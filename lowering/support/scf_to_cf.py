"""xDSL's `convert-scf-to-cf`, where there is something for it to do."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.transforms.convert_scf_to_cf import ConvertScfToCf

from relex.dialects.walks import walk


@dataclass(frozen=True)
class ConvertScfToCfPass(ConvertScfToCf):
    """xDSL's pass, which asks each op of a program several times whether it is one to lower; `convert-scf-while-to-cf`
    mostly leaves none."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if any(isinstance(inner, scf.ForOp | scf.IfOp | scf.IndexSwitchOp) for inner in walk(op)):
            super().apply(ctx, op)
