"""What is folded is what the program computes, to the bit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from operator_cases import CASES
from programs import Array, MakeOperator, operator_program
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp

from relex.dialects import verify_module
from relex.dialects.dtypes import array_from_dense
from relex.dialects.relex import ConstantOp, Operator, ReluOp
from relex.passes import FoldConstantsPass
from relex.runtime import build


def program(make: MakeOperator, operands: Sequence[Array]) -> ModuleOp:
    """A function @main that applies an operator to constants."""
    constants = [ConstantOp(array) for array in operands]
    op = make(*constants)
    function = FuncOp("main", ([], op.result_types))
    function.body.block.add_ops([*constants, op, ReturnOp(op)])
    return ModuleOp([function])


def assert_same_bits(a: Array, b: Array) -> None:
    """Equal, zeros by their sign; of NaN any."""
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    np.testing.assert_array_equal(a, b)
    if a.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(a) & ~np.isnan(a), np.signbit(b) & ~np.isnan(b))


@pytest.mark.parametrize(("make", "operands"), CASES)
def test_every_operator(make: MakeOperator, operands: Sequence[Array]) -> None:
    module = program(make, operands)
    (op,) = (op for op in module.walk() if isinstance(op, Operator))
    folded = FoldConstantsPass()(module)
    verify_module(folded)
    assert not any(isinstance(op, Operator) for op in folded.walk())
    (constant,) = (op for op in folded.walk() if isinstance(op, ConstantOp))
    assert_same_bits(array_from_dense(constant.value), np.asarray(op.evaluate(*operands)))


@pytest.mark.parametrize(("make", "operands"), CASES)
def test_strict_is_what_compiled_code_gives(make: MakeOperator, operands: Sequence[Array]) -> None:
    folded = FoldConstantsPass(strict=True)(program(make, operands))
    if any(isinstance(op, Operator) for op in folded.walk()):
        return
    (constant,) = (op for op in folded.walk() if isinstance(op, ConstantOp))
    compiled = build(operator_program(make, operands), strict=True)["main"](*operands)
    assert_same_bits(array_from_dense(constant.value), compiled)


def test_an_operator_that_is_wrong_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter says what is wrong with it, where it stands."""

    def evaluate(op: ReluOp, *operands: Array) -> Array:
        return operands[0][:1]

    monkeypatch.setattr(ReluOp, "evaluate", evaluate)
    module = program(ReluOp, [np.ones(3, np.float32)])
    assert str(FoldConstantsPass()(module)) == str(module)


def test_no_elements() -> None:
    assert "relu" not in str(FoldConstantsPass(limit=0)(program(ReluOp, [np.ones((0, 3), np.float32)])))
