"""Quantize the results of integer layers with a single factor."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, i8, i32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from relex.dialects import relex
from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import integer_limits, ui8
from relex.dialects.op_edits import insert_before
from relex.dialects.relex.properties import number
from relex.dialects.relex.types import tensor_type
from relex.dialects.walks import walk
from relex.passes.driver.base import RelexPass
from relex.passes.rewriting.numerics import reassociates

_Between = relex.AddOp | relex.ClipOp | relex.ReluOp
"""What may come between the factor of a layer and its quantization."""


class MergeScalesPass(RelexPass):
    """
    Divides the constant factor of integers by the constant scale that a quantized result is divided by: what is rounded
    is then `integers * (factor / scale)`, as ONNX defines `QLinearConv` and `QLinearMatMul`. Additions of constants,
    `relu` and `clip` may come between; what they add or clip to is divided, too. An addition of a whole multiple of the
    factor, as of a bias that is quantized, becomes one of integers, if their sums cannot exceed 32 bits.

    Results change by rounding, as with `delay-scales`; so `strict` compilation leaves out this pass.

    ```mlir
    func.func @main(%bytes: tensor<4xi8>) -> tensor<4xf32> {
      %x = relex.astype %bytes dtype = i32 : (tensor<4xi8>) -> tensor<4xi32>
      %factor = relex.constant dense<0.5> : tensor<f32>
      %bias = relex.constant dense<3.0> : tensor<f32>
      %scale = relex.constant dense<2.0> : tensor<f32>
      %0 = relex.astype %x dtype = f32 : (tensor<4xi32>) -> tensor<4xf32>
      %1 = relex.multiply %0, %factor : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      %2 = relex.add %1, %bias : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      %3 = relex.relu %2 : (tensor<4xf32>) -> tensor<4xf32>
      %4 = relex.divide %3, %scale : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      %5 = relex.round %4 : (tensor<4xf32>) -> tensor<4xf32>
      func.return %5 : tensor<4xf32>
    }
    // merge-scales
    func.func @main(%bytes: tensor<4xi8>) -> tensor<4xf32> {
      %x = relex.astype %bytes dtype = i32 : (tensor<4xi8>) -> tensor<4xi32>
      %bias = relex.constant dense<6> : tensor<i32>
      %0 = relex.add %x, %bias : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
      %1 = relex.astype %0 dtype = f32 : (tensor<4xi32>) -> tensor<4xf32>
      %factor = relex.constant dense<0.25> : tensor<f32>
      %2 = relex.multiply %1, %factor : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      %3 = relex.relu %2 : (tensor<4xf32>) -> tensor<4xf32>
      %4 = relex.round %3 : (tensor<4xf32>) -> tensor<4xf32>
      func.return %4 : tensor<4xf32>
    }
    ```
    """

    name = "merge-scales"
    numerics = reassociates

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for found in list(walk(op)):
            if isinstance(found, relex.RoundOp) and isinstance(divide := found.operand.owner, relex.DivideOp):
                _merge(divide)


def _merge(divide: relex.DivideOp) -> None:
    """Replace a quotient, if what is divided are integers with a factor."""
    scale = relex.array_of(divide.rhs)
    if scale is None or scale.size != 1 or not _are_usable(scale) or scale <= 0:
        return
    scale = scale.reshape(())
    steps: list[_Between] = []
    value = divide.lhs
    while value.has_one_use() and isinstance(op := value.owner, _Between) and _is_constant_step(op):
        steps.append(op)
        value = op.operands[0]
    product = value.owner
    if not value.has_one_use() or not isinstance(product, relex.MultiplyOp) or value.type != divide.result.type:
        return
    factor, wide = relex.array_of(product.rhs), product.lhs.owner
    if factor is None or not isinstance(wide, relex.AstypeOp) or wide.result.type != product.result.type:
        return
    if tensor_type(wide.operand.type).element_type != i32 or not _are_usable(factor) or not _are_usable(factor / scale):
        return
    _replace(divide, product, wide, list(reversed(steps)), factor, scale)


def _are_usable(numbers: Array) -> bool:
    """Return whether quotients of some numbers are neither infinite nor rounded to fewer digits."""
    return bool((np.isfinite(numbers) & (abs(numbers) >= np.finfo(np.float32).tiny)).all())


def _is_constant_step(op: _Between) -> bool:
    if any(value.type != op.result.type for value in op.operands[:1]):
        return False
    return not isinstance(op, relex.AddOp) or relex.array_of(op.rhs) is not None


def _replace(
    divide: relex.DivideOp,
    product: relex.MultiplyOp,
    wide: relex.AstypeOp,
    steps: list[_Between],
    factor: Array,
    scale: Array,
) -> None:
    old: list[Operation] = [divide, *reversed(steps), product, wide]

    def add(new: Operation) -> SSAValue:
        return insert_before(divide, new).results[0]

    integers = wide.operand
    if (
        steps
        and isinstance(first := steps[0], relex.AddOp)
        and (bias := _multiples(first, factor, integers)) is not None
    ):
        integers = add(relex.AddOp(integers, add(relex.ConstantOp(bias))))
        steps = steps[1:]
    value = add(relex.MultiplyOp(add(relex.AstypeOp(integers, f32)), add(relex.ConstantOp(factor / scale))))
    for step in steps:
        match step:
            case relex.AddOp(rhs=rhs):
                addend = relex.array_of(rhs)
                assert addend is not None
                value = add(relex.AddOp(value, add(relex.ConstantOp(addend / scale))))
            case relex.ClipOp(min=low, max=high):
                ends = [None if end is None else float(np.float32(number(end)) / scale) for end in (low, high)]
                value = add(relex.ClipOp(value, *ends))
            case _:
                value = add(relex.ReluOp(value))
    value.name_hint = divide.result.name_hint
    divide.result.replace_all_uses_with(value)
    for op in old:
        if not any(result.uses for result in op.results):
            Rewriter.erase_op(op)


def _multiples(op: relex.AddOp, factor: Array, integers: SSAValue) -> Array | None:
    """Return what is added as whole multiples of a factor; None if these are not exactly what is added, or if their sum
    with the integers may exceed 32 bits."""
    addend = relex.array_of(op.rhs)
    assert addend is not None
    numbers = np.round(addend.astype(np.float64) / factor)
    if not (abs(numbers) < 2**31).all():
        return None
    whole = numbers.astype(np.int32)
    if _largest(integers) + int(abs(numbers).max(initial=0)) >= 2**31:
        return None
    return whole if np.array_equal(whole.astype(np.float32) * factor, np.broadcast_to(addend, whole.shape)) else None


def _largest(value: SSAValue) -> float:
    """Return a number that no absolute value of some whole numbers exceeds; infinity if none is known."""
    known = relex.array_of(value)
    if known is not None:
        return float(abs(known.astype(np.float64)).max(initial=0))
    match value.owner:
        case relex.AstypeOp(operand=x):
            kind = tensor_type(x.type).element_type
            return float(max(map(abs, integer_limits(kind)))) if kind in (i8, ui8) else _largest(x)
        case relex.SubtractOp(lhs=lhs, rhs=rhs):
            return _largest(lhs) + _largest(rhs)
        case relex.Convolution() | relex.DenseOp() | relex.MatmulOp() as op:
            return op.terms * _largest(op.operands[0]) * _largest(op.operands[1])
        case _:
            return np.inf
