"""Write the compilation target into the module."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.target.target_attribute import Target, get_target, set_target
from relex.passes.driver.base import RelexPass


@dataclass(frozen=True)
class SetTargetPass(RelexPass):
    """
    Records the compilation target in the module, so that later passes and printed text agree on it. A module that names
    a target keeps it; options override it field by field; without either, the target is the machine that the pass runs
    on, or the processor that the environment variable `RELEX_CPU` names.

    ```mlir
    builtin.module {}
    // set-target{triple=x86_64-unknown-linux-gnu cpu=haswell}
    builtin.module attributes {relex.target = {triple = "x86_64-unknown-linux-gnu", cpu = "haswell", features = ""}} {}
    ```
    """

    name = "set-target"

    triple: str | None = None
    cpu: str | None = None
    features: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from relex.dialects.target.features import default_target

        target = get_target(op)
        if target is None:
            # The features of this machine do not apply to another cpu or triple.
            default = default_target()
            target = default if self.triple is None and self.cpu is None else Target(default.triple)
        options = {"triple": self.triple, "cpu": self.cpu, "features": self.features}
        set_target(op, replace(target, **{name: text for name, text in options.items() if text is not None}))
