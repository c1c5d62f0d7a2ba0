"""xDSL's `convert-scf-to-cf` without its walk, which asks each op of a program several times."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.transforms.convert_scf_to_cf import ConvertScfToCf

from relex.dialects.walks import walk
from relex.lowering.support.branches import lower_to_branches

_LOWERED = {scf.ForOp, scf.IfOp, scf.IndexSwitchOp}


@dataclass(frozen=True)
class ConvertScfToCfPass(ConvertScfToCf):
    """xDSL's pass, which is named in pipelines: it lowers the same ops to the same branches."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lower_to_branches([inner for inner in walk(op) if type(inner) in _LOWERED])
