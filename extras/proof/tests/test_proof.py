"""Proofs: passes that keep what a function computes are proved, others are not, and wrong ones are refuted."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import proof_share
import pytest
from mistaken_passes import MISTAKES, RIGHT
from proof_share import cases, share_of, shares_of, table
from wrong_edits import wrong_edits
from wrong_rewrites import CASES
from xdsl.context import Context
from xdsl.dialects.arith import SubfOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter

from relex.dialects import parse_module
from relex.dialects.errors import CompileError
from relex.dialects.relex import SubtractOp, WhereOp
from relex.dialects.schedule.loop_primitives import UnrollOp
from relex.dialects.tir import ForOp
from relex.frontend import BlockBuilder, Var, const, op
from relex.lowering import RelexPipelinePass
from relex.passes import ApplySchedulePass, RelexPass, SetTargetPass, placed
from relex.passes.schedule.primitive_table import PRIMITIVES
from relex.reference import FuzzError, check_equivalent, check_pass, fuzz_pass
from relex.reference.equivalence.check import CheckReport
from relex.reference.equivalence.differences import NotEquivalentError, explain
from relex.reference.equivalence.verdicts import Certainty
from relex.reference.fuzzing.sources import Programs
from relex.runtime import build

MLP = """
func.func @main(%x: tensor<2x32xf32>, %w0: tensor<48x32xf32>, %b0: tensor<48xf32>, %w1: tensor<5x48xf32>,
                %b1: tensor<5xf32>) -> tensor<2x5xf32> {
  %0 = relex.dense %x, %w0 : (tensor<2x32xf32>, tensor<48x32xf32>) -> tensor<2x48xf32>
  %1 = relex.add %0, %b0 : (tensor<2x48xf32>, tensor<48xf32>) -> tensor<2x48xf32>
  %2 = relex.relu %1 : (tensor<2x48xf32>) -> tensor<2x48xf32>
  %3 = relex.dense %2, %w1 : (tensor<2x48xf32>, tensor<5x48xf32>) -> tensor<2x5xf32>
  %4 = relex.add %3, %b1 : (tensor<2x5xf32>, tensor<5xf32>) -> tensor<2x5xf32>
  %5 = relex.softmax %4 : (tensor<2x5xf32>) -> tensor<2x5xf32>
  func.return %5 : tensor<2x5xf32>
}
"""


def kinds(report: CheckReport) -> dict[str, Certainty]:
    """Return the kind of the verdict on @main after each pass."""
    return {found.pass_name: found.verdict.kind for found in report.findings if found.function == "main"}


def test_pipeline():
    found = kinds(check_pass(RelexPipelinePass(to="core"), parse_module(MLP), proof=True))
    assert found["expand-math"] is Certainty.CHECKED
    others = {p: kind for p, kind in found.items() if p not in ("expand-math", "legalize-ops")}
    assert set(others.values()) <= {Certainty.PROVED, Certainty.UNCHANGED}
    changed = ("fuse-ops", "schedule-cpu", "plan-memory", "vectorize-loops", "convert-tir-to-scf")
    assert {others[p] for p in changed} == {Certainty.PROVED}


@pytest.mark.parametrize("name", CASES)
def test_wrong_rewrites(name: str):
    """A wrong rewrite is refuted by terms, or by a run that stops; its right form is not."""
    case = CASES[name]
    with pytest.raises(NotEquivalentError) as e:
        check_pass(case.wrong, case.module, proof=True)
    assert e.value.difference.sample is not None
    if case.right is not None:
        found = kinds(check_pass(case.right, case.module, proof=True))
        assert found[case.right.name] in (Certainty.PROVED, Certainty.CHECKED)


def test_build():
    x = np.array([[1, 2], [3, 4]], np.float32)
    text = """
    func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %0 = relex.matmul %x, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
      func.return %0 : tensor<2x2xf32>
    }
    """
    np.testing.assert_array_equal(build(text, proof=True)["main"](x), x @ x)


def test_build_refuses():
    """A library function that is not there when the program is built cannot be run."""
    text = """
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = relex.call_dps_packed "test.proof_of_nothing"(%x) : (tensor<2xf32>) -> tensor<2xf32>
      func.return %0 : tensor<2xf32>
    }
    """
    with pytest.raises(
        CompileError, match="expected every pass to be proved or checked, found @main, which is neither"
    ):
        build(text, proof=True)


@dataclass(frozen=True)
class SwapsPass(RelexPass):
    """Swaps the operands of differences."""

    name = "swaps"
    works_on = "graph"

    def apply(self, ctx: Context, op: ModuleOp):
        for inner in list(op.walk()):
            if isinstance(inner, SubtractOp):
                inner.operands = inner.operands[::-1]


def test_build_with_wrong_pass():
    text = """
    func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
      %0 = relex.subtract %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      func.return %0 : tensor<2xf32>
    }
    """
    with pytest.raises(CompileError, match="pass 'swaps' changes what @main computes") as e:
        build(text, passes=[placed(SwapsPass(), before="fuse-ops")], proof=True)
    assert "result[0] is arith.addf(%x[0], arith.negf(%y[0])) before and arith.addf(%y[0]," in str(e.value)


@pytest.mark.parametrize("name", ["swap-operands", "transposed-axes", "nan-lost", "negative-zero", "empty-forgotten"])
def test_mistakes(name: str):
    """On the program that fuzzing finds, a mistake is refuted by an element, and by arguments that show it."""
    with pytest.raises(FuzzError) as found:
        fuzz_pass(MISTAKES[name].p, seed=1)
    finding = found.value.finding
    with pytest.raises(NotEquivalentError) as e:
        check_pass(finding.p, finding.module, seed=finding.number, proof=True)
    difference = e.value.difference
    assert difference.terms is not None
    assert difference.arguments
    assert difference.terms.place in "\n".join(explain(difference))


@pytest.mark.parametrize("name", ["absorb", "permute-once"])
def test_right_passes(name: str):
    """Passes that look like mistakes, and are none, are proved on generated programs that they change."""
    p = RIGHT[name]()
    programs = [made for n in range(12) if (made := Programs(p, None, 0).make(n)) is not None]
    found = [f.verdict.kind for made in programs for f in check_pass(p, made.module, proof=True).findings]
    assert found.count(Certainty.PROVED) >= 3
    assert Certainty.OPEN not in found


def test_terms_direct_the_search_for_arguments():
    """No sample has the one number that shows the mistake."""
    text = """
    func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %0 = relex.constant dense<7.25> : tensor<3xf32>
      %1 = relex.constant dense<1.0> : tensor<3xf32>
      %2 = relex.equal %x, %0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
      %3 = relex.where %2, %1, %x : (tensor<3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      func.return %3 : tensor<3xf32>
    }
    """
    check_pass(DropWherePass(), parse_module(text))
    with pytest.raises(NotEquivalentError) as caught:
        check_pass(DropWherePass(), parse_module(text), proof=True)
    (found,) = caught.value.diagnostics
    assert "pass 'drop-where' changes what @main computes: expected 1.0 for result[0], found 7.25" in found.message
    assert found.notes[-2].endswith("with numbers chosen by these terms")
    assert found.notes[-1] == "with %x[0] = 7.25: expected 1.0 for result[0], found 7.25"


def test_the_search_wraps_the_neighbors_of_the_largest_numbers():
    text = """
    func.func @main(%x: tensor<3xi64>) -> tensor<3xi64> {
      %0 = relex.constant dense<4611686018427400249> : tensor<3xi64>
      %1 = relex.constant dense<-9223372036854775808> : tensor<3xi64>
      %2 = relex.equal %x, %0 : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
      %3 = relex.where %2, %1, %x : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
      func.return %3 : tensor<3xi64>
    }
    """
    with pytest.raises(NotEquivalentError, match="numbers chosen by these terms"):
        check_pass(DropWherePass(), parse_module(text), proof=True)


@dataclass(frozen=True)
class DropWherePass(RelexPass):
    """Takes the last operand of each choice."""

    name = "drop-where"

    def apply(self, ctx: Context, op: ModuleOp):
        for inner in [inner for inner in op.walk() if isinstance(inner, WhereOp)]:
            Rewriter.replace_op(inner, [], [inner.operands[2]])


def test_rounding_is_not_proved():
    """A pass that regroups sums on purpose is checked within its tolerance, and not proved."""
    text = """
    func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
      %0 = relex.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %1 = relex.add %0, %z : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      func.return %1 : tensor<4xf32>
    }
    """
    (found,) = check_pass(RIGHT["regroup"](), parse_module(text), proof=True).findings
    assert found.verdict.kind is Certainty.CHECKED
    assert found.verdict.why.startswith("its terms differ: result[0] is arith.addf(")


SCHEDULED = """
tir.prim_func @f(%X: memref<SIZExf32> {relex.dims = ["n"]}) outs(%Y: memref<SIZExf32> {relex.dims = ["n"]})
    attributes {tir.noalias} {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %n = memref.dim %X, %c0 : memref<SIZExf32>
  tir.for %i @i in (%n) {
    tir.block @Y (%vi: spatial<%n> = %i) {
      %x = memref.load %X[%vi] : memref<SIZExf32>
      %y = arith.subf %x, %one : f32
      memref.store %y, %Y[%vi] : memref<SIZExf32>
    }
  }
}
schedule.sequence for @f {
  schedule.split @i by [?, 2]
  schedule.unroll @i_1
}
"""


@pytest.mark.parametrize("size", ["3", "?"])
def test_steps_of_schedules(size: str):
    """Each step is proved by itself; with dynamic sizes, what is known about indices holds for all of them."""
    report = check_pass(ApplySchedulePass(), parse_module(SCHEDULED.replace("SIZE", size)), proof=True)
    assert [f.pass_name for f in report.findings] == [
        "apply-schedule: schedule.split @i by [?, 2]",
        "apply-schedule: schedule.unroll @i_1",
        "apply-schedule",
    ]
    assert {f.verdict.kind for f in report.findings} == {Certainty.PROVED}
    if size == "?":
        assert {str(f.verdict) for f in report.findings[:2]} == {
            "proved for n = 3 and for n = 1 and for n = 0, its indices for all sizes"
        }


WINDOWS = """
tir.prim_func @f(%X: memref<?xf32> {relex.dims = ["n"]}) outs(%Y: memref<?xf32>DIMS) attributes {tir.noalias} {
  %c0 = arith.constant 0 : index
  %more = arith.constant MORE : index
  %n = memref.dim %X, %c0 : memref<?xf32>
  %m = arith.addi %n, %more : index
  tir.for %i @i in (%m) {
    tir.block @Y (%vi: spatial<%m> = %i) {
      %last = arith.subi %vi, %more : index
      %j = arith.maxsi %last, %c0 : index
      %x = memref.load %X[%j] : memref<?xf32>
      memref.store %x, %Y[%vi] : memref<?xf32>
    }
  }
}
schedule.sequence for @f {
  schedule.split @i by [?, 2]
}
"""


@pytest.mark.parametrize(
    ("more", "dims", "sizes"),
    [
        pytest.param("3", "", "n = 3", id="larger than all arguments"),
        pytest.param("3", ' {relex.dims = ["m"]}', "n = 3", id="of another name"),
        pytest.param("-7", ' {relex.dims = ["n - 7"]}', "n = 8 ", id="negative for the sizes of samples"),
    ],
)
def test_sizes_of_results(more: str, dims: str, sizes: str):
    """A step is proved for sizes for which the function can be called, where these follow from its loops."""
    text = WINDOWS.replace("MORE", more).replace("DIMS", dims)
    report = check_pass(ApplySchedulePass(), parse_module(text), proof=True)
    assert {f.verdict.kind for f in report.findings} == {Certainty.PROVED}
    assert all(sizes in f"{f.verdict} " for f in report.findings)


def test_wrong_step(monkeypatch: pytest.MonkeyPatch):
    """A primitive that changes what a function computes is named, and not only the pass that applies it."""
    unroll = PRIMITIVES[UnrollOp]

    def wrong(loop: ForOp) -> None:
        for inner in loop.walk():
            if isinstance(inner, SubfOp):
                inner.operands = inner.operands[::-1]
        unroll(loop)

    monkeypatch.setitem(PRIMITIVES, UnrollOp, wrong)
    with pytest.raises(NotEquivalentError, match=r"apply-schedule: schedule\.unroll @i_1' changes"):
        check_pass(ApplySchedulePass(), parse_module(SCHEDULED.replace("SIZE", "4")), proof=True)


def test_wrong_edits():
    """Small wrong edits of what a pass returns are refuted, or at least not proved."""
    seen: dict[str, bool | None] = {}
    for wrong in wrong_edits(only="inline-blocks"):
        if wrong.name not in seen:
            seen[wrong.name] = wrong.is_refuted()
    # No run shows that a sum may be computed in another order.
    assert seen.pop("regroup-strict-sum") is None
    assert seen.keys() >= {"swap-operands", "subtract-for-add", "ignore-nan", "lose-store", "other-index"}
    assert set(seen.values()) == {True}


def test_share():
    """A few random programs and operators: most passes are proved, and none is left open."""
    total = Counter[Certainty]()
    for case in [*islice(cases("operators", every=40), 3), *cases("fuzzed:2")]:
        share = share_of(case, samples=1)
        assert share.programs == 1
        total += share.total
    assert total[Certainty.PROVED] >= 25
    assert total[Certainty.PROVED] > 4 * total[Certainty.CHECKED]
    assert not total[Certainty.OPEN]


def test_share_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What is recorded of a program is not proved again, but for a line that was cut."""
    record = tmp_path / "record"
    first = shares_of(["fuzzed:2"], samples=1, record=record)
    lines = record.read_text().splitlines()
    assert len(lines) == 2
    record.write_text(f"{lines[0]}\n{lines[1][:20]}")
    assert table(shares_of(["fuzzed:2"], samples=1, record=record)) == table(first)
    assert [json.loads(line)["program"] for line in record.read_text().splitlines()] == [
        json.loads(line)["program"] for line in lines
    ]
    proved: list[object] = []
    monkeypatch.setattr(proof_share, "_add_to", lambda *entry: proved.append(entry))  # pyright: ignore
    assert table(shares_of(["fuzzed:2"], samples=1, record=record)) == table(first)
    assert not proved


