"""The patterns of what the graph operators become."""

from __future__ import annotations

import pytest
from operator_cases import CASES
from programs import Array, MakeOperator, operator_program

from relex.dialects import parse_module
from relex.dialects.tir import OpPattern, PrimFuncOp
from relex.dialects.tir.op_pattern import get_op_pattern, widest
from relex.lowering import LegalizeOpsPass
from relex.passes import AnnotateOpPatternPass

EXPECTED = {
    OpPattern.ELEMENTWISE: ["expand_dims", "squeeze"],
    OpPattern.BROADCAST: ["broadcast_to"],
    OpPattern.INJECTIVE: ["concat", "pack_bytes", "pad", "permute_dims", "reshape", "strided_slice"],
    OpPattern.REDUCTION: ["max", "min", "prod", "sum"],
    OpPattern.OUT_ELEMENTWISE_FUSABLE: [
        *("argmax", "argmin", "dense", "layer_norm", "log_softmax", "matmul", "mean", "softmax"),
        *(f"{kind}{rank}d" for kind in ("avg_pool", "conv", "max_pool") for rank in (1, 2, 3)),
        *(f"max_pool{rank}d_with_indices" for rank in (1, 2, 3)),
        *(f"conv{rank}d_transpose" for rank in (1, 2, 3)),
        *(f"conv{rank}d_packed" for rank in (1, 2, 3)),
        *("conv2d_blocked", "matmul_packed", "winograd_output_transform"),
    ],
    OpPattern.OPAQUE: [
        *("argsort", "cumprod", "cumsum", "gather_elements", "gather_nd", "scatter_elements", "scatter_nd", "sort"),
        *("take", "winograd_input_transform"),
    ],
}
"""By the name of the operator; all others are elementwise, or, if no operand has the shape of the result, broadcast."""


@pytest.mark.parametrize(("make", "operands"), CASES)
def test_operators(make: MakeOperator, operands: list[Array]) -> None:
    module = AnnotateOpPatternPass()(LegalizeOpsPass()(parse_module(operator_program(make, operands))))
    (function,) = (op for op in module.ops if isinstance(op, PrimFuncOp))
    named = {pattern for pattern, names in EXPECTED.items() if function.sym_name.data in names}
    assert get_op_pattern(function) in (named or {OpPattern.ELEMENTWISE, OpPattern.BROADCAST})


def test_the_hardest_step_counts() -> None:
    assert widest([]) is OpPattern.ELEMENTWISE
    assert widest([OpPattern.BROADCAST, OpPattern.ELEMENTWISE]) is OpPattern.BROADCAST
    assert widest([OpPattern.REDUCTION, OpPattern.OPAQUE]) is OpPattern.OPAQUE
    assert OpPattern.BROADCAST.is_at_most(OpPattern.BROADCAST)
    assert not OpPattern.OPAQUE.is_at_most(OpPattern.REDUCTION)
