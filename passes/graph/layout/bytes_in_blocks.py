"""Convolutions of bytes with channels in blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from relex.dialects import relex
from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import ui8
from relex.dialects.op_edits import insert_before, replace_by
from relex.dialects.relex.packed import BYTES
from relex.dialects.relex.properties import as_integer
from relex.dialects.relex.sliding_windows import Windows
from relex.dialects.relex.types import is_bytes, rank_of, shape_of
from relex.passes.graph.layout.byte_factors import (
    HALF,
    LARGEST_EXACT,
    Emitter,
    Factor,
    PairsEmitter,
    erase_unused,
    is_i32,
    only_user,
)


def pack_blocks(op: relex.Conv2dBlockedOp, *, in_pairs: bool = False) -> Callable[[], None] | None:
    """Replace a convolution of bytes with channels in blocks, if these are words: its weight is a constant."""
    if op.depthwise is not None:
        return _read_bytes(op)
    shape = shape_of(op.weight)
    a, b = Factor.of(op.data, range(rank_of(op.data))), Factor.of(op.weight, range(1, len(shape)))
    if a is None or b is None or not isinstance(a.zero, int) or not isinstance(b.zero, int):
        return None
    weight = relex.array_of(b.data)
    # A word has channels of one group: what is left over would be multiplied with others.
    channels = shape[1] if rank_of(op.data) == 4 and as_integer(op.groups) > 1 else BYTES
    if in_pairs and a.is_short and b.is_short and weight is not None and channels % 2 == 0:
        return partial(_replace_by_pairs, op, a, weight.astype(np.int16) - b.zero)
    if any(op.windows(shape).padding) and not a.has_byte_of_zero:
        return None
    if weight is None or weight.dtype != np.int8 or (b.zero and as_integer(op.groups) > 1) or channels % BYTES:
        return None
    return partial(_replace_blocks, op, a, b.zero, weight)


def _replace_blocks(op: relex.Conv2dBlockedOp, a: Factor, right_zero: int, weight: Array) -> None:
    out, windows = Emitter(op), op.windows(weight.shape)
    data, zero = _unsigned(out, a)
    if any(windows.padding):
        data = out.add(relex.PadOp(data, padding_of_images(windows, rank_of(data)), zero))
    axis = 4 if rank_of(data) == 5 else 1
    words = out.add(relex.PackBytesOp(data, axis))

    def convolved(numbers: Array) -> SSAValue:
        constant = out.add(relex.PackBytesOp(out.add(relex.ConstantOp(numbers)), axis))
        groups = as_integer(op.groups)
        return out.add(
            relex.Conv2dBlockedPackedOp(words, constant, windows.strides, [0], windows.dilation, False, groups)
        )

    numbers = weight
    if axis == 4 and numbers.shape[4] % BYTES:
        numbers = in_larger_blocks(numbers, shape_of(a.data)[4])
    sums = weight.astype(np.int64).sum((1, 2, 3, 4))[:, None, None, :]
    product = convolved(numbers)
    if zero:
        product = out.add(relex.SubtractOp(product, out.add(relex.ConstantOp((sums * zero).astype(np.int32)[None]))))
    if right_zero:
        ones = np.ones_like(weight[:1, ..., :1])
        total = convolved(in_larger_blocks(ones, shape_of(a.data)[4]) if numbers is not weight else ones)
        total = out.without(total, zero, lambda: out.number(op.terms))
        product = out.without(product, right_zero, lambda: total)
    out.finish(product)


def _replace_by_pairs(op: relex.Conv2dBlockedOp, a: Factor, weight: Array) -> None:
    """Replace a convolution by one of integers of 16 bits, from which zero points are subtracted."""
    out, windows = PairsEmitter(op, a), op.windows(weight.shape)
    data = out.short(a)
    if any(windows.padding):
        data = out.add(relex.PadOp(data, padding_of_images(windows, rank_of(data)), 0))
    axis = 4 if rank_of(data) == 5 else 1
    if axis == 4 and weight.shape[4] != shape_of(data)[4]:
        weight = in_larger_blocks(weight, shape_of(data)[4])
    words = out.add(relex.PackBytesOp(data, axis))
    constant = out.add(relex.PackBytesOp(out.add(relex.ConstantOp(weight)), axis))
    places = windows.strides, [0], windows.dilation
    out.finish(out.add(relex.Conv2dBlockedShortsOp(words, constant, *places, False, as_integer(op.groups))))


def padding_of_images(windows: Windows, rank: int) -> Sequence[int]:
    """Return the widths of the padding of images, perhaps with channels in blocks, before and after each dimension."""
    widths = [width for pair in zip(windows.before, windows.after, strict=True) for width in pair]
    return [0, 0, 0, 0, *widths, *([0, 0] * (rank - 4))]


def in_larger_blocks(weight: Array, size: int) -> Array:
    """Return the weight of a convolution with larger blocks of input channels, the last one filled with zeros."""
    outputs, blocks, *window, block, inner = weight.shape
    channels = np.moveaxis(weight, 4, 2).reshape(outputs, blocks * block, *window, inner)
    widths = [(0, 0), (0, -channels.shape[1] % size), *[(0, 0)] * 3]
    filled = np.pad(channels, widths).reshape(outputs, -1, size, *window, inner)
    return np.moveaxis(filled, 2, 4)


def _read_bytes(op: relex.Conv2dBlockedOp) -> Callable[[], None] | None:
    """Let a convolution of each channel, whose sums are exact in f32, read bytes in place of floats."""
    weight = relex.array_of(op.weight)
    if weight is None or weight.dtype != np.float32 or not isinstance(op.data.owner, relex.AstypeOp):
        return None
    wide = op.data.owner.operand
    a = Factor(wide, 0) if is_bytes(wide) else Factor.of(wide, range(5)) if is_i32(wide) else None
    if a is None or not a.has_byte_of_zero:
        return None
    if not np.array_equal(weight, np.round(weight)) or 255 * abs(weight).max(initial=0) * op.terms > LARGEST_EXACT:
        return None
    return partial(_replace_floats, op, a, weight)


def _replace_floats(op: relex.Conv2dBlockedOp, a: Factor, weight: Array) -> None:
    out, windows = Emitter(op), op.windows(weight.shape)
    data, zero = _unsigned(out, a)
    padding: Sequence[int] = [*windows.before, *windows.after]
    if zero and any(padding):
        data, padding = out.add(relex.PadOp(data, padding_of_images(windows, rank_of(data)), zero)), [0]
    product = out.add(
        relex.Conv2dBlockedOp(data, op.weight, windows.strides, padding, windows.dilation, depthwise=True)
    )
    if zero:
        sums = weight.astype(np.float64).sum((1, 2, 3, 4))[None, :, None, None, :]
        product = out.add(relex.SubtractOp(product, out.add(relex.ConstantOp((sums * zero).astype(np.float32)))))
    out.finish(product)
    _add_as_floats(product, 255 * abs(weight).sum((1, 2, 3, 4)).max(initial=0))


def _add_as_floats(value: SSAValue, largest: float) -> None:
    """Add a constant to whole numbers of f32 as such, if that is exact, where they would become integers for it, and
    floats again; with it the one that is subtracted from them. `largest` is a bound of the numbers before."""
    narrow = only_user(value, relex.AstypeOp)
    addition = narrow and only_user(narrow.result, relex.AddOp)
    wide = addition and only_user(addition.result, relex.AstypeOp)
    if narrow is None or addition is None or wide is None or wide.result.type != value.type:
        return
    integers = relex.array_of(addition.rhs)
    if integers is None or integers.dtype != np.int32:
        return
    product, numbers = value, integers.astype(np.float64)
    old: list[relex.Operator] = [addition, narrow]
    if isinstance(subtraction := value.owner, relex.SubtractOp):
        subtracted = relex.array_of(subtraction.rhs)
        assert subtracted is not None
        product, numbers = subtraction.lhs, numbers - subtracted
        old.append(subtraction)
    if largest + abs(numbers).max(initial=0) > LARGEST_EXACT:
        return
    constant = insert_before(wide, relex.ConstantOp(numbers.astype(np.float32)))
    replace_by(wide, relex.AddOp(product, constant.result))
    constants = [op.operands[1] for op in old if len(op.operands) > 1]
    for op in old:
        Rewriter.erase_op(op)
    erase_unused(constants)


def _unsigned(out: Emitter, a: Factor) -> tuple[SSAValue, int]:
    """Return bytes without a sign, and the zero point of these."""
    data, zero = a.data, out.left_zero(a)
    assert isinstance(zero, int)
    if not a.is_unsigned:
        data = out.add(relex.BitwiseXorOp(out.add(relex.AstypeOp(data, ui8)), out.number(HALF, "uint8")))
    return data, zero
