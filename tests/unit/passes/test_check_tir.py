"""`check-tir` on hand-written functions, right and wrong, and on those that relex makes of its operators."""

from __future__ import annotations

from pathlib import Path

import pytest
from operator_cases import CASES
from programs import Array, MakeOperator, operator_program

from relex.dialects import CompileError, parse_module
from relex.dialects.errors import CompileWarning
from relex.lowering import LegalizeOpsPass
from relex.passes import CheckTirPass

CONSTANTS = (
    "\n".join(f"%c{n} = arith.constant {n} : index" for n in (0, 1, 2, 3, 4, 5, 7, 8, 11, 12))
    + "\n%minus = arith.constant -1 : index\n%zero = arith.constant 0.0 : f32\n"
)


def function(
    body: str,
    inputs: str = "%X: memref<8x4xf32>, %V: memref<8xf32>, %P: memref<8xi64>",
    outputs: str = "%Y: memref<8xf32>",
) -> str:
    return f"tir.prim_func @main({inputs}) outs({outputs}) {{\n{CONSTANTS}{body}\n}}"


FILL = "tir.for %f in (8) {\nmemref.store %zero, %Y[%f] : memref<8xf32>\n}\n"
"""All of %Y is written."""
INIT = """  tir.init {
    memref.store %zero, %Y[%vi] : memref<8xf32>
  }
"""
SUM = f"""
tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<4> = %k) {{
{INIT}
  %y = memref.load %Y[%vi] : memref<8xf32>
  %x = memref.load %X[%vi, %vk] : memref<8x4xf32>
  %s = arith.addf %y, %x : f32
  memref.store %s, %Y[%vi] : memref<8xf32>
}}
"""
COPY = """
tir.block @Y (%vi: spatial<8> = %i) {
  %x = memref.load %V[%vi] : memref<8xf32>
  memref.store %x, %Y[%vi] : memref<8xf32>
}
"""


def read(index: str, steps: str = "", loop: str = "%i in (8)") -> str:
    """Reads %V at an index that steps compute from the loop's variables."""
    return FILL + f"tir.for {loop} {{\n{steps}\n%x = memref.load %V[{index}] : memref<8xf32>\n}}"


def write(index: str, steps: str = "", loop: str = "%i in (8)") -> str:
    return f"tir.for {loop} {{\n{steps}\nmemref.store %zero, %Y[{index}] : memref<8xf32>\n}}"


def local(body: str) -> str:
    return FILL + "%T = tir.alloc_buffer : memref<8xf32>\n" + body


def through_scratch(step: str, last: str, loop: str = "%i in (8)") -> str:
    """%T, of which 5 elements are written, goes to %S by a step, and %S to %Y."""
    return (
        local(
            "%S = tir.alloc_buffer : memref<8xf32>\ntir.for %i in (8) {\nmemref.store %zero, %S[%i] : memref<8xf32>\n}"
        )
        + "tir.for %i in (5) {\nmemref.store %zero, %T[%i] : memref<8xf32>\n}\n"
        + f"tir.for {loop} {{\n%t = memref.load %T[%i] : memref<8xf32>\n{step}\n}}\n"
        + f"tir.for %i in ({last}) {{\n%r = memref.load %S[%i] : memref<8xf32>\n"
        "memref.store %r, %Y[%i] : memref<8xf32>\n}"
    )


DOUBLE = "%d = arith.addf %t, %t : f32\nmemref.store %d, %S[%i] : memref<8xf32>"
ADD = "%s = memref.load %S[%i] : memref<8xf32>\n%d = arith.addf %t, %s : f32\nmemref.store %d, %S[%i] : memref<8xf32>"

