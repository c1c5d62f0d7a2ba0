"""
The dialect of schedules: transformations of the loops of a function, step by step, in the same file as the function.

A `schedule.sequence` holds primitives in order of application; `apply-schedule` applies them. They refer to loops by
label and to blocks by name.
"""

from xdsl.ir import Dialect

from relex.dialects.schedule import block_primitives, loop_primitives
from relex.dialects.schedule.block_primitives import BufferRole, BufferRoleAttr
from relex.dialects.schedule.sequence import NamingOp, PrimitiveOp, SequenceOp

PRIMITIVES = [
    op
    for module in (loop_primitives, block_primitives)
    for op in vars(module).values()
    if isinstance(op, type) and issubclass(op, PrimitiveOp) and "name" in vars(op)
]
"""The op classes of the primitives: those that have a name, so that they are not only bases of others."""

Schedule = Dialect("schedule", [SequenceOp, *PRIMITIVES], [BufferRoleAttr])

__all__ = ["PRIMITIVES", "BufferRole", "BufferRoleAttr", "NamingOp", "PrimitiveOp", "Schedule", "SequenceOp"]


def __dir__() -> list[str]:
    return __all__
