"""Helper functions that converted programs call, written in the LLVM dialect.

They replace what would be a loop in the middle of a block. A module gets its own copy of those that it needs; LLVM may
inline them like functions of the program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Attribute, SSAValue

from relex.dialects.parser import parse_module
from relex.lowering.conversion import Conversion
from relex.lowering.llvm.c_interface import call, declaration
from relex.lowering.llvm.intrinsics import mangled
from relex.lowering.llvm.types import vector_alignment

_POWER_LOOP = """
^head(%b: TYPE, %e: i64, %result: TYPE):
  %more = llvm.icmp "ne" %e, %zero : i64
  llvm.cond_br %more, ^body, ^end
^body:
  %bit = llvm.and %e, %one : i64
  %is_set = llvm.icmp "ne" %bit, %zero : i64
  %product = llvm.MULTIPLY %result, %b : TYPE
  %next = llvm.select %is_set, %product, %result : i1, TYPE
  %square = llvm.MULTIPLY %b, %b : TYPE
  %rest = llvm.lshr %e, %one : i64
  llvm.br ^head(%square, %rest, %next : TYPE, i64, TYPE)
"""
"""Repeated squaring: the blocks that leave `base ** exponent` in `%result` for `^end`."""

INTEGER_POWER = f"""
llvm.func internal @relex.ipowi(%base: i64, %exponent: i64) -> i64 {{
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %minus_one = llvm.mlir.constant(-1 : i64) : i64
  %is_negative = llvm.icmp "slt" %exponent, %zero : i64
  llvm.cond_br %is_negative, ^inverse, ^head(%base, %exponent, %one : i64, i64, i64)
^inverse:
  // The power of 1 is 1, a power of -1 is 1 or -1; all others are between 0 and 1.
  %odd_part = llvm.and %exponent, %one : i64
  %is_even = llvm.icmp "eq" %odd_part, %zero : i64
  %is_one = llvm.icmp "eq" %base, %one : i64
  %is_minus_one = llvm.icmp "eq" %base, %minus_one : i64
  %sign = llvm.select %is_even, %one, %minus_one : i1, i64
  %of_minus_one = llvm.select %is_minus_one, %sign, %zero : i1, i64
  %inverse = llvm.select %is_one, %one, %of_minus_one : i1, i64
  llvm.return %inverse : i64
{_POWER_LOOP.replace("TYPE", "i64").replace("MULTIPLY", "mul")}
^end:
  llvm.return %result : i64
}}
"""
"""An integer to the power of an integer. Narrower types are extended, and the result is truncated."""

_FLOAT_POWER = f"""
llvm.func internal @relex.fpowi.TYPE(%base: TYPE, %exponent: i64) -> TYPE {{
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %unit = llvm.mlir.constant(1.0 : TYPE) : TYPE
  %is_negative = llvm.icmp "slt" %exponent, %zero : i64
  %negated = llvm.sub %zero, %exponent : i64
  %magnitude = llvm.select %is_negative, %negated, %exponent : i1, i64
  llvm.br ^head(%base, %magnitude, %unit : TYPE, i64, TYPE)
{_POWER_LOOP.replace("MULTIPLY", "fmul")}
^end:
  %inverse = llvm.fdiv %unit, %result : TYPE
  %power = llvm.select %is_negative, %inverse, %result : i1, TYPE
  llvm.return %power : TYPE
}}
"""


def float_power(kind: Attribute) -> str:
    """Return the text of a function for floats of type `kind` to the power of an integer."""
    return _FLOAT_POWER.replace("TYPE", str(kind))


COPY_LOOP = """
^headDIM(%iDIM: i64):
  %moreDIM = llvm.icmp "slt" %iDIM, %sizeDIM : i64
  llvm.cond_br %moreDIM, ^bodyDIM, ^OUT
^bodyDIM:
  %from_stepDIM = llvm.mul %iDIM, %from_strideDIM : i64
  %fromNEXT = llvm.getelementptr %fromDIM[%from_stepDIM] : (!llvm.ptr, i64) -> !llvm.ptr, TYPE
  %to_stepDIM = llvm.mul %iDIM, %to_strideDIM : i64
  %toNEXT = llvm.getelementptr %toDIM[%to_stepDIM] : (!llvm.ptr, i64) -> !llvm.ptr, TYPE
  INSIDE
^nextDIM:
  %jDIM = llvm.add %iDIM, %one : i64
  llvm.br ^headDIM(%jDIM : i64)
"""

COPY_ELEMENT = """
  %element = llvm.load %fromRANKALIGNMENT : !llvm.ptr -> TYPE
  llvm.store %element, %toRANKALIGNMENT : TYPE, !llvm.ptr
  llvm.br ^nextLAST
"""


def strided_copy(rank: int, kind: Attribute) -> str:
    """Return the text of a function that copies the elements, of type `kind`, of a buffer of `rank` dimensions, one by
    one.

    Its arguments are the two pointers to the first elements, all sizes, all strides of the source, all of the
    destination.
    """
    alignment = vector_alignment(kind)
    place = f" {{alignment = {alignment}}}" if alignment is not None else ""
    copy_element = COPY_ELEMENT.replace("RANK", str(rank)).replace("LAST", str(rank - 1)).replace("ALIGNMENT", place)
    loops = ""
    for dim in range(rank):
        inside = f"llvm.br ^head{dim + 1}(%zero : i64)" if dim + 1 < rank else copy_element.strip()
        loop = COPY_LOOP.replace("INSIDE", inside).replace("OUT", f"next{dim - 1}" if dim else "end")
        loops += loop.replace("DIM", str(dim)).replace("NEXT", str(dim + 1))
    numbers = [f"%{name}{dim}: i64" for name in ("size", "from_stride", "to_stride") for dim in range(rank)]
    return f"""
llvm.func internal @{mangled(f"relex.copy.{rank}", kind)}(%from0: !llvm.ptr, %to0: !llvm.ptr, {", ".join(numbers)}) {{
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^head0(%zero : i64)
{loops}
^end:
  llvm.return
}}
""".replace("TYPE", str(kind))


def call_helper(conversion: Conversion, text: str, arguments: Iterable[SSAValue], result: Attribute) -> llvm.CallOp:
    """Add a call of the function that `text` defines, and ensure that the module has it."""
    name = re.search(r"@([\w.]+)", text)
    assert name is not None
    # After the program, so that its values keep their names in print.
    conversion.declare(name[1], lambda: _parse(text), at_end=True)
    return conversion.add(call(SymbolRefAttr(name[1]), arguments, result))


def call_library(
    conversion: Conversion,
    name: str,
    arguments: Sequence[SSAValue],
    result: Attribute | None = None,
    declare: Callable[[str, Sequence[Attribute], Attribute], llvm.FuncOp] = declaration,
) -> llvm.CallOp:
    """Add a call of a function that is defined elsewhere, and ensure that the module declares it."""
    output = result or llvm.LLVMVoidType()
    conversion.declare(name, lambda: declare(name, [value.type for value in arguments], output))
    return conversion.add(call(SymbolRefAttr(name), arguments, output))


def _parse(text: str) -> llvm.FuncOp:
    function = parse_module(text).body.block.first_op
    assert isinstance(function, llvm.FuncOp)
    function.detach()
    return function
