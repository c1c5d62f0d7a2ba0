"""Schedules from Python, and schedules of functions whose sizes are known at run time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from programs import Array
from schedules import check, normal_numbers, program
from xdsl.dialects.builtin import FlatSymbolRefAttrConstr
from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition, prop_def

from relex.dialects import make_context, parse_module, verify_module
from relex.dialects.errors import CompileError, RelexError, ShapeError, UnknownNameError
from relex.dialects.schedule import PrimitiveOp
from relex.dialects.tir import PrimFuncOp
from relex.passes import ApplySchedulePass
from relex.passes.analysis.loop_tree import find_loop
from relex.passes.schedule import Block, Loop, Schedule, primitive
from relex.reference import interpret
from relex.runtime import build

TWO = """
tir.prim_func @f(%X: memref<4xf32>) outs(%Y: memref<4xf32>) {
  tir.for %i in (4) {
    tir.block @Y (%vi: spatial<4> = %i) {
      %x = memref.load %X[%vi] : memref<4xf32>
      memref.store %x, %Y[%vi] : memref<4xf32>
    }
  }
}
tir.prim_func @g(%X: memref<4xf32>) outs(%Y: memref<4xf32>, %Z: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i in (4) {
    tir.block @Y (%vi: spatial<4> = %i) {
      %x = memref.load %X[%vi] : memref<4xf32>
      memref.store %x, %Y[%vi] : memref<4xf32>
    }
  }
  tir.block @Z () {
    memref.store %zero, %Z[] : memref<f32>
  }
}
"""


def test_blocks_and_loops_by_name() -> None:
    schedule = Schedule(parse_module(TWO))
    assert schedule.get_block("Z") == Block("g", "Z")
    assert schedule.get_loops(schedule.get_block("Z")) == []
    assert schedule.get_loops(schedule.get_block("Y", "g")) == [Loop("g", "i")]
    with pytest.raises(UnknownNameError, match="expected one function with a block 'Y', found f, g"):
        schedule.get_block("Y")
    with pytest.raises(UnknownNameError, match="expected one function with a block 'X', found none"):
        schedule.get_block("X")
    with pytest.raises(UnknownNameError, match="expected a loop function, found no 'h'"):
        schedule.get_block("Y", "h")
    with pytest.raises(CompileError, match="expected a block @Z, found @Y"):
        schedule.get_block("Z", "f")


def test_the_module_stays_as_it_was() -> None:
    module = parse_module(TWO)
    before = str(module)
    schedule = Schedule(module)
    outer, _ = schedule.split(Loop("g", "i"), [None, 2])
    schedule.unroll(outer)
    assert str(module) == before
    assert "unrolled" in str(schedule.module)


def test_a_refused_step_changes_nothing() -> None:
    schedule = Schedule(parse_module(TWO))
    before = str(schedule.module)
    place = r"<string>:12:3: error: 'tir.for' op expected iterations of @i that do not depend on each other"
    with pytest.raises(CompileError, match=place):
        schedule.parallel(Loop("g", "i"))
    assert str(schedule.module) == before
    assert not list(schedule.trace().ops)


WRONG_STEPS: dict[str, Callable[[Schedule, Loop], object]] = {
    "expected factors of 1 or more, found 0": lambda schedule, i: schedule.split(i, [None, 0]),
    "expected at most one factor that is left open, found 2": lambda schedule, i: schedule.split(i, [None, None]),
    "expected a multiple of 1 or more, found 0": lambda schedule, i: schedule.pad(i, 0),
    "expected a multiple of 1 or more, found -1": lambda schedule, i: schedule.partition([i], -1),
    "expected an index of 0 or more, found -1": lambda schedule, i: schedule.cache_read(Block("g", "Y"), -1),
    "expected loops that differ": lambda schedule, i: schedule.reorder(i, i),
    "expected blocks and loops of one function, found none": lambda schedule, i: schedule.fuse(),
    "expected blocks and loops of one function, found f, g": lambda schedule, i: schedule.partition(
        [i, Loop("f", "i")], 3
    ),
}


@pytest.mark.parametrize("reason", WRONG_STEPS)
def test_a_wrong_step(reason: str) -> None:
    schedule = Schedule(parse_module(TWO))
    before = str(schedule.module)
    with pytest.raises(RelexError, match=reason):
        WRONG_STEPS[reason](schedule, Loop("g", "i"))
    assert str(schedule.module) == before
    assert not list(schedule.trace().ops)


def test_a_variable_that_a_shared_loop_drives_stays_bound_to_it() -> None:
    schedule = Schedule(program("linear"))
    dense, bias = schedule.get_block("Y"), schedule.get_block("Z")
    row, _ = schedule.get_loops(bias)
    schedule.compute_at(dense, row)
    schedule.compact_buffer(dense, 0)
    _, column, _ = schedule.get_loops(dense)
    schedule.reverse_compute_at(bias, column)
    assert schedule.get_loops(bias) == [row, column]
    check(schedule, "linear")


def test_what_is_moved_computes_only_what_is_read() -> None:
    """The copy has 10 rows, of which 8 are read, two in each iteration of the outer loop."""
    schedule = Schedule(
        parse_module("""
        tir.prim_func @f(%X: memref<10xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
          %T = tir.alloc_buffer : memref<10xf32>
          tir.for %i @i in (10) {
            tir.block @T (%vi: spatial<10> = %i) {
              %x = memref.load %X[%vi] : memref<10xf32>
              memref.store %x, %T[%vi] : memref<10xf32>
            }
          }
          tir.for %o @o, %j @j in (4, 2) {
            %c2 = arith.constant 2 : index
            %row = arith.muli %o, %c2 : index
            %at = arith.addi %row, %j : index
            tir.block @Y (%vi: spatial<8> = %at) {
              %t = memref.load %T[%vi] : memref<10xf32>
              memref.store %t, %Y[%vi] : memref<8xf32>
            }
          }
        }""")
    )
    copy = schedule.get_block("T")
    schedule.compute_at(copy, schedule.get_loops(schedule.get_block("Y"))[0])
    schedule.compact_buffer(copy, 0)
    text = str(schedule.module)
    assert "tir.alloc_buffer : memref<2xf32>" in text
    x = np.arange(10, dtype=np.float32)
    assert np.array_equal(interpret(schedule.module)["f"](x), x[:8])


@irdl_op_definition
class RenameOp(PrimitiveOp):
    """Gives a loop another label."""

    name = "mine.rename"
    loop = prop_def(FlatSymbolRefAttrConstr)
    label = prop_def(FlatSymbolRefAttrConstr)
    assembly_format = "$loop `to` $label attr-dict"


@primitive(RenameOp)
def rename(op: RenameOp, func: PrimFuncOp) -> None:
    find_loop(func, op.loop.root_reference.data).label = op.label.root_reference


def test_a_primitive_from_outside_in_a_text() -> None:
    context = make_context()
    context.register_dialect("mine", lambda: Dialect("mine", [RenameOp]))
    steps = "mine.rename @i to @row\nschedule.unroll @row"
    module = parse_module(f"{TWO}\nschedule.sequence for @g {{\n{steps}\n}}", context=context)
    ApplySchedulePass().apply(context, module)
    assert "tir.for unrolled %i @row in (4)" in str(module)


DYNAMIC = """
tir.prim_func private @f(%X: memref<?x5xf32>) outs(%Y: memref<?x5xf32>) attributes {tir.noalias} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %X, %c0 : memref<?x5xf32>
  %S = tir.alloc_buffer sizes(%n) : memref<?xf32>
  tir.for %i @i, %k @k in (%n, 5) {
    tir.block @S (%vi: spatial<%n> = %i, %vk: reduce<5> = %k) {
      tir.init {
        memref.store %zero, %S[%vi] : memref<?xf32>
      }
      %s = memref.load %S[%vi] : memref<?xf32>
      %x = memref.load %X[%vi, %vk] : memref<?x5xf32>
      %t = arith.addf %s, %x : f32
      memref.store %t, %S[%vi] : memref<?xf32>
    }
  }
  %E = tir.alloc_buffer sizes(%n) : memref<?x5xf32>
  tir.for %i @i1, %j @j1 in (%n, 5) {
    tir.block @E (%vi: spatial<%n> = %i, %vj: spatial<5> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<?x5xf32>
      %s = memref.load %S[%vi] : memref<?xf32>
      %e = arith.subf %x, %s : f32
      memref.store %e, %E[%vi, %vj] : memref<?x5xf32>
    }
  }
  tir.for %i @i2, %j @j2 in (%n, 5) {
    tir.block @Y (%vi: spatial<%n> = %i, %vj: spatial<5> = %j) {
      %e = memref.load %E[%vi, %vj] : memref<?x5xf32>
      %y = arith.maximumf %e, %zero : f32
      memref.store %y, %Y[%vi, %vj] : memref<?x5xf32>
    }
  }
}
"""

SCHEDULES = {
    "split": "schedule.split @i by [?, 4]\nschedule.split @i1 by [?, 2, 2]\nschedule.pad @i2 to 8",
    "split_inside": "schedule.split @i by [2, ?]\nschedule.split @i1 by [2, ?, 3]\nschedule.split @i2 by [4, ?]\n"
                    "schedule.fuse [@i2_0, @i2_1]",
    "fuse": "schedule.fuse [@i1, @j1]\nschedule.split @i1_j1_fused by [?, 8]\nschedule.vectorize @i1_j1_fused_1",
    "fuse_outside": "schedule.reorder [@j2, @i2]\nschedule.fuse [@j2, @i2] into [@all]",
    "tile": "schedule.split @i by [?, 4]\nschedule.reorder [@i_0, @k, @i_1]\nschedule.reverse_compute_at @E at @i_0\n"
            "schedule.reverse_compute_at @Y at @i_0\nschedule.compact_buffer @E write 0\nschedule.parallel @i_0\n"
            "schedule.decompose_reduction @S at @k",
    "at": "schedule.split @i2 by [?, 4]\nschedule.compute_at @E at @i2_0\nschedule.compute_at @S at @i2_0\n"
          "schedule.compact_buffer @S write 0\nschedule.compact_buffer @E write 0",
    "inline": "schedule.compute_inline @E\nschedule.reverse_compute_at @Y at @i\nschedule.compact_buffer @S write 0",
    "reverse_inline": "schedule.reverse_compute_inline @Y\nschedule.split @i1 by [?, 8]",
    "copies": "schedule.cache_write @Y write 0 into [@copy]\nschedule.cache_read @E read 0\n"
                      "schedule.split @i2 by [?, 3]",
}  # fmt: skip


def test_partition_copies_what_is_inside_of_blocks() -> None:
    module = parse_module("""
    tir.prim_func @f(%X: memref<7x2xf32>) outs(%Y: memref<7x2xf32>) attributes {tir.noalias} {
      tir.for %i @i in (7) {
        tir.block @outer (%vi: spatial<7> = %i) {
          tir.for %j @j in (2) {
            %x = memref.load %X[%vi, %j] : memref<7x2xf32>
            memref.store %x, %Y[%vi, %j] : memref<7x2xf32>
            tir.block @inner (%vj: spatial<2> = %j) {
            }
          }
        }
      }
    }
    schedule.sequence for @f {
      schedule.partition [@i] by 4 into [@outer_rest, @i_rest]
    }
    """)
    text = str(ApplySchedulePass()(module))
    verify_module(parse_module(text))
    x = np.arange(14, dtype=np.float32).reshape(7, 2)
    np.testing.assert_array_equal(interpret(text, checked=True)["f"](x), x)


CALLER = """
tir.prim_func @main(%X: memref<{n}x5xf32>) outs(%Y: memref<{n}x5xf32>) attributes {{tir.noalias}} {{
  %x = "memref.cast"(%X) : (memref<{n}x5xf32>) -> memref<?x5xf32>
  %y = "memref.cast"(%Y) : (memref<{n}x5xf32>) -> memref<?x5xf32>
  tir.call @f(%x, %y) : memref<?x5xf32>, memref<?x5xf32>
}}
"""


def run_dynamic(function: object, x: Array) -> Array:
    """What @f computes of rows whose number only its caller knows."""
    return interpret(f"{function!s}\n{CALLER.format(n=len(x))}", checked=True)["main"](x)


@pytest.mark.parametrize("name", SCHEDULES)
def test_sizes_known_at_run_time(name: str) -> None:
    module = parse_module(DYNAMIC)
    scheduled = ApplySchedulePass()(parse_module(f"{DYNAMIC}\nschedule.sequence for @f {{\n{SCHEDULES[name]}\n}}"))
    verify_module(scheduled)
    assert str(parse_module(str(scheduled))) == str(scheduled)
    (before,), (after,) = module.ops, scheduled.ops
    for n in (0, 1, 3, 8, 17):
        x = normal_numbers(np.random.default_rng(n), (n, 5))
        expected, found = run_dynamic(before, x), run_dynamic(after, x)
        np.testing.assert_array_equal(found.view(np.int32), expected.view(np.int32))


ADDITION = """
tir.prim_func {visibility} @add(%X: memref<?xf32> {{relex.dims = ["n"]}}, %Z: memref<?xf32>)
    outs(%Y: memref<?xf32> {{relex.dims = ["n"]}}) attributes {{tir.noalias}} {{
  %c0 = arith.constant 0 : index
  %n = memref.dim %X, %c0 : memref<?xf32>
  tir.for %i @i in (%n) {{
    tir.block @Y (%vi: spatial<%n> = %i) {{
      %x = memref.load %X[%vi] : memref<?xf32>
      %z = memref.load %Z[%vi] : memref<?xf32>
      %y = arith.addf %x, %z : f32
      memref.store %y, %Y[%vi] : memref<?xf32>
    }}
  }}
}}
"""
CALL = """
func.func @main(%x: tensor<?xf32>, %z: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %y = relex.call_tir @add(%x, %z) sizes(%n) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}
"""


@pytest.mark.parametrize("by", ["text", "python"])
@pytest.mark.parametrize("name", ["add", "main"])
def test_sizes_are_checked_as_before(by: str, name: str) -> None:
    """After a split, accesses stand under a condition, from which no requirement follows."""
    text = ADDITION.format(visibility="") if name == "add" else ADDITION.format(visibility="private") + CALL
    if by == "text":
        module = ApplySchedulePass()(parse_module(text + "schedule.sequence for @add { schedule.split @i by [?, 4] }"))
    else:
        schedule = Schedule(parse_module(text))
        schedule.split(Loop("add", "i"), [None, 4])
        module = schedule.module
    function = build(module)[name]
    np.testing.assert_array_equal(function(np.ones(5, np.float32), np.ones(7, np.float32)), [2] * 5)
    with pytest.raises(ShapeError, match=r"expected .* <= .*, found .* = 5"):
        function(np.ones(5, np.float32), np.ones(3, np.float32))
