"""Values that are computed again in loop functions."""

from __future__ import annotations

from effort import count_calls
from xdsl.dialects import arith, memref

from relex.dialects import parse_module
from relex.dialects.tir import PrimFuncOp
from relex.passes.rewriting.common_subexpressions import share_equal_values


def function(depth: int) -> PrimFuncOp:
    """Loops in each other, each of which asks for the same size and computes with it."""
    size = "%n{i} = memref.dim %x, %zero : memref<?xf32>\n%m{i} = arith.addi %n{i}, %one : index\n"
    loops = "".join(f"{size.format(i=i)}tir.for %i{i} in (%m{i}) {{\n" for i in range(depth))
    text = f"""tir.prim_func @f(%x: memref<?xf32>) outs(%y: memref<?xf32>) {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      {loops}
      tir.block @b() {{
        %0 = memref.load %x[%zero] : memref<?xf32>
        %1 = memref.load %x[%zero] : memref<?xf32>
        %2 = arith.mulf %0, %1 : f32
        memref.store %2, %y[%zero] : memref<?xf32>
      }}
      {"}" * depth}
    }}"""
    (found,) = parse_module(text, verify=False).ops
    assert isinstance(found, PrimFuncOp)
    return found


def test_values_are_computed_once_in_all_loops() -> None:
    f = function(5)
    share_equal_values(f)
    kinds = [type(op) for op in f.walk()]
    assert [kinds.count(kind) for kind in (memref.DimOp, arith.AddiOp, memref.LoadOp, memref.StoreOp)] == [1, 1, 1, 1]


def test_each_loop_is_looked_through_once() -> None:
    """Each of them would be as many times as there are loops around it, to see whether one can go."""
    f, deep = function(20), function(40)
    share_equal_values(function(2))
    assert count_calls(lambda: share_equal_values(deep)) < 3 * count_calls(lambda: share_equal_values(f))


def test_sizes_that_are_stated_to_be_equal_are_one_value() -> None:
    """Tiles that one of them bounds need no guard against the other."""
    (f,) = parse_module(
        """tir.prim_func @f(%x: memref<?x4xf32> {relex.dims = ["n", ""]},
          %z: memref<?xf32> {relex.dims = ["m"]}) outs(%y: memref<4x?xf32> {relex.dims = ["", "n"]}) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %unused = memref.dim %x, %zero : memref<?x4xf32>
      tir.for %i in (2) {
        %n = memref.dim %x, %zero : memref<?x4xf32>
        %m = memref.dim %z, %zero : memref<?xf32>
        %0 = arith.constant 0.0 : f32
        memref.store %0, %y[%n, %m] : memref<4x?xf32>
      }
      %a = memref.dim %y, %one : memref<4x?xf32>
      %b = memref.dim %x, %zero : memref<?x4xf32>
      %c = memref.dim %z, %zero : memref<?xf32>
      %1 = arith.constant 0.0 : f32
      memref.store %1, %y[%a, %b] : memref<4x?xf32>
      memref.store %1, %y[%b, %c] : memref<4x?xf32>
    }""",
        verify=False,
    ).ops
    assert isinstance(f, PrimFuncOp)
    share_equal_values(f)
    *_, first, second = [op for op in f.walk() if isinstance(op, memref.StoreOp)]
    assert first.indices[0] is first.indices[1] is second.indices[0]
    assert second.indices[1] is not second.indices[0]
    assert [type(op) for op in f.walk()].count(memref.DimOp) == 4