WRONG = {
    "one behind": (read("%j", "%j = arith.addi %i, %c1 : index"), "index 0 of %V in 0..7, found 8 at %i = 7"),
    "one before": (read("%j", "%j = arith.subi %i, %c1 : index"), "index 0 of %V in 0..7, found -1 at %i = 0"),
    "scaled": (read("%j", "%j = arith.muli %i, %c2 : index"), "found 8 at %i = 4"),
    "quotient": (read("%q", "%q = arith.divui %i, %c3 : index", "%i in (25)"), "found 8 at %i = 24"),
    "rounded up": (read("%q", "%q = arith.ceildivsi %i, %c3 : index", "%i in (23)"), "found 8 at %i = 22"),
    "remainder": (read("%r", "%r = arith.remui %i, %c11 : index", "%i in (24)"), "found 8 at %i = "),
    "remainder of a negative number": (
        read("%r", "%j = arith.subi %i, %c2 : index\n%r = arith.remsi %j, %c5 : index"),
        "found -2 at %i = 0",
    ),
    "quotient of a negative number": (
        read("%r", "%j = arith.subi %i, %c2 : index\n%r = arith.floordivsi %j, %c5 : index"),
        "found -1 at %i = ",
    ),
    "unsigned quotient of a negative number": (
        read("%r", "%j = arith.subi %i, %c2 : index\n%r = arith.divui %j, %c8 : index"),
        r"found 2305843009213693951 at %i = ",
    ),
    "loose clamp": (read("%m", "%m = arith.minsi %i, %c8 : index", "%i in (9)"), "found 8 at %i = 8"),
    "clamp of the wrong kind": (
        read("%m", "%j = arith.subi %i, %c2 : index\n%m = arith.maxui %j, %c0 : index"),
        "found -2 at %i = 0",
    ),
    "choice": (
        read("%m", "%j = arith.addi %i, %c1 : index\n%c = arith.cmpi sle, %i, %c7 : index\n"
                   "%m = arith.select %c, %j, %i : index"),
        "found 8 at %i = 7",
    ),
    "condition that lets one through": (
        read("%i", "%c = arith.cmpi ne, %i, %c11 : index\nscf.if %c {", "%i in (12)") + "}",
        "found 8 at %i = 8",
    ),
    "either condition": (
        read("%i", "%c = arith.cmpi slt, %i, %c8 : index\n%d = arith.cmpi sgt, %i, %c8 : index\n"
                   "%e = arith.ori %c, %d : i1\nscf.if %e {", "%i in (12)") + "}",
        "found 9 at %i = 9",
    ),
    "condition that always holds": (
        read("%i", "%t = arith.constant true\nscf.if %t {", "%i in (9)") + "}",
        "found 8 at %i = 8",
    ),
    "window": (
        read("%j", "%a = arith.muli %i, %c2 : index\n%j = arith.addi %a, %k : index", "%i, %k in (4, 3)"),
        "found 8 at %i = 3, %k = 2",
    ),
    "store": (FILL + write("%i", loop="%i in (9)"), "index 0 of %Y in 0..7, found 8 at %i = 8"),
    "scf loop": (
        FILL + "scf.for %i = %c0 to %c12 step %c4 {\n%x = memref.load %V[%i] : memref<8xf32>\n}",
        "found 8 at %i = 8",
    ),
    "split without a guard": (
        "tir.for %io, %ii in (%c3, 3) {\n%a = arith.muli %io, %c3 : index\n"
        "%i = arith.addi %a, %ii : index" + COPY + "}",
        "'tir.block' op expected %vi in 0..7, found 8 at %io = 2, %ii = 2",
    ),
    "guard that is off by one": (
        "tir.for %io, %ii in (3, 3) {\n%a = arith.muli %io, %c3 : index\n%i = arith.addi %a, %ii : index\n"
        "%c = arith.cmpi sle, %i, %c8 : index\nscf.if %c {" + COPY + "}\n}",
        "'tir.block' op expected %vi in 0..7, found 8 at %io = 2, %ii = 2",
    ),
    "guard that cuts off too much": (
        "tir.for %io, %ii in (3, 3) {\n%a = arith.muli %io, %c3 : index\n%i = arith.addi %a, %ii : index\n"
        "%c = arith.cmpi slt, %i, %c7 : index\nscf.if %c {" + COPY + "}\n}",
        r"expected all of %Y to be written, found no write to %Y\[7\]",
    ),
    "last one missing": (write("%i", loop="%i in (7)"), r"found no write to %Y\[7\]"),
    "every second": (
        write("%j", "%j = arith.muli %i, %c2 : index", "%i in (4)"),
        r"found no write to %Y\[[1357]\]",
    ),
    "nothing written": ("", r"found no write to %Y\[0\]"),
    "loops that do not run": (write("%i", loop="%i, %j in (8, 0)"), r"found no write to %Y\[0\]"),
    "one case missing": (
        write("%i", "%r = arith.remui %i, %c3 : index\n%c = arith.cmpi ne, %r, %c2 : index\nscf.if %c {") + "}",
        r"found no write to %Y\[2\]",
    ),
    "parallel sum": ("tir.for %i, parallel %k in (8, 4) {" + SUM + "}", "one iteration of the parallel loop in line"),
    "parallel sum, split": (
        "tir.for %i, parallel %ko, %ki in (8, 2, 2) {\n%a = arith.muli %ko, %c2 : index\n"
        "%k = arith.addi %a, %ki : index" + SUM + "}",
        "one iteration of the parallel loop in line",
    ),
    "parallel loop that meets": (
        FILL + write("%h", "%h = arith.divui %i, %c2 : index").replace("%i in", "parallel %i in"),
        r"to write an element, found %Y\[0\] written at %i = 0 and at %i = 1",
    ),
    "parallel neighbours": (
        FILL + "tir.for parallel %i in (7) {\n%j = arith.addi %i, %c1 : index\n"
        "%y = memref.load %Y[%j] : memref<8xf32>\nmemref.store %y, %Y[%i] : memref<8xf32>\n}",
        r"to use an element that is written, found %Y\[1\] written at %i = 1 and read at %i = 0",
    ),
    "shared scratch": (
        local("tir.for parallel %i, %j in (4, 8) {\nmemref.store %zero, %T[%j] : memref<8xf32>\n}"),
        r"found %T\[0\] written at %i = 0 and at %i = 1",
    ),
    "block that meets": (
        "tir.for %i, %j in (8, 2) {\ntir.block @Y (%vi: spatial<8> = %i, %vj: spatial<2> = %j) {\n"
        "%m = arith.maxsi %vi, %vj : index\nmemref.store %zero, %Y[%m] : memref<8xf32>\n}\n}" + FILL,
        "one value of the spatial variables of block @Y to write an element",
    ),
    "block that reads its neighbour": (
        FILL + "tir.for %i in (7) {\ntir.block @Y (%vi: spatial<7> = %i) {\n%j = arith.addi %vi, %c1 : index\n"
        "%y = memref.load %Y[%vi] : memref<8xf32>\nmemref.store %y, %Y[%j] : memref<8xf32>\n}\n}",
        r"to use an element that is written, found %Y\[1\] written at %vi = 0 and read at %vi = 1",
    ),
    "scratch that is not written": (
        local("tir.for %i in (8) {\n%t = memref.load %T[%i] : memref<8xf32>\n}"),
        r"expected %T to be written before it is read, found no write to %T\[0\] before it is read at %i = 0",
    ),
    "scratch that is written in part": (
        local("tir.for %i in (7) {\nmemref.store %zero, %T[%i] : memref<8xf32>\n}\n"
              "tir.for %i in (8) {\n%t = memref.load %T[%i] : memref<8xf32>\n}"),
        r"found no write to %T\[7\] before it is read at %i = 7",
    ),
    "scratch that is written later": (
        local("tir.for %i in (8) {\n%t = memref.load %T[%i] : memref<8xf32>\n"
              "memref.store %zero, %T[%i] : memref<8xf32>\n}"),
        r"found no write to %T\[0\] before it is read at %i = 0",
    ),
    "scratch of an iteration": (
        FILL + "tir.for %i in (8) {\n%T = tir.alloc_buffer : memref<2xf32>\n%h = arith.divui %i, %c4 : index\n"
        "memref.store %zero, %T[%h] : memref<2xf32>\n%t = memref.load %T[%c0] : memref<2xf32>\n}",
        r"found no write to %T\[0\] before it is read at %i = 4",
    ),
    "sum without a start": (
        "tir.for %i, %k in (8, 4) {" + SUM.replace(INIT, "") + "}",
        r"expected %Y to be written before it is read, found no write to %Y\[0\]",
    ),
    "results of unwritten scratch": (
        through_scratch(DOUBLE, "6"),
        r"found no write to %T\[5\] before it is read at %i = 5",
    ),
    "sums of unwritten scratch": (
        through_scratch(ADD, "6", "%k, %i in (3, 8)"),
        r"found no write to %T\[5\] before it is read at %k = 0, %i = 5",
    ),
    "unwritten scratch that moves on": (
        through_scratch(
            "%j = arith.subi %c7, %i : index\n%s = memref.load %S[%j] : memref<8xf32>\n"
            "%d = arith.addf %t, %s : f32\nmemref.store %d, %S[%i] : memref<8xf32>",
            "1",
            "%k, %i in (3, 8)",
        ),
        r"found no write to %T\[[567]\] before it is read at %k = 0, %i = [567]",
    ),
    "unwritten scratch in a condition": (
        through_scratch(
            "%c = arith.cmpf ogt, %t, %zero : f32\nscf.if %c {\nmemref.store %zero, %S[%i] : memref<8xf32>\n}", "5"
        ),
        r"found no write to %T\[5\] before it is read at %i = 5",
    ),
    "unwritten scratch as an index": (
        through_scratch(
            "%n = arith.fptoui %t : f32 to i64\n%a = arith.index_cast %n : i64 to index\n"
            "%m = arith.minui %a, %c7 : index\nmemref.store %zero, %S[%m] : memref<8xf32>",
            "5",
        ),
        r"found no write to %T\[5\] before it is read at %i = 5",
    ),
    "unwritten scratch in an output": (
        through_scratch(DOUBLE + "\nmemref.store %d, %Y[%i] : memref<8xf32>", "5"),
        r"found no write to %T\[5\] before it is read at %i = 5",
    ),
    "copy of scratch": (
        local('"memref.copy"(%T, %Y) : (memref<8xf32>, memref<8xf32>) -> ()'),
        r"'memref.copy' op expected %T to be written before it is read",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_mistakes(name: str) -> None:
    """The verifier knows some of them."""
    body, message = WRONG[name]
    with pytest.raises(CompileError, match=message) as caught:
        CheckTirPass()(parse_module(function(body), verify=False))
    assert len(caught.value.diagnostics) == 1 or name.startswith("parallel sum")


RIGHT = {
    "unwritten scratch that nobody needs": through_scratch(DOUBLE, "5"),
    "sums of unwritten scratch that nobody needs": through_scratch(ADD, "5", "%k, %i in (3, 8)"),
    "sum": "tir.for %i, %k in (8, 4) {" + SUM + "}",
    "sum of columns first": "tir.for %k, %i in (4, 8) {" + SUM + "}",
    "parallel rows": "tir.for parallel %i, %k in (8, 4) {" + SUM + "}",
    "all fused": "tir.for %f in (32) {\n%i = arith.divui %f, %c4 : index\n%k = arith.remui %f, %c4 : index" + SUM + "}",
    "parallel and split": "tir.for parallel %io, %k, %ii in (2, 4, 4) {\n%a = arith.muli %io, %c4 : index\n"
    "%i = arith.addi %a, %ii : index" + SUM + "}",
    "split with a remainder": "tir.for parallel %io, %ii in (3, 3) {\n%a = arith.muli %io, %c3 : index\n"
    "%i = arith.addi %a, %ii : index\n%c = arith.cmpi ult, %i, %c8 : index\nscf.if %c {" + COPY + "}\n}",
    "backwards": "tir.for %j in (8) {\n%i = arith.subi %c7, %j : index" + COPY + "}",
    "odd and even": write("%a", "%a = arith.muli %i, %c2 : index", "%i in (4)")
    + write("%b", "%a = arith.muli %i, %c2 : index\n%b = arith.addi %a, %c1 : index", "%i in (4)"),
    "two halves": write("%i", "%c = arith.cmpi slt, %i, %c3 : index\nscf.if %c {") + "}"
    + write("%i", "%c = arith.cmpi sge, %i, %c3 : index\nscf.if %c {") + "}",
    "unrolled by three, with a rest": "".join(
        f"tir.for %i in ({extent}) {{\n%a = arith.muli %i, %c3 : index\n%b = arith.addi %a, %c{n} : index\n"
        "memref.store %zero, %Y[%b] : memref<8xf32>\n}\n" for n, extent in ((0, 3), (1, 3), (2, 2))
    ),
    "clamped data": FILL + "tir.for %i in (8) {\n%p = memref.load %P[%i] : memref<8xi64>\n"
    "%q = arith.index_cast %p : i64 to index\n%r = arith.minui %q, %c7 : index\n"
    "%x = memref.load %V[%r] : memref<8xf32>\n}",
    "guarded data": FILL + "tir.for %i in (8) {\n%p = memref.load %P[%i] : memref<8xi64>\n"
    "%q = arith.index_cast %p : i64 to index\n%c = arith.cmpi ult, %q, %c8 : index\nscf.if %c {\n"
    "%x = memref.load %V[%q] : memref<8xf32>\n}\n}",
    "unsigned, of two that may be negative": read("%m", "%d = arith.subi %i, %c4 : index\n"
    "%e = arith.subi %c3, %i : index\n%m = arith.minui %d, %e : index"),
    "compared as unsigned, both may be negative": read("%d", "%d = arith.subi %i, %c4 : index\n"
    "%e = arith.subi %c3, %i : index\n%c = arith.cmpi ult, %d, %e : index\nscf.if %c {") + "}",
    "running sum": "memref.store %zero, %Y[%c0] : memref<8xf32>\ntir.for %i in (7) {\n"
    "%j = arith.addi %i, %c1 : index\n%y = memref.load %Y[%i] : memref<8xf32>\n"
    "memref.store %y, %Y[%j] : memref<8xf32>\n}",
    "ring": "%T = tir.alloc_buffer : memref<2xf32>\ntir.for %i in (8) {\n%r = arith.remui %i, %c2 : index\n"
    "memref.store %zero, %T[%r] : memref<2xf32>\n%t = memref.load %T[%r] : memref<2xf32>\n"
    "memref.store %t, %Y[%i] : memref<8xf32>\n}",
    "scratch of each iteration": "tir.for parallel %i in (8) {\n%T = tir.alloc_buffer : memref<1xf32>\n"
    "memref.store %zero, %T[%c0] : memref<1xf32>\n%t = memref.load %T[%c0] : memref<1xf32>\n"
    "memref.store %t, %Y[%i] : memref<8xf32>\n}",
    "block in a block": "tir.for %i in (2) {\ntir.block @A (%v: spatial<2> = %i) {\ntir.for %j in (4) {\n"
    "%a = arith.muli %v, %c4 : index\n%b = arith.addi %a, %j : index\n"
    "tir.block @B (%w: spatial<8> = %b) {\nmemref.store %zero, %Y[%w] : memref<8xf32>\n}\n}\n}\n}",
    "loops that do not run": FILL + "tir.for %i, %j in (8, 0) {\n%k = arith.addi %i, %c1 : index\n"
    "%x = memref.load %V[%k] : memref<8xf32>\n}",
    "copy": '"memref.copy"(%V, %Y) : (memref<8xf32>, memref<8xf32>) -> ()',
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_no_mistakes(name: str) -> None:
    text = function(RIGHT[name])
    module = parse_module(text)
    assert str(CheckTirPass()(module)) == str(module)


UNDECIDED = {
    "data": (
        FILL + "tir.for %i in (8) {\n%p = memref.load %P[%i] : memref<8xi64>\n"
        "%q = arith.index_cast %p : i64 to index\n%x = memref.load %V[%q] : memref<8xf32>\n}",
        "whether index 0 of %V stays in 0..7: that depends on %p",
    ),
    "under a condition": (
        FILL + "%c = arith.constant 1.0 : f32\n%x = memref.load %V[%c0] : memref<8xf32>\n"
        "%p = arith.cmpf ogt, %x, %c : f32\nscf.if %p {\n"
        "%j = arith.addi %c7, %c1 : index\n%y = memref.load %V[%j] : memref<8xf32>\n}",
        "whether index 0 of %V stays in 0..7: that depends on %p",
    ),
    "signed minimum of conditions, of which true is -1": (
        read("%i", "%t = arith.constant true\n%f = arith.constant false\n%m = arith.minsi %t, %f : i1\nscf.if %m {",
             "%i in (9)") + "}",
        "whether index 0 of %V stays in 0..7: that depends on %m",
    ),
    "product": (
        read("%q", "%q = arith.muli %i, %i : index", "%i in (3)"),
        "whether index 0 of %V stays in 0..7: that depends on %q",
    ),
    "scattered": (
        "tir.for %i in (8) {\n%p = memref.load %P[%i] : memref<8xi64>\n%q = arith.index_cast %p : i64 to index\n"
        "%r = arith.minui %q, %c7 : index\nmemref.store %zero, %Y[%r] : memref<8xf32>\n}",
        "whether all of %Y is written: that depends on %p",
    ),
    "scattered in parallel": (
        FILL + "tir.for parallel %i in (8) {\n%p = memref.load %P[%i] : memref<8xi64>\n"
        "%q = arith.index_cast %p : i64 to index\n%r = arith.minui %q, %c7 : index\n"
        "memref.store %zero, %Y[%r] : memref<8xf32>\n}",
        "whether another iteration of the parallel loop in line [0-9]+ writes the element: that depends on %p",
    ),
    "as often as data says": (
        "%p = memref.load %P[%c0] : memref<8xi64>\n%n = arith.index_cast %p : i64 to index\n"
        "%m = arith.minui %n, %c8 : index\ntir.for %i in (%m) {\nmemref.store %zero, %Y[%i] : memref<8xf32>\n}",
        "whether all of %Y is written: that depends on %p",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNDECIDED)
def test_what_cannot_be_decided(name: str) -> None:
    body, message = UNDECIDED[name]
    module = parse_module(function(body))
    with pytest.warns(CompileWarning, match=f"warning: .* cannot decide {message}") as caught:
        CheckTirPass()(module)
    assert len(caught) == 1
    with pytest.raises(CompileError, match=f"error: .* cannot decide {message}"):
        CheckTirPass(undecided="error")(module)


FIRST = """
tir.prim_func private @first(%T: memref<8xf32>) outs(%Y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %t = memref.load %T[%c0] : memref<8xf32>
  tir.for %i in (8) {
    memref.store %t, %Y[%i] : memref<8xf32>
  }
}
"""
PARTLY = {
    "scratch": (
        "%T = tir.alloc_buffer : memref<8xf32>\nmemref.store %zero, %T[%c0] : memref<8xf32>\n"
        "tir.call @first(%T, %Y) : memref<8xf32>, memref<8xf32>",
        "whether %T is written before it is read: that depends on what the called function reads",
    ),
    "neighbours": (
        FILL + "tir.for parallel %i in (8) {\n%T = tir.alloc_buffer : memref<8xf32>\n"
        "tir.call @first(%Y, %T) : memref<8xf32>, memref<8xf32>\nmemref.store %zero, %Y[%i] : memref<8xf32>\n}",
        "iteration of the parallel loop in line [0-9]+ reads the element: that depends on what the called function",
    ),
    "outputs that another op writes": (
        "func.call @env(%Y) : (memref<8xf32>) -> ()",
        "what becomes of %Y: nothing says what the op does",
    ),
}


@pytest.mark.parametrize("name", PARTLY)
def test_what_other_functions_do(name: str) -> None:
    body, message = PARTLY[name]
    module = parse_module(FIRST + "func.func private @env(memref<8xf32>)\n" + function(body))
    with pytest.warns(CompileWarning, match=f"cannot decide .*{message}") as caught:
        CheckTirPass()(module)
    assert len(caught) == 1


def of_size(buffer: str, index: str) -> str:
    """Reads %X at an index, in a loop to the size of a buffer."""
    body = (
        f"%n = memref.dim {buffer}, %c0 : memref<?xf32>\nmemref.store %zero, %Z[] : memref<f32>\n"
        f"tir.for %i in (%n) {{\n%j = arith.addi %i, %c1 : index\n%x = memref.load %X[{index}] : memref<?xf32>\n}}"
    )
    return function(body, "%X: memref<?xf32>, %Y: memref<?xf32>", "%Z: memref<f32>")


def test_sizes_that_are_known_at_run_time() -> None:
    CheckTirPass(undecided="error")(parse_module(of_size("%X", "%i")))
    with pytest.raises(CompileError, match=r"found 1 at %i = 0, size\(%X, 0\) = 1"):
        CheckTirPass()(parse_module(of_size("%X", "%j")))
    with pytest.warns(CompileWarning, match=r"that depends on size\(%X, 0\), size\(%Y, 0\)"):
        CheckTirPass()(parse_module(of_size("%Y", "%i")))


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(("make", "operands"), CASES)
def test_functions_of_operators(make: MakeOperator, operands: list[Array]) -> None:
    module = LegalizeOpsPass()(parse_module(operator_program(make, operands)))
    CheckTirPass(undecided="error")(module)


@pytest.mark.parametrize("example", ["digits/mlp_tir.mlir", "digits/mlp.mlir", "lenet/lenet.mlir"])
def test_functions_of_examples(example: str) -> None:
    text = (Path(__file__).parents[3] / "examples" / example).read_text()
    CheckTirPass(undecided="error")(LegalizeOpsPass()(parse_module(text)))
