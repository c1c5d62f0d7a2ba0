"""`tensorize`: nests of loops that instructions for tiles compute, and those that they cannot."""

from __future__ import annotations

import numpy as np
import pytest

from relex.dialects import parse_module
from relex.dialects.errors import CompileError
from relex.dialects.tir import MultiplyTilesOp, ZeroTileOp
from relex.lowering import ConvertTirToScfPass
from relex.passes import ApplySchedulePass
from relex.passes.analysis.tile_nests import tensorized
from relex.passes.schedule import Loop, Schedule
from relex.reference import interpret

RNG = np.random.default_rng(0)


WORDS = "memref<80x80xi32>"


def product(
    rows: int,
    columns: int,
    words: int,
    *,
    left: str = "%vi, %vk",
    right: str = "%vk, %vj",
    body: str = "arith.addi %y, %p",
    init: str = "",
) -> str:
    """A product of words, which is added to other words, in loops over words, rows and columns."""
    return f"""
        tir.prim_func @main(%X: {WORDS}, %W: {WORDS}, %B: {WORDS}) outs(%Y: {WORDS}) attributes {{tir.noalias}} {{
          tir.for %a @a, %b @b in (80, 80) {{
            tir.block @B (%va: spatial<80> = %a, %vb: spatial<80> = %b) {{
              %old = memref.load %B[%va, %vb] : {WORDS}
              memref.store %old, %Y[%va, %vb] : {WORDS}
            }}
          }}
          %zero = arith.constant 0 : i32
          tir.for %t @t, %k @k, %i @i, %j @j in (2, {words}, {rows}, {columns}) {{
            %c = arith.constant {words} : index
            %first = arith.muli %t, %c : index
            %at = arith.addi %first, %k : index
            tir.block @Y (%vi: spatial<{rows}> = %i, %vj: spatial<{columns}> = %j, %vk: reduce<{2 * words}> = %at) {{
              {init}
              %two = arith.constant 2 : index
              %twice = arith.muli %vi, %two : index
              %window = arith.addi %vi, %vk : index
              %none = arith.constant 0 : index
              %y = memref.load %Y[%vi, %vj] : {WORDS}
              %x = memref.load %X[{left}] : {WORDS}
              %w = memref.load %W[{right}] : {WORDS}
              %p = tir.dot4 %x, %w : i32
              %s = {body} : i32
              memref.store %s, %Y[%vi, %vj] : {WORDS}
            }}
          }}
        }}"""


def tensorize(text: str, loop: str = "t", by: str = "tdpbusd") -> Schedule:
    schedule = Schedule(parse_module(text))
    schedule.tensorize(Loop("main", loop), by)
    return schedule


@pytest.mark.parametrize("left", ["%vi, %vk", "%twice, %vk", "%none, %window"])
@pytest.mark.parametrize("sizes", [(32, 32, 16), (1, 1, 1), (17, 31, 5), (16, 9, 16), (30, 16, 15)], ids=str)
def test_same_sums(sizes: tuple[int, int, int], left: str):
    text = product(*sizes, left=left)
    lowered = ConvertTirToScfPass()(tensorize(text).module)
    assert sum(isinstance(op, MultiplyTilesOp) for op in lowered.walk()) == -(-sizes[0] // 16) * -(-sizes[1] // 16)
    x, w, y = (RNG.integers(-(2**31), 2**31 - 1, (80, 80), np.int32) for _ in range(3))
    expected, found = interpret(parse_module(text))["main"](x, w, y), np.zeros_like(y)
    interpret(lowered)["main"](x, w, y, found)
    np.testing.assert_array_equal(found, expected)
    assert (found != y).any()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (product(33, 16, 16), "expected @i to have 1 to 32 iterations"),
        (product(16, 33, 16), "expected @j to have 1 to 32 iterations"),
        (product(16, 16, 17), "expected @k to have 1 to 16 iterations"),
        (product(16, 16, 16, left="%vk, %vi"), "expected words of %X side by side along @k"),
        (product(16, 16, 16, left="%vi, %vi"), "expected @i to index %X in one dimension"),
        (product(16, 16, 16, left="%vj, %vk"), "expected @j not to index %X"),
        (product(16, 16, 16, right="%vj, %vk"), "expected words of %W side by side along @j"),
        (product(16, 16, 16, right="%vk, %vi"), "expected @i not to index %W"),
        (product(16, 16, 16, right="%vk, %twice"), "expected @i not to index %W"),
        (product(16, 16, 16, body="arith.addi %x, %p"), "expected @Y to read the element that it adds to"),
        (product(16, 16, 16, body="arith.addi %p, %p"), "expected one 'tir.dot4' of two words in the sum"),
        (product(16, 16, 16, body="arith.muli %y, %p"), "expected @Y to add to one element"),
        (product(16, 16, 16, body="arith.addi %y, %x"), "expected one 'tir.dot4' of two words in the sum"),
        (product(16, 16, 16).replace("load %X[", "load %Y["), "expected %Y not to share memory with the sums in %Y"),
        (product(16, 16, 16).replace("attributes {tir.noalias}", ""), "expected %X not to share memory with the sums"),
    ],
)
def test_refused(text: str, message: str):
    with pytest.raises(CompileError, match=message):
        tensorize(text)


