"""Vector forms of scalar ops.

Most ops of `arith` and `math` accept vectors. For those that xDSL restricts to scalars, `SUBSTITUTES` has equivalents
from the `llvm` dialect; other packages register vector forms of their ops with `vector_form`. Ops with neither are
computed lane by lane, if they have no effects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Dialect, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from relex.dialects.table import Table
from relex.dialects.tir import Dot2iOp, Dot2Op, Dot4Op, TableLookUpOp
from relex.dialects.tir.accesses import is_pure
from relex.dialects.upstream.hints import isa
from relex.dialects.upstream.llvm import FPToSIOp, FPToUIOp, UIToFPOp
from relex.lowering.llvm.intrinsics import call_intrinsic, mangled
from relex.lowering.vectors.lanes import LaneEmitter, Lanes

_WITH_VECTORS = ("arith", "math")
"""The dialects whose ops are elementwise on vectors, if they accept them."""

Substitute = Callable[[Any, Sequence[SSAValue], LaneEmitter], SSAValue]
"""Function that computes an op on vectors in place of its operands."""

SUBSTITUTES = Table[type[Operation], Substitute]("vector forms")
"""Vector forms by scalar op. Elements are never of type `index`, and floats are f32 or f64."""

vector_form = SUBSTITUTES.rule
"""Register a function that computes an op on vectors."""


def can_widen(op: Operation) -> bool:
    """Return whether an op computes numbers from numbers without effects, so that lanes can compute it separately."""
    if op.regions or op.successors:
        return False
    return is_pure(op) and all(_is_number(type(value.type)) for value in (*op.operands, *op.results))


@cache
def _is_number(kind: type[Attribute]) -> bool:
    return issubclass(kind, AnyFloat | IntegerType | IndexType)


def on_vectors(op: Operation, operands: Sequence[Lanes], out: LaneEmitter) -> list[Lanes]:
    """Return the results of an op in all lanes: on vectors, or lane by lane if it has no vector form."""
    if Dialect.split_name(op.name)[0] in _WITH_VECTORS and (new := _with_vectors(op, out)) is not None:
        new.operands = [*map(out.as_vector, operands)]
        return [Lanes(result, None) for result in out.add(new).results]
    substitute = SUBSTITUTES.find(op)
    kinds = [*op.operand_types, *op.result_types]
    if substitute is not None and all(_is_machine_number(kind) for kind in kinds):
        return [Lanes(substitute(op, [*map(out.as_vector, operands)], out), None)]
    return out.by_lanes(op, operands)


def _with_vectors(op: Operation, out: LaneEmitter) -> Operation | None:
    """Return the op on vectors, whose operands are to be filled in, if xDSL accepts it."""
    new = type(op).create(
        operands=Block(arg_types=map(out.vector_of, op.operand_types)).args,
        result_types=[out.vector_of(t) for t in op.result_types],
        properties=op.properties,
        attributes=op.attributes,
    )
    try:
        new.verify()
    except VerifyException:
        return None
    return new


def _is_machine_number(kind: Attribute) -> bool:
    return kind != IndexType() and (kind in (f32, f64) or not isinstance(kind, AnyFloat))


_CASTS: dict[type[Operation], Callable[[SSAValue, Attribute], Operation]] = {
    arith.ExtSIOp: llvm.SExtOp,
    arith.ExtUIOp: llvm.ZExtOp,
    arith.FPToSIOp: FPToSIOp,
    arith.FPToUIOp: FPToUIOp,
    arith.SIToFPOp: llvm.SIToFPOp,
    arith.TruncIOp: llvm.TruncOp,
    arith.UIToFPOp: UIToFPOp,
}


@SUBSTITUTES.rule(*_CASTS)
def _cast(op: Operation, values: Sequence[SSAValue], out: LaneEmitter) -> SSAValue:
    return out.add(_CASTS[type(op)](values[0], out.vector_of(op.results[0].type))).results[0]


@SUBSTITUTES.rule(arith.CmpiOp)
def _compare_integers(op: arith.CmpiOp, values: Sequence[SSAValue], out: LaneEmitter) -> SSAValue:
    lhs, rhs = values
    # Both dialects use the same numbers for predicates.
    return out.add(llvm.ICmpOp(lhs, rhs, IntegerAttr(op.predicate.value.data, i64))).res


@SUBSTITUTES.rule(Dot2Op, Dot2iOp, Dot4Op)
def _dot(op: Dot2Op | Dot2iOp | Dot4Op, values: Sequence[SSAValue], out: LaneEmitter) -> SSAValue:
    lhs, rhs = values
    return out.add(type(op)(lhs, rhs)).result


@SUBSTITUTES.rule(TableLookUpOp)
def _look_up(op: TableLookUpOp, values: Sequence[SSAValue], out: LaneEmitter) -> SSAValue:
    return out.add(TableLookUpOp(values[0], op.table)).result


@SUBSTITUTES.rule(arith.SelectOp)
def _select(op: arith.SelectOp, values: Sequence[SSAValue], out: LaneEmitter) -> SSAValue:
    return select(out, *values)


def select(out: LaneEmitter, mask: SSAValue, value: SSAValue, other: SSAValue) -> SSAValue:
    """Return the elements of one vector in the lanes that the mask enables, else the elements of the other."""
    kind = value.type
    if isa(kind, VectorType) and isinstance(kind.element_type, BFloat16Type):
        # At the level of LLVM these are integers, which a call of an intrinsic has to have from the beginning.
        bits = VectorType(IntegerType(16), kind.shape, kind.scalable_dims)
        value, other = (out.add(arith.BitcastOp(x, bits)).result for x in (value, other))
    length = out.number(out.length, i32)
    name = mangled("llvm.vp.select", value.type)
    chosen = out.add(call_intrinsic(name, [mask, value, other, length], [value.type])).results[0]
    return chosen if value.type == kind else out.add(arith.BitcastOp(chosen, kind)).result


_BELOW, _ABOVE, _NAN = 0x1C, 0x380, 0x3
"""Classes of floats for `llvm.is.fpclass`: less than 0, greater than 0, NaN."""

_RELATIONS = {"eq": "=", "ge": ">=", "gt": ">", "le": "<=", "lt": "<", "ne": "<>"}
_OTHER_RELATIONS = {"false": "", "ord": "<=>", "true": "<=>?", "uno": "?"}


def _relations(predicate: str) -> str:
    """The relations of two floats for which a predicate holds: less (<), equal, greater (>) or unordered (?)."""
    if predicate in _OTHER_RELATIONS:
        return _OTHER_RELATIONS[predicate]
    return _RELATIONS[predicate[1:]] + ("?" if predicate.startswith("u") else "")


@SUBSTITUTES.rule(arith.CmpfOp)
def _compare_floats(op: arith.CmpfOp, values: Sequence[SSAValue], out: LaneEmitter) -> SSAValue:
    """Compare by the sign of the difference, which is 0 only for equal numbers, since nothing is flushed to 0. LLVM
    folds it to one comparison."""
    lhs, rhs = values
    relations = _relations(arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data])
    holds = "=" not in relations
    if not holds:
        relations = "".join(other for other in "<>?" if other not in relations)
    result = out.number(0, out.vector_of(i1))
    if classes := (_BELOW if "<" in relations else 0) | (_ABOVE if ">" in relations else 0):
        result = _is_of_class(out.add(arith.SubfOp(lhs, rhs)).result, classes, out)
    if "?" in relations:
        for value in values:
            result = out.add(arith.OrIOp(result, _is_of_class(value, _NAN, out))).result
    return result if holds else out.negated(result)


def _is_of_class(value: SSAValue, classes: int, out: LaneEmitter) -> SSAValue:
    assert isa(value.type, VectorType)
    name = mangled("llvm.is.fpclass", value.type)
    return out.add(call_intrinsic(name, [value, out.number(classes, i32)], [out.vector_of(i1)])).results[0]
