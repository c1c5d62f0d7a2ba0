"""Calls of LLVM intrinsics.

`llvm.call_intrinsic` can call every intrinsic, whether or not the dialect has an op for it. The name includes the type:
`llvm.sqrt.f32`, `llvm.smax.v4i32`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from xdsl.dialects import llvm
from xdsl.dialects.builtin import VectorType
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from relex.dialects.fast_math import fast_math_flags
from relex.dialects.upstream.hints import isa
from relex.lowering.conversion import Conversion
from relex.lowering.llvm.quick_ops import intrinsic
from relex.lowering.te.scalars import build_constant


def mangled(name: str, kind: Attribute) -> str:
    """Return the name of an overloaded intrinsic for a type: `llvm.fma` and `vector<4xf32>` give `llvm.fma.v4f32`."""
    if isa(kind, VectorType):
        return f"{name}.v{kind.get_shape()[0]}{kind.element_type}"
    return f"{name}.{kind}"


def call_intrinsic(
    name: str,
    arguments: Sequence[SSAValue],
    results: Sequence[Attribute],
    flags: llvm.FastMathAttr | None = None,
) -> llvm.CallIntrinsicOp:
    """Build a call of the intrinsic with the full name `name`."""
    call = intrinsic(name, arguments, results)
    if flags is not None:
        call.fastmathFlags = flags
    return call


def llvm_flags(op: Operation) -> llvm.FastMathAttr:
    """The fast-math flags of an `arith` or `math` op, as the LLVM dialect writes them."""
    return _flags(fast_math_flags(op))


@cache
def _flags(flags: frozenset[FastMathFlag]) -> llvm.FastMathAttr:
    return llvm.FastMathAttr(flags)


def add_intrinsic(
    conversion: Conversion, name: str, arguments: Sequence[SSAValue], flags: llvm.FastMathAttr | None = None
) -> SSAValue:
    """Add a call of the overloaded intrinsic `name`, and return its result, of the type of the first argument."""
    kind = arguments[0].type
    return conversion.add(call_intrinsic(mangled(name, kind), arguments, [kind], flags)).results[0]


def float_constant(conversion: Conversion, value: float, kind: Attribute) -> SSAValue:
    """Return a constant of a float type, or a splat of a vector type, for the op that is being converted."""
    attr = build_constant(value, kind).value
    return conversion.once_in_block((value, kind), lambda: conversion.add(llvm.ConstantOp(attr, kind)).result)
