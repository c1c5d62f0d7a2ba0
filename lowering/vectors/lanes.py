"""Values in all iterations of a loop at once, and an emitter of vector code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from xdsl.builder import Builder
from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, LocationAttr, VectorType, i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from relex.dialects.index.expr import Index, IndexExpr, terms_of, values_in
from relex.dialects.index.from_ir import index_of
from relex.dialects.upstream.hints import isa
from relex.dialects.upstream.llvm import LOOP_ANNOTATION, LoopAnnotationAttr, Unrolling
from relex.lowering.te.scalars import build_constant

OpT = TypeVar("OpT", bound=Operation)


@dataclass(frozen=True)
class Lanes:
    """A value in every iteration of a loop.

    With a `step` of 0, `value` is uniform; with another step, it is the index in the first iteration, and grows by
    `step` per iteration; with None, it is a vector with one element per iteration.
    """

    value: SSAValue
    step: int | None = 0

    @property
    def same(self) -> bool:
        """True if the value is uniform."""
        return self.step == 0


@lru_cache(maxsize=256)
def _vector_type(element: Attribute, length: int) -> VectorType[Attribute]:
    return VectorType(element, [length])


class LaneEmitter:
    """Appends ops for a number of lanes, all at the location of the op that they come from."""

    def __init__(self, length: int, at: InsertPoint, location: LocationAttr):
        self.length = length
        self.location = location
        self._builder = Builder(at)

    def inside(self, block: Block) -> LaneEmitter:
        """Return an emitter for the end of a new block."""
        return LaneEmitter(self.length, InsertPoint.at_end(block), self.location)

    def add(self, op: OpT) -> OpT:
        """Append an op."""
        op.location = self.location
        return self._builder.insert(op)

    # Scalars and vectors of constants

    def index(self, value: int) -> SSAValue:
        """Emit an index constant."""
        return self.number(value, IndexType())

    def vector_of(self, element: Attribute) -> VectorType[Attribute]:
        """The type of a vector with an element for each lane."""
        return _vector_type(element, self.length)

    def number(self, value: float, kind: Attribute) -> SSAValue:
        """Emit a constant of a numeric type; of a vector type, a splat."""
        return self.add(build_constant(value, kind)).result

    # Lanes

    def as_vector(self, lanes: Lanes) -> SSAValue:
        """Return a vector with the value of each lane."""
        if lanes.step is None:
            return lanes.value
        kind = self.vector_of(lanes.value.type)
        first = self.add(vector.BroadcastOp(lanes.value, kind)).vector
        if lanes.step == 0:
            return first
        assert isa(kind, VectorType[IndexType])
        steps = [lane * lanes.step for lane in range(self.length)]
        distances = self.add(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(kind, steps))).result
        return self.add(arith.AddiOp(first, distances)).result

    def lane(self, lanes: Lanes, position: SSAValue) -> SSAValue:
        """Return the value of the lane at a dynamic position."""
        if lanes.step is None:
            assert isa(lanes.value.type, VectorType)
            return self.add(vector.ExtractOp(lanes.value, [position], lanes.value.type.element_type)).result
        if lanes.step == 0:
            return lanes.value
        distance = position if lanes.step == 1 else self.add(arith.MuliOp(position, self.index(lanes.step))).result
        return self.add(arith.AddiOp(lanes.value, distance)).result

    def by_lanes(self, op: Operation, operands: Sequence[Lanes], mask: SSAValue | None = None) -> list[Lanes]:
        """Return the results of an op on scalars, computed for each lane in place of its operands.

        It runs in a loop over the lanes, in order, which LLVM unrolls. Lanes that the mask disables yield 0.

        ```mlir
        %r = scf.for %lane = %c0 to %c16 step %c1 iter_args(%old = %zeros) -> (vector<16xi1>) {
          %0 = vector.extract %a[%lane] : f32 from vector<16xf32>
          %1 = arith.cmpf olt, %0, %b : f32
          %2 = vector.insert %1, %old[%lane] : i1 into vector<16xi1>
          scf.yield %2 : vector<16xi1>
        } {llvm.loop_annotation = #llvm.loop_annotation<unroll = <full = true>>}
        ```
        """
        kinds = [*map(self.vector_of, op.result_types)]
        body = Block(arg_types=[IndexType(), *kinds])
        position, *old = body.args
        inner = self.inside(body)
        scalars = {value: inner.lane(lanes, position) for value, lanes in zip(op.operands, operands, strict=True)}
        if mask is None:
            values = inner.add(op.clone(scalars)).results
        else:
            allowed = inner.lane(Lanes(mask, None), position)
            values = inner.guarded(allowed, op.result_types, lambda then: then.add(op.clone(scalars)).results)
        insertions = [vector.InsertOp(value, into, [position]) for value, into in zip(values, old, strict=True)]
        inner.add(scf.YieldOp(*(inner.add(insertion).result for insertion in insertions)))
        start = [self.number(0, kind) for kind in kinds]
        loop = scf.ForOp(self.index(0), self.index(self.length), self.index(1), start, body)
        loop.attributes[LOOP_ANNOTATION] = LoopAnnotationAttr(Unrolling.FULL)
        return [Lanes(result, None) for result in self.add(loop).results]

    def guarded(
        self,
        condition: SSAValue,
        results: Sequence[Attribute],
        compute: Callable[[LaneEmitter], Sequence[SSAValue]],
    ) -> list[SSAValue]:
        """Return the results of `compute` if the condition holds, else 0."""
        then, otherwise = Block(), Block()
        inner, other = self.inside(then), self.inside(otherwise)
        inner.add(scf.YieldOp(*compute(inner)))
        if not results:
            self.add(scf.IfOp(condition, [], Region(then)))
            return []
        other.add(scf.YieldOp(*(other.number(0, kind) for kind in results)))
        return list(self.add(scf.IfOp(condition, results, Region(then), Region(otherwise))).results)

    # Masks

    def both(self, mask: SSAValue | None, other: SSAValue) -> SSAValue:
        """Return the conjunction of two masks, the first of which may be None for all lanes."""
        return other if mask is None else self.add(arith.AndIOp(mask, other)).result

    def negated(self, mask: SSAValue) -> SSAValue:
        """Return the complement of a mask."""
        return self.add(arith.XOrIOp(mask, self.number(1, mask.type))).result

    def any(self, mask: SSAValue) -> SSAValue:
        """Return whether a mask enables any lane."""
        return self.reduction(vector.CombiningKindFlag.OR, mask, None)

    def first_lanes(self, count: SSAValue) -> SSAValue:
        """Return a mask that enables the first `count` lanes."""
        return self.add(vector.CreateMaskOp([count], self.vector_of(i1))).mask_vector

    def reduction(
        self,
        kind: vector.CombiningKindFlag,
        source: SSAValue,
        start: SSAValue | None,
        flags: arith.FastMathFlagsAttr | None = None,
    ) -> SSAValue:
        """Reduce a vector to a scalar, combined with `start` if given."""
        assert isa(source.type, VectorType)
        # xDSL's constructor takes the type of the vector for the type of the result.
        op = vector.ReductionOp.build(
            operands=[source, start],
            result_types=[source.type.element_type],
            properties={"kind": vector.CombiningKindAttr(kind), "fastmath": flags},
        )
        return self.add(op).dest


def index_step(value: SSAValue, loop: scf.ForOp) -> int | None:
    """Return the step of an index in a loop; None if it is not a constant, or if the index depends on other values
    computed in the loop."""
    return step_of(index_of(value), loop)


def step_of(index: Index, loop: scf.ForOp) -> int | None:
    """Return the step of an expression, likewise."""
    variable, step = loop.body.block.args[0], 0
    for atom, factor in terms_of(index).items():
        if atom is variable:
            step = factor
        elif any(loop.is_ancestor(part.owner) for part in values_in(IndexExpr.of(atom))):
            return None
    return step
