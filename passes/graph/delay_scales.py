"""Multiply quantized numbers as integers, and by their scales afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import Float32Type, IntegerType, ModuleOp, TensorType, f32, i32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from relex.dialects import relex
from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import integer_limits, numpy_dtype
from relex.dialects.op_edits import insert_before
from relex.dialects.relex.types import is_bytes, rank_of, shape_of, tensor_type
from relex.dialects.tir import Dot2iOp
from relex.dialects.walks import walk
from relex.passes.driver.base import RelexPass
from relex.passes.graph.layout.block_words import Rounded, delay_scales_of_blocks
from relex.passes.graph.layout.byte_factors import LARGEST_EXACT, erase_unused
from relex.passes.graph.pack_bytes import can_pack, product_of_bytes
from relex.passes.rewriting.numerics import reassociates

_LARGEST_SUM = 2**31 - 1


class DelayScalesPass(RelexPass):
    """
    Multiplies quantized operands of matrix products and convolutions as integers of 8 bits, where a program makes
    floats of them first, by subtracting a constant zero point and multiplying with a constant scale. The sums are exact
    then, and are multiplied with the product of both scales; `pack-bytes` does the rest. A scale may be one number, or
    one for each row of the left operand, column of the right one, or channel of a weight. Convolutions that
    `pack-bytes` does not take, as of each channel on its own, add up whole numbers in f32, if it holds all sums.
    A weight in blocks, and data that `relex.round_blocks` rounds, are multiplied as integers for each group of numbers
    with the same scale: `relex.dense_words`. Digits of 8 bits become integers of 16 bits there, if the target has no
    instructions for bytes; smaller ones are bytes on any target.

    This applies where `pack-bytes` applies, and to sums that cannot exceed 32 bits. Results change by rounding, as a
    sum in another order does; so `strict` compilation leaves out this pass.

    ```mlir
    builtin.module attributes {relex.target = {triple = "x86_64-unknown-linux-gnu", cpu = "haswell", features = ""}} {
      func.func @main(%x: tensor<?x64xui8>, %w: tensor<64x16xi8>) -> tensor<?x16xf32> {
        %a = relex.constant dense<0.5> : tensor<f32>
        %b = relex.constant dense<0.25> : tensor<f32>
        %0 = relex.astype %x dtype = f32 : (tensor<?x64xui8>) -> tensor<?x64xf32>
        %1 = relex.multiply %0, %a : (tensor<?x64xf32>, tensor<f32>) -> tensor<?x64xf32>
        %2 = relex.astype %w dtype = f32 : (tensor<64x16xi8>) -> tensor<64x16xf32>
        %3 = relex.multiply %2, %b : (tensor<64x16xf32>, tensor<f32>) -> tensor<64x16xf32>
        %4 = relex.matmul %1, %3 : (tensor<?x64xf32>, tensor<64x16xf32>) -> tensor<?x16xf32>
        func.return %4 : tensor<?x16xf32>
      }
    }
    // delay-scales
    builtin.module attributes {relex.target = {triple = "x86_64-unknown-linux-gnu", cpu = "haswell", features = ""}} {
      func.func @main(%x: tensor<?x64xui8>, %w: tensor<64x16xi8>) -> tensor<?x16xf32> {
        %0 = relex.astype %x dtype = i32 : (tensor<?x64xui8>) -> tensor<?x64xi32>
        %1 = relex.astype %w dtype = i32 : (tensor<64x16xi8>) -> tensor<64x16xi32>
        %2 = relex.matmul %0, %1 : (tensor<?x64xi32>, tensor<64x16xi32>) -> tensor<?x16xi32>
        %3 = relex.astype %2 dtype = f32 : (tensor<?x16xi32>) -> tensor<?x16xf32>
        %4 = relex.constant dense<0.125> : tensor<f32>
        %5 = relex.multiply %3, %4 : (tensor<?x16xf32>, tensor<f32>) -> tensor<?x16xf32>
        func.return %5 : tensor<?x16xf32>
      }
    }
    ```
    """

    name = "delay-scales"
    numerics = reassociates

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if (product := product_of_bytes(op)) is None:
            return
        rounded: Rounded = {}
        for found in list(walk(op)):
            if isinstance(found, relex.MatmulOp | relex.DenseOp | relex.Convolution):
                _delay(found)
            if isinstance(found, relex.DenseBlocksOp):
                delay_scales_of_blocks(found, rounded, in_pairs=product is Dot2iOp)


@dataclass(frozen=True)
class _Quantized:
    """An operand: integers of 32 bits or bytes, the largest of their absolute values, and what they are multiplied
    with."""

    integers: SSAValue
    largest: int
    scale: Array

    @classmethod
    def of(cls, value: SSAValue, axes: Sequence[int]) -> _Quantized | None:
        """Return a value as such an operand; None if it is none, or if its scale varies along some axes."""
        if tensor_type(value.type).element_type != f32:
            return None
        if isinstance(value.owner, relex.AstypeOp):
            return cls._of_integers(value.owner.operand, np.ones((), np.float32))
        if not isinstance(value.owner, relex.MultiplyOp):
            return None
        for x, factor in (value.owner.operands, reversed(value.owner.operands)):
            scale = relex.array_of(factor)
            if scale is None or not isinstance(x.owner, relex.AstypeOp) or x.type != value.type:
                continue
            sizes = (1,) * (rank_of(value) - scale.ndim) + scale.shape
            if all(sizes[axis] == 1 for axis in axes):
                return cls._of_integers(x.owner.operand, scale)
        return None

    @classmethod
    def _of_integers(cls, integers: SSAValue, scale: Array) -> _Quantized | None:
        zero: Array | None = np.zeros((), np.int64)
        data = integers
        wide = tensor_type(data.type).element_type == i32  # Differences of bytes wrap around to any byte.
        if wide and isinstance(data.owner, relex.SubtractOp) and data.owner.lhs.type == data.type:
            data, zero = data.owner.lhs, relex.array_of(data.owner.rhs)
        if isinstance(data.owner, relex.AstypeOp) and tensor_type(data.type).element_type == i32:
            data = data.owner.operand
        if zero is None or not is_bytes(data):
            return None
        limits = np.array(integer_limits(tensor_type(data.type).element_type))
        known = relex.array_of(data)
        ends = limits if known is None or not known.size else np.array([known.min(), known.max()], np.int64)
        spans = abs(ends - zero.astype(np.int64).reshape(-1, 1))
        return cls(integers, int(spans.max(initial=0)), scale)


def _factors(
    op: relex.MatmulOp | relex.DenseOp | relex.Convolution,
) -> tuple[_Quantized, _Quantized, list[Array]] | None:
    """Return both operands of a product of quantized numbers, and the factors of its results; None for other
    products, and where sums or factors would leave their type."""
    rank = min(map(rank_of, op.operands))
    if rank < 2:
        return None
    left, right = ([-1], [-1 if isinstance(op, relex.DenseOp) else -2])
    if isinstance(op, relex.Convolution):
        left, right = range(rank), range(1, rank)
    a, b = (_Quantized.of(value, axes) for value, axes in zip(op.operands, (left, right), strict=True))
    if a is None or b is None or not 0 <= op.terms * a.largest * b.largest <= _LARGEST_SUM:
        return None
    scales = _merged(a.scale, _of_result(op, b.scale))
    tiny = np.finfo(np.float32).tiny
    are_normal = all((np.isfinite(scale) & (abs(scale) >= tiny)).all() for scale in scales)
    return (a, b, scales) if are_normal else None


def _delay(op: relex.MatmulOp | relex.DenseOp | relex.Convolution) -> None:
    """Replace a product of quantized operands, if it is packed as a product of integers."""
    if (factors := _factors(op)) is None:
        return
    a, b, scales = factors
    added: list[Operation] = []

    def add(new: Operation) -> SSAValue:
        added.append(insert_before(op, new))
        return new.results[0]

    def widened(x: SSAValue, to: IntegerType | Float32Type) -> SSAValue:
        known = _numbers(x)
        if known is None and tensor_type(x.type).element_type == to:
            return x
        return add(relex.AstypeOp(x, to) if known is None else relex.ConstantOp(known.astype(numpy_dtype(to))))

    def product(to: IntegerType | Float32Type) -> Operation:
        wide = [widened(x, to) for x in (a.integers, b.integers)]
        kind = TensorType(to, shape_of(op.result))
        return type(op).create(operands=wide, properties=op.properties, result_types=[kind])

    sums = product(i32)
    if not can_pack(sums):
        sums.erase()
        for new in reversed(added):
            Rewriter.erase_op(new)
        if op.terms * a.largest * b.largest > LARGEST_EXACT or not isinstance(op, relex.Convolution):
            return
        sums = relex.AstypeOp(add(product(f32)), i32)
    value = add(relex.AstypeOp(add(sums), f32))
    for scale in scales:
        value = add(relex.MultiplyOp(value, add(relex.ConstantOp(scale))))
    value.name_hint = op.result.name_hint
    operands = tuple(op.operands)
    Rewriter.replace_op(op, [], [value])
    erase_unused(operands)


def _numbers(value: SSAValue) -> Array | None:
    """Return constant bytes, and what is left of them without a zero point; None for other values."""
    match value.owner:
        case relex.AstypeOp(operand=x) if tensor_type(value.type).element_type == i32:
            known = _numbers(x)
            return None if known is None else known.astype(np.int32)
        case relex.SubtractOp(lhs=lhs, rhs=rhs):
            left, right = _numbers(lhs), relex.array_of(rhs)
            return None if left is None or right is None else left - right
        case _:
            return relex.array_of(value)


def _of_result(op: relex.Operator, scale: Array) -> Array:
    """Return the scale of the right operand in a shape that broadcasts with the result."""
    if isinstance(op, relex.Convolution) and scale.size > 1:
        return scale.reshape([-1, *[1] * (rank_of(op.result) - 2)])
    return scale.swapaxes(-1, -2) if isinstance(op, relex.DenseOp) and scale.ndim > 1 else scale


def _merged(a: Array, b: Array) -> list[Array]:
    """Return the product of two scales, or both if that would be larger; a scale of one number has rank 0."""
    a, b = (x.reshape(()) if x.size == 1 else x for x in (a, b))
    if a.ndim and b.ndim:
        return [a, b]
    product = a * b
    return [] if not product.ndim and product == 1 else [product]
