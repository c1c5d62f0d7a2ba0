"""`tvm.transform`: passes one after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from relex.dialects.errors import expect_kind
from relex.passes.driver.base import RelexPass, apply_pass


@dataclass(frozen=True)
class Sequential(RelexPass):
    """Passes that run one after another: `Sequential([FuseOps(), FuseTIR()])(mod)`."""

    name = "sequential"

    passes: Sequence[ModulePass] = ()

    def __post_init__(self) -> None:
        for p in self.passes:
            expect_kind(p, ModulePass, "passes", "Sequential")

    def steps(self) -> Sequence[ModulePass]:
        return self.passes

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for p in self.passes:
            apply_pass(p, ctx, op)
