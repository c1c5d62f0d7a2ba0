"""Matrix products of numbers of bf16, in pairs, for tiles."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, bf16, f32
from xdsl.ir import Operation, SSAValue

from relex.dialects import relex
from relex.dialects.relex.packed import in_a_word
from relex.dialects.relex.types import rank_of, shape_of, tensor_type
from relex.passes.analysis.tile_nests import MOST_WORDS
from relex.passes.cpu import cost
from relex.passes.graph.layout.byte_factors import Emitter


def pack_pairs(op: Operation) -> Callable[[], None] | None:
    """Return what replaces a matrix product of numbers of bf16; None for anything else, and for few rows: these take as
    long as the other operand takes to come from memory, however they are multiplied."""
    if not isinstance(op, relex.MatmulOp | relex.DenseOp) or not fits_tiles(op, in_a_word(bf16)):
        return None
    narrow = [_narrow(value) for value in op.operands]
    return None if None in narrow else partial(_replace, op, *filter(None, narrow))


def fits_tiles(op: relex.MatmulOp | relex.DenseOp, terms_in_a_word: int) -> bool:
    """Return whether a matrix product with some terms in a word has the rows, columns and steps that make tiles worth
    it: the limits of the rule `matrix-units`."""
    if min(map(rank_of, op.operands)) < 2:
        return False
    (*_, rows, terms), (*_, columns) = shape_of(op.operands[0]), shape_of(op.result)
    if DYNAMIC_INDEX in (terms, columns) or rows in range(cost.MIN_ROWS_OF_A_TILE):
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
    if isinstance(op, relex.DenseOp):
        rhs = out.add(relex.PermuteDimsOp(rhs))
    words = out.add(relex.PackBytesOp(lhs, -1)), out.add(relex.PackBytesOp(rhs, -2))
    product = out.add(relex.MatmulPairsOp(*fill_tiles(out, *words)))
    out.finish(product if _is_of(op.result, f32) else out.add(relex.AstypeOp(product, bf16)))


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
