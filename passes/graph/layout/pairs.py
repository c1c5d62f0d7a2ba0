"""Products of numbers of bf16, in pairs, for tiles, and for vectors of pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import lcm, prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, bf16, f32
from xdsl.ir import Operation, SSAValue

from relex.dialects import relex
from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import numpy_dtype
from relex.dialects.relex.block_quantized import layout_of, parts_of
from relex.dialects.relex.packed import in_a_word
from relex.dialects.relex.properties import as_integer
from relex.dialects.relex.types import rank_of, shape_of, tensor_type
from relex.dialects.target.processors import Processor
from relex.dialects.tir import Dot2Op
from relex.dialects.tir.tiles import MOST_ROWS
from relex.passes.analysis.tile_nests import ABREAST, MOST_WORDS, instruction_for
from relex.passes.cpu import cost
from relex.passes.graph.layout.block_panels import unpacked
from relex.passes.graph.layout.byte_factors import Emitter
from relex.passes.graph.layout.bytes_in_blocks import in_larger_blocks


def multiplies_pairs(processor: Processor | None) -> bool:
    """Return whether a processor multiplies pairs of numbers of bf16, in tiles or in vectors, faster than of f32."""
    return processor is not None and (bool(processor.dot2_features) or instruction_for(Dot2Op, processor) is not None)


def pack_pairs(op: Operation, *, in_vectors: bool) -> Callable[[], None] | None:
    """Return what replaces a product of numbers of bf16, of matrices or a convolution; None for anything else."""
    return _pack_blocks(op) if isinstance(op, relex.Conv2dBlockedOp) else _pack_matrices(op, in_vectors)


def _pack_matrices(op: Operation, in_vectors: bool) -> Callable[[], None] | None:
    """Return what replaces a matrix product; None for few rows: these take as long as the other operand takes to come
    from memory, however they are multiplied."""
    if not isinstance(op, relex.MatmulOp | relex.DenseOp):
        return None
    narrow = [_narrow(value) for value in op.operands]
    if None in narrow:
        return None
    lhs, rhs = filter(None, narrow)
    least = cost.MIN_ROWS_OF_PAIRS if in_vectors else cost.MIN_ROWS_OF_A_TILE
    if relex.array_of(rhs) is None and _blocks(rhs) is None:
        least = cost.MIN_ROWS_OF_PACKED_PAIRS
    return partial(_replace, op, lhs, rhs) if fits_tiles(op, in_a_word(bf16), least) else None


def fits_tiles(
    op: relex.MatmulOp | relex.DenseOp, terms_in_a_word: int, least_rows: int = cost.MIN_ROWS_OF_A_TILE
) -> bool:
    """Return whether a matrix product with some terms in a word has the rows, columns and steps that make tiles worth
    it: the limits of the rule `matrix-units`."""
    if min(map(rank_of, op.operands)) < 2:
        return False
    (*before, rows, terms), (*_, columns) = shape_of(op.operands[0]), shape_of(op.result)
    if rank_of(op.operands[1]) == 2:
        # Rows of several matrices with the same columns are joined later.
        rows = DYNAMIC_INDEX if DYNAMIC_INDEX in (*before, rows) else prod(before) * rows
    if DYNAMIC_INDEX in (terms, columns) or rows in range(least_rows):
        return False
    sizes = [cost.LIKELY_EXTENT if size == DYNAMIC_INDEX else size for size in shape_of(op.result)]
    return columns >= cost.MIN_COLUMNS_OF_A_TILE and prod(sizes) * terms // terms_in_a_word >= cost.MIN_STEPS_IN_TILES


def _narrow(value: SSAValue) -> SSAValue | None:
    """Return the numbers of bf16 that are converted to f32, or are not; None for others."""
    match value.owner:
        case relex.AstypeOp(operand=data) if _is_of(value, f32) and _is_of(data, bf16):
            return data
        case _:
            return value if _is_of(value, bf16) else None


def _is_of(value: SSAValue, kind: object) -> bool:
    return tensor_type(value.type).element_type == kind


def _replace(op: relex.MatmulOp | relex.DenseOp, lhs: SSAValue, rhs: SSAValue) -> None:
    out = Emitter(op)
    blocks = _blocks(rhs) if isinstance(op, relex.DenseOp) else None
    left, rights = _packed(op, out, lhs, rhs) if blocks is None else _unpacked(out, lhs, blocks)
    size, rank = shape_of(rights[0])[0], rank_of(left)
    product: SSAValue | None = None
    for n, right in enumerate(rights):
        terms = [rank - 1], [n * size], [(n + 1) * size]
        part = out.add(relex.StridedSliceOp(left, *terms)) if len(rights) > 1 else left
        added = out.add(relex.MatmulPairsOp(part, right))
        product = added if product is None else out.add(relex.AddOp(product, added))
    assert product is not None
    out.finish(product if _is_of(op.result, f32) else out.add(relex.AstypeOp(product, bf16)))


Words = tuple[SSAValue, Sequence[SSAValue]]
"""The words of the left operand, and words of the right one in parts, which are multiplied one after the other."""


def _packed(op: relex.MatmulOp | relex.DenseOp, out: Emitter, lhs: SSAValue, rhs: SSAValue) -> Words:
    """Return the operands in words."""
    if isinstance(op, relex.DenseOp):
        # Words are neighbours in memory: to move them takes half of the time of moving numbers.
        right = out.add(relex.PermuteDimsOp(out.add(relex.PackBytesOp(rhs, -1))))
    else:
        right = out.add(relex.PackBytesOp(rhs, -2))
    left, right = fill_tiles(out, out.add(relex.PackBytesOp(lhs, -1)), right)
    is_divided = rank_of(right) == 2 and relex.array_of(right) is not None
    count = _parts_of_terms(left) if is_divided else 1
    if count == 1:
        return left, [right]
    size = shape_of(right)[0] // count
    return left, [out.add(relex.StridedSliceOp(right, [0], [n * size], [(n + 1) * size])) for n in range(count)]


def _blocks(value: SSAValue) -> relex.DequantizeBlocksOp | None:
    """Return what unpacks a constant in blocks, if its numbers are rounded to bf16, and fill tiles."""
    narrow = value.owner
    blocks = narrow.operand.owner if isinstance(narrow, relex.AstypeOp) else None
    if not isinstance(blocks, relex.DequantizeBlocksOp) or relex.array_of(blocks.data) is None:
        return None
    layout, (*others, terms) = layout_of(blocks.properties), shape_of(blocks.result)
    is_whole = terms % (2 * MOST_WORDS) == 0 and layout.numbers[-1] % 2 == 0
    return blocks if len(others) == 1 and is_whole else None


def _unpacked(out: Emitter, lhs: SSAValue, blocks: relex.DequantizeBlocksOp) -> Words:
    """Return the operands in words, which each call unpacks a constant in blocks to."""
    layout, data = layout_of(blocks.properties), relex.array_of(blocks.data)
    assert data is not None
    left = out.add(relex.PackBytesOp(lhs, -1))
    # The second-level cache holds a panel, however few rows use it.
    count = _parts(shape_of(left)[-1], lcm(MOST_WORDS, layout.size // 2))
    of_terms = (parts_of(layout, np.ascontiguousarray(part)) for part in np.split(data, count, 1))
    rights = [unpacked(relex.UnpackPairsOp, out.replaced, blocks.layout.data, *parts) for parts in of_terms]
    return left, rights


def _parts_of_terms(lhs: SSAValue) -> int:
    """Return the number of parts of the sums of a product with a constant, of which each is added to the ones before:
    otherwise the second-level cache would not hold the rows that use a panel."""
    *_, rows, words = shape_of(lhs)
    return 1 if rows in range(cost.MIN_TILES_IN_A_BLOCK * ABREAST * MOST_ROWS) else _parts(words, MOST_WORDS)


def _parts(words: int, together: int) -> int:
    """Return the least number of parts that are small enough and alike, in which some words stay together."""
    least = -(-words // cost.MAX_WORDS_AT_ONCE)
    return next((n for n in range(least, words // together + 1) if words % (n * together) == 0), 1)


def fill_tiles(out: Emitter, lhs: SSAValue, rhs: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return the operands of a product with words of zeros, so that the words of a row fill tiles."""
    words = shape_of(lhs)[-1]
    missing = -words % MOST_WORDS if words > MOST_WORDS else 0
    if not missing:
        return lhs, rhs
    before_left, before_right = ([0, 0] * (rank_of(value) - n) for value, n in ((lhs, 1), (rhs, 2)))
    return (
        out.add(relex.PadOp(lhs, [*before_left, 0, missing], 0)),
        out.add(relex.PadOp(rhs, [*before_right, 0, missing, 0, 0], 0)),
    )


