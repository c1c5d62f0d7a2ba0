"""Constant folding of operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.tensor import CastOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from relex.dialects import relex
from relex.dialects.dtypes import has_dtype, size_in_bytes
from relex.dialects.relex.operator import tensor_type
from relex.dialects.relex.types import is_bytes, rank_of
from relex.dialects.walks import owners_of_operands, reachable, walk
from relex.passes.cpu import cost
from relex.passes.driver.base import RelexPass
from relex.passes.graph.pack_bytes import product_of_bytes
from relex.passes.rewriting.constants import erase_constant, erase_unused_constants
from relex.passes.rewriting.evaluation import evaluated

_PRODUCTS = (relex.Convolution, relex.DenseOp, relex.MatmulOp)


@dataclass(frozen=True)
class FoldConstantsPass(RelexPass):
    """
    Replaces operators on constants by their results, according to their NumPy semantics. Equal constants of a function
    are merged at its start; unused ones are removed. With `strict`, only operators are folded that compiled code
    computes to the same bits: no sums, no functions like `exp`, and no arithmetic that gives NaN.

    Three limits keep programs small and compilation short; an operator that exceeds one is not folded:

    * A result may have `limit` bytes, or as many as the constants that it is computed from, so that repeating a small
      constant does not make it large.
    * All constants of the module together may grow to `growth` times their bytes, or by 1 MiB if that is more: a
      constant is removed with its last user, and one with other users stays.
    * All folded operators together may read and write `work` elements; a matrix product counts each of its
      multiplications.

    The first two are not for weights that a program computes, such as the filters of a resampler: what a product or a
    convolution takes, if the constants that it comes from have less than a 64th of its bytes. Such weights are computed
    as a whole or not at all, in steps that have results of up to 4 MiB each.

    Where the target multiplies bytes, those that `delay-scales` takes from a product stay bytes.

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
        # The list holds no constants, so replaced ones can be freed at once.
        for operator in [o for o in walk(op) if isinstance(o, relex.Operator)]:
            folding.fold(operator)
        for function in op.walk():
            if isinstance(function, FuncOp) and function.body.blocks:
                _tidy_constants(function)


class _Folding:
    """The remaining budget for folding in a module."""

    def __init__(self, limits: FoldConstantsPass, module: ModuleOp):
        before = sum(_bytes(op.result) for op in walk(module) if isinstance(op, relex.ConstantOp))
        self._limits = limits
        self._room = max((limits.growth - 1) * before, cost.FOLDED_BYTES_ALLOWED)
        self._work = limits.work
        self._multiplies_bytes = not limits.strict and product_of_bytes(module) is not None
        self._weights = self._computed_weights(module)

    def fold(self, op: relex.Operator) -> None:
        """Replace an operator by a constant if possible."""
        if not self._is_candidate(op):
            return
        operands = list(dict.fromkeys(op.operands))
        freed = (value for value in operands if all(use.operation is op for use in value.uses))
        work = sum(map(_bytes, op.operands)) if op.COUNTS else op.work
        growth = (0 if op.COUNTS else sum(map(_bytes, op.results))) - sum(map(_bytes, freed))
        if op in self._weights:
            growth = 0
        if growth > self._room or work > self._work:
            return
        # A result that is rejected because of NaN, or of its size, has been computed as well.
        self._work -= work
        if (values := evaluated(op, same_bits=self._limits.strict)) is None:
            return
        if op.COUNTS:
            size = sum(map(_bytes, values))
            growth += size
            if size > self._most(op) or growth > self._room:
                return
        self._room -= growth
        _replace(op, values, operands)

    def _most(self, op: relex.Operator) -> int:
        if op in self._weights:
            return cost.COMPUTED_WEIGHTS_BYTES
        return max(self._limits.limit, sum(map(_bytes, set(op.operands))))

    def _is_candidate(self, op: relex.Operator) -> bool:
        """Return whether the operands of an operator are constants and its result is not too large."""
        if not all(isinstance(value.owner, relex.ConstantOp) for value in op.operands) or not self._may_fold(op):
            return False
        return op.COUNTS or sum(map(_bytes, op.results)) <= self._most(op)

    def _may_fold(self, op: relex.Operator) -> bool:
        """Return whether an operator may be folded if its operands are constants, as far as sizes allow it."""
        known = op.operands if op.COUNTS else (*op.operands, *op.results)
        if not is_side_effect_free(op) or not all(map(_fits_array, known)):
            return False
        if self._limits.strict and op.EXACTNESS is relex.Exactness.ROUNDED:
            return False
        return not (self._multiplies_bytes and isinstance(op, relex.AstypeOp) and _is_factor_of_bytes(op))

    def _computed_weights(self, module: ModuleOp) -> set[Operation | Block]:
        """Return the operators that compute from small constants what products take, with these constants, where all
        of them may be folded. What is unpacked from bytes or fewer bits has larger ones."""
        known, found, room = set[Operation](), set[Operation | Block](), cost.COMPUTED_WEIGHTS_ALLOWED
        for op in walk(module):
            if isinstance(op, relex.ConstantOp) or self._is_step_to_weights(op, known):
                known.add(op)
                continue
            for value in op.operands if isinstance(op, _PRODUCTS) else ():
                if value.owner in found or value.owner not in known:
                    continue
                parts = {*reachable(value.owner, owners_of_operands)}
                constants = sum(_bytes(part.result) for part in parts if isinstance(part, relex.ConstantOp))
                if constants * cost.COMPUTED_WEIGHTS_FACTOR < _bytes(value) <= room:
                    room -= _bytes(value)
                    found |= parts
        return found

    def _is_step_to_weights(self, op: Operation, known: set[Operation]) -> bool:
        if not isinstance(op, relex.Operator) or not all(value.owner in known for value in op.operands):
            return False
        # The number of elements that are found in data may be static in the type of the result.
        is_known = self._may_fold(op) and all(map(_fits_array, op.results))
        return is_known and all(_bytes(result) <= cost.COMPUTED_WEIGHTS_BYTES for result in op.results)


