"""`tensorize`: compute loops by an instruction of a matrix unit."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr

from relex.dialects.function_arguments import TENSORIZED_ATTR
from relex.dialects.schedule.loop_primitives import TensorizeOp
from relex.dialects.tir import ForOp
from relex.passes.analysis.tile_nests import TileNest
from relex.passes.schedule.primitive_table import primitive


@primitive(TensorizeOp)
def tensorize(loop: ForOp, by: str) -> None:
    """
    Mark a nest of loops to be computed by an instruction that multiplies tiles, one of `TILE_PRODUCTS`. The nest
    begins with the loop, and the innermost loops are over words, up to 16, rows, up to 32, and columns, up to 32. The
    block in it adds products of words of two buffers to a third one, and its init is elsewhere. Rows of the left
    buffer, rows of columns of the right one, and rows of sums are contiguous.
    """
    TileNest.of(loop, by)
    loop.attributes[TENSORIZED_ATTR] = StringAttr(by)
