"""Compute what is known before the program runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FixedBitwidthType, ModuleOp, bf16
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from relex.dialects.dtypes import ELEMENT_TYPES
from relex.dialects.relex import ConstantOp, Exactness, Operator
from relex.dialects.relex.operator import tensor_type
from relex.passes.base import RelexPass
from relex.passes.support.evaluation import evaluated

ALWAYS_ALLOWED = 2**20
"""By how many bytes the constants of a module may grow, however few they had."""


@dataclass(frozen=True)
class FoldConstantsPass(RelexPass):
    """
    Replaces operators on constants by their results, as their NumPy semantics give them. Of equal constants in a
    function one is left, at its start; those that nothing uses are removed. With `strict` only operators are folded
    that compiled code computes to the same bits: no sums, no functions like `exp`, and no arithmetic that gives NaN.

    Three limits keep programs small and compilation short; what exceeds one stays an operator. A result may have
    `limit` bytes, or as many as the constants that it is made of, so that a few zeros that are repeated stay few. All
    constants of the module together may have `growth` times the bytes that they had before, or 1 MiB more: a constant
    goes with its last user, and one with other users stays. And all operators that are folded may read and write
    `work` elements together; a product of matrices counts each of its multiplications.

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %a = relex.constant dense<[0.5, -1.0]> : tensor<2xf32>
      %b = relex.negative %a : (tensor<2xf32>) -> tensor<2xf32>
      %y = relex.add %x, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      func.return %y : tensor<2xf32>
    }
    // fold-constants
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %b = relex.constant dense<[-0.5, 1.0]> : tensor<2xf32>
      %y = relex.add %x, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      func.return %y : tensor<2xf32>
    }
    ```
    """

    name = "fold-constants"

    limit: int = 2**12
    growth: int = 2
    work: int = 2**30
    strict: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        folding = _Folding(self, op)
        # The list holds no constants: those that are replaced go at once.
        for operator in [o for o in op.walk() if isinstance(o, Operator)]:
            folding.fold(operator)
        for function in op.walk():
            if isinstance(function, FuncOp) and function.body.blocks:
                _tidy_constants(function)


class _Folding:
    """What may still be folded in a module."""

    def __init__(self, limits: FoldConstantsPass, module: ModuleOp):
        before = sum(_bytes(op.result) for op in module.walk() if isinstance(op, ConstantOp))
        self._limits = limits
        self._room = max((limits.growth - 1) * before, ALWAYS_ALLOWED)
        self._work = limits.work

    def fold(self, op: Operator) -> None:
        """Replace an operator by a constant, if it may be."""
        if not self._is_candidate(op):
            return
        operands = list(dict.fromkeys(op.operands))
        growth = _bytes(op.results[0]) - sum(_bytes(value) for value in operands if _has_no_other_user(value, op))
        if growth > self._room or op.work > self._work:
            return
        # What turns out to be NaN has been computed, too.
        self._work -= op.work
        if (value := evaluated(op, same_bits=self._limits.strict)) is not None:
            self._room -= growth
            _replace(op, value, operands)

    def _is_candidate(self, op: Operator) -> bool:
        """Whether an operator computes something of constants that is not too large."""
        if not op.operands or not all(isinstance(value.owner, ConstantOp) for value in op.operands):
            return False
        if not is_side_effect_free(op) or not all(map(_fits_array, (*op.operands, *op.results))):
            return False
        if self._limits.strict and op.EXACTNESS is Exactness.ROUNDED:
            return False
        return _bytes(op.results[0]) <= max(self._limits.limit, sum(map(_bytes, set(op.operands))))


def _fits_array(value: SSAValue) -> bool:
    """Whether a NumPy array can hold a tensor, and how large it is is known."""
    t = tensor_type(value.type)
    return t.has_static_shape() and t.element_type in ELEMENT_TYPES and t.element_type != bf16


def _has_no_other_user(value: SSAValue, op: Operation) -> bool:
    return all(use.operation is op for use in value.uses)


def _bytes(value: SSAValue) -> int:
    """The size of a tensor whose sizes are known."""
    t = tensor_type(value.type)
    assert isinstance(t.element_type, FixedBitwidthType)
    return prod(t.get_shape()) * t.element_type.size


def _replace(op: Operator, value: DenseIntOrFPElementsAttr, operands: Sequence[SSAValue]) -> None:
    constant = ConstantOp(value)
    constant.location = op.location
    Rewriter.replace_op(op, constant)
    for operand in operands:
        if operand.first_use is None and isinstance(operand.owner, ConstantOp):
            _erase(operand.owner)


def _erase(constant: ConstantOp) -> None:
    """Remove a constant and free its bytes. An op and its results name each other, so that it stays in memory itself
    until the garbage collector comes."""
    constant.detach()
    constant.erase()
    constant.properties.clear()


def _tidy_constants(function: FuncOp) -> None:
    """Remove constants that nothing uses; of equal ones leave one, at the start of the function."""
    same: dict[DenseIntOrFPElementsAttr, list[ConstantOp]] = {}
    for op in list(function.walk()):
        if isinstance(op, ConstantOp) and op.result.first_use is None:
            _erase(op)
        elif isinstance(op, ConstantOp):
            same.setdefault(op.value, []).append(op)
    for first, *others in reversed(same.values()):
        if others:
            first.detach()
            Rewriter.insert_op(first, InsertPoint.at_start(function.body.blocks[0]))
        for other in others:
            other.result.replace_all_uses_with(first.result)
            _erase(other)
