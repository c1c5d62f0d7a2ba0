"""Rules for elementwise ops, which are the same on scalars and vectors.

An op that is one op of the LLVM dialect, or one intrinsic, is an entry of a table: see `add_counterparts`. Other ops
are functions on scalars: see `scalar_rule`. On vectors these are computed lane by lane: the functions of the C library
have no vector form, and the casts and comparisons of integers in xDSL's `llvm` dialect are for scalars only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerAttr, IntegerType, MemRefType, VectorType, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation

from relex.dialects.errors import fail
from relex.dialects.upstream.hints import isa
from relex.dialects.upstream.llvm import ExtractElementOp
from relex.lowering.conversion import Conversion, ConversionTable
from relex.lowering.llvm.intrinsics import add_intrinsic, llvm_flags
from relex.lowering.llvm.types import constant, convert_type, known_integer, require_native_floats

Counterparts = Mapping[type[Operation], type[IRDLOperation] | str]
"""Ops of the LLVM dialect, or overloaded intrinsics, by the op that they compute."""

ScalarRule = Callable[[Any, Conversion, Sequence[SSAValue]], Sequence[SSAValue]]
"""Emits an op on scalars in place of its operands, and returns the results."""


def add_counterparts(table: ConversionTable, counterparts: Counterparts) -> None:
    """Add a rule for each op that becomes one other op with the same operands. Fast-math and overflow flags are kept.

    ```mlir
    %0 = arith.addf %a, %b fastmath<nnan> : f32
    %1 = arith.maximumf %a, %b : vector<4xf32>
    // {arith.AddfOp: llvm.FAddOp, arith.MaximumfOp: "llvm.maximum"}
    %0 = llvm.fadd %a, %b {fastmathFlags = #llvm.fastmath<nnan>} : f32
    %1 = llvm.call_intrinsic "llvm.maximum.v4f32"(%a, %b) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
    ```
    """

    def convert_to_counterpart(op: Operation, conversion: Conversion) -> None:
        old, counterpart = op.operands[0].type, counterparts[type(op)]
        if isinstance(old, MemRefType):
            fail(op, f"expected numbers or vectors, found {old}")
        if not isinstance(op, arith.BitcastOp):
            require_native_floats(op, conversion)
        kind = convert_type(op, op.results[0].type)
        operands = conversion.values(op.operands)
        if type(old) is IndexType and _is_first_operand(op, operands):
            conversion.replace(operands[0])
            return
        if isinstance(counterpart, str):
            conversion.replace(add_intrinsic(conversion, counterpart, operands, llvm_flags(op)))
            return
        defined = counterpart.get_irdl_definition().properties
        flags = {name: flags_of(op) for name, flags_of in _FLAGS.items() if name in defined}
        new = counterpart.create(operands=operands, result_types=[kind], properties=flags)
        conversion.replace(conversion.add(new).results[0])

    table.rule(*counterparts)(convert_to_counterpart)


def _is_first_operand(op: Operation, operands: Sequence[SSAValue]) -> bool:
    """Return whether the second operand, a neutral element, leaves the first one as it is."""
    if not isinstance(op, arith.SignlessIntegerBinaryOperation):
        return False
    number = known_integer(operands[1])
    return number is not None and op.is_right_unit(IntegerAttr.from_index_int_value(number))


def _overflow_flags(op: Operation) -> Attribute:
    """The overflow flags of an `arith` op, as the LLVM dialect stores them."""
    flags = op.properties["overflowFlags"]
    assert isinstance(flags, arith.IntegerOverflowAttr)
    return _overflow_bits(flags.data)


@cache
def _overflow_bits(flags: frozenset[arith.IntegerOverflowFlag]) -> IntegerAttr[IntegerType]:
    return IntegerAttr(llvm.OverflowAttr([llvm.OverflowFlag(flag.value) for flag in flags]).to_int(), i32)


_FLAGS: dict[str, Callable[[Operation], Attribute]] = {"fastmathFlags": llvm_flags, "overflowFlags": _overflow_flags}
"""Properties of ops of the LLVM dialect, and how to read them from an op of `arith` or `math`."""


def scalar_rule(table: ConversionTable, *ops: type[Operation]) -> Callable[[ScalarRule], ScalarRule]:
    """Return a decorator that registers a function on scalars for ops on scalars or vectors.

    ```mlir
    %0 = math.erf %a : vector<2xf32>
    // by a function that emits `llvm.call @erff`
    %1 = llvm.extractelement %a[%c0 : i64] : vector<2xf32>
    %2 = llvm.call @erff(%1) : (f32) -> f32
    %3 = llvm.insertelement %2, %undef[%c0 : i64] : vector<2xf32>
    // and so on
    ```
    """

    def register(compute: ScalarRule) -> ScalarRule:
        def convert_by_lanes(op: Operation, conversion: Conversion) -> None:
            require_native_floats(op, conversion)
            results = [convert_type(op, result.type) for result in op.results]
            operands = conversion.values(op.operands)
            if not isa(results[0], VectorType):
                conversion.replace(*compute(op, conversion, operands))
                return
            vectors: list[SSAValue] = [conversion.add(llvm.UndefOp(kind)).res for kind in results]
            for lane in range(results[0].get_shape()[0]):
                index = constant(conversion, lane)
                scalars = [conversion.add(ExtractElementOp(operand, index)).res for operand in operands]
                for i, value in enumerate(compute(op, conversion, scalars)):
                    vectors[i] = conversion.add(llvm.InsertElementOp(vectors[i], value, index)).res
            conversion.replace(*vectors)

        table.add(convert_by_lanes, *ops)
        return compute

    return register


def resize_integer(conversion: Conversion, value: SSAValue, kind: Attribute, *, signed: bool) -> SSAValue:
    """Truncate or extend an integer to the integer type `kind`."""
    assert isa(value.type, IntegerType)
    assert isa(kind, IntegerType)
    if value.type.bitwidth == kind.bitwidth:
        return value
    if value.type.bitwidth > kind.bitwidth:
        return conversion.add(llvm.TruncOp(value, kind)).res
    return conversion.add(llvm.SExtOp(value, kind) if signed else llvm.ZExtOp(value, kind)).res


def resize_float(conversion: Conversion, value: SSAValue, kind: Attribute) -> SSAValue:
    """Round or extend a float to the float type `kind`."""
    assert isinstance(value.type, AnyFloat)
    assert isinstance(kind, AnyFloat)
    if value.type == kind:
        return value
    cast = llvm.FPTruncOp if value.type.bitwidth > kind.bitwidth else llvm.FPExtOp
    return conversion.add(cast(value, kind)).result
