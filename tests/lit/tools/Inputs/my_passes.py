from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class MyRenamePass(ModulePass):
    """Puts a prefix before the name of every function. Calls are not looked at."""

    name = "my-rename"

    prefix: str = "my_"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, FuncOp):
                function.properties["sym_name"] = StringAttr(self.prefix + function.sym_name.data)
