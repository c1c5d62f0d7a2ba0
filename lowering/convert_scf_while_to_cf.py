"""Lowering of `scf.while` and annotated loops to branches."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from relex.dialects.upstream.llvm import LOOP_ANNOTATION
from relex.dialects.walks import walk
from relex.lowering.support.branches import PATTERNS, lower_to_branches
from relex.passes.driver.base import RelexPass


class ConvertScfWhileToCfPass(RelexPass):
    """
    Turns every `scf.while` and `scf.execute_region` into branches, and every `scf.for` with an `llvm.loop_annotation`,
    which moves to the branch that closes the loop. Other ops of `scf` in the same function are lowered with them, since
    their regions must have a single block. Other functions are left to `convert-scf-to-cf`.

    ```mlir
    %0 = scf.while (%i = %start) : (index) -> index {
      scf.condition(%more) %i : index
    } do {
    ^bb0(%j: index):
      scf.yield %next : index
    }
    // convert-scf-while-to-cf
      cf.br ^before(%start : index)
    ^before(%i: index):
      cf.cond_br %more, ^after(%i : index), ^end
    ^after(%j: index):
      cf.br ^before(%next : index)
    ^end:
    ```

    Requires that `scf.parallel` is gone: `scf-parallel-for-to-nested-fors` turns it into `scf.for`.
    """

    name = "convert-scf-while-to-cf"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            # Outermost first; nested ops move with their regions.
            found = [inner for inner in walk(function) if type(inner) in PATTERNS]
            if any(map(_is_left_by_xdsl, found)):
                lower_to_branches(found)


def _is_left_by_xdsl(op: Operation) -> bool:
    return isinstance(op, scf.WhileOp | scf.ExecuteRegionOp) or LOOP_ANNOTATION in op.attributes