def test_share_limit():
    """Where the time is up, functions are checked."""
    (case,) = cases("fuzzed:1")
    share = share_of(case, samples=1, limit=0)
    assert share.total[Certainty.CHECKED] >= 5
    assert all("takes more than 0 seconds" in reason for reason in share.reasons)


DOT4 = """
func.func @main(%x: tensor<2x1xi32>, %y: tensor<1x{n}xi32>) -> tensor<2x{n}xi32> {{
  %0 = relex.matmul_packed %x, %y : (tensor<2x1xi32>, tensor<1x{n}xi32>) -> tensor<2x{n}xi32>
  func.return %0 : tensor<2x{n}xi32>
}}
"""


@pytest.mark.parametrize(("cpu", "n"), [("sapphirerapids", 16), ("haswell", 1)])
def test_products_of_bytes(cpu: str, n: int):
    """Bytes are the same, whether an instruction, shifts or NumPy take them out of words."""
    module = SetTargetPass("x86_64-unknown-linux-gnu", cpu)(parse_module(DOT4.format(n=n)))
    found = kinds(check_pass(RelexPipelinePass(to="core"), module, samples=1, proof=True))
    assert found["legalize-ops"] is found["expand-dot4"] is Certainty.PROVED


def product_of_bytes(extend: str, shift: int, lhs: str = "a", rhs: str = "b") -> str:
    """Return a program that multiplies two bytes, of which the shifts may be wrong, after three right ones."""
    cut = [(f"arith.{extend}", shift, lhs, rhs), *(("arith.shrui", last, "a", "b") for last in (8, 16, 24))]
    lines = [f"  %c{n} = arith.constant {n} : i32" for n in (0, 8, 16, 24)]
    lines.append("  %sum0 = arith.constant 0 : i32")
    for n, (kind, last, a, b) in enumerate(cut):
        lines += [
            f"  %l{n} = arith.shli %{a}, %c{last} : i32",
            f"  %u{n} = {kind} %l{n}, %c24 : i32",
            f"  %r{n} = arith.shli %{b}, %c{last} : i32",
            f"  %s{n} = arith.shrsi %r{n}, %c24 : i32",
            f"  %p{n} = arith.muli %u{n}, %s{n} : i32",
            f"  %sum{n + 1} = arith.addi %sum{n}, %p{n} : i32",
        ]
    body = "\n".join(lines)
    return f"func.func @main(%a: i32, %b: i32) -> i32 {{\n{body}\n  func.return %sum4 : i32\n}}"


