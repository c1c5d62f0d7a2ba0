"""A pass that changes nothing."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from relex.passes import RelexPass


class NoChangePass(RelexPass):
    """Changes nothing."""

    name = "no-change"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass
