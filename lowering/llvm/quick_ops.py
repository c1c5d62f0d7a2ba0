"""Frequent ops of the LLVM dialect, in a tenth of the time that their constructors take: these examine each operand,
and make the same properties again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, i1, i64
from xdsl.ir import Attribute, Block, SSAValue

from relex.lowering.llvm.types import PTR

Properties = Mapping[str, Attribute]


def element_pointer(pointer: SSAValue, index: SSAValue | int, element: Attribute) -> llvm.GEPOp:
    """Return the address of an element, counted from a pointer to the first one."""
    if isinstance(index, int):
        return llvm.GEPOp.create(operands=(pointer,), result_types=(PTR,), properties=_place(index, element))
    return llvm.GEPOp.create(operands=(pointer, index), result_types=(PTR,), properties=_place(None, element))


@lru_cache(maxsize=2**12)
def _place(index: int | None, element: Attribute) -> Properties:
    pointer, value = Block(arg_types=(PTR, i64)).args
    return llvm.GEPOp.from_mixed_indices(pointer, [value if index is None else index], element).properties


def load(pointer: SSAValue, kind: Attribute) -> llvm.LoadOp:
    """Load a value."""
    return llvm.LoadOp.create(operands=(pointer,), result_types=(kind,), properties=_LOADED)


def store(value: SSAValue, pointer: SSAValue) -> llvm.StoreOp:
    """Store a value."""
    return llvm.StoreOp.create(operands=(value, pointer), properties=_STORED)


_ADDRESS = Block(arg_types=(PTR,)).args[0]
_LOADED, _STORED = llvm.LoadOp(_ADDRESS, i64).properties, llvm.StoreOp(_ADDRESS, _ADDRESS).properties

Arithmetic = llvm.AddOp | llvm.AndOp | llvm.MulOp | llvm.SDivOp | llvm.SubOp


def arithmetic(kind: type[Arithmetic], lhs: SSAValue, rhs: SSAValue, overflow: IntegerAttr | None = None) -> Arithmetic:
    """Compute something from two integers. `overflow` are flags of a sum, a product or a difference."""
    properties = _plain(kind) if overflow is None else {"overflowFlags": overflow}
    return kind.create(operands=(lhs, rhs), result_types=(lhs.type,), properties=properties)


@cache
def _plain(kind: type[Arithmetic]) -> Properties:
    (value,) = Block(arg_types=(i64,)).args
    return kind(value, value).properties


def compare(lhs: SSAValue, rhs: SSAValue, predicate: IntegerAttr) -> llvm.ICmpOp:
    """Compare two integers."""
    return llvm.ICmpOp.create(operands=(lhs, rhs), result_types=(i1,), properties={"predicate": predicate})


def branch_if(
    condition: SSAValue,
    then: Block,
    then_arguments: Sequence[SSAValue],
    otherwise: Block,
    other_arguments: Sequence[SSAValue],
) -> llvm.CondBrOp:
    """Branch to one block, or else to another one."""
    segments = _branch_segments(len(then_arguments), len(other_arguments))
    operands = (condition, *then_arguments, *other_arguments)
    return llvm.CondBrOp.create(operands=operands, successors=(then, otherwise), properties=segments)


@cache
def _branch_segments(then: int, otherwise: int) -> Properties:
    block = Block(arg_types=(i1,))
    (value,) = block.args
    return llvm.CondBrOp(value, block, [value] * then, block, [value] * otherwise).properties


def intrinsic(name: str, arguments: Sequence[SSAValue], results: Sequence[Attribute]) -> llvm.CallIntrinsicOp:
    """Call the intrinsic with the full name `name`."""
    properties = _intrinsic(name, len(arguments))
    return llvm.CallIntrinsicOp.create(operands=arguments, result_types=results, properties=properties)


@cache
def _intrinsic(name: str, arguments: int) -> Properties:
    return llvm.CallIntrinsicOp(name, [_ADDRESS] * arguments, ()).properties