def test_wrong_products_of_bytes():
    """Bytes of another sign, at another place, or of the other operand are not the bytes of `tir.dot4`."""
    dot4 = "func.func @main(%a: i32, %b: i32) -> i32 {\n  %0 = tir.dot4 %a, %b : i32\n  func.return %0 : i32\n}"
    before = parse_module(dot4)
    report = check_equivalent(before, parse_module(product_of_bytes("shrui", 0)), proof=True)
    assert kinds(report) == {"rewriting": Certainty.PROVED}
    for wrong in (product_of_bytes("shrsi", 0), product_of_bytes("shrui", 8), product_of_bytes("shrui", 0, "b", "a")):
        with pytest.raises(NotEquivalentError):
            check_equivalent(before, parse_module(wrong), proof=True)


def test_the_search_keeps_finite_arguments_finite():
    """Products with zeros of padding may be left out where all calls pass finite weights."""
    x, builder = Var("x", (1, 2, 3, 3)), BlockBuilder()
    weight = const(np.random.default_rng(0).standard_normal((8, 2, 3, 3)).astype(np.float32))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(op.conv2d(x, weight, padding=[1])))
    module = SetTargetPass("x86_64-unknown-linux-gnu", "haswell")(builder.get())
    report = check_pass(RelexPipelinePass(to="loops"), module, proof=True)
    found = [f for f in report.findings if "schedule.skip_padding" in f.pass_name]
    assert found
    assert {f.verdict.kind for f in found} == {Certainty.CHECKED}


def permuted(last: int) -> str:
    """Return a program that looks a byte up in a register of 16."""
    return f"""
func.func @main(%x: memref<16xi8>, %y: memref<1xi8>) {{
  %c0 = arith.constant 0 : index
  %0 = vector.load %x[%c0] : memref<16xi8>, vector<16xi8>
  %1 = arith.constant dense<[{", ".join(map(str, range(15)))}, {last}]> : vector<16xi8>
  %2 = llvm.call_intrinsic "llvm.x86.ssse3.pshuf.b.128"(%1, %0) : (vector<16xi8>, vector<16xi8>) -> vector<16xi8>
  %3 = vector.extract %2[0] : i8 from vector<16xi8>
  memref.store %3, %y[%c0] : memref<1xi8>
  func.return
}}"""


def test_permuted_elements():
    """What an instruction takes from several elements does not depend on the elements at its own place alone."""
    report = check_equivalent(parse_module(permuted(15)), parse_module(permuted(9)), samples=1, proof=True)
    assert kinds(report) == {"rewriting": Certainty.CHECKED}
    assert "several elements at once by llvm.x86.ssse3.pshuf.b.128" in str(report)
