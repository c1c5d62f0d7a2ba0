"""Multiply 8-bit integers without widening them first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, i8, i32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import integer_limits, ui8
from relex.dialects.relex import (
    AddOp,
    AstypeOp,
    BitwiseXorOp,
    ConstantOp,
    Conv1dOp,
    Conv1dPackedOp,
    Conv2dBlockedOp,
    Conv2dBlockedPackedOp,
    Conv2dOp,
    Conv2dPackedOp,
    Conv3dOp,
    Conv3dPackedOp,
    Convolution,
    DenseOp,
    MatmulOp,
    MatmulPackedOp,
    MultiplyOp,
    Operator,
    PackBytesOp,
    PackedConvolution,
    PadOp,
    PermuteDimsOp,
    ReshapeOp,
    SubtractOp,
    SumOp,
    array_of,
)
from relex.dialects.relex.packed import BYTES
from relex.dialects.relex.properties import as_integer
from relex.dialects.relex.sliding_windows import Windows
from relex.dialects.relex.types import rank_of, shape_of, tensor_type
from relex.dialects.target.features import provides
from relex.dialects.target.processors import processor_of
from relex.dialects.target.target_attribute import get_target
from relex.dialects.walks import walk
from relex.passes.cpu import cost
from relex.passes.driver.base import RelexPass
from relex.passes.rewriting.constants import erase_constant
from relex.passes.rewriting.evaluation import evaluated

_HALF = 128
"""The difference between signed and unsigned bytes of the same bits but the highest one."""

_LARGEST_EXACT = 2**24
"""Floats have all integers up to this one."""

_PACKED: dict[type[Operation], type[PackedConvolution]] = {
    Conv1dOp: Conv1dPackedOp,
    Conv2dOp: Conv2dPackedOp,
    Conv3dOp: Conv3dPackedOp,
}


class PackBytesPass(RelexPass):
    """
    Multiplies integers of 8 bits as such, where a program converts them to 32 bits, subtracts zero points, and passes
    them to a matrix product or a convolution. Four neighbours along the dimension that is summed are packed into a
    word, for `tir.dot4`; constants are packed at compile time. Zero points become terms that are subtracted from the
    result, multiplied with sums of the rows or columns of the other operand. So do the differences of 128 that make the
    left operand unsigned and the right one signed. Integers wrap around, so that results stay the same.

    This applies to targets with instructions for such products, and sums of a known number of terms.

    ```mlir
    builtin.module attributes {relex.target = {triple = "x86_64-unknown-linux-gnu", cpu = "haswell", features = ""}} {
      func.func @main(%x: tensor<?x64xui8>, %w: tensor<64x16xi8>, %zero: tensor<i32>) -> tensor<?x16xi32> {
        %0 = relex.astype %x dtype = i32 : (tensor<?x64xui8>) -> tensor<?x64xi32>
        %1 = relex.subtract %0, %zero : (tensor<?x64xi32>, tensor<i32>) -> tensor<?x64xi32>
        %2 = relex.astype %w dtype = i32 : (tensor<64x16xi8>) -> tensor<64x16xi32>
        %3 = relex.matmul %1, %2 : (tensor<?x64xi32>, tensor<64x16xi32>) -> tensor<?x16xi32>
        func.return %3 : tensor<?x16xi32>
      }
    }
    // pack-bytes
    builtin.module attributes {relex.target = {triple = "x86_64-unknown-linux-gnu", cpu = "haswell", features = ""}} {
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

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if multiplies_bytes(op):
            for found in list(walk(op)):
                if (step := _plan(found)) is not None:
                    step()


def multiplies_bytes(module: ModuleOp) -> bool:
    """Return whether the target of a module has instructions for products of bytes."""
    target = get_target(module)
    processor = processor_of(target) if target is not None else None
    if target is None or processor is None:
        return False
    return any(provides(target, feature) for feature in processor.dot4_features)


def can_pack(op: Operation) -> bool:
    """Return whether an operator is a product of bytes that this pass multiplies as such."""
    return _plan(op) is not None


def _plan(op: Operation) -> Callable[[], None] | None:
    """Return what replaces a product of bytes that are integers of 32 bits; None for anything else."""
    match op:
        case MatmulOp() | DenseOp():
            return _pack_matmul(op)
        case Conv2dBlockedOp():
            return _pack_blocks(op)
        case Convolution() if type(op) in _PACKED:
            return _pack_convolution(op)
        case _:
            return None


@dataclass(frozen=True)
class _Factor:
    """An operand: bytes, and the zero point that is subtracted, a number or a value of 32 bits."""

    data: SSAValue
    zero: SSAValue | int

    @classmethod
    def of(cls, value: SSAValue, axes: Sequence[int]) -> _Factor | None:
        """Return a value as such an operand; None if it is none, or if its zero point varies along some axes."""
        match value.owner:
            case AstypeOp(operand=data) if _is_bytes(data) and _is_i32(value):
                return cls(data, 0)
            case SubtractOp(lhs=lhs, rhs=zero) if isinstance(lhs.owner, AstypeOp) and lhs.type == value.type:
                inner = cls.of(lhs, axes)
                return cls(inner.data, _number(zero)) if inner and _is_uniform(zero, rank_of(value), axes) else None
            case ConstantOp() if _is_i32(value):
                return cls._of_numbers(array_of(value))
            case _:
                return None

    @classmethod
    def _of_numbers(cls, numbers: Array | None) -> _Factor | None:
        """Return a constant as signed bytes with a zero point."""
        if numbers is None or not numbers.size or not numbers.ndim:
            return None
        low, high = int(numbers.min()), int(numbers.max())
        least, most = integer_limits(i8)
        zero = 0 if least <= low and high <= most else least - low
        if high + zero > most:
            return None
        return cls(ConstantOp((numbers.astype(np.int64) + zero).astype(np.int8)).result, zero)

    @property
    def is_unsigned(self) -> bool:
        return tensor_type(self.data.type).element_type == ui8

    @property
    def has_byte_of_zero(self) -> bool:
        """Whether the zero point is a known number that fits in a byte, so that data can be padded with it."""
        least, most = integer_limits(tensor_type(self.data.type).element_type)
        return isinstance(self.zero, int) and least <= self.zero <= most


def _is_bytes(value: SSAValue) -> bool:
    return tensor_type(value.type).element_type in (i8, ui8)


def _is_i32(value: SSAValue) -> bool:
    return tensor_type(value.type).element_type == i32


def _number(value: SSAValue) -> SSAValue | int:
    """Return the number that all elements of a constant are equal to; any other value unchanged."""
    numbers = array_of(value)
    is_number = numbers is not None and numbers.size and (numbers == numbers.flat[0]).all()
    return int(numbers.flat[0]) if numbers is not None and is_number else value


def _is_uniform(value: SSAValue, rank: int, axes: Sequence[int]) -> bool:
    """Return whether an operand that is broadcast to a rank has the same elements along some axes."""
    shape = (1,) * (rank - rank_of(value)) + shape_of(value)
    return all(shape[axis] == 1 for axis in axes)


class _Emitter:
    """Inserts operators before another one, which they replace. Those on constants become constants."""

    def __init__(self, replaced: Operator, *factors: _Factor):
        self._replaced = replaced
        self._constants: list[SSAValue] = []
        for factor in factors:
            if isinstance(factor.data.owner, ConstantOp) and factor.data.owner.parent is None:
                self.add(factor.data.owner)

    def add(self, op: Operator | ConstantOp) -> SSAValue:
        op.location = self._replaced.location
        new = (self._evaluated(op) if isinstance(op, Operator) else None) or op
        Rewriter.insert_op(new, InsertPoint.before(self._replaced))
        if isinstance(new, ConstantOp):
            self._constants.append(new.result)
        return new.results[0]

    def _evaluated(self, op: Operator) -> ConstantOp | None:
        if not all(isinstance(value.owner, ConstantOp) for value in op.operands):
            return None
        values = evaluated(op, same_bits=True)
        if values is None:
            return None
        op.erase()
        return ConstantOp(values[0])

    def number(self, number: int, dtype: str = "int32") -> SSAValue:
        """Return a constant of rank 0; integers wrap around."""
        return self.add(ConstantOp(np.asarray(number, np.int64).astype(dtype)))

    def moved(self, zero: SSAValue | int, offset: int) -> SSAValue | int:
        """Return a zero point plus a number."""
        if isinstance(zero, int) or not offset:
            return zero + offset if isinstance(zero, int) else zero
        return self.add(AddOp(zero, self.number(offset)))

    def without(self, total: SSAValue, zero: SSAValue | int, sums: Callable[[], SSAValue]) -> SSAValue:
        """Subtract the product of a zero point and some sums."""
        if zero == 0:
            return total
        factor = self.number(zero) if isinstance(zero, int) else zero
        return self.add(SubtractOp(total, self.add(MultiplyOp(sums(), factor))))

    def left_zero(self, factor: _Factor) -> SSAValue | int:
        """Return the zero point of unsigned bytes."""
        return self.moved(factor.zero, 0 if factor.is_unsigned else _HALF)

    def right_zero(self, factor: _Factor) -> SSAValue | int:
        """Return the zero point of signed bytes."""
        return self.moved(factor.zero, -_HALF if factor.is_unsigned else 0)

    def packed_left(self, factor: _Factor, axis: int) -> SSAValue:
        """Return words of unsigned bytes. Those that fill the last word may be anything: the right ones are zero."""
        words = self.add(PackBytesOp(factor.data, axis))
        return words if factor.is_unsigned else self.add(BitwiseXorOp(words, self.number(_repeated(_HALF))))

    def packed_right(self, factor: _Factor, axis: int) -> SSAValue:
        """Return words of signed bytes."""
        data = factor.data
        if factor.is_unsigned:
            data = self.add(BitwiseXorOp(data, self.number(_HALF, "uint8")))
        return self.add(PackBytesOp(data, axis))

    def sums_of_right(self, factor: _Factor, axes: Sequence[int], terms: int) -> SSAValue:
        """Return the sums of `terms` signed bytes along some axes."""
        total = self.add(SumOp(self.add(AstypeOp(factor.data, i32)), axes, keepdims=True))
        return self.add(SubtractOp(total, self.number(terms * _HALF))) if factor.is_unsigned else total

    def finish(self, result: SSAValue) -> None:
        """Replace the operator."""
        old = self._replaced
        result.name_hint = old.result.name_hint
        values = (*old.operands, *self._constants)
        Rewriter.replace_op(old, [], [result])
        erase_unused(values)


def erase_unused(values: Sequence[SSAValue]) -> None:
    """Erase operators that compute values without users, and then those that computed their operands."""
    for op in dict.fromkeys(value.owner for value in values):
        if isinstance(op, Operator | ConstantOp) and not any(result.uses for result in op.results):
            operands = tuple(op.operands)
            if isinstance(op, ConstantOp):
                erase_constant(op)
            else:
                Rewriter.erase_op(op)
            erase_unused(operands)


def _repeated(byte: int) -> int:
    """Return a word of equal bytes."""
    return sum(byte << 8 * n for n in range(BYTES))


def _signed(word: int) -> int:
    return int(np.asarray(word).astype(np.int32))


def _is_worth_it(op: Operator) -> bool:
    """Return whether an operator has enough work to make up for packing its operands."""
    sizes = [cost.LIKELY_EXTENT if size == DYNAMIC_INDEX else size for size in shape_of(op.result)]
    return prod(sizes) * op.terms >= cost.MIN_STEPS


def _pack_matmul(op: MatmulOp | DenseOp) -> Callable[[], None] | None:
    """Replace a matrix product of bytes. The sum of `(a - za) * (b - zb)` is the sum of `a * b`, minus `za` times the
    sum of `b`, minus `zb` times the sum of `a - za`."""
    lhs, rhs = op.operands
    is_dense = isinstance(op, DenseOp)
    if min(rank_of(lhs), rank_of(rhs)) < 2:
        return None
    if DYNAMIC_INDEX in (shape_of(lhs)[-1], shape_of(rhs)[-1 if is_dense else -2]) or not _is_worth_it(op):
        return None
    a, b = _Factor.of(lhs, [-1]), _Factor.of(rhs, [-1, -2] if is_dense else [-2])
    return None if a is None or b is None else partial(_replace_matmul, op, a, b)


def _replace_matmul(op: MatmulOp | DenseOp, a: _Factor, b: _Factor) -> None:
    lhs, is_dense = op.operands[0], isinstance(op, DenseOp)
    out, terms = _Emitter(op, a, b), op.terms
    if is_dense:
        b = _Factor(out.add(PermuteDimsOp(b.data)), b.zero)
    product = out.add(MatmulPackedOp(out.packed_left(a, -1), out.packed_right(b, -2)))
    product = out.without(product, out.left_zero(a), lambda: out.sums_of_right(b, [-2], terms))
    product = out.without(product, out.right_zero(b), lambda: out.add(SumOp(lhs, [-1], keepdims=True)))
    out.finish(product)


def _pack_convolution(op: Convolution) -> Callable[[], None] | None:
    """Replace a convolution of bytes, likewise. The padding of the data is its zero point."""
    shape, groups = shape_of(op.weight), as_integer(op.groups)
    if DYNAMIC_INDEX in shape or not _is_worth_it(op) or (groups > 1 and shape[1] % BYTES):
        return None
    a, b = _Factor.of(op.data, range(len(shape))), _Factor.of(op.weight, range(1, len(shape)))
    if a is None or b is None or (any(op.windows(shape).padding) and not a.has_byte_of_zero):
        return None
    if groups > 1 and b.zero != (_HALF if b.is_unsigned else 0):
        return None
    return partial(_replace_convolution, op, a, b)


def _replace_convolution(op: Convolution, a: _Factor, b: _Factor) -> None:
    shape, groups = shape_of(op.weight), as_integer(op.groups)
    outputs, channels, *sizes = shape
    axes, windows = range(1, len(shape)), op.windows(shape)
    out, terms = _Emitter(op, a, b), op.terms
    zero, words, padding = out.left_zero(a), out.packed_left(a, 1), windows.padding
    if any(padding) and isinstance(zero, int) and zero:
        widths = [width for pair in zip(windows.before, windows.after, strict=True) for width in pair]
        words, padding = out.add(PadOp(words, [0, 0, 0, 0, *widths], _signed(_repeated(zero)))), [0]

    def convolved(weight: SSAValue, groups: int) -> SSAValue:
        return out.add(_PACKED[type(op)](words, weight, windows.strides, padding, windows.dilation, groups))

    def by_channel(value: SSAValue) -> SSAValue:
        return out.add(ReshapeOp(value, [1, outputs, *[1] * len(sizes)])) if prod(shape_of(value)) > 1 else value

    def sums_of_windows() -> SSAValue:
        ones = out.add(ConstantOp(np.ones([1, channels, *sizes], np.int8)))
        total = convolved(out.add(PackBytesOp(ones, 1)), 1)
        return out.without(total, zero, lambda: out.number(terms))

    product = convolved(out.packed_right(b, 1), groups)
    product = out.without(product, zero, lambda: by_channel(out.sums_of_right(b, axes, terms)))
    factor = out.right_zero(b)
    factor = factor if isinstance(factor, int) else by_channel(factor)
    out.finish(out.without(product, factor, sums_of_windows))


def _pack_blocks(op: Conv2dBlockedOp) -> Callable[[], None] | None:
    """Replace a convolution of bytes with channels in blocks, if these are words: its weight is a constant."""
    if op.depthwise is not None:
        return _read_bytes(op)
    shape = shape_of(op.weight)
    a, b = _Factor.of(op.data, range(rank_of(op.data))), _Factor.of(op.weight, range(1, len(shape)))
    if a is None or b is None or not isinstance(a.zero, int) or not isinstance(b.zero, int):
        return None
    if any(op.windows(shape).padding) and not a.has_byte_of_zero:
        return None
    weight = array_of(b.data)
    if weight is None or weight.dtype != np.int8 or (b.zero and as_integer(op.groups) > 1):
        return None
    if rank_of(op.data) == 4 and as_integer(op.groups) > 1 and shape[1] % BYTES:
        return None
    return partial(_replace_blocks, op, a, b.zero, weight)


def _replace_blocks(op: Conv2dBlockedOp, a: _Factor, right_zero: int, weight: Array) -> None:
    out, windows = _Emitter(op), op.windows(weight.shape)
    data, zero = _unsigned_and_padded(out, a, windows)
    axis = 4 if rank_of(data) == 5 else 1
    words = out.add(PackBytesOp(data, axis))

    def convolved(numbers: Array) -> SSAValue:
        constant = out.add(PackBytesOp(out.add(ConstantOp(numbers)), axis))
        groups = as_integer(op.groups)
        return out.add(Conv2dBlockedPackedOp(words, constant, windows.strides, [0], windows.dilation, False, groups))

    numbers = weight
    if axis == 4 and numbers.shape[4] % BYTES:
        numbers = _in_larger_blocks(numbers, shape_of(a.data)[4])
    sums = weight.astype(np.int64).sum((1, 2, 3, 4))[:, None, None, :]
    product = convolved(numbers)
    if zero:
        product = out.add(SubtractOp(product, out.add(ConstantOp((sums * zero).astype(np.int32)[None]))))
    if right_zero:
        ones = np.ones_like(weight[:1, ..., :1])
        total = convolved(_in_larger_blocks(ones, shape_of(a.data)[4]) if numbers is not weight else ones)
        total = out.without(total, zero, lambda: out.number(op.terms))
        product = out.without(product, right_zero, lambda: total)
    out.finish(product)


def _in_larger_blocks(weight: Array, size: int) -> Array:
    """Return the weight of a convolution with larger blocks of input channels, the last one filled with zeros."""
    outputs, blocks, *window, block, inner = weight.shape
    channels = np.moveaxis(weight, 4, 2).reshape(outputs, blocks * block, *window, inner)
    widths = [(0, 0), (0, -channels.shape[1] % size), *[(0, 0)] * 3]
    filled = np.pad(channels, widths).reshape(outputs, -1, size, *window, inner)
    return np.moveaxis(filled, 2, 4)


def _read_bytes(op: Conv2dBlockedOp) -> Callable[[], None] | None:
    """Let a convolution of each channel, whose sums are exact in f32, read bytes in place of floats."""
    weight = array_of(op.weight)
    if weight is None or weight.dtype != np.float32 or not isinstance(op.data.owner, AstypeOp):
        return None
    wide = op.data.owner.operand
    a = _Factor(wide, 0) if _is_bytes(wide) else _Factor.of(wide, range(5)) if _is_i32(wide) else None
    if a is None or not isinstance(a.zero, int) or (any(op.windows(weight.shape).padding) and not a.has_byte_of_zero):
        return None
    if not np.array_equal(weight, np.round(weight)) or 255 * abs(weight).max(initial=0) * op.terms > _LARGEST_EXACT:
        return None
    return partial(_replace_floats, op, a, weight)


def _replace_floats(op: Conv2dBlockedOp, a: _Factor, weight: Array) -> None:
    out, windows = _Emitter(op), op.windows(weight.shape)
    data, zero = _unsigned_and_padded(out, a, windows)
    product = out.add(Conv2dBlockedOp(data, op.weight, windows.strides, [0], windows.dilation, depthwise=True))
    if zero:
        sums = weight.astype(np.float64).sum((1, 2, 3, 4))[None, :, None, None, :]
        product = out.add(SubtractOp(product, out.add(ConstantOp((sums * zero).astype(np.float32)))))
    out.finish(product)


def _unsigned_and_padded(out: _Emitter, a: _Factor, windows: Windows) -> tuple[SSAValue, int]:
    """Return bytes without a sign, and with their padding, and the zero point of these."""
    data, zero = a.data, out.left_zero(a)
    assert isinstance(zero, int)
    if not a.is_unsigned:
        data = out.add(BitwiseXorOp(out.add(AstypeOp(data, ui8)), out.number(_HALF, "uint8")))
    if any(windows.padding):
        widths = [width for pair in zip(windows.before, windows.after, strict=True) for width in pair]
        data = out.add(PadOp(data, [0, 0, 0, 0, *widths, *([0, 0] * (rank_of(data) - 4))], zero))
    return data, zero
