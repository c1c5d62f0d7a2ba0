"""Op patterns of blocks and loop functions, derived from their accesses."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.ir import BlockArgument, Operation

from relex.dialects.function_arguments import SCHEDULED_ATTR
from relex.dialects.tir import AllocBufferOp, BlockOp, Dot2iOp, Dot2Op, Dot4Op, ForOp, IterKind, PrimFuncOp
from relex.dialects.tir.accesses import Access, accesses, is_access, is_pure, variables_in
from relex.dialects.tir.indices import is_subsequence, plain_indices, reads_memory, variable_of
from relex.dialects.tir.op_pattern import OpPattern, get_op_pattern, widest
from relex.dialects.walks import walk, walk_of
from relex.passes.analysis.kept import once
from relex.passes.analysis.loop_tree import is_reduction

_PRODUCTS = (arith.MulfOp, arith.MuliOp, arith.AndIOp, Dot2Op, Dot2iOp, Dot4Op)


def stated_pattern(function: PrimFuncOp) -> OpPattern:
    """Return the pattern that a loop function is annotated with, or else the one that follows from its blocks. One that
    has its schedule stays out of every fusion."""
    if SCHEDULED_ATTR in function.attributes:
        return OpPattern.OPAQUE
    return get_op_pattern(function) or pattern_of_function(function)


def pattern_of_function(function: PrimFuncOp) -> OpPattern:
    """Return the op pattern of a loop function; `OPAQUE` if it cannot be determined.

    Only blocks count, not the loops around them. Each buffer must be written by a single block. Several blocks have the
    widest pattern among them, but a reduction whose result is used by a later block counts as
    `OUT_ELEMENTWISE_FUSABLE`.
    """
    if not all(map(_is_structure, function.body.block.ops)):
        return OpPattern.OPAQUE
    blocks = walk_of(function, BlockOp)
    written = [access.buffer for block in blocks for access in _stores(block)]
    if not blocks or len(set(written)) != len(written) or not set(function.outputs) <= set(written):
        return OpPattern.OPAQUE
    patterns = list(map(pattern_of_block, blocks))
    pattern = widest(patterns)
    if pattern is OpPattern.REDUCTION and pattern in patterns[:-1]:
        return OpPattern.OUT_ELEMENTWISE_FUSABLE
    return pattern


def _is_structure(op: Operation) -> bool:
    """Return whether all effects of an op come from blocks: it is a block, a loop or condition around blocks, or
    pure."""
    match op:
        case BlockOp() | AllocBufferOp():
            return True
        case ForOp() | scf.IfOp() if not op.results:
            return all(_is_structure(inner) for region in op.regions for block in region.blocks for inner in block.ops)
        case _:
            return not op.regions and is_pure(op)


def pattern_of_block(block: BlockOp) -> OpPattern:
    """Return the op pattern of a block; `OPAQUE` if it cannot be determined, for example because an index depends on
    data."""
    return once((pattern_of_block, block), lambda: _pattern_of_block(block))


def _pattern_of_block(block: BlockOp) -> OpPattern:
    stores, loads = _stores(block), _loads(block)
    if len(stores) != 1 or not all(map(_is_plain, walk(block))):
        return OpPattern.OPAQUE
    if any(reads_memory(index, block) for access in accesses(block) for index in access.indices):
        return OpPattern.OPAQUE
    spatial = _spatial_variables(block)
    place = plain_indices(stores[0], block)
    if place is None or len(place) != len(spatial) or set(place) != spatial:
        return OpPattern.OPAQUE
    if is_reduction(block):
        return _pattern_of_reduction(block, stores[0], loads, spatial)
    if any(load.buffer is stores[0].buffer for load in loads):
        return OpPattern.OPAQUE
    patterns = {_pattern_of_load(load, block, place) for load in loads}
    # A broadcast operand next to an elementwise one, such as a bias, leaves the block elementwise.
    return widest(patterns - {OpPattern.BROADCAST} if OpPattern.ELEMENTWISE in patterns else patterns)


def _is_plain(op: Operation) -> bool:
    return is_access(op) or bool(op.regions) or is_pure(op)


def _stores(block: BlockOp) -> list[Access]:
    """Return the stores of a block outside of its init."""
    return [access for access in accesses(block) if access.is_write and not access.in_init]


def _loads(block: BlockOp) -> list[Access]:
    """Return the loads of a block outside of its init."""
    return [access for access in accesses(block) if not access.is_write and not access.in_init]


def _pattern_of_load(load: Access, block: BlockOp, place: Sequence[BlockArgument]) -> OpPattern:
    variables = plain_indices(load, block)
    if variables is None or not is_subsequence(variables, place):
        return OpPattern.INJECTIVE
    return OpPattern.ELEMENTWISE if len(variables) == len(place) else OpPattern.BROADCAST


def _pattern_of_reduction(
    block: BlockOp, store: Access, loads: Sequence[Access], spatial: set[BlockArgument]
) -> OpPattern:
    """Return the pattern of a block that accumulates: it has an init and updates the element it stored; otherwise
    `OPAQUE`."""
    own = [load for load in loads if load.buffer is store.buffer]
    starts = [access for access in accesses(block) if access.is_write and access.op is not store.op]
    if not own or not starts or any(access.buffer is not store.buffer for access in starts):
        return OpPattern.OPAQUE
    if any(plain_indices(access, block) != plain_indices(store, block) for access in (*own, *starts)):
        return OpPattern.OPAQUE
    terms = [load for load in loads if load not in own]
    if any(_reads_a_window(load, block) for load in terms):
        return OpPattern.OUT_ELEMENTWISE_FUSABLE
    return OpPattern.OUT_ELEMENTWISE_FUSABLE if _multiplies_again(block, terms, spatial) else OpPattern.REDUCTION


def reuses_operands(block: BlockOp) -> bool:
    """Return whether a reduction multiplies elements that other results use as well, however it is scheduled: its init
    may be a separate block."""
    results = {store.buffer for store in _stores(block)}
    terms = [load for load in _loads(block) if load.buffer not in results]
    return is_reduction(block) and _multiplies_again(block, terms, _spatial_variables(block))


def _multiplies_again(block: BlockOp, terms: Sequence[Access], spatial: set[BlockArgument]) -> bool:
    """Return whether a block multiplies elements that do not depend on all of its spatial variables."""
    is_product = any(isinstance(op, _PRODUCTS) for op in walk(block))
    return is_product and any(not spatial <= _variables(load, block) for load in terms)


def _spatial_variables(block: BlockOp) -> set[BlockArgument]:
    """Return the spatial variables of a block that have several values."""
    return {v.variable for v in block.iter_vars if v.kind is IterKind.SPATIAL and v.extent != 1}


def _variables(load: Access, block: BlockOp) -> set[BlockArgument]:
    return {variable for index in load.indices for variable in variables_in(index, block)}


def _reads_a_window(load: Access, block: BlockOp) -> bool:
    """Return whether a load uses a sliding window: an index is computed from a reduction variable."""
    reduce = {v.variable for v in block.iter_vars if v.kind is IterKind.REDUCE}
    return any(variable_of(i, block) is None and not reduce.isdisjoint(variables_in(i, block)) for i in load.indices)