@pytest.mark.parametrize(("rows", "height"), [(2, 14), (1, 16), (2, 16)])
def test_groups_of_rows(rows: int, height: int):
    """Rows of two rows of an image, whose words are a distance apart."""
    text = f"""
        tir.prim_func @main(%X: memref<4x40x20xi32>, %W: memref<20x32xi32>) outs(%Y: memref<{rows}x{height}x32xi32>)
            attributes {{tir.noalias}} {{
          %zero = arith.constant 0 : i32
          tir.for %k @k, %g @g, %i @i, %j @j in (10, {rows}, {height}, 32) {{
            tir.block @Y (%vg: spatial<{rows}> = %g, %vi: spatial<{height}> = %i, %vj: spatial<32> = %j,
                          %vk: reduce<10> = %k) {{
              tir.init {{ memref.store %zero, %Y[%vg, %vi, %vj] : memref<{rows}x{height}x32xi32> }}
              %two = arith.constant 2 : index
              %twice = arith.muli %vi, %two : index
              %y = memref.load %Y[%vg, %vi, %vj] : memref<{rows}x{height}x32xi32>
              %x = memref.load %X[%vg, %twice, %vk] : memref<4x40x20xi32>
              %w = memref.load %W[%vk, %vj] : memref<20x32xi32>
              %p = tir.dot4 %x, %w : i32
              %s = arith.addi %y, %p : i32
              memref.store %s, %Y[%vg, %vi, %vj] : memref<{rows}x{height}x32xi32>
            }}
          }}
        }}"""
    # The loop of the terms is around one of words.
    schedule = Schedule(parse_module(text))
    schedule.split(Loop("main", "k"), [2, 5])
    schedule.tensorize(Loop("main", "k_0"), "tdpbusd")
    lowered = ConvertTirToScfPass()(schedule.module)
    assert sum(isinstance(op, MultiplyTilesOp) for op in lowered.walk()) == 2 * rows
    x, w = (RNG.integers(-(2**31), 2**31 - 1, shape, np.int32) for shape in ((4, 40, 20), (20, 32)))
    found = np.zeros((rows, height, 32), np.int32)
    interpret(lowered)["main"](x, w, found)
    np.testing.assert_array_equal(found, interpret(parse_module(text))["main"](x, w))


def test_other_instructions():
    text = product(16, 16, 16)
    with pytest.raises(CompileError, match=r"expected one of tdpbssd, tdpbsud, .* found 'tdp'"):
        tensorize(text, by="tdp")
    with pytest.raises(CompileError, match="expected one 'op that loops have' of two words in the sum, for tdpbssd"):
        tensorize(text, by="tdpbssd")
    with pytest.raises(CompileError, match="expected loops over words, rows and columns from @i on"):
        tensorize(text, "i")


def test_a_loop_around_nothing():
    text = product(16, 16, 16).replace("%zero =", "tir.for %n @n in (4) { %one = arith.constant 1 : i32 }\n%zero =")
    with pytest.raises(CompileError, match="expected @n to be around one block without a condition"):
        tensorize(text, "n")


INIT = f"tir.init {{ memref.store %zero, %Y[%vi, %vj] : {WORDS} }}"


def test_sums_begin_with_zeros():
    text = product(20, 16, 16, init=INIT)
    lowered = ConvertTirToScfPass()(tensorize(text).module)
    assert sum(isinstance(op, ZeroTileOp) for op in lowered.walk()) == 2
    x, w, y = (RNG.integers(-(2**31), 2**31 - 1, (80, 80), np.int32) for _ in range(3))
    expected, found = interpret(parse_module(text))["main"](x, w, y), np.zeros_like(y)
    interpret(lowered)["main"](x, w, y, found)
    np.testing.assert_array_equal(found, expected)
    assert (found[:20, :16] != y[:20, :16]).any()


@pytest.mark.parametrize(
    ("text", "loop", "message"),
    [
        (product(16, 16, 16, init=INIT), "k", "expected all terms of @Y in loops from @k on"),
        (product(16, 16, 16, init=INIT).replace("constant 0 : i32", "constant 1 : i32"), "t", "of @Y to store zeros"),
        (product(16, 16, 16, init=INIT.replace("%vi, %vj", "%vj, %vi")), "t", "to store the element that @Y adds to"),
    ],
    ids=["terms", "value", "place"],
)
def test_other_inits(text: str, loop: str, message: str):
    with pytest.raises(CompileError, match=message):
        tensorize(text, loop)


def test_loops_that_changed_stay_loops():
    """What a later step makes of the nest is computed as it is."""
    schedule = tensorize(product(16, 16, 16))
    schedule.split(Loop("main", "j"), [2, 8])
    schedule.reorder(Loop("main", "j_1"), Loop("main", "i"))
    (loop,) = (op for op in schedule.module.walk() if "relex.tensorized" in op.attributes)
    assert tensorized(loop) is None  # pyright: ignore[reportArgumentType]
    assert not any(isinstance(op, MultiplyTilesOp) for op in ConvertTirToScfPass()(schedule.module).walk())


def test_as_text():
    module = parse_module(
        product(16, 16, 16) + 'schedule.sequence for @main {\n  schedule.tensorize @t by "tdpbusd"\n}'
    )
    assert 'relex.tensorized = "tdpbusd"' in str(ApplySchedulePass()(module))
