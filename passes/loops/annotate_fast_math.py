"""Annotate hand-written loops with fast-math flags."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.fast_math import PRODUCT_FLAGS, SUM_FLAGS, add_flags
from relex.dialects.tir import BlockOp, PrimFuncOp
from relex.dialects.walks import walk
from relex.passes.analysis.hand_written import hand_written
from relex.passes.analysis.loop_tree import is_reduction
from relex.passes.analysis.reduction_order import update_of
from relex.passes.driver.base import RelexPass
from relex.passes.rewriting.numerics import relaxes


class AnnotateFastMathPass(RelexPass):
    """
    Annotates loops with the fast-math flags that their form allows, so that the passes that follow treat hand-written
    loops as the loops of graph operators.

    * A sum or product over `reduce` variables may be computed in any order: `reassoc`. This is so if all that the block
      does is to combine one element with a term that does not depend on it. Recurrences such as `c = c * x + a` and
      blocks that write several elements keep their order. Maxima and minima need no flag.
    * A product may be contracted with the sums and differences that it is a term of: `contract`.

    Flags that are stated already stay. A function with the attribute `relex.strict` gets none: it has the order and the
    rounding that it is written with. So has a function that the default compilation has brought to the level of loops:
    operators that it fuses, such as two elementwise ones, are rounded one by one.

    ```mlir
    tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<64> = %k) {
      ...
      %p = arith.mulf %x, %w : f32
      %s = arith.addf %y, %p : f32
      memref.store %s, %Y[%vi] : memref<8xf32>
    }
    // annotate-fast-math
    tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<64> = %k) {
      ...
      %p = arith.mulf %x, %w fastmath<contract> : f32
      %s = arith.addf %y, %p fastmath<reassoc,contract> : f32
      memref.store %s, %Y[%vi] : memref<8xf32>
    }
    ```
    """

    name = "annotate-fast-math"

    numerics = relaxes

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in hand_written(op):
            annotate_fast_math(function)


def annotate_fast_math(function: PrimFuncOp) -> None:
    """Add the fast-math flags that a loop function allows to those that it states."""
    for op in () if function.strict else walk(function):
        match op:
            case BlockOp() if is_reduction(op):
                _annotate_update(op)
            case arith.AddfOp() | arith.SubfOp():
                _annotate_products(op)
            case _:
                pass


def _annotate_update(block: BlockOp) -> None:
    combine = update_of(block)
    if isinstance(combine, arith.AddfOp | arith.MulfOp):
        add_flags(combine, SUM_FLAGS)


def _annotate_products(op: arith.AddfOp | arith.SubfOp) -> None:
    products = [term.owner for term in op.operands if isinstance(term.owner, arith.MulfOp)]
    for term in (op, *products) if products else ():
        add_flags(term, PRODUCT_FLAGS)
