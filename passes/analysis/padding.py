"""Padding: elements of a buffer that are zero because they lie outside of the data copied into it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from relex.dialects.arrays import np
from relex.dialects.errors import PassError, fail
from relex.dialects.function_arguments import FINITE_ATTR
from relex.dialects.index.domains import is_same_value
from relex.dialects.index.expr import Index, IndexExpr, constant_of, span_of, terms_of, values_in
from relex.dialects.index.values import replace_atoms
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, LoopKind, PrimFuncOp
from relex.dialects.tir.accesses import Access
from relex.passes.analysis.buffers import accesses_in
from relex.passes.analysis.constant_inputs import is_finite_input
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.loop_tree import comparison_of, conjuncts_of, function_of, loops_of, name_of_block


@dataclass(frozen=True)
class Bound:
    """A bound on an index that holds for all elements that are not padding: `sum` is less than zero if `predicate` is
    `slt`, and at least zero if it is `sge`."""

    predicate: str
    sum: Index

    @property
    def always_holds(self) -> bool:
        """Whether the bound holds in all iterations."""
        span = span_of(self.sum)
        return span.high < 0 if self.predicate == "slt" else span.low >= 0

    def uses(self, loop: ForOp) -> bool:
        """Return whether the sum depends on a loop."""
        return loop.variable in values_in(self.sum)

    def share(self, loops: Sequence[ForOp]) -> float:
        """Return the share of the iterations of loops for which the bound holds; 1 if their numbers are unknown, or the
        sum is not one of loop variables."""
        extents = {loop.variable: loop.extent for loop in loops}
        sums = np.array(constant_of(self.sum))
        for atom, factor in terms_of(self.sum).items():
            extent = extents.get(atom) if isinstance(atom, BlockArgument) else None
            if not isinstance(extent, int):
                return 1
            sums = np.add.outer(sums, factor * np.arange(extent))
        return float(np.mean(sums < 0 if self.predicate == "slt" else sums >= 0)) if sums.size else 1


def bounds_of_terms(block: BlockOp) -> list[Bound]:
    """
    Return bounds on the indices of a padded operand of a sum of products, in terms of the loops around the block. Where
    one of them does not hold, the product is zero: it is padding times a finite number.

    Fail if the block does not add up products of padding with numbers that are finite.
    """
    operands = _factors(block)
    reads = [access for access in block_accesses(block) if access.op in operands]
    for padded, other in (reads, reads[::-1]) if len(reads) == 2 else ():
        if (bounds := _bounds(padded)) and _is_finite(other.buffer, function_of(block)):
            return bounds
    fail(block, f"expected {name_of_block(block)} to add products of padding with numbers that are known to be finite, "
                f"as in inputs with '{FINITE_ATTR}'")  # fmt: skip


def loops_with_padding(block: BlockOp, least: float) -> list[ForOp]:
    """Return the serial loops of which `skip_padding` leaves out at least a share of the iterations, outermost first.
    Iterations of unknown numbers of loops are not left out."""
    shares: dict[ForOp, float] = defaultdict(float)
    for used, share in _shares_of_padding(block).items():
        shares[used[-1]] += share
    return [loop for loop in loops_of(block) if loop.kind.data is LoopKind.SERIAL and shares[loop] >= least]


def taps_with_padding(block: BlockOp, least: float) -> list[tuple[ForOp, ForOp]]:
    """Return pairs of a serial loop and an unrolled one inside, whose numbers of iterations are known, that alone tell
    in which iterations an operand is padding: the taps of a window, and the results of a row. They are at least a share
    of all iterations."""
    kinds = [LoopKind.SERIAL, LoopKind.UNROLLED]
    found = [used for used, share in _shares_of_padding(block).items() if share >= least]
    return [(used[0], used[1]) for used in found if [loop.kind.data for loop in used] == kinds]


def _shares_of_padding(block: BlockOp) -> dict[tuple[ForOp, ...], float]:
    """Return the loops that tell whether an operand is padding, and the share of iterations in which it is."""
    try:
        bounds = bounds_of_terms(block)
    except PassError:
        return {}
    loops = loops_of(block)
    shares: dict[tuple[ForOp, ...], float] = defaultdict(float)
    for bound in bounds:
        if used := tuple(loop for loop in loops if bound.uses(loop)):
            shares[used] += 1 - bound.share(loops)
    return shares


def pads(block: BlockOp) -> bool:
    """Return whether a block copies elements, and stores zeros around them."""
    store = block.body.block.last_op
    return isinstance(store, memref.StoreOp) and bool(_conditions(store))


def _factors(block: BlockOp) -> Sequence[Operation]:
    """Return the loads of the two numbers whose product a block adds to what it has written before."""
    store = block.body.block.last_op
    if not isinstance(store, memref.StoreOp) or not isinstance(total := store.value.owner, arith.AddfOp):
        return ()
    for old, product in ((total.lhs, total.rhs), (total.rhs, total.lhs)):
        match old.owner, product.owner:
            case memref.LoadOp() as load, arith.MulfOp(lhs=one, rhs=other):
                is_same = load.memref is store.memref and all(map(is_same_value, load.indices, store.indices))
                factors = [factor.owner for factor in (one, other)]
                if is_same and all(isinstance(factor, memref.LoadOp) for factor in factors):
                    return [factor for factor in factors if isinstance(factor, Operation)]
            case _:
                pass
    return ()


def _bounds(read: Access) -> list[Bound]:
    """Return the bounds on the indices of an access to a buffer that one block has padded, of those that do not always
    hold."""
    if not isinstance(read.buffer.owner, AllocBufferOp):
        return []
    writes = [access for access in accesses_in(function_of(read.block), read.buffer) if access.is_write]
    if len(writes) != 1 or not isinstance(store := writes[0].op, memref.StoreOp):
        return []
    writer = writes[0].block
    inside = {v.variable for v in writer.iter_vars}
    once = {loop.variable for loop in loops_of(read.block) if loop.extent == 1}
    found: list[Bound] = []
    for variable, index in zip(store.indices, read.element, strict=True):
        for condition in _conditions(store):
            comparison = comparison_of(condition)
            if variable not in inside or comparison is None or comparison[0] not in ("slt", "sge"):
                continue
            predicate, difference = comparison
            rest = difference - IndexExpr.of(variable)
            if inside.isdisjoint(values_in(rest)) and not _is_computed_in(writer, rest):
                found.append(Bound(predicate, replace_atoms(index + rest, lambda atom: 0 if atom in once else None)))
    return [bound for bound in found if not bound.always_holds]


def _is_computed_in(block: BlockOp, index: Index) -> bool:
    """Return whether a value of an expression is computed in the loops around a block."""
    outermost = next(iter(loops_of(block)), block)
    return any(outermost.is_ancestor(value.owner) for value in values_in(index))


def _conditions(store: memref.StoreOp) -> Sequence[SSAValue]:
    """Return conditions, of which all hold where a store copies an element; elsewhere, it stores zero."""
    match store.value.owner:
        case scf.IfOp(cond=condition, false_region=otherwise) if otherwise.blocks:
            last = otherwise.block.last_op
            is_zero = last is not None and len(last.operands) == 1 and _is_zero(last.operands[0])
            return conjuncts_of(condition) if is_zero else ()
        case _:
            return ()


def _is_zero(value: SSAValue) -> bool:
    match value.owner:
        case arith.ConstantOp(value=FloatAttr() as number):
            return number.value.data == 0
        case _:
            return False


def _is_finite(buffer: SSAValue, func: PrimFuncOp) -> bool:
    """Return whether all elements of a buffer are finite: elements of an input that nothing writes, or copies of
    such."""
    stores = [access.op for access in accesses_in(func, buffer) if access.is_write]
    if isinstance(buffer, BlockArgument):
        return not stores and func.noalias and is_finite_input(buffer)
    return bool(stores) and all(isinstance(op, memref.StoreOp) and _stores_finite(op, func) for op in stores)


def _stores_finite(store: memref.StoreOp, func: PrimFuncOp) -> bool:
    """Return whether a store copies an element of an input that is finite, or stores zero."""
    values = [store.value]
    if isinstance(choice := store.value.owner, scf.IfOp):
        values = [end.operands[0] for region in choice.regions if (end := region.block.last_op) is not None]
    loads = [value.owner for value in values if not _is_zero(value)]
    return all(
        isinstance(load, memref.LoadOp) and isinstance(load.memref, BlockArgument) and _is_finite(load.memref, func)
        for load in loads
    )
