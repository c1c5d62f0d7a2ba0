"""Widening: all iterations of a loop run as one, and scalars become vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Dialect, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_speculatable

from relex.dialects.dtypes import takes_whole_bytes
from relex.dialects.errors import fail
from relex.dialects.index.domains import constant_value
from relex.dialects.index.from_ir import index_of
from relex.dialects.tir.accesses import variables_in
from relex.dialects.upstream.hints import isa
from relex.dialects.upstream.memref import PrefetchOp
from relex.lowering.support.guards import IndexEmitter
from relex.lowering.support.result_buffers import view_of_buffer
from relex.lowering.vectors.dependences import check_independent, in_loop
from relex.lowering.vectors.forms import can_widen, on_vectors, select
from relex.lowering.vectors.lanes import LaneEmitter, Lanes, index_step, step_of
from relex.lowering.vectors.reduction_updates import ReductionUpdate, reductions
from relex.lowering.vectors.speculation import has_pairs, is_private, is_safe

Mask = SSAValue | None
"""The lanes in which an op executes; None for all."""

_DIVISIONS = (
    arith.CeilDivSIOp,
    arith.CeilDivUIOp,
    arith.DivSIOp,
    arith.DivUIOp,
    arith.FloorDivSIOp,
    arith.RemSIOp,
    arith.RemUIOp,
)
"""Ops that must not be speculated: the divisor may be 0."""


def widen(loop: scf.ForOp, length: int, *, takes_pairs_apart: bool) -> None:
    """Replace a loop of `length` iterations, with step 1 and no loop-carried values, by ops on vectors. The target may
    be one that takes pairs of elements apart.

    Raises `PassError` at an op that prevents the iterations from running in parallel.
    """
    out = LaneEmitter(length, InsertPoint.before(loop), loop.location)
    _Widening(loop, takes_pairs_apart=takes_pairs_apart).emit_block(loop.body.block, out, None)
    Rewriter.erase_op(loop)


class _Widening:
    def __init__(self, loop: scf.ForOp, *, takes_pairs_apart: bool):
        self._loop = loop
        self._takes_pairs_apart = takes_pairs_apart
        variable = loop.body.block.args[0]
        self._lanes: dict[SSAValue, Lanes] = {variable: Lanes(loop.lb, 1)}
        found = [r for r in reductions(loop) if not any(self._varies(index) for index in r.store.indices)]
        check_independent(loop, found)
        self._updates = {r.store: r for r in found}
        self._in_updates: set[Operation] = {op for r in found for op in (r.load, r.combine)}

    def _varies(self, value: SSAValue) -> bool:
        return self._loop.body.block.args[0] in variables_in(value, self._loop)

    def _of(self, values: Sequence[SSAValue]) -> list[Lanes]:
        return [self._lanes.get(value, Lanes(value)) for value in values]

    def _first(self, value: SSAValue) -> SSAValue:
        """Return the value of the first lane."""
        return self._of([value])[0].value

    def _set(self, op: Operation, new: Sequence[Lanes]) -> None:
        for old, lanes in zip(op.results, new, strict=True):
            lanes.value.name_hint = lanes.value.name_hint or old.name_hint
            self._lanes[old] = lanes

    def emit_block(self, block: Block, out: LaneEmitter, mask: Mask) -> list[Lanes]:
        """Emit the ops of a block, and return the operands of its terminator."""
        *ops, leave = block.ops
        for op in ops:
            out.location = op.location
            self._emit(op, out, mask)
        return self._of(leave.operands)

    def _emit(self, op: Operation, out: LaneEmitter, mask: Mask) -> None:
        if op in self._in_updates:
            return
        match op:
            case scf.ForOp():
                self._set(op, self._loop_inside(op, out, mask))
            case scf.IfOp():
                (condition,) = self._of([op.cond])
                choose = self._branch if condition.same else self._choice
                self._set(op, choose(op, condition, out, mask))
            case memref.LoadOp():
                self._set(op, [self._load(op, out, mask)])
            case memref.StoreOp() if op in self._updates:
                self._update(self._updates[op], out, mask)
            case memref.StoreOp():
                self._store(op, out, mask)
            case PrefetchOp():
                self._prefetch(op, out)
            case _ if can_widen(op):
                self._set(op, self._compute(op, out, mask))
            case _:
                fail(op, f"expected loops, conditions, accesses and arithmetic in a vectorized loop, found '{op.name}'")

    # Control

    def _loop_inside(self, op: scf.ForOp, out: LaneEmitter, mask: Mask) -> list[Lanes]:
        bounds = self._of([op.lb, op.ub, op.step])
        if not all(bound.same for bound in bounds):
            fail(op, "expected a loop with the same bounds in every iteration of the vectorized loop around it")
        start = [*map(out.as_vector, self._of(op.iter_args))]
        body = Block(arg_types=[op.body.block.args[0].type, *(value.type for value in start)])
        for old, new in zip(op.body.block.args, body.args, strict=True):
            new.name_hint = old.name_hint
            self._lanes[old] = Lanes(new, 0 if new.index == 0 else None)
        inner = out.inside(body)
        carried = self.emit_block(op.body.block, inner, mask)
        inner.add(scf.YieldOp(*map(inner.as_vector, carried)))
        low, high, step = (bound.value for bound in bounds)
        loop = scf.ForOp(low, high, step, start, body)
        loop.attributes.update(op.attributes)
        out.location = op.location
        return [Lanes(result, None) for result in out.add(loop).results]

    def _branch(self, op: scf.IfOp, condition: Lanes, out: LaneEmitter, mask: Mask) -> list[Lanes]:
        """Keep a branch under a condition that is uniform."""
        old = [region.block for region in op.regions if region.blocks]
        new = [Block() for _ in old]
        inner = [out.inside(block) for block in new]
        ends = [self.emit_block(block, at, mask) for block, at in zip(old, inner, strict=True)]
        same = [all(lanes.same for lanes in ways) for ways in zip(*ends, strict=True)]
        for at, values in zip(inner, ends, strict=True):
            columns = zip(values, same, strict=True)
            at.add(scf.YieldOp(*(lanes.value if stays else at.as_vector(lanes) for lanes, stays in columns)))
        kinds = [t if stays else out.vector_of(t) for t, stays in zip(op.result_types, same, strict=True)]
        results = out.add(scf.IfOp(condition.value, kinds, new[:1], new[1:] or None)).results
        return [Lanes(result, 0 if stays else None) for result, stays in zip(results, same, strict=True)]

    def _choice(self, op: scf.IfOp, condition: Lanes, out: LaneEmitter, mask: Mask) -> list[Lanes]:
        """Emit both branches of a divergent condition, each under its mask."""
        holds = out.as_vector(condition)
        then = self.emit_block(op.true_region.block, out, out.both(mask, holds))
        if not op.false_region.blocks:
            return []
        fails = out.negated(holds)
        otherwise = self.emit_block(op.false_region.block, out, out.both(mask, fails))
        return [
            Lanes(select(out, holds, out.as_vector(value), out.as_vector(other)), None)
            for value, other in zip(then, otherwise, strict=True)
        ]

    # Memory

    def _load(self, op: memref.LoadOp, out: LaneEmitter, mask: Mask) -> Lanes:
        indices = self._of(op.indices)
        kind = op.res.type
        if all(index.same for index in indices):
            if mask is None or is_safe(op):
                return Lanes(self._scalar(op, out))
            # The mask may disable all lanes.
            return Lanes(out.guarded(out.any(mask), [kind], lambda inner: [self._scalar(op, inner)])[0])
        places = [index.value for index in indices]
        result = out.vector_of(kind)
        if mask is None and _is_contiguous(op.memref, indices, step=2):
            choose = _of_pairs if self._takes_pairs_apart and has_pairs(op) else _every_second
            return Lanes(choose(op.memref, places, result, out), None)
        if not _is_contiguous(op.memref, indices):
            if mask is None and (row := _in_one_row(op, self._loop, self._first, out)) is not None:
                return Lanes(out.add(vector.LoadOp(*row, result)).result, None)
            return out.by_lanes(op, self._of(op.operands), mask)[0]
        if mask is None or is_private(op) or is_safe(op):
            return Lanes(out.add(vector.LoadOp(op.memref, places, result)).result, None)
        nothing = out.number(0, result)
        return Lanes(out.add(vector.MaskedLoadOp(op.memref, places, mask, nothing)).result, None)

    def _store(self, op: memref.StoreOp, out: LaneEmitter, mask: Mask) -> None:
        value, _, *indices = self._of(op.operands)
        if all(index.same for index in indices):
            fail(
                op,
                "expected a place for each iteration of a vectorized loop, or a sum and the like over them, "
                "found a store of all of them to one",
            )
        if _is_contiguous(op.memref, indices, step=2) and _has_masks(op.value.type):
            _store_every_second(out.as_vector(value), op.memref, [index.value for index in indices], mask, out)
            return
        if not _is_contiguous(op.memref, indices):
            if mask is None and (row := _in_one_row(op, self._loop, self._first, out)) is not None:
                out.add(vector.StoreOp(out.as_vector(value), *row))
            else:
                out.by_lanes(op, self._of(op.operands), mask)
            return
        places = [index.value for index in indices]
        source = out.as_vector(value)
        if mask is None:
            out.add(vector.StoreOp(source, op.memref, places))
        elif is_private(op):
            # Unlike a masked store, this lets LLVM keep the buffer in registers.
            old = out.add(vector.LoadOp(op.memref, places, out.vector_of(op.value.type))).result
            out.add(vector.StoreOp(select(out, mask, source, old), op.memref, places))
        else:
            out.add(vector.MaskedStoreOp(op.memref, places, mask, source))

    def _prefetch(self, op: PrefetchOp, out: LaneEmitter) -> None:
        """Prefetch for the first lane only: other lanes are left to the hardware."""
        indices = self._of(op.indices)
        if all(index.step is not None for index in indices):
            out.add(op.clone({old: index.value for old, index in zip(op.indices, indices, strict=True)}))

    def _update(self, reduction: ReductionUpdate, out: LaneEmitter, mask: Mask) -> None:
        """Combine the terms of all lanes into one element, in order or, if reassociation is allowed, in any order."""
        op = reduction.store
        if reduction.ordered and in_loop(op, self._loop):
            fail(op, "expected a sum that may be reordered (fastmath<reassoc>) in a loop inside of a vectorized loop")
        (term,) = self._of([reduction.term])
        terms = out.as_vector(term)
        if mask is None:
            self._combine(reduction, terms, out)
            return
        chosen = select(out, mask, terms, out.number(reduction.identity, terms.type))
        out.guarded(out.any(mask), [], lambda inner: self._combine(reduction, chosen, inner))

    def _combine(self, reduction: ReductionUpdate, terms: SSAValue, out: LaneEmitter) -> list[SSAValue]:
        store = reduction.store
        places = [index.value for index in self._of(store.indices)]
        old = out.add(memref.LoadOp.get(store.memref, places)).res
        new = out.reduction(reduction.kind, terms, old, reduction.flags)
        out.add(memref.StoreOp.get(new, store.memref, places))
        return []

    # Arithmetic

    def _scalar(self, op: Operation, out: LaneEmitter) -> SSAValue:
        """Emit an op on scalars in place of its operands."""
        values = {old: lanes.value for old, lanes in zip(op.operands, self._of(op.operands), strict=True)}
        return out.add(op.clone(values)).results[0]

    def _step(self, op: Operation, operands: Sequence[Lanes]) -> int | None:
        """Return the step of an index from lane to lane; None if it does not follow from the scalars of one lane."""
        if any(lanes.step is None for lanes in operands) or [*op.result_types] != [IndexType()]:
            return None
        return index_step(op.results[0], self._loop)

    def _compute(self, op: Operation, out: LaneEmitter, mask: Mask) -> list[Lanes]:
        operands = self._of(op.operands)
        if mask is not None and _may_trap(op):
            return out.by_lanes(op, operands, mask)
        if all(lanes.same for lanes in operands):
            return [Lanes(self._scalar(op, out))]
        if (step := self._step(op, operands)) is not None:
            return [Lanes(self._scalar(op, out), step)]
        if isinstance(op, arith.CmpiOp) and (inside := _first_lanes(op, operands, out)) is not None:
            return [Lanes(inside, None)]
        return on_vectors(op, operands, out)


def _may_trap(op: Operation) -> bool:
    """Return whether an op is unsafe to speculate."""
    if Dialect.split_name(op.name)[0] not in ("arith", "math"):
        return not is_speculatable(op)
    if not isinstance(op, _DIVISIONS):
        return False
    divisor = constant_value(op.rhs)
    return divisor is None or divisor <= 0


_MIRRORED = {"slt": "sgt", "sle": "sge", "sgt": "slt", "sge": "sle"}
"""The equivalent predicates for swapped operands."""


def _first_lanes(op: arith.CmpiOp, operands: Sequence[Lanes], out: LaneEmitter) -> SSAValue | None:
    """Return a mask for the comparison of an index that counts lanes with a uniform limit, else None."""
    predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    counter, limit = operands
    if counter.same:
        counter, limit = limit, counter
        predicate = _MIRRORED.get(predicate, "")
    if predicate not in _MIRRORED or counter.step != 1 or not limit.same:
        return None
    count = out.add(arith.SubiOp(limit.value, counter.value)).result
    if predicate in ("sle", "sgt"):
        count = out.add(arith.AddiOp(count, out.index(1))).result
    below = out.first_lanes(count)
    return below if predicate in ("slt", "sle") else out.negated(below)


def _every_second(
    buffer: SSAValue, places: Sequence[SSAValue], result: VectorType[Attribute], out: LaneEmitter
) -> SSAValue:
    """Load every second element by two loads, the later of which ends with the last element of them."""
    (lanes,) = result.get_shape()
    *outer, first = places
    later = out.add(arith.AddiOp(first, out.index(lanes - 1))).result
    start, end = (out.add(vector.LoadOp(buffer, [*outer, at], result)).result for at in (first, later))
    chosen = [2 * lane if 2 * lane < lanes else 2 * lane + 1 for lane in range(lanes)]
    mask = DenseArrayBase.from_list(i64, chosen)
    return out.add(vector.ShuffleOp(start, end, mask, result_type=result)).result


def _of_pairs(
    buffer: SSAValue, places: Sequence[SSAValue], result: VectorType[Attribute], out: LaneEmitter
) -> SSAValue:
    """Load every second element by loading pairs, in which both even and odd elements are found."""
    (lanes,) = result.get_shape()
    *outer, first = places
    odd = out.add(arith.RemUIOp(first, out.index(2))).result
    start = out.add(arith.SubiOp(first, odd)).result
    ends = (start, out.add(arith.AddiOp(start, out.index(lanes))).result)
    low, high = (out.add(vector.LoadOp(buffer, [*outer, at], result)).result for at in ends)

    def chosen(parity: int) -> SSAValue:
        mask = DenseArrayBase.from_list(i64, range(parity, 2 * lanes, 2))
        return out.add(vector.ShuffleOp(low, high, mask, result_type=result)).result

    is_odd = out.add(arith.CmpiOp(odd, out.index(0), "ne")).result
    return out.add(arith.SelectOp(is_odd, chosen(1), chosen(0))).result


def _has_masks(element: Attribute) -> bool:
    """Return whether processors with vectors of 256 bits store only some elements of a type."""
    return isinstance(element, AnyFloat | IntegerType) and element.bitwidth in (32, 64)


def _store_every_second(
    source: SSAValue, buffer: SSAValue, places: Sequence[SSAValue], mask: Mask, out: LaneEmitter
) -> None:
    """Store to every second element by two stores, which leave out the elements between them. LLVM takes seconds for
    tiles that are stored element by element."""
    *outer, first = places
    lanes = out.length
    enabled = out.number(1, out.vector_of(i1)) if mask is None else mask
    none = out.number(0, enabled.type)
    for start in (0, lanes) if lanes > 1 else (0,):
        covered = range(start, start + lanes)
        wide = _shuffled(source, source, [element // 2 for element in covered], out)
        kept = _shuffled(enabled, none, [lanes if element % 2 else element // 2 for element in covered], out)
        place = first if start == 0 else out.add(arith.AddiOp(first, out.index(start))).result
        out.add(vector.MaskedStoreOp(buffer, [*outer, place], kept, wide))


def _shuffled(first: SSAValue, second: SSAValue, chosen: Sequence[int], out: LaneEmitter) -> SSAValue:
    """Return elements of two vectors, as many as one has."""
    assert isa(first.type, VectorType)
    elements = DenseArrayBase.from_list(i64, chosen)
    return out.add(vector.ShuffleOp(first, second, elements, result_type=first.type)).result


def _is_contiguous(buffer: SSAValue, indices: Sequence[Lanes], step: int = 1) -> bool:
    """Return whether the lanes access consecutive elements, or those `step` apart in a row."""
    kind = buffer.type
    assert isa(kind, MemRefType)
    strides = kind.get_strides()
    *outer, last = indices
    in_row = strides is not None and strides[-1] == 1
    return takes_whole_bytes(kind.element_type) and in_row and last.step == step and all(index.same for index in outer)


def _in_one_row(
    op: memref.LoadOp | memref.StoreOp, loop: scf.ForOp, first: Callable[[SSAValue], SSAValue], out: LaneEmitter
) -> tuple[SSAValue, Sequence[SSAValue]] | None:
    """Return the buffer with one dimension, and the index of the first lane, if the lanes of an access are side by side
    in memory, but in several rows: their indices are quotients and remainders. `first` returns a value in the first
    lane."""
    kind = op.memref.type
    assert isa(kind, MemRefType)
    shape, place = kind.get_shape(), 0
    if DYNAMIC_INDEX in shape or not isinstance(kind.layout, NoneAttr) or not takes_whole_bytes(kind.element_type):
        return None
    for size, index in zip(shape, op.indices, strict=True):
        place = place * size + index_of(index)
    if step_of(place, loop) != 1:
        return None
    groups = ArrayAttr([ArrayAttr([IntegerAttr(dimension, i64) for dimension in range(len(shape))])])
    flat = MemRefType(kind.element_type, [prod(shape)], memory_space=kind.memory_space)
    start = IndexEmitter(out.add, out.index, first).emit_new(place)
    return out.add(view_of_buffer(op.memref, groups, flat)).result, [start]
