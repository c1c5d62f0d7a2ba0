"""Copies that move the terms of a reduction apart, which the reduction reads better from their source."""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, FixedBitwidthType

from relex.dialects.index.expr import terms_of, values_in
from relex.dialects.index.from_ir import index_of
from relex.dialects.tir import BlockOp, InitOp, IterKind, PrimFuncOp
from relex.dialects.tir.accesses import Access, accesses, is_pure
from relex.dialects.tir.indices import variable_of
from relex.dialects.walks import walk_of
from relex.passes.analysis.loop_tree import blocks_in
from relex.passes.analysis.reduction_order import order_matters


def keeps_terms_together(copy: BlockOp, load: memref.LoadOp) -> bool:
    """Return whether a block only copies elements, and a reduction that loads one of its results could as well read the
    source, where consecutive terms are contiguous."""
    return _dimension_of_terms(copy, load) is not None


MIN_BYTES = 128
"""Bytes of contiguous terms: two cache lines. With fewer, adding up the elements of vectors costs too much."""


def moves_terms_apart(copy: PrimFuncOp, product: PrimFuncOp, operand: int) -> bool:
    """Return whether a function only copies its input in a way that elements which are contiguous there, and which are
    the terms of a product in the copy, the product's operand, are not contiguous there any more. The product must have
    terms for several vectors, and be free to add them up in vectors."""
    readers = [block for block in blocks_in(product) if _loads_of(block, product.args[operand])]
    if len(readers) != 1 or len(copies := list(blocks_in(copy))) != 1 or order_matters(readers[0]) is not None:
        return False
    (load, *others), (block,) = _loads_of(readers[0], product.args[operand]), copies
    dimension = _dimension_of_terms(block, load)
    if others or dimension is None:
        return False
    terms, *inner = Access.of(load).shape[dimension:]
    kind = load.res.type
    least = 8 * MIN_BYTES // (kind.bitwidth if isinstance(kind, FixedBitwidthType) else 8)
    return (terms == DYNAMIC_INDEX or terms >= least) and any(size != 1 for size in inner)


def _loads_of(block: BlockOp, buffer: object) -> list[memref.LoadOp]:
    return [op for op in walk_of(block, memref.LoadOp) if op.memref is buffer]


def _dimension_of_terms(copy: BlockOp, load: memref.LoadOp) -> int | None:
    """Return the dimension of the copy along which the terms of a reduction lie that are contiguous in the source."""
    reader, found = load.parent_op(), copied_by(copy)
    if found is None or not isinstance(reader, BlockOp) or not found[0].indices:
        return None
    source, store = found
    *outer, last = map(index_of, source.indices)
    for dimension, (index, term) in enumerate(zip(store.indices, load.indices, strict=True)):
        variable, term_variable = variable_of(index, copy), variable_of(term, reader)
        if variable is None or term_variable is None or term_variable.kind is not IterKind.REDUCE:
            continue
        is_alone = not any(variable.variable in values_in(form) for form in outer)
        if is_alone and terms_of(last).get(variable.variable) == 1:
            return dimension
    return None


def copied_by(block: BlockOp) -> tuple[memref.LoadOp, memref.StoreOp] | None:
    """Return the load and the store of a block that only copies elements; None if it does anything else."""
    found = list(accesses(block))
    if len(found) != 2 or any(isinstance(op, InitOp) for op in block.walk()):
        return None
    load, store = found[0].op, found[1].op
    if not isinstance(load, memref.LoadOp) or not isinstance(store, memref.StoreOp) or store.value is not load.res:
        return None
    return (load, store) if all(op in (load, store) or is_pure(op) for op in block.body.block.ops) else None