def _is_factor_of_bytes(op: relex.AstypeOp) -> bool:
    """Return whether a constant of bytes becomes an operand of a product, after a zero point and a scale."""
    if not is_bytes(op.operand) or rank_of(op.result) < 2:
        return False
    users = [use.operation for use in op.result.uses]
    while users:
        user = users.pop()
        if isinstance(user, _PRODUCTS):
            return True
        if isinstance(
            user, relex.AstypeOp | relex.MultiplyOp | relex.PermuteDimsOp | relex.ReshapeOp | relex.SubtractOp
        ):
            users += [use.operation for use in user.result.uses]
    return False


def _fits_array(value: SSAValue) -> bool:
    """Return whether a tensor has a known size and a type that NumPy has."""
    t = tensor_type(value.type)
    return t.has_static_shape() and has_dtype(t.element_type)


def _bytes(value: SSAValue | DenseIntOrFPElementsAttr) -> int:
    """Return the size in bytes of a tensor of static shape."""
    t = tensor_type(value.type)
    return prod(t.get_shape()) * size_in_bytes(t.element_type)


def _replace(op: relex.Operator, values: Sequence[DenseIntOrFPElementsAttr], operands: Sequence[SSAValue]) -> None:
    constants = [relex.ConstantOp(value) for value in values]
    for constant in constants:
        constant.location = op.location
    results: list[SSAValue] = []
    new: list[Operation] = [*constants]
    for constant, old in zip(constants, op.results, strict=True):
        if constant.result.type == old.type:
            results.append(constant.result)
            continue
        # Users expect a dynamic size.
        new.append(CastOp(constant.result, tensor_type(old.type)))
        new[-1].location = op.location
        results.append(new[-1].results[0])
    Rewriter.replace_op(op, new, results)
    erase_unused_constants(operand.owner for operand in operands)


def _tidy_constants(function: FuncOp) -> None:
    """Remove unused constants, and merge equal ones at the start of the function."""
    same: dict[DenseIntOrFPElementsAttr, list[relex.ConstantOp]] = {}
    for op in list(function.walk()):
        if isinstance(op, relex.ConstantOp) and op.result.first_use is None:
            erase_constant(op)
        elif isinstance(op, relex.ConstantOp):
            same.setdefault(op.value, []).append(op)
    for first, *others in reversed(same.values()):
        if others:
            first.detach()
            Rewriter.insert_op(first, InsertPoint.at_start(function.body.blocks[0]))
        for other in others:
            other.result.replace_all_uses_with(first.result)
            erase_constant(other)
