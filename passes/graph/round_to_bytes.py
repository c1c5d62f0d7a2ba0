"""Round numbers to bytes by an addition."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, i8, i32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from relex.dialects import relex
from relex.dialects.arrays import np
from relex.dialects.dtypes import INTEGERS, integer_limits, ui8
from relex.dialects.op_edits import insert_before
from relex.dialects.relex.properties import number
from relex.dialects.relex.types import tensor_type
from relex.dialects.walks import walk
from relex.passes.driver.base import RelexPass

_MIDDLE = 1.5 * 2**23
"""Floats near this one are whole numbers, whose lowest bits have the distance."""

_FARTHEST = 2**20
"""A distance from the middle at which floats are still all whole numbers."""


class RoundToBytesPass(RelexPass):
    """
    Rounds numbers to integers of 8 bits by an addition, where a program rounds them, converts them, adds a zero point,
    and clips them to the ends of the range. They are clipped first, and then added to a float so large that the sum is
    rounded to a whole number, whose lowest byte is wanted. Results have the same bits.

    This applies to numbers that cannot be NaN: integers with finite factors, and what is computed of them.

    ```mlir
    func.func @main(%x: tensor<4xi32>) -> tensor<4xui8> {
      %factor = relex.constant dense<0.25> : tensor<f32>
      %zero = relex.constant dense<100> : tensor<i32>
      %0 = relex.astype %x dtype = f32 : (tensor<4xi32>) -> tensor<4xf32>
      %1 = relex.multiply %0, %factor : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      %2 = relex.round %1 : (tensor<4xf32>) -> tensor<4xf32>
      %3 = relex.astype %2 dtype = i32 : (tensor<4xf32>) -> tensor<4xi32>
      %4 = relex.add %3, %zero : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
      %5 = relex.clip %4 min = 0 : i32 max = 255 : i32 : (tensor<4xi32>) -> tensor<4xi32>
      %6 = relex.astype %5 dtype = ui8 : (tensor<4xi32>) -> tensor<4xui8>
      func.return %6 : tensor<4xui8>
    }
    // round-to-bytes
    func.func @main(%x: tensor<4xi32>) -> tensor<4xui8> {
      %factor = relex.constant dense<0.25> : tensor<f32>
      %zero = relex.constant dense<100> : tensor<i32>
      %0 = relex.astype %x dtype = f32 : (tensor<4xi32>) -> tensor<4xf32>
      %1 = relex.multiply %0, %factor : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      %2 = relex.clip %1 min = -100.0 : f32 max = 155.0 : f32 : (tensor<4xf32>) -> tensor<4xf32>
      %middle = relex.constant dense<12582912.0> : tensor<f32>
      %3 = relex.add %2, %middle : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      %4 = relex.bitcast %3 dtype = i32 : (tensor<4xf32>) -> tensor<4xi32>
      %5 = relex.add %4, %zero : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
      %6 = relex.astype %5 dtype = ui8 : (tensor<4xi32>) -> tensor<4xui8>
      func.return %6 : tensor<4xui8>
    }
    ```
    """

    name = "round-to-bytes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for found in list(walk(op)):
            if isinstance(found, relex.AstypeOp) and (rounding := _Rounding.of(found)) is not None:
                rounding.replace(found)


@dataclass(frozen=True)
class _Rounding:
    """The rounding of numbers to bytes."""

    numbers: SSAValue
    zero: int
    old: list[Operation]
    """The ops between the numbers and the bytes, the last one first."""

    @classmethod
    def of(cls, op: relex.AstypeOp) -> _Rounding | None:
        """Return the rounding that ends with a conversion; None if there is none, or numbers may be NaN."""
        kind = tensor_type(op.result.type).element_type
        clip = op.operand.owner
        if (
            kind not in (i8, ui8)
            or not isinstance(clip, relex.ClipOp)
            or tensor_type(clip.result.type).element_type != i32
        ):
            return None
        if clip.min is None or clip.max is None or (number(clip.min), number(clip.max)) != integer_limits(kind):
            return None
        old: list[Operation] = [clip]
        value, zero = clip.operand, 0
        if isinstance(add := value.owner, relex.AddOp):
            known = relex.array_of(add.rhs)
            if known is None or known.size != 1 or add.lhs.type != add.result.type:
                return None
            old.append(add)
            value, zero = add.lhs, int(known.flat[0])
        if not isinstance(whole := value.owner, relex.AstypeOp) or tensor_type(whole.operand.type).element_type != f32:
            return None
        old.append(whole)
        value, farthest = whole.operand, np.inf
        while isinstance(step := value.owner, relex.ClipOp) and _is_wide(step):
            old.append(step)
            value, farthest = step.operand, min(farthest, _farthest(step))
        if not isinstance(rounding := value.owner, relex.RoundOp) or abs(zero) > _FARTHEST:
            return None
        old.append(rounding)
        is_once = all(step.results[0].has_one_use() for step in old)
        bound = _bound(rounding.operand)
        # Larger numbers become the largest integer, and wrap around if the zero point is added. Bounds are not rounded.
        fits = zero == 0 or min(bound, farthest) + abs(zero) < 2.0**30
        return cls(rounding.operand, zero, old) if is_once and fits and bound < 2.0**120 else None

    def replace(self, op: relex.AstypeOp) -> None:
        """Replace a conversion and what is before it."""

        def add(new: Operation) -> SSAValue:
            return insert_before(op, new).results[0]

        low, high = integer_limits(tensor_type(op.result.type).element_type)
        ends = float(low - self.zero), float(high - self.zero)
        numbers, unused = self.numbers, list(self.old)
        if isinstance(relu := numbers.owner, relex.ReluOp) and numbers.has_one_use() and ends[0] >= 0:
            numbers = relu.operand
            unused.append(relu)
        clipped = add(relex.ClipOp(numbers, *ends))
        rounded = add(relex.AddOp(clipped, add(relex.ConstantOp(np.asarray(_MIDDLE, np.float32)))))
        value = add(relex.BitcastOp(rounded, i32))
        if self.zero:
            value = add(relex.AddOp(value, add(relex.ConstantOp(np.asarray(self.zero, np.int32)))))
        op.operands[0] = value
        for old in unused:
            Rewriter.erase_op(old)


def _is_wide(op: relex.ClipOp) -> bool:
    """Return whether a clip keeps all numbers that a byte and its zero point have."""
    return op.min is not None and op.max is not None and number(op.min) <= -_FARTHEST and number(op.max) >= _FARTHEST


def _farthest(op: relex.ClipOp) -> float:
    """Return the largest absolute value of what a clip returns, if it is not larger already."""
    return max((abs(float(number(end))) for end in (op.min, op.max) if end is not None), default=0.0)


def _bound(value: SSAValue, depth: int = 20) -> float:
    """Return a number that no absolute value of some numbers exceeds, infinity if any may be infinite or NaN."""
    known = relex.array_of(value)
    if known is not None:
        largest = float(abs(known.astype(np.float64)).max(initial=0))
        return largest if largest == largest else np.inf
    match value.owner if depth else None:
        case relex.AstypeOp(operand=x) if (kind := tensor_type(x.type).element_type) in INTEGERS:
            return float(max(map(abs, integer_limits(kind))))
        case relex.AddOp(lhs=lhs, rhs=rhs):
            return _bound(lhs, depth - 1) + _bound(rhs, depth - 1)
        case relex.MultiplyOp(lhs=lhs, rhs=rhs):
            # An infinite number of zeros may be NaN.
            factors = _bound(lhs, depth - 1), _bound(rhs, depth - 1)
            return factors[0] * factors[1] if np.inf not in factors else np.inf
        case relex.DivideOp(lhs=lhs, rhs=rhs) if (scale := relex.array_of(rhs)) is not None and scale.all():
            return _bound(lhs, depth - 1) / float(abs(scale).min(initial=np.inf))
        case relex.ReluOp(operand=x):
            return _bound(x, depth - 1)
        case relex.ClipOp(operand=x) as clip:
            return max(_bound(x, depth - 1), _farthest(clip))
        case _:
            return np.inf
