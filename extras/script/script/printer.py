"""Prints modules as TVMScript."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.utils.target import Target

from relex.dialects.errors import fail
from relex.dialects.names import Names
from relex.dialects.relex import ConstantOp
from relex.dialects.tir import PrimFuncOp
from relex.frontend.script.print_graphs import GraphPrinter
from relex.frontend.script.print_loops import LoopPrinter
from relex.frontend.script.writing import CANNOT, Writer

_IMPORTS = (
    "# from tvm.script import ir as I",
    "# from tvm.script import tirx as T",
    "# from tvm.script import relax as R",
)
"""Comments, as TVM prints them: the names need no import."""


def print_script(module: ModuleOp, *, elide: bool = False) -> str:
    """Print a module of graph and loop functions as TVMScript, in the syntax of TVM 0.27.

    Read back, it is the same program, except that unlabeled loops and unnamed sizes get names, and values may be
    computed where they are used. Attributes of the module, discardable attributes of graph operators, and fast-math
    flags other than those on the sums of a block are not printed. With `elide`, long constants are left out;
    `parse_script` takes them as `params`.

    Raises `PassError` at the first op that scripts cannot express.
    """
    name = Names.of_symbols(module).fresh("Module")
    writer = Writer(reserved=[name])
    constants: list[ConstantOp] | None = [] if elide else None
    for line in (*_IMPORTS, "", "@I.ir_module"):
        writer.line(line)
    with writer.indented(f"class {name}:"):
        for i, op in enumerate(module.ops):
            if i:
                writer.line("")
            try:
                with writer.scope():
                    match op:
                        case PrimFuncOp():
                            LoopPrinter(op, writer).print()
                        case FuncOp():
                            GraphPrinter(op, writer, name, constants).print()
                        case _:
                            fail(op, f"{CANNOT}: expected functions")
            except RecursionError:
                fail(op, f"{CANNOT}: expected a function that nests less deeply")
        if not module.ops.first:
            writer.line("pass")
    return "\n".join(writer.lines) + "\n"


@dataclass(frozen=True)
class ScriptTarget(Target):
    """
    TVMScript, in the syntax of TVM 0.27, for a module of graph and loop functions.

    With `elide`, constants of more than 16 elements are left out, as in TVM.
    """

    name = "script"

    elide: bool = False

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(print_script(module, elide=self.elide))
