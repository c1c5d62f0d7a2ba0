"""Views of buffers, control flow and functions: relex's conversions compute what MLIR's do, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from native import Array, agree, call, compile_core, needs_mlir, samples

# Views of buffers

VIEWS = {
    "subview": """
  %v = memref.subview %x[%i, 1][%n, 3][2, 2] : memref<6x8xf32> to memref<?x3xf32, strided<[16, 2], offset: ?>>
  %w = "memref.cast"(%v) : (memref<?x3xf32, strided<[16, 2], offset: ?>>) -> memref<?x?xf32, strided<[?, ?], offset: ?>>
""",
    "subview of subview": """
  %u = memref.subview %x[1, %i][4, 5][1, 1] : memref<6x8xf32> to memref<4x5xf32, strided<[8, 1], offset: ?>>
  %v = memref.subview %u[%n, 0][2, 2][1, %n] : memref<4x5xf32, strided<[8, 1], offset: ?>>
    to memref<2x2xf32, strided<[8, ?], offset: ?>>
  %w = "memref.cast"(%v) : (memref<2x2xf32, strided<[8, ?], offset: ?>>) -> memref<?x?xf32, strided<[?, ?], offset: ?>>
""",
    "static subview": """
  %v = memref.subview %x[2, 1][3, 4][1, 2] : memref<6x8xf32> to memref<3x4xf32, strided<[8, 2], offset: 17>>
  %w = "memref.cast"(%v) : (memref<3x4xf32, strided<[8, 2], offset: 17>>) -> memref<?x?xf32, strided<[?, ?], offset: ?>>
""",
    "fewer dimensions": """
  %e = memref.expand_shape %x [[0, 1], [2]] output_shape [2, 3, 8] : memref<6x8xf32> into memref<2x3x8xf32>
  %v = memref.subview %e[%i, 0, 2][1, 3, 4][1, 1, 1] : memref<2x3x8xf32> to memref<3x4xf32, strided<[8, 1], offset: ?>>
  %w = "memref.cast"(%v) : (memref<3x4xf32, strided<[8, 1], offset: ?>>) -> memref<?x?xf32, strided<[?, ?], offset: ?>>
""",
    "collapse": """
  %c = memref.collapse_shape %x [[0, 1]] : memref<6x8xf32> into memref<48xf32>
  %e = memref.expand_shape %c [[0, 1]] output_shape [12, 4] : memref<48xf32> into memref<12x4xf32>
  %w = "memref.cast"(%e) : (memref<12x4xf32>) -> memref<?x?xf32, strided<[?, ?], offset: ?>>
""",
    "reinterpret": """
  %w = memref.reinterpret_cast %x to offset: [%i], sizes: [%n, 4], strides: [%n, 3]
    : memref<6x8xf32> to memref<?x4xf32, strided<[?, 3], offset: ?>>
""",
    "metadata": """
  %s = memref.subview %x[%i, 1][%n, 3][2, 2] : memref<6x8xf32> to memref<?x3xf32, strided<[16, 2], offset: ?>>
  %base, %o, %s0, %s1, %t0, %t1 = memref.extract_strided_metadata %s : memref<?x3xf32, strided<[16, 2], offset: ?>>
    -> memref<f32>, index, index, index, index, index
  %w = memref.reinterpret_cast %base to offset: [%o], sizes: [%s0, %s1], strides: [%t0, %t1]
    : memref<f32> to memref<?x?xf32, strided<[?, ?], offset: ?>>
""",
    "alignment": """
  %k = memref.assume_alignment %x, 4 : memref<6x8xf32>
  %w = "memref.cast"(%k) : (memref<6x8xf32>) -> memref<?x?xf32, strided<[?, ?], offset: ?>>
""",
}


@needs_mlir
@pytest.mark.parametrize("name", VIEWS)
def test_views(name: str):
    kind = "memref<?x4xf32, strided<[?, 3], offset: ?>>" if name == "reinterpret" else (
        "memref<?x?xf32, strided<[?, ?], offset: ?>>"
    )  # fmt: skip
    text = f"""
