"""Loops, branches and memory of the core level: against Python, and where it can be compiled against native code."""

from __future__ import annotations

import numpy as np
import pytest

from relex.dialects.errors import ExecutionError
from relex.reference import interpret
from relex.runtime import build

PREFIX = """
tir.prim_func @main(%N: memref<i64>) outs(%Y: memref<i64>) {
  %n = memref.load %N[] : memref<i64>
  %y = func.call @f(%n) : (i64) -> i64
  memref.store %y, %Y[] : memref<i64>
}
"""

PROGRAMS = {
    # The number of steps of the Collatz sequence down to 1.
    "scf.while": """
    func.func private @f(%n: i64) -> i64 {
      %c0 = arith.constant 0 : i64
      %c1 = arith.constant 1 : i64
      %c2 = arith.constant 2 : i64
      %c3 = arith.constant 3 : i64
      %steps, %last = scf.while (%k = %c0, %x = %n) : (i64, i64) -> (i64, i64) {
        %more = arith.cmpi sgt, %x, %c1 : i64
        scf.condition(%more) %k, %x : i64, i64
      } do {
      ^bb0(%k: i64, %x: i64):
        %next = arith.addi %k, %c1 : i64
        %odd = arith.remsi %x, %c2 : i64
        %is_odd = arith.cmpi eq, %odd, %c1 : i64
        %y = scf.if %is_odd -> (i64) {
          %a = arith.muli %x, %c3 : i64
          %b = arith.addi %a, %c1 : i64
          scf.yield %b : i64
        } else {
          %a = arith.divsi %x, %c2 : i64
          scf.yield %a : i64
        }
        scf.yield %next, %y : i64, i64
      }
      func.return %steps : i64
    }
    """,
    # Fibonacci numbers.
    "scf.for": """
    func.func private @f(%n: i64) -> i64 {
      %c0 = arith.constant 0 : i64
      %c1 = arith.constant 1 : i64
      %a, %b = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c0, %y = %c1) -> (i64, i64) : i64 {
        %z = arith.addi %x, %y : i64
        scf.yield %y, %z : i64, i64
      }
      func.return %a : i64
    }
    """,
    # Fibonacci numbers once more, by branches.
    "cf": """
    func.func private @f(%n: i64) -> i64 {
      %c0 = arith.constant 0 : i64
      %c1 = arith.constant 1 : i64
      cf.br ^head(%c0, %c0, %c1 : i64, i64, i64)
    ^head(%i: i64, %x: i64, %y: i64):
      %more = arith.cmpi slt, %i, %n : i64
      cf.cond_br %more, ^body(%x, %y : i64, i64), ^done(%x : i64)
    ^body(%a: i64, %b: i64):
      %j = arith.addi %i, %c1 : i64
      %z = arith.addi %a, %b : i64
      cf.br ^head(%j, %b, %z : i64, i64, i64)
    ^done(%result: i64):
      func.return %result : i64
    }
    """,
    # Fibonacci numbers by calls.
    "func.call": """
    func.func private @f(%n: i64) -> i64 {
      %c1 = arith.constant 1 : i64
      %c2 = arith.constant 2 : i64
      %small = arith.cmpi sle, %n, %c1 : i64
      cf.cond_br %small, ^small, ^large
    ^small:
      func.return %n : i64
    ^large:
      %a = arith.subi %n, %c1 : i64
      %b = arith.subi %n, %c2 : i64
      %x = func.call @f(%a) : (i64) -> i64
      %y = func.call @f(%b) : (i64) -> i64
      %z = arith.addi %x, %y : i64
      func.return %z : i64
    }
    """,
    "cf.switch": """
    func.func private @f(%n: i64) -> i64 {
      %c5 = arith.constant 5 : i64
      cf.switch %n : i64, [
        default: ^other(%n : i64),
        1: ^other(%c5 : i64),
        3: ^three
      ]
    ^three:
      %a = arith.muli %n, %c5 : i64
      cf.br ^other(%a : i64)
    ^other(%x: i64):
      func.return %x : i64
    }
    """,
    "scf.index_switch": """
    func.func private @f(%n: i64) -> i64 {
      %i = arith.index_cast %n : i64 to index
      %r = scf.index_switch %i -> i64
      case 1 {
        %a = arith.constant 5 : i64
        scf.yield %a : i64
      }
      case 3 {
        %a = arith.constant 15 : i64
        scf.yield %a : i64
      }
      default {
        scf.yield %n : i64
      }
      func.return %r : i64
    }
    """,
}
FIBONACCI = [0, 1, 1, 2, 3, 5, 8, 13]
WANTED = {
    "scf.while": [0, 0, 1, 7, 2, 5, 8, 16],
    "scf.for": FIBONACCI,
    "cf": FIBONACCI,
    "func.call": FIBONACCI,
    "cf.switch": [0, 5, 2, 15, 4, 5, 6, 7],
    "scf.index_switch": [0, 5, 2, 15, 4, 5, 6, 7],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_control_flow(name: str) -> None:
    function = interpret(PREFIX + PROGRAMS[name])["main"]
    assert [int(function(np.int64(n))) for n in range(8)] == WANTED[name]


@pytest.mark.parametrize("name", PROGRAMS)
def test_control_flow_is_that_of_native_code(name: str) -> None:
    function = build(PREFIX + PROGRAMS[name])["main"]
    assert [int(function(np.int64(n))) for n in range(8)] == WANTED[name]


def test_parallel_reductions() -> None:
    text = (
        PREFIX
        + """
    func.func private @f(%n: i64) -> i64 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0 : i64
      %i = arith.index_cast %n : i64 to index
      %r = "scf.parallel"(%c0, %i, %c1, %zero) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
      ^bb0(%k: index):
        %x = arith.index_cast %k : index to i64
        scf.reduce(%x : i64) {
        ^bb0(%a: i64, %b: i64):
          %s = arith.addi %a, %b : i64
          scf.reduce.return %s : i64
        }
      }) : (index, index, index, i64) -> i64
      func.return %r : i64
    }
    """
    )
    for program in (interpret(text), interpret(text, checked=True), build(text)):
        assert [int(program["main"](np.int64(n))) for n in (0, 1, 5)] == [0, 0, 10]


MEMORY = (
    PREFIX
    + """
"memref.global"() <{sym_name = "count", sym_visibility = "private", type = memref<1xi64>,
                    initial_value = dense<7> : tensor<1xi64>}> : () -> ()
"memref.global"() <{sym_name = "table", sym_visibility = "private", type = memref<3xi64>,
                    initial_value = dense<[10, 20, 30]> : tensor<3xi64>, constant}> : () -> ()
func.func private @f(%n: i64) -> i64 {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %table = memref.get_global @table : memref<3xi64>
  %any = "memref.cast"(%table) : (memref<3xi64>) -> memref<?xi64>
  %size = memref.dim %any, %c0 : memref<?xi64>
  %m = arith.index_cast %size : index to i64
  %last = memref.load %any[%c2] : memref<?xi64>
  %count = memref.get_global @count : memref<1xi64>
  %old = memref.load %count[%c0] : memref<1xi64>
  %new = arith.addi %old, %n : i64
  memref.store %new, %count[%c0] : memref<1xi64>
  %a = arith.addi %last, %m : i64
  %b = arith.addi %a, %new : i64
  func.return %b : i64
}
"""
)


def test_globals_keep_their_content() -> None:
    function = interpret(MEMORY)["main"]
    assert [int(function(np.int64(n))) for n in (1, 1, 5)] == [33 + 8, 33 + 9, 33 + 14]
    assert interpret(MEMORY)["main"](np.int64(0)) == 40


def test_constants_are_not_written() -> None:
    text = MEMORY.replace(
        "memref.store %new, %count[%c0] : memref<1xi64>", "memref.store %new, %table[%c0] : memref<3xi64>"
    )
    with pytest.raises(ExecutionError, match="expected a buffer that may be written, found %table"):
        interpret(text)["main"](np.int64(0))


def test_casts_are_checked() -> None:
    text = MEMORY.replace(
        "-> memref<?xi64>\n", '-> memref<?xi64>\n  %four = "memref.cast"(%any) : (memref<?xi64>) -> memref<4xi64>\n'
    )
    with pytest.raises(
        ExecutionError, match=r"'memref.cast' op expected a buffer of type memref<4xi64>, found sizes \[3\]"
    ):
        interpret(text)["main"](np.int64(0))


def test_declarations_and_layouts_are_refused() -> None:
    with pytest.raises(ExecutionError, match=r"'func.func' op expected a body, found a declaration"):
        interpret(PREFIX + "func.func private @f(i64) -> i64")["main"](np.int64(0))
    text = (
        PREFIX
        + """
    func.func private @f(%n: i64) -> i64 {
      %T = memref.alloc() : memref<4xi64, strided<[2]>>
      func.return %n : i64
    }
    """
    )
    with pytest.raises(ExecutionError, match=r"'memref.alloc' op cannot be interpreted: expected a memref of identity"):
        interpret(text)["main"](np.int64(0))
