"""Functions that converted programs call, written out in the LLVM dialect.

They stand for what would be a loop in the middle of a block. A module gets those that it needs, once, for itself:
LLVM inlines them or not, as it does with the functions of the program.
"""

from __future__ import annotations

import re

from xdsl.dialects import llvm
from xdsl.dialects.builtin import SymbolRefAttr

from relex.dialects.context import make_context
from relex.dialects.parser import parse_module
from relex.lowering.conversion import Conversion

INTEGER_POWER = """
llvm.func internal @relex.ipowi(%base: i64, %exponent: i64) -> i64 {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %minus_one = llvm.mlir.constant(-1 : i64) : i64
  %is_negative = llvm.icmp "slt" %exponent, %zero : i64
  llvm.cond_br %is_negative, ^inverse, ^head(%base, %exponent, %one : i64, i64, i64)
^inverse:
  // The power of 1 is 1, that of -1 is 1 or -1; all others are between 0 and 1.
  %odd_part = llvm.and %exponent, %one : i64
  %is_even = llvm.icmp "eq" %odd_part, %zero : i64
  %is_one = llvm.icmp "eq" %base, %one : i64
  %is_minus_one = llvm.icmp "eq" %base, %minus_one : i64
  %sign = llvm.select %is_even, %one, %minus_one : i1, i64
  %of_minus_one = llvm.select %is_minus_one, %sign, %zero : i1, i64
  %inverse = llvm.select %is_one, %one, %of_minus_one : i1, i64
  llvm.return %inverse : i64
^head(%b: i64, %e: i64, %result: i64):
  %more = llvm.icmp "ne" %e, %zero : i64
  llvm.cond_br %more, ^body, ^end
^body:
  %bit = llvm.and %e, %one : i64
  %is_set = llvm.icmp "ne" %bit, %zero : i64
  %product = llvm.mul %result, %b : i64
  %next = llvm.select %is_set, %product, %result : i1, i64
  %square = llvm.mul %b, %b : i64
  %rest = llvm.lshr %e, %one : i64
  llvm.br ^head(%square, %rest, %next : i64, i64, i64)
^end:
  llvm.return %result : i64
}
"""
"""An integer to the power of an integer. Narrower ones are those of their extensions, cut off."""

FLOAT_POWER = """
llvm.func internal @relex.fpowi.TYPE(%base: TYPE, %exponent: i64) -> TYPE {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %unit = llvm.mlir.constant(1.0 : TYPE) : TYPE
  %is_negative = llvm.icmp "slt" %exponent, %zero : i64
  %negated = llvm.sub %zero, %exponent : i64
  %magnitude = llvm.select %is_negative, %negated, %exponent : i1, i64
  llvm.br ^head(%base, %magnitude, %unit : TYPE, i64, TYPE)
^head(%b: TYPE, %e: i64, %result: TYPE):
  %more = llvm.icmp "ne" %e, %zero : i64
  llvm.cond_br %more, ^body, ^end
^body:
  %bit = llvm.and %e, %one : i64
  %is_set = llvm.icmp "ne" %bit, %zero : i64
  %product = llvm.fmul %result, %b : TYPE
  %next = llvm.select %is_set, %product, %result : i1, TYPE
  %square = llvm.fmul %b, %b : TYPE
  %rest = llvm.lshr %e, %one : i64
  llvm.br ^head(%square, %rest, %next : TYPE, i64, TYPE)
^end:
  %inverse = llvm.fdiv %unit, %result : TYPE
  %power = llvm.select %is_negative, %inverse, %result : i1, TYPE
  llvm.return %power : TYPE
}
"""
"""A float of type `TYPE` to the power of an integer, by repeated squaring."""


def declare_helper(conversion: Conversion, text: str) -> SymbolRefAttr:
    """See to it that the module has the function that `text` defines, and return its name."""
    name = re.search(r"@([\w.]+)", text)
    assert name is not None
    conversion.declare(name[1], lambda: _parse(text))
    return SymbolRefAttr(name[1])


def _parse(text: str) -> llvm.FuncOp:
    module = parse_module(text, context=make_context())
    function = module.body.block.first_op
    assert isinstance(function, llvm.FuncOp)
    function.detach()
    return function
