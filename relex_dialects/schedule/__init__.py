"""
The dialect of schedules: how the loops of a function are to be changed, step by step, in the file of the function.

A `schedule.sequence` holds primitives in the order of their application. `apply-schedule` applies them. Loops and
blocks go by their labels and names.
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
