"""Multiply 8-bit integers, and numbers of bf16 in pairs, without widening them first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import Operation, SSAValue

from relex.dialects import relex
from relex.dialects.arrays import np
from relex.dialects.relex.packed import BYTES
from relex.dialects.relex.properties import as_integer
from relex.dialects.relex.types import rank_of, shape_of
from relex.dialects.target.features import provides
from relex.dialects.target.processors import processor_of
from relex.dialects.target.target_attribute import get_target, processor_in
from relex.dialects.tir import Dot2iOp, Dot2Op, Dot4Op
from relex.dialects.walks import walk
from relex.passes.analysis.tile_nests import instruction_for
from relex.passes.cpu import cost
from relex.passes.driver.base import RelexPass
from relex.passes.graph.layout.byte_factors import (
    HALF,
    Emitter,
    Factor,
    PairsEmitter,
    repeated,
    signed,
)
from relex.passes.graph.layout.bytes_in_blocks import pack_blocks
from relex.passes.graph.layout.pairs import fill_tiles, fits_tiles, multiplies_pairs, pack_pairs

_PACKED: dict[type[Operation], type[relex.PackedConvolution]] = {
    relex.Conv1dOp: relex.Conv1dPackedOp,
    relex.Conv2dOp: relex.Conv2dPackedOp,
    relex.Conv3dOp: relex.Conv3dPackedOp,
}


@dataclass(frozen=True)
class PackBytesPass(RelexPass):
    """
    Multiplies integers of 8 bits as such, where a program converts them to 32 bits, subtracts zero points, and passes
    them to a matrix product or a convolution. Four neighbours along the dimension that is summed are packed into a
    word, for `tir.dot4`; constants are packed at compile time. Zero points become terms that are subtracted from the
    result, multiplied with sums of the rows or columns of the other operand. So do the differences of 128 that make the
    left operand unsigned and the right one signed. Integers wrap around, so that results stay the same.

    Targets with instructions for two integers of 16 bits in a word, but none for bytes, get such words, for
    `tir.dot2i`, in matrix products and convolutions with channels in blocks. Zero points are subtracted before.

    This applies to targets with instructions for such products, and sums of a known number of terms. If the target has
    tiles for numbers of bf16, or instructions on vectors that do two of them in the time of one of f32, matrix products
    of these are packed likewise, two to a word, and added up in f32; not with `strict`, since both take numbers below
    2**-126 for zeros, and tiles add up the even and the odd terms first. There, zeros fill rows of words that do not
    fill tiles.

    ```mlir
    builtin.module attributes {relex.target = {triple = "x86_64-unknown-linux-gnu", cpu = "alderlake", features = ""}} {
      func.func @main(%x: tensor<?x64xui8>, %w: tensor<64x16xi8>, %zero: tensor<i32>) -> tensor<?x16xi32> {
        %0 = relex.astype %x dtype = i32 : (tensor<?x64xui8>) -> tensor<?x64xi32>
        %1 = relex.subtract %0, %zero : (tensor<?x64xi32>, tensor<i32>) -> tensor<?x64xi32>
        %2 = relex.astype %w dtype = i32 : (tensor<64x16xi8>) -> tensor<64x16xi32>
        %3 = relex.matmul %1, %2 : (tensor<?x64xi32>, tensor<64x16xi32>) -> tensor<?x16xi32>
        func.return %3 : tensor<?x16xi32>
      }
    }
    // pack-bytes
    builtin.module attributes {relex.target = {triple = "x86_64-unknown-linux-gnu", cpu = "alderlake", features = ""}} {
      func.func @main(%x: tensor<?x64xui8>, %w: tensor<64x16xi8>, %zero: tensor<i32>) -> tensor<?x16xi32> {
        %0 = relex.pack_bytes %x axis = -1 : (tensor<?x64xui8>) -> tensor<?x16xi32>
        %1 = relex.pack_bytes %w axis = -2 : (tensor<64x16xi8>) -> tensor<16x16xi32>
        %2 = relex.matmul_packed %0, %1 : (tensor<?x16xi32>, tensor<16x16xi32>) -> tensor<?x16xi32>
        %3 = relex.astype %w dtype = i32 : (tensor<64x16xi8>) -> tensor<64x16xi32>
        %4 = relex.sum %3 axis = [-2] keepdims : (tensor<64x16xi32>) -> tensor<1x16xi32>
        %5 = relex.multiply %4, %zero : (tensor<1x16xi32>, tensor<i32>) -> tensor<1x16xi32>
        %6 = relex.subtract %2, %5 : (tensor<?x16xi32>, tensor<1x16xi32>) -> tensor<?x16xi32>
        func.return %6 : tensor<?x16xi32>
      }
    }
    ```
    """

    name = "pack-bytes"

    strict: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        processor = processor_in(op)
        in_tiles = processor is not None and instruction_for(Dot4Op, processor) is not None
        plans: list[Plan] = []
        if (product := product_of_bytes(op)) is not None:
            plans.append(partial(_plan, in_tiles=in_tiles, in_pairs=product is Dot2iOp))
        if processor is not None and multiplies_pairs(processor) and not self.strict:
            plans.append(partial(pack_pairs, in_vectors=instruction_for(Dot2Op, processor) is None))
        for found in list(walk(op)) if plans else ():
            if (step := next(filter(None, (plan(found) for plan in plans)), None)) is not None:
                step()


Plan = Callable[[Operation], Callable[[], None] | None]
"""Returns what replaces an operator, or None."""


def product_of_bytes(module: ModuleOp) -> type[Operation] | None:
    """Return the op for products of bytes that the target of a module has instructions for: of four bytes in a word, or
    else of two in one; None for neither."""
    target = get_target(module)
    processor = processor_of(target) if target is not None else None
    if target is None or processor is None:
        return None
    if any(provides(target, feature) for feature in processor.dot4_features):
        return Dot4Op
    return Dot2iOp if any(provides(target, feature) for feature in processor.dot2i_features) else None


def can_pack(op: Operation) -> bool:
    """Return whether an operator is a product of bytes that this pass multiplies as such."""
    return _plan(op) is not None


def _plan(op: Operation, *, in_tiles: bool = False, in_pairs: bool = False) -> Callable[[], None] | None:
    """Return what replaces a product of bytes that are integers of 32 bits; None for anything else."""
    match op:
        case relex.MatmulOp() | relex.DenseOp():
            return _pack_matmul(op, in_tiles, in_pairs)
        case relex.Conv2dBlockedOp():
            return pack_blocks(op, in_pairs=in_pairs)
        case relex.Convolution() if type(op) in _PACKED:
            return _pack_convolution(op)
        case _:
            return None


def _is_worth_it(op: relex.Operator) -> bool:
    """Return whether an operator has enough work to make up for packing its operands."""
    sizes = [cost.LIKELY_EXTENT if size == DYNAMIC_INDEX else size for size in shape_of(op.result)]
    return prod(sizes) * op.terms >= cost.MIN_STEPS


def _pack_matmul(op: relex.MatmulOp | relex.DenseOp, in_tiles: bool, in_pairs: bool) -> Callable[[], None] | None:
    """Replace a matrix product of bytes. The sum of `(a - za) * (b - zb)` is the sum of `a * b`, minus `za` times the
    sum of `b`, minus `zb` times the sum of `a - za`."""
    lhs, rhs = op.operands
    is_dense = isinstance(op, relex.DenseOp)
    if min(rank_of(lhs), rank_of(rhs)) < 2:
        return None
    if DYNAMIC_INDEX in (shape_of(lhs)[-1], shape_of(rhs)[-1 if is_dense else -2]) or not _is_worth_it(op):
        return None
    a, b = Factor.of(lhs, [-1]), Factor.of(rhs, [-1, -2] if is_dense else [-2])
    if a is None or b is None:
        return None
    return partial(_replace_matmul, op, a, b, in_tiles and fits_tiles(op, BYTES), in_pairs)


def _replace_matmul(op: relex.MatmulOp | relex.DenseOp, a: Factor, b: Factor, in_tiles: bool, in_pairs: bool) -> None:
    lhs, is_dense = op.operands[0], isinstance(op, relex.DenseOp)
    out, terms = (PairsEmitter if in_pairs else Emitter)(op, a, b), op.terms

    def of_right(parts: Callable[[int], SSAValue]) -> SSAValue:
        """Return what is made of the rows of the right operand, or of the columns, which become rows then: words are
        moved in less time than bytes."""
        return out.add(relex.PermuteDimsOp(parts(-1))) if is_dense else parts(-2)

    words = out.packed_left(a, -1), of_right(lambda axis: out.packed_right(b, axis))
    left, right = fill_tiles(out, *words) if in_tiles else words
    product = out.add(out.matmul(left, right))
    sums = partial(of_right, lambda axis: out.sums_of_right(b, [axis], terms))
    product = out.without(product, out.left_zero(a), sums)
    product = out.without(product, out.right_zero(b), lambda: out.add(relex.SumOp(lhs, [-1], keepdims=True)))
    out.finish(product)


def _pack_convolution(op: relex.Convolution) -> Callable[[], None] | None:
    """Replace a convolution of bytes, likewise. The padding of the data is its zero point."""
    shape, groups = shape_of(op.weight), as_integer(op.groups)
    if DYNAMIC_INDEX in shape or not _is_worth_it(op) or (groups > 1 and shape[1] % BYTES):
        return None
    a, b = Factor.of(op.data, range(len(shape))), Factor.of(op.weight, range(1, len(shape)))
    if a is None or b is None or (any(op.windows(shape).padding) and not a.has_byte_of_zero):
        return None
    if groups > 1 and b.zero != (HALF if b.is_unsigned else 0):
        return None
    return partial(_replace_convolution, op, a, b)


def _replace_convolution(op: relex.Convolution, a: Factor, b: Factor) -> None:
    shape, groups = shape_of(op.weight), as_integer(op.groups)
    outputs, channels, *sizes = shape
    axes, windows = range(1, len(shape)), op.windows(shape)
    out, terms = Emitter(op, a, b), op.terms
    zero, words, padding = out.left_zero(a), out.packed_left(a, 1), windows.padding
    if any(padding) and isinstance(zero, int) and zero:
        widths = [width for pair in zip(windows.before, windows.after, strict=True) for width in pair]
        words, padding = out.add(relex.PadOp(words, [0, 0, 0, 0, *widths], signed(repeated(zero)))), [0]

    def convolved(weight: SSAValue, groups: int) -> SSAValue:
        return out.add(_PACKED[type(op)](words, weight, windows.strides, padding, windows.dilation, groups))

    def by_channel(value: SSAValue) -> SSAValue:
        return out.add(relex.ReshapeOp(value, [1, outputs, *[1] * len(sizes)])) if prod(shape_of(value)) > 1 else value

    def sums_of_windows() -> SSAValue:
        ones = out.add(relex.ConstantOp(np.ones([1, channels, *sizes], np.int8)))
        total = convolved(out.add(relex.PackBytesOp(ones, 1)), 1)
        return out.without(total, zero, lambda: out.number(terms))

    product = convolved(out.packed_right(b, 1), groups)
    product = out.without(product, zero, lambda: by_channel(out.sums_of_right(b, axes, terms)))
    factor = out.right_zero(b)
    factor = factor if isinstance(factor, int) else by_channel(factor)
    out.finish(out.without(product, factor, sums_of_windows))
