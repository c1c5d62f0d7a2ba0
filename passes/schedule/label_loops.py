"""`label_loops`: give labels to loops that have none."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr

from relex.dialects.schedule import LabelLoopsOp
from relex.dialects.tir import ForOp, PrimFuncOp
from relex.passes.analysis.loop_tree import given_or_fresh, loop_names
from relex.passes.schedule.table import primitive


@primitive(LabelLoopsOp)
def apply_label_loops(op: LabelLoopsOp, func: PrimFuncOp) -> None:
    """Apply `schedule.label_loops` to a function."""
    op.new_names = label_loops(func, op.new_names)


def label_loops(func: PrimFuncOp, names: Sequence[str] = ()) -> list[str]:
    """Give a label to each loop that has none; return the new labels in program order."""
    loops = [op for op in func.walk() if isinstance(op, ForOp) and op.label is None]
    labels = given_or_fresh(func, loop_names(func), [f"loop{i}" for i in range(len(loops))], names)
    for loop, label in zip(loops, labels, strict=True):
        loop.label = StringAttr(label)
    return labels