func.func @f(%x: memref<6x8xf32>, %i: index, %n: index, %out: memref<?x?xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
{VIEWS[name]}
  %rows = memref.dim %w, %c0 : {kind}
  %columns = memref.dim %w, %c1 : {kind}
  scf.for %a = %c0 to %rows step %c1 {{
    scf.for %b = %c0 to %columns step %c1 {{
      %v0 = memref.load %w[%a, %b] : {kind}
      memref.store %v0, %out[%a, %b] : memref<?x?xf32>
      memref.store %v0, %w[%a, %b] : {kind}
    }}
  }}
  func.return
}}"""
    x = np.arange(48, dtype=np.float32).reshape(6, 8)
    agree(text, [[x, i, n, np.zeros((12, 8), np.float32)] for i, n in [(0, 1), (1, 2), (0, 2)]])


@pytest.mark.parametrize("kind", ["f32", "i8", "index", "i1"])
def test_copies_with_gaps(kind: str):
    code = compile_core(
        """
func.func @f(%x: memref<?x?xKIND, strided<[?, ?], offset: ?>>, %y: memref<?x?xKIND, strided<[?, ?], offset: ?>>) {
  "memref.copy"(%x, %y) : (memref<?x?xKIND, strided<[?, ?], offset: ?>>,
    memref<?x?xKIND, strided<[?, ?], offset: ?>>) -> ()
  func.return
}
func.func @again(%x: memref<?xKIND, strided<[?]>>, %y: memref<?xKIND>) {
  "memref.copy"(%x, %y) : (memref<?xKIND, strided<[?]>>, memref<?xKIND>) -> ()
  func.return
}""".replace("KIND", kind)
    )
    whole = samples(kind, 0)[:60].reshape(6, 10)
    for view in (whole[1::2, ::3], whole[::-1, ::-1], whole.T, whole[:0], whole[:, :0]):
        out = np.zeros((2 * view.shape[0], 3 * view.shape[1]), view.dtype)
        call(code, "f", view, out[::2, ::3])
        assert np.array_equal(out[::2, ::3], view)
        assert not out[1::2].any()
    column = np.zeros(6, whole.dtype)
    call(code, "again", whole[:, 4], column)
    assert np.array_equal(column, whole[:, 4])


# Control flow and functions

COLLATZ = """
func.func @f(%n: index, %out: memref<?xindex>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %three = arith.constant 3 : index
  scf.for %start = %one to %n step %one {
    %end, %steps = scf.while (%i = %start, %s = %zero) : (index, index) -> (index, index) {
      %more = arith.cmpi ne, %i, %one : index
      scf.condition(%more) %i, %s : index, index
    } do {
    ^bb0(%j: index, %t: index):
      %rest = arith.remui %j, %two : index
      %odd = arith.cmpi ne, %rest, %zero : index
      %next = scf.if %odd -> (index) {
        %x = arith.muli %j, %three : index
        %y = arith.addi %x, %one : index
        scf.yield %y : index
      } else {
        %z = arith.divui %j, %two : index
        scf.yield %z : index
      }
      %u = arith.addi %t, %one : index
      scf.yield %next, %u : index, index
    }
    memref.store %steps, %out[%start] : memref<?xindex>
  }
  func.return
}"""

PARALLEL = """
func.func @f(%x: memref<?x?xf32>, %m: index, %n: index, %step: index, %out: memref<?xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %start = arith.constant 0.5 : f32
  %sum, %top = "scf.parallel"(%zero, %one, %m, %n, %step, %one, %start, %start)
      <{operandSegmentSizes = array<i32: 2, 2, 2, 2>}> ({
  ^bb0(%i: index, %j: index):
    %v = memref.load %x[%i, %j] : memref<?x?xf32>
    memref.store %start, %x[%i, %j] : memref<?x?xf32>
    "scf.reduce"(%v, %v) ({
    ^bb0(%lhs: f32, %rhs: f32):
      %s = arith.subf %rhs, %lhs : f32
      scf.reduce.return %s : f32
    }, {
    ^bb0(%lhs: f32, %rhs: f32):
      %s = arith.maximumf %lhs, %rhs : f32
      scf.reduce.return %s : f32
    }) : (f32, f32) -> ()
  }) : (index, index, index, index, index, index, f32, f32) -> (f32, f32)
  memref.store %sum, %out[%zero] : memref<?xf32>
  memref.store %top, %out[%one] : memref<?xf32>
  func.return
}"""

SWITCH = """
func.func @f(%i: index, %x: memref<?xf32>, %out: memref<?xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %flag = arith.index_cast %i : index to i32
  %a = memref.load %x[%zero] : memref<?xf32>
  %b = memref.load %x[%one] : memref<?xf32>
  cf.switch %flag : i32, [
    default: ^end(%a : f32),
    5: ^end(%b : f32),
    -7: ^twice(%a : f32),
    9: ^twice(%b : f32),
    11: ^end(%a : f32)
  ]
^twice(%v: f32):
  %w = arith.addf %v, %v : f32
  cf.br ^end(%w : f32)
^end(%r: f32):
  memref.store %r, %out[%zero] : memref<?xf32>
  func.return
}"""

INDEX_SWITCH = """
func.func @f(%i: index, %x: memref<?xi64>, %out: memref<?xi64>) {
  %zero = arith.constant 0 : index
  %v = memref.load %x[%zero] : memref<?xi64>
  %r = scf.index_switch %i -> i64
  case 2 {
    %a = arith.addi %v, %v : i64
    scf.yield %a : i64
  }
  case 5 {
    scf.yield %v : i64
  }
  default {
    %b = arith.muli %v, %v : i64
    scf.yield %b : i64
  }
  memref.store %r, %out[%zero] : memref<?xi64>
  func.return
}"""

RECURSION = """
func.func private @split(%n: i64, %x: f64) -> (i64, f64, vector<2xf64>) {
  %one = arith.constant 1 : i64
  %m = arith.subi %n, %one : i64
  %y = arith.addf %x, %x : f64
  %v = vector.broadcast %y : f64 to vector<2xf64>
  func.return %m, %y, %v : i64, f64, vector<2xf64>
}
func.func private @rise(%n: i64, %x: f64) -> f64 {
  %zero = arith.constant 0 : i64
  %done = arith.cmpi sle, %n, %zero : i64
  cf.cond_br %done, ^end(%x : f64), ^more
^more:
  %m, %y, %v = func.call @split(%n, %x) : (i64, f64) -> (i64, f64, vector<2xf64>)
  %w = vector.extract %v[1] : f64 from vector<2xf64>
  %z = func.call @rise(%m, %w) : (i64, f64) -> f64
  cf.br ^end(%z : f64)
^end(%r: f64):
  func.return %r : f64
}
func.func @f(%n: i64, %out: memref<?xf64>) {
  %zero = arith.constant 0 : index
  %x = memref.load %out[%zero] : memref<?xf64>
  %y = func.call @rise(%n, %x) : (i64, f64) -> f64
  memref.store %y, %out[%zero] : memref<?xf64>
  func.return
}"""

SCOPES = """
func.func @f(%n: index, %out: memref<?xindex>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %size = arith.constant 100000 : index
  scf.for %i = %zero to %n step %one {
    %r = "memref.alloca_scope"() ({
      %a = memref.alloca(%size) : memref<?xindex>
      scf.for %j = %zero to %size step %one {
        memref.store %j, %a[%j] : memref<?xindex>
      }
      %x = memref.load %a[%i] : memref<?xindex>
      "memref.alloca_scope.return"(%x) : (index) -> ()
    }) : () -> index
    memref.store %r, %out[%i] : memref<?xindex>
  }
  func.return
}"""


@needs_mlir
def test_loops_and_branches():
    agree(COLLATZ, [[30, np.zeros(30, np.int64)], [0, np.zeros(1, np.int64)]])
    grid = samples("f32", 4)[:35].reshape(5, 7)
    calls: list[list[Array | int]] = [
        [grid, m, n, step, np.zeros(2, np.float32)] for m, n, step in [(5, 7, 1), (4, 3, 2), (0, 7, 1), (5, 1, 1)]
    ]
    agree(PARALLEL.replace("%x: memref<?x?xf32>", "%x: memref<?x?xf32>"), calls)
    floats, out = np.array([1.5, -2.25], np.float32), np.zeros(1, np.float32)
    agree(SWITCH, [[i, floats, out] for i in (5, -7, 9, 11, 0, 2**32 + 5)])
    agree(INDEX_SWITCH, [[i, np.array([7], np.int64), np.zeros(1, np.int64)] for i in (2, 5, 0, -1)])
    agree(RECURSION, [[n, np.array([0.75])] for n in (0, 1, 20)])


def test_scopes_give_their_stack_back():
    out = np.zeros(1000, np.int64)
    call(compile_core(SCOPES), "f", 1000, out)
    assert out.tolist() == list(range(1000))