def _pack_blocks(op: relex.Conv2dBlockedOp) -> Callable[[], None] | None:
    """Return what replaces a convolution with channels in blocks, of a constant weight."""
    data, weight = _narrow(op.data), relex.array_of(op.weight)
    if op.depthwise is not None or data is None or weight is None or not _fills_tiles(op):
        return None
    numbers = weight.astype(numpy_dtype(bf16))
    if not np.array_equal(numbers.astype(weight.dtype), weight) or not _is_of(op.result, f32):
        return None
    if rank_of(data) == 4:
        return _pack_pixels(op, data, numbers)
    size = shape_of(data)[4]
    if numbers.shape[4] != size:
        numbers = in_larger_blocks(numbers, size)
    return partial(_replace_blocks, op, data, numbers) if size % 2 == 0 else None


def _fills_tiles(op: relex.Conv2dBlockedOp) -> bool:
    """Return whether a convolution has enough work, and rows of images that are long enough."""
    shape = [cost.LIKELY_EXTENT if size == DYNAMIC_INDEX else size for size in shape_of(op.result)]
    return prod(shape) * op.terms // 2 >= cost.MIN_STEPS_IN_TILES and shape[3] >= cost.MIN_ROWS_OF_A_TILE


def _pack_pixels(op: relex.Conv2dBlockedOp, data: SSAValue, weight: Array) -> Callable[[], None] | None:
    """Return what replaces a convolution of data with few channels: the channels of a place become words next to each
    other, so that a row of a window is a row of words."""
    words, width = -(-weight.shape[1] // 2), weight.shape[3]
    is_plain = as_integer(op.groups) == 1 and op.windows(weight.shape).dilation[1] == 1
    if not is_plain or DYNAMIC_INDEX in shape_of(data)[1:] or words * width not in _WORDS_OF_A_ROW:
        return None
    return partial(_replace_pixels, op, data, weight)


_WORDS_OF_A_ROW = range(cost.MIN_WORDS_OF_A_TILE, MOST_WORDS + 1)


def _replace_pixels(op: relex.Conv2dBlockedOp, data: SSAValue, weight: Array) -> None:
    out, windows = Emitter(op), op.windows(weight.shape)
    outputs, channels, height, width, _, size = weight.shape
    words, missing = -(-channels // 2), channels % 2
    widths = [width for pair in zip(windows.before, windows.after, strict=True) for width in pair]
    places = out.add(relex.PermuteDimsOp(data, [0, 2, 3, 1]))
    filled = out.add(relex.PadOp(places, [0, 0, *widths, 0, missing], 0))
    packed = out.add(relex.PackBytesOp(filled, 3))
    images, rows, columns, _ = shape_of(packed)
    row = out.add(relex.ReshapeOp(packed, [-1 if images == DYNAMIC_INDEX else images, 1, rows, columns * words]))
    by_place = np.pad(weight, [(0, 0), (0, missing), *[(0, 0)] * 4]).transpose(0, 4, 2, 3, 1, 5)
    numbers = by_place.reshape(outputs, 1, height, width * 2 * words, 1, size)
    constant = out.add(relex.PackBytesOp(out.add(relex.ConstantOp(numbers)), 3))
    strides = [windows.strides[0], windows.strides[1] * words]
    out.finish(out.add(relex.Conv2dBlockedPairsOp(row, constant, strides, [0], [windows.dilation[0], 1])))


def _replace_blocks(op: relex.Conv2dBlockedOp, data: SSAValue, weight: Array) -> None:
    out, windows = Emitter(op), op.windows(weight.shape)
    if any(windows.padding):
        widths = [width for pair in zip(windows.before, windows.after, strict=True) for width in pair]
        data = out.add(relex.PadOp(data, [0, 0, 0, 0, *widths, 0, 0], 0))
    words = out.add(relex.PackBytesOp(data, 4))
    constant = out.add(relex.PackBytesOp(out.add(relex.ConstantOp(weight)), 4))
    places = windows.strides, [0], windows.dilation
    out.finish(out.add(relex.Conv2dBlockedPairsOp(words, constant, *places, False, as_integer(op.groups))))
