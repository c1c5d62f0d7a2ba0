"""Rows of a batch that stand for all: which functions have them, and that the others are not affected."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
import pytest
from programs import Array
from wrong_edits import EDITS
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import parse_module, verify_module
from relex.dialects.errors import CompileError
from relex.passes import ApplySchedulePass, RelexPass
from relex.reference import check_equivalent, check_pass, interpret
from relex.reference.equivalence.differences import NotEquivalentError
from relex.reference.equivalence.execution import Runner
from relex.reference.equivalence.interface import find_function, interface_of
from relex.reference.proof import proof
from relex.reference.proof.rows import Batch, Groups

TILED = """
tir.prim_func @main(%x: memref<12x5xf32>, %w: memref<12x5xf32>) outs(%y: memref<12x12xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %true = arith.constant true
  %c3 = arith.constant 3 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tir.for %j, %t in (12, 4) {
    %sum = tir.alloc_buffer : memref<3xf32>
    tir.for %k, %r in (5, 3) {
      tir.block @sum (%vt: spatial<4> = %t, %vr: spatial<3> = %r, %vj: spatial<12> = %j, %vk: reduce<5> = %k) {
        tir.init {
          memref.store %zero, %sum[%vr] : memref<3xf32>
        }
        %m = arith.muli %vt, %c3 : index
        %vi = arith.addi %m, %vr : index
        %s = memref.load %sum[%vr] : memref<3xf32>
        %u = memref.load %x[%vi, %vk] : memref<12x5xf32>
        %v = memref.load %w[%vj, %vk] : memref<12x5xf32>
        %p = arith.mulf %u, %v fastmath<contract> : f32
        %n = arith.addf %s, %p fastmath<reassoc,contract> : f32
        memref.store %n, %sum[%vr] : memref<3xf32>
      }
    }
    tir.for %r in (3) {
      tir.block @y (%vt: spatial<4> = %t, %vr: spatial<3> = %r, %vj: spatial<12> = %j) {
        %m = arith.muli %vt, %c3 : index
        %vi = arith.addi %m, %vr : index
        %s = memref.load %sum[%vr] : memref<3xf32>
        memref.store %s, %y[%vi, %vj] : memref<12x12xf32>
      }
    }
  }
}
"""
"""Products of matrices whose sizes are equal where it matters: rows of the result are computed from rows of `%x`."""


def with_rest(text: str) -> str:
    """Return a function that computes the last three rows by separate loops."""
    start, end = text.index("  tir.for %j, %t"), text.rindex("}")
    tiles = text[start:end].replace("(12, 4)", "(12, 3)").replace("<4> = %t", "<3> = %t")
    rest = tiles.replace("(12, 3)", "(12, 1)").replace("<3> = %t", "<1> = %t").replace("@", "@rest_")
    rest = rest.replace("%m = arith.muli %vt, %c3", "%q = arith.addi %vt, %c3 : index\n%m = arith.muli %q, %c3")
    return text[:start] + tiles + rest + text[end:]


LARGER = {"(12, 4)": "(12, 2)", "<4> = %t": "<2> = %t", "(5, 3)": "(5, 6)", "(3) {": "(6) {",
          "spatial<3>": "spatial<6>", "constant 3": "constant 6", "3xf32": "6xf32"}  # fmt: skip
RIGHT = {
    "tiles": (TILED, 3, 12),
    "rows first": (TILED.replace("%j, %t in (12, 4)", "%t, %j in (4, 12)"), 3, 12),
    "larger tiles": (reduce(lambda text, part: text.replace(*part), LARGER.items(), TILED), 6, 12),
    "other columns": (TILED.replace("%x[%vi, %vk]", "%x[%vi, %c0]"), 3, 12),
    "rest": (with_rest(TILED), 3, 9),
}
LOOPS = "  tir.for %j, %t"
WRONG = {
    "a sum over all tiles": ("    %sum = tir.alloc_buffer : memref<3xf32>\n", "",
                             LOOPS, "  %sum = tir.alloc_buffer : memref<3xf32>\n" + LOOPS),
    "rows of columns": ("%w[%vj, %vk]", "%w[%vr, %vk]", "%x[%vi, %vk]", "%w[%vi, %vk]"),
    "one row for all": ("%x[%vi, %vk] : memref<12x5xf32>", "%y[%c0, %vk] : memref<12x12xf32>"),
    "rows as columns": ("%w[%vj, %vk] : memref<12x5xf32>", "%y[%vj, %vi] : memref<12x12xf32>"),
    "overlapping tiles": ("(5, 3)", "(5, 4)", "(3) {", "(4) {", "spatial<3>", "spatial<4>", "3xf32", "4xf32"),
    "the next row": ("%u = memref.load %x[%vi, %vk]", "%o = arith.addi %vi, %c1 : index\n%u = memref.load %x[%o, %vk]"),
    "other tiles": ("constant 3", "constant 2"),
    "a remainder": ("memref.store %s, %y", "%c = arith.cmpi slt, %vi, %c3 : index\nscf.if %c {\nmemref.store %s, %y",
                    "memref<12x12xf32>\n      }", "memref<12x12xf32>\n      }\n}"),
    "the number of a row": ("%p = arith.mulf %u, %v", "%z = arith.index_cast %vi : index to i32\n"
                            "%f = arith.sitofp %z : i32 to f32\n%p = arith.mulf %u, %f"),
    "a sum over rows": ("%vk: reduce<5> = %k)", "%vk: reduce<5> = %k, %vl: reduce<4> = %t)"),
    "a block without its row": ("y (%vt: spatial<4> = %t, ", "y (", "%m = arith.muli %vt", "%m = arith.muli %t"),
    "tiles of two sizes": ("%u = memref.load %x[%vi, %vk]",
                           "%o = arith.addi %vt, %vt : index\n%u = memref.load %x[%o, %vk]"),
    "a choice of columns": ("%v = memref.load %w[%vj, %vk]", "%o = scf.if %true -> (index) {\nscf.yield %vi : index\n"
                            "} else {\nscf.yield %c0 : index\n}\n%v = memref.load %w[%o, %vk]"),
    "a choice of rows": ("%u = memref.load %x[%vi, %vk]", "%o = arith.select %true, %vt, %c0 : index\n"
                         "%b = arith.maxsi %o, %c0 : index\n%e = arith.minsi %b, %c1 : index\n"
                         "%q = arith.addi %m, %e : index\n%u = memref.load %x[%q, %vk]"),
    "a call": (LOOPS, "  tir.call @other(%x, %y) : memref<12x5xf32>, memref<12x12xf32>\n" + LOOPS),
}  # fmt: skip
OTHER = "tir.prim_func private @other(%x: memref<12x5xf32>) outs(%y: memref<12x12xf32>) {\n}\n"


def replaced(*parts: str) -> str:
    text = TILED
    for old, new in zip(parts[::2], parts[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    return text + OTHER


def last_rows(batch: Batch, *arguments: Array) -> Array:
    """Return what the function computes that leaves all groups of rows but the last."""
    runner = Runner(batch.limited(batch.groups.start))
    function = find_function(runner.module, "main")
    assert function is not None
    outcome = runner.run("main", interface_of(function), arguments, None)
    assert outcome.error is None
    return outcome.results[0]


@pytest.mark.parametrize("name", RIGHT)
def test_last_group_stands_for_all(name: str):
    """The last group of rows is computed as any other."""
    text, size, end = RIGHT[name]
    module = parse_module(text)
    batch = Batch.of(module, "main", 12)
    assert batch is not None
    assert batch.groups == Groups(size, end)
    start = batch.groups.start
    assert start > 0
    x, w = np.random.default_rng(0).standard_normal((2, 12, 5)).astype(np.float32)
    whole = interpret(module)["main"](x, w)
    for first in range(0, start, size):
        moved = x.copy()
        moved[start : start + size] = x[first : first + size]
        found = last_rows(batch, moved, w)
        np.testing.assert_array_equal(found[start : start + size], whole[first : first + size])
        np.testing.assert_array_equal(found[start + size :], whole[start + size :])
        assert np.isnan(found[:start]).all()


@pytest.mark.parametrize("name", WRONG)
def test_rows_that_may_differ(name: str):
    batch = Batch.of(parse_module(replaced(*WRONG[name]), verify=False), "main", 12)  # Some are refused.
    assert batch is None or batch.groups.start == 0


INIT = """
tir.prim_func @main(%x: memref<12x5xf32>) outs(%y: memref<12xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %k, %i in (5, 12) {
    tir.block @y (BLOCK%vk: reduce<5> = %k) {
      tir.init {
        memref.store %zero, %y[%vi] : memref<12xf32>
      }
      %s = memref.load %y[%vi] : memref<12xf32>
      %u = memref.load %x[%vi, %vk] : memref<12x5xf32>
      %n = arith.addf %s, %u : f32
      memref.store %n, %y[%vi] : memref<12xf32>
    }
  }
}
"""


def test_init_inside_steps():
    """Where the steps of a reduction are around rows, its init runs for each row only if the block has the row."""
    assert Batch.of(parse_module(INIT.replace("BLOCK", "%vi: spatial<12> = %i, ")), "main", 12) is not None
    without = parse_module(INIT.replace("BLOCK", "").replace("%vi", "%i"), verify=False)
    assert Batch.of(without, "main", 12) is None


MOVED = """
tir.prim_func @main(%x: memref<12x5xf32>) outs(%y: memref<12xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %k, %i in (5, 12) {
    %m = arith.addi %i, %k : index
    tir.block @y (%vm: spatial<16> = %m, %vk: reduce<5> = %k) {
      tir.init {
        %q = arith.subi %vm, %vk : index
        memref.store %zero, %y[%q] : memref<12xf32>
      }
      %q = arith.subi %vm, %vk : index
      %s = memref.load %y[%q] : memref<12xf32>
      %u = memref.load %x[%q, %vk] : memref<12x5xf32>
      %n = arith.addf %s, %u : f32
      memref.store %n, %y[%q] : memref<12xf32>
    }
  }
}
"""


def test_init_of_rows_that_move():
    """Where the steps of a reduction move rows along a spatial variable, the init runs again for the last row only."""
    assert Batch.of(parse_module(MOVED, verify=False), "main", 12) is None


SINGLE = """
tir.prim_func @main(%x: memref<12xf32>) outs(%y: memref<12xf32>, %z: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (12) {
    tir.block @y (%vi: spatial<12> = %i) {
      %u = memref.load %x[%vi] : memref<12xf32>
      memref.store %u, %y[%vi] : memref<12xf32>
    }
  }
  tir.block @z () {
    memref.store %zero, %z[] : memref<f32>
  }
}
"""


def test_result_without_rows():
    assert Batch.of(parse_module(SINGLE), "main", 12) is None


GRAPH = """
func.func @main(%x: tensor<12x5xf32>, %w: tensor<12x5xf32>) -> tensor<12x12xf32> {
  %y = relex.call_tir @tiles(%x, %w) : (tensor<12x5xf32>, tensor<12x5xf32>) -> tensor<12x12xf32>
  %r = relex.dataflow -> tensor<12x12xf32> {
    %z = relex.call @group(%y, %w) : (tensor<12x12xf32>, tensor<12x5xf32>) -> tensor<12x12xf32>
    relex.output %z : tensor<12x12xf32>
  }
  func.return %r : tensor<12x12xf32>
}
func.func private @group(%y: tensor<12x12xf32>, %w: tensor<12x5xf32>) -> tensor<12x12xf32>
    attributes {relex.primitive} {
  %z = relex.call_tir @twice(%y) : (tensor<12x12xf32>) -> tensor<12x12xf32>
  func.return %z : tensor<12x12xf32>
}
tir.prim_func private @twice(%y: memref<12x12xf32>) outs(%z: memref<12x12xf32>) {
  tir.for %i, %j in (12, 12) {
    tir.block @z (%vi: spatial<12> = %i, %vj: spatial<12> = %j) {
      %a = memref.load %y[%vi, %vj] : memref<12x12xf32>
      %b = arith.addf %a, %a : f32
      memref.store %b, %z[%vi, %vj] : memref<12x12xf32>
    }
  }
}
""" + TILED.replace("@main", "private @tiles")
NOT_ALIKE = {
    "rows as weights": ("@tiles(%x, %w)", "@tiles(%x, %x)"),
    "a function of rows and of others": (
        "%y = relex.call_tir",
        "%s = relex.call_tir @twice(%w) : (tensor<12x12xf32>) -> tensor<12x12xf32>\n  %y = relex.call_tir",
        "%w: tensor<12x5xf32>",
        "%w: tensor<12x12xf32>",
        "@tiles(%x, %w) : (tensor<12x5xf32>, tensor<12x5xf32>)",
        "@tiles(%x, %x) : (tensor<12x5xf32>, tensor<12x5xf32>)",
        "@group(%y, %w) : (tensor<12x12xf32>, tensor<12x5xf32>)",
        "@group(%y, %s) : (tensor<12x12xf32>, tensor<12x12xf32>)",
    ),
    "an operator": (
        "func.return %r",
        "%t = relex.relu %r : (tensor<12x12xf32>) -> tensor<12x12xf32>\n  func.return %t",
    ),
    "a constant with rows": (
        "@group(%y, %w)",
        "@group(%c, %w)",
        "    %z = relex.call @group",
        "    %c = relex.constant dense<1.0> : tensor<12x12xf32>\n    %z = relex.call @group",
    ),
}


def test_graphs_of_rows():
    batch = Batch.of(parse_module(GRAPH), "main", 12)
    assert batch is not None
    assert batch.groups == Groups(3, 12)
    x, w = np.random.default_rng(0).standard_normal((2, 12, 5)).astype(np.float32)
    np.testing.assert_array_equal(last_rows(batch, x, w)[9:], interpret(GRAPH)["main"](x, w)[9:])


@pytest.mark.parametrize("name", NOT_ALIKE)
def test_graphs_of_rows_that_may_differ(name: str):
    text = GRAPH
    for old, new in zip(NOT_ALIKE[name][::2], NOT_ALIKE[name][1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    assert Batch.of(parse_module(text), "main", 12) is None


SCHEDULED = """
tir.prim_func @main(%x: memref<50x7xf32>, %b: memref<7xf32>) outs(%y: memref<50x7xf32>) attributes {tir.noalias} {
  tir.for %i @i, %j @j in (50, 7) {
    tir.block @y (%vi: spatial<50> = %i, %vj: spatial<7> = %j) {
      %a = memref.load %x[%vi, %vj] : memref<50x7xf32>
      %c = memref.load %b[%vj] : memref<7xf32>
      %s = arith.addf %a, %c : f32
      memref.store %s, %y[%vi, %vj] : memref<50x7xf32>
    }
  }
}
schedule.sequence for @main {
  schedule.partition [@i] by 4
  schedule.split @i by [?, 4]
  schedule.reorder [@i_0, @j, @i_1]
}
"""


def test_verdicts_name_the_rows():
    report = check_pass(ApplySchedulePass(), parse_module(SCHEDULED), proof=True)
    verdicts = [str(found.verdict) for found in report.findings]
    assert verdicts == [f"proved for {n} of 50 rows, which stand for all" for n in (3, 6, 6, 6)]


@dataclass(frozen=True)
class EditPass(RelexPass):
    """Makes one edit."""

    name = "edit"
    edit: str
    place: int

    def apply(self, ctx: Context, op: ModuleOp):
        EDITS[self.edit](list(op.walk())[self.place])


SIX = {"12": "6", "(6, 4)": "(6, 2)", "spatial<4>": "spatial<2>"}
"""Makes the matrices of `GRAPH` half as large: two groups of rows."""


@pytest.mark.parametrize("by_residues", [False, True])
@pytest.mark.parametrize("edit", ["lose-store", "other-index"])
def test_wrong_edits_are_refuted(edit: str, by_residues: bool, monkeypatch: pytest.MonkeyPatch):
    """Wrong edits of loops are refuted that are proved by rows."""
    if by_residues:
        monkeypatch.setattr(proof, "LARGE", -1)
    module, refuted = parse_module(reduce(lambda text, part: text.replace(*part), SIX.items(), GRAPH)), 0
    batch = Batch.of(module, "main", 6)
    assert batch is not None
    assert batch.groups == Groups(3, 6)
    for place, _ in enumerate(module.walk()):
        edited = module.clone()
        if not EDITS[edit](list(edited.walk())[place]):
            continue
        try:
            verify_module(edited)
        except CompileError:
            continue
        refuted += 1
        with pytest.raises(NotEquivalentError):
            check_pass(EditPass(edit, place), module, proof=True)
    assert refuted


LAST = """
tir.prim_func @main(%x: memref<12xf32>) outs(%y: memref<12xf32>) {
  tir.for %i in (12) {
    tir.block @y (%vi: spatial<12> = %i) {
      %last = arith.constant 12 : index
      %c = arith.cmpi slt, %vi, %last : index
      scf.if %c {
        %u = memref.load %x[%vi] : memref<12xf32>
        memref.store %u, %y[%vi] : memref<12xf32>
      }
    }
  }
}
"""


def test_a_last_row_that_is_lost():
    """A condition on rows: each of them is compared, so that a difference in the last one is found."""
    lost = parse_module(LAST.replace("constant 12", "constant 11"))
    with pytest.raises(NotEquivalentError, match=r"result\[11\]|y\[11\]"):
        check_equivalent(parse_module(LAST), lost, proof=True)


READS = """
tir.prim_func @main(%x: memref<12xf32>) outs(%y: memref<12xf32>) {
  %last = arith.constant 11 : index
  tir.for %i in (12) {
    tir.block @y (%vi: spatial<12> = %i) {
      %u = memref.load %x[ROW] : memref<12xf32>
      memref.store %u, %y[%vi] : memref<12xf32>
    }
  }
}
"""


def test_last_row_read_for_all():
    """One side has rows of `%x`, the other reads one element of it: they agree for the last row only."""
    own, last = (parse_module(READS.replace("ROW", row)) for row in ("%vi", "%last"))
    for before, after in ((own, last), (last, own)):
        with pytest.raises(NotEquivalentError):
            check_equivalent(before, after, proof=True)
