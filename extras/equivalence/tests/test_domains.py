"""Domains: operators and loops compute something else than numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from programs import MakeOperator, operator_module, tensor_of
from xdsl.dialects import arith
from xdsl.utils.test_value import create_ssa_value

from relex.dialects import relex
from relex.lowering import LegalizeOpsPass
from relex.reference.domains.domain import Domain, Make
from relex.reference.domains.domain_numbers import DomainNumbers
from relex.reference.domains.operators import evaluate
from relex.reference.domains.symbols import SymbolHead
from relex.reference.interpreter.memory import Buffer
from relex.reference.interpreter.program import Program

Array = Any
COUNT = np.dtype([("multiplications", np.int64)])


class Counts(Domain):
    """How many multiplications are made to compute a number."""

    folds = False

    def constants(self, array: Array) -> Array:
        return np.zeros(np.shape(array), COUNT)

    def values(self, cells: Array) -> Array | None:
        return None

    def make(self, head: SymbolHead) -> Make:
        def run(*operands: Array) -> Array:
            own = head.name == arith.MulfOp.name
            counts = sum((x["multiplications"] for x in operands), np.int64(own))
            return np.asarray(counts).view(COUNT)

        return run


IMAGE, KERNEL = np.ones((1, 2, 5, 4), np.float32), np.ones((3, 2, 3, 2), np.float32)
COUNTED: list[tuple[MakeOperator, list[Array], int]] = [
    (relex.MultiplyOp, [IMAGE, IMAGE], 1),
    (relex.PermuteDimsOp, [IMAGE], 0),
    (relex.DenseOp, [np.ones((3, 7), np.float32), np.ones((2, 7), np.float32)], 7),
    (partial(relex.SumOp, axis=(1,)), [IMAGE], 0),
    (relex.Conv2dOp, [IMAGE, KERNEL], 12),
]


@pytest.mark.parametrize(("make", "arrays", "count"), COUNTED)
def test_multiplications_are_counted(make: MakeOperator, arrays: list[Array], count: int):
    """Of an operator by its NumPy definition, and of the loops that it becomes."""
    cells = [Counts().constants(a) for a in arrays]
    found = evaluate(make(*(create_ssa_value(tensor_of(a)) for a in arrays)), Counts(), cells)
    assert found is not None
    ((counts, _),) = found
    assert np.unique(counts["multiplications"]).tolist() == [count]
    module = LegalizeOpsPass()(operator_module(make, [tensor_of(x) for x in arrays]))
    loops = next(op for op in module.ops if op.name == "tir.prim_func")
    result = np.zeros(counts.shape, COUNT)
    Program(module, numbers=DomainNumbers(Counts())).function(loops)(*map(Buffer.read_only, cells), Buffer(result))
    assert result.tolist() == counts.tolist()
