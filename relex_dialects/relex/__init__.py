"""
The graph dialect.

Its ops work on `tensor` values inside `func.func`; a `relex.dataflow` block holds those without side effects. It mixes
with `func`, `tensor` and, where loop functions are called, `tir`.
"""

from xdsl.ir import Dialect

from relex.dialects.relex.calls import PRIMITIVE_ATTR, CallDpsPackedOp, CallOp, CallTirOp
from relex.dialects.relex.elementwise import (
    AddOp,
    BinaryElementwise,
    DivideOp,
    Elementwise,
    EwiseFMAOp,
    MaximumOp,
    MinimumOp,
    MultiplyOp,
    ReluOp,
    SubtractOp,
    UnaryElementwise,
)
from relex.dialects.relex.linear import DenseOp, MatmulOp
from relex.dialects.relex.operator import Operator
from relex.dialects.relex.structure import DataflowOp, OutputOp
from relex.dialects.relex.tensors import AllocTensorOp, ConstantOp

Relex = Dialect(
    "relex",
    [
        AddOp,
        AllocTensorOp,
        CallDpsPackedOp,
        CallOp,
        CallTirOp,
        ConstantOp,
        DataflowOp,
        DenseOp,
        DivideOp,
        EwiseFMAOp,
        MatmulOp,
        MaximumOp,
        MinimumOp,
        MultiplyOp,
        OutputOp,
        ReluOp,
        SubtractOp,
    ],
)

__all__ = [
    "PRIMITIVE_ATTR",
    "AddOp",
    "AllocTensorOp",
    "BinaryElementwise",
    "CallDpsPackedOp",
    "CallOp",
    "CallTirOp",
    "ConstantOp",
    "DataflowOp",
    "DenseOp",
    "DivideOp",
    "Elementwise",
    "EwiseFMAOp",
    "MatmulOp",
    "MaximumOp",
    "MinimumOp",
    "MultiplyOp",
    "Operator",
    "OutputOp",
    "Relex",
    "ReluOp",
    "SubtractOp",
    "UnaryElementwise",
]
