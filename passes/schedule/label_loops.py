"""`label_loops`: give labels to loops that have none."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr

from relex.dialects.schedule.loops import LabelLoopsOp
from relex.dialects.tir import ForOp, PrimFuncOp
from relex.passes.schedule.new_names import NewNames
from relex.passes.schedule.table import primitive


@primitive(LabelLoopsOp)
def label_loops(func: PrimFuncOp, names: NewNames) -> None:
    """Give a label to each loop that has none, in program order."""
    loops = [op for op in func.walk() if isinstance(op, ForOp) and op.label is None]
    _, labels = names.take(loops=[f"loop{i}" for i in range(len(loops))])
    for loop, label in zip(loops, labels, strict=True):
        loop.label = StringAttr(label)
