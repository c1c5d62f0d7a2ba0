"""
The dialect of schedules: transformations of the loops of a function, step by step, in the same file as the function.

A `schedule.sequence` holds primitives in order of application; `apply-schedule` applies them. They refer to loops by
label and to blocks by name.
"""

from xdsl.ir import Dialect

from relex.dialects.schedule.blocks import (
    BufferRole,
    BufferRoleAttr,
    CacheReadOp,
    CacheWriteOp,
    CompactBufferOp,
    ComputeAtOp,
    ComputeInlineOp,
    DecomposeReductionOp,
    OrderAsIntegersOp,
    ReverseComputeAtOp,
    ReverseComputeInlineOp,
    RfactorOp,
    TransformLayoutOp,
    UnguardOp,
)
from relex.dialects.schedule.loops import (
    FuseOp,
    LabelLoopsOp,
    PadOp,
    ParallelOp,
    PartitionOp,
    ReorderOp,
    SplitOp,
    UnrollOp,
    VectorizeOp,
)
from relex.dialects.schedule.sequence import NamingOp, PrimitiveOp, SequenceOp

Schedule = Dialect(
    "schedule",
    [
        CacheReadOp,
        CacheWriteOp,
        CompactBufferOp,
        ComputeAtOp,
        ComputeInlineOp,
        DecomposeReductionOp,
        FuseOp,
        LabelLoopsOp,
        PadOp,
        ParallelOp,
        PartitionOp,
        ReorderOp,
        ReverseComputeAtOp,
        ReverseComputeInlineOp,
        RfactorOp,
        SequenceOp,
        SplitOp,
        TransformLayoutOp,
        OrderAsIntegersOp,
        UnguardOp,
        UnrollOp,
        VectorizeOp,
    ],
    [BufferRoleAttr],
)

__all__ = [
    "BufferRole",
    "BufferRoleAttr",
    "CacheReadOp",
    "CacheWriteOp",
    "CompactBufferOp",
    "ComputeAtOp",
    "ComputeInlineOp",
    "DecomposeReductionOp",
    "FuseOp",
    "LabelLoopsOp",
    "NamingOp",
    "OrderAsIntegersOp",
    "PadOp",
    "ParallelOp",
    "PartitionOp",
    "PrimitiveOp",
    "ReorderOp",
    "ReverseComputeAtOp",
    "ReverseComputeInlineOp",
    "RfactorOp",
    "Schedule",
    "SequenceOp",
    "SplitOp",
    "TransformLayoutOp",
    "UnguardOp",
    "UnrollOp",
    "VectorizeOp",
]
