"""Views of buffers, control flow and functions: relex's conversions compute what MLIR's do, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from native import agree, call, compile_core, needs_mlir, samples

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


def test_scopes_give_their_stack_back():
    out = np.zeros(1000, np.int64)
    call(compile_core(SCOPES), "f", 1000, out)
    assert out.tolist() == list(range(1000))
