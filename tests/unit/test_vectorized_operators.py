"""Every operator, with loops that are vectorized without asking whether that is wise."""

from __future__ import annotations

import numpy as np
import pytest
from operator_cases import CASES
from programs import operator_of, operator_program
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import CompileError, parse_module
from relex.dialects.tir import BlockOp, ForOp, LoopKind, LoopKindAttr, loops_around
from relex.lowering.legalize_ops import LegalizeOpsPass
from relex.runtime import build


def vectorized(module: ModuleOp, place: int) -> ModuleOp:
    """A copy with one loop around each block vectorized: the one at a place in the nest, counted from inside."""
    copy = module.clone()
    for block in [op for op in copy.walk() if isinstance(op, BlockOp)]:
        loops: list[ForOp] = list(loops_around(block))
        if loops:
            loops[min(place, len(loops) - 1)].kind = LoopKindAttr(LoopKind.VECTORIZED)
    return copy


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_vectorized_loops_change_no_result(case: int) -> None:
    make, operands = CASES[case]
    place = case % 2
    # In a sum over two loops that must keep its order, only the inner one can be vectorized.
    strict = place == 0
    loops = LegalizeOpsPass(strict)(parse_module(operator_program(make, operands)))
    wanted = build(loops, strict=strict)["main"](*operands)
    try:
        found = build(vectorized(loops, place), strict=strict)["main"](*operands)
    except CompileError:
        # The iterations of a loop around a procedure share its variables.
        if operator_of(make).__module__.rpartition(".")[2] not in ("scans", "winograd"):
            raise
        return
    if strict:
        np.testing.assert_array_equal(found, wanted)
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
