from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition
from xdsl.passes import ModulePass
from xdsl.universe import Universe


@irdl_op_definition
class MineOp(IRDLOperation):
    name = "mine.op"


class MyOtherPass(ModulePass):
    name = "my-other"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


UNIVERSE = Universe(
    all_dialects={"mine": lambda: Dialect("mine", [MineOp])},
    all_passes={"my-other": lambda: MyOtherPass},
)
