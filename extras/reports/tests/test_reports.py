"""Reports: what they record of a compilation, and the page in a browser."""

import base64
import gzip
import json
import re
import shutil
import subprocess
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

import numpy as np
import pytest

import relex
from relex.dialects.errors import RelexError
from relex.lowering import LegalizeOpsPass
from relex.passes import ApplySchedulePass
from relex.runtime.profile import KernelCalls, Profile
from relex.tools.opt.relex_opt import main as relex_opt
from relex.tools.reports import CompilationReport, report
from relex.tools.reports.drawing import draw_graphs
from relex.tools.reports.listings import Listings
from relex.tools.reports.overview import overview_of
from relex.tools.reports.recorder import CheckResult
from relex.tools.run.relex_run import main as relex_run

CHROMIUM = shutil.which("chromium")

PROGRAM = """
func.func @main(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>, %b: tensor<6xf32>) -> tensor<4x6xf32> {
  %y = relex.dense %x, %w : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  %z = relex.add %y, %b : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %s = relex.softmax %z axis = -1 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %0 = relex.dense %s, %z : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x4xf32>
  %u = relex.matmul %0, %z : (tensor<4x4xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  func.return %u : tensor<4x6xf32>
}
"""


SMALL = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relex.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""


@pytest.fixture(scope="module")
def reported() -> CompilationReport:
    x, w, b = (np.ones(shape, np.float32) for shape in ((4, 8), (6, 8), (6,)))
    found = relex.build(PROGRAM).report(x, w, b=b)
    assert isinstance(found, CompilationReport)
    found.steps[2].findings.append(CheckResult("main", "proved", "for all sizes", "schedule.split @i by [?, 4]"))
    return found


def _data(page: str) -> dict[str, Any]:
    found = re.search(r'<script id="data"[^>]*>([^<]*)</script>', page)
    assert found is not None
    return json.loads(gzip.decompress(base64.b64decode(found[1])))


def test_each_pass_is_there_with_what_it_changed(reported: CompilationReport):
    data = _data(reported.html)
    steps = {step["name"]: step for step in data["steps"]}
    assert list(steps)[:2] == ["input", "set-target"]
    assert list(steps)[-1] == "add-packed-entries"
    assert set(steps["fuse-ops"]["changes"]) >= {"main", "fused_dense_add"}
    assert steps["set-target"]["changes"] == {}
    text = data["listings"][steps["input"]["functions"]["main"]]["text"]
    assert text.startswith("func.func @main(%x: tensor<4x8xf32>")
    assert "loc(" not in text


def test_schedules_memory_assembly_and_times_are_there(reported: CompilationReport):
    data = _data(reported.html)
    remarks = next(step["remarks"] for step in data["steps"] if step["name"] == "schedule-cpu")
    assert {"fused_dense_add", "softmax"} <= {remark["function"] for remark in remarks}
    assert any(note.startswith("skipped ") for remark in remarks for note in remark["notes"])
    [plan] = data["plans"]
    assert plan["function"] == "main"
    assert plan["bytes"] <= sum(-(-buffer["bytes"] // 64) * 64 for buffer in plan["buffers"])
    for buffer in plan["buffers"]:
        assert buffer["offset"] + buffer["bytes"] <= plan["bytes"]
        assert buffer["first"] <= buffer["last"]
    assert "\tret" in data["assembly"]["main"]
    # Each instruction says where it comes from, or that it is unknown.
    places = data["lines"]["main"]
    assert len(places) == len(data["assembly"]["main"].splitlines())
    assert {place >= 0 for place in places} == {True, False}
    assert all(place < len(data["places"]) for place in places)
    assert data["profile"]["rows"][0]["function"] == "fused_dense_add"
    assert all(row["least"] > 0 for row in data["profile"]["rows"])


def test_an_overview_counts_and_explains(reported: CompilationReport):
    overview = _data(reported.html)["overview"]
    graph: int = overview["graph"]
    assert reported.steps[graph].name == "fuse-tir"
    operators, buffers = overview["counts"]
    assert operators == {"before": "5 operators", "after": "4 kernels"}
    assert re.fullmatch(r"\d buffers between kernels, \d+ B", buffers["before"])
    assert re.fullmatch(r"1 arena, \d+ B", buffers["after"])
    assert 0 < overview["least"] < reported.profile.seconds  # pyright: ignore[reportOptionalMemberAccess]
    seconds = [loss["seconds"] for loss in overview["losses"]]
    assert seconds == sorted(seconds, reverse=True)
    assert all(loss["reason"] and loss["advice"] for loss in overview["losses"])


@pytest.mark.parametrize(
    ("function", "inputs", "seconds", "flops", "size", "reason"),
    [
        ("library", ("100x100xf32",), 1.0, None, 40_000, "a library function"),
        ("softmax", ("100x100xf32",), 1e-7, 100, 40, "a call takes less than 2 us"),
        ("softmax", ("5000x3xf32",), 1.0, 60_000, 120_000, "rows of 3 fill no vector of "),
        ("softmax", ("5000x300xf32",), 1.0, 10_000_000, 12_000_000, "a call of exp takes many instructions"),
        ("relu", ("5000x300xf32",), 1.0, 1_500_000, 12_000_000, "limited by memory, and slower than that: 11.4 MiB"),
        ("matmul", ("1000x1000xf32",) * 2, 1.0, 2_000_000_000, 12_000_000, "2.0 Gflop/s of arithmetic"),
    ],
)
def test_losses_in_words(
    reported: CompilationReport,
    function: str,
    inputs: tuple[str, ...],
    seconds: float,
    flops: int | None,
    size: int,
    reason: str,
):
    row = KernelCalls(function, flops is None, 1, seconds, inputs, inputs[:1], size, flops)
    [loss] = overview_of(replace(reported, profile=Profile("main", 3, seconds, (row,)))).losses
    assert loss.reason.startswith(reason)


def test_what_interrupts_a_run_is_not_between_the_kernels(reported: CompilationReport):
    # The times of runs and of calls are medians: another process may take some of each run, in another call each time.
    row = KernelCalls("softmax", False, 1, 1e-3, ("100x100xf32",), ("100x100xf32",), 80_000, 30_000)
    losses = overview_of(replace(reported, profile=Profile("main", 4, 0.5, (row,), between=1e-5))).losses
    assert [loss.function for loss in losses] == ["softmax", ""]
    assert reported.profile is not None
    assert 0 < reported.profile.between < reported.profile.seconds


SHAPED = """
func.func @main(%x: tensor<2x8xf32>) -> tensor<4x4xf32> {
  %0 = relex.exp %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = relex.reshape %0 shape = [4, 4] : (tensor<2x8xf32>) -> tensor<4x4xf32>
  %2 = relex.softmax %1 axis = -1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = relex.softmax %2 axis = 0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %3 : tensor<4x4xf32>
}
"""


def test_views_are_no_steps_and_cut_no_arrows():
    found = relex.build(SHAPED).report()
    assert isinstance(found, CompilationReport)
    drawing = next(step for step in found.steps if step.name == "fuse-tir").drawings["main"]
    assert len(drawing.boxes) == 4
    assert {(arrow.source, arrow.target) for arrow in drawing.arrows} == {(0, 1), (1, 2), (2, 3)}
    [arena] = found.arenas
    assert all(step.startswith("@") for step in arena.steps), arena.steps


def test_the_page_needs_nothing_else(reported: CompilationReport):
    assert not re.search(r'(?:src|href)="?(?:https?:)?//|@import|url\(', reported.html)
    assert len(reported.html) < 2_000_000
    assert reported._repr_html_().startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')  # pyright: ignore[reportPrivateUsage]


def test_levels_and_assembly_of_an_executable():
    ex = relex.build(SMALL)
    assert "relex.add" in str(ex.ir("graph"))
    assert "tir.block" in str(ex.ir())
    assert "llvm.func" in str(ex.ir("llvm"))
    assert "\tret" in ex.asm("main")
    assert repr(ex).splitlines()[1].startswith("  main(x: 4 of f32) -> ")
    with pytest.raises(RelexError, match="no function 'mian'; there are main"):
        ex.asm("mian")
    with pytest.raises(RelexError, match="expected one of graph, loops, core, llvm, found 'tir'"):
        ex.ir("tir")  # pyright: ignore[reportArgumentType]
    loaded = ex.__reduce__()
    for ask in ("report", "ir", "asm"):
        with pytest.raises(
            RelexError, match=rf"{ask}\(\): expected an executable from 'build', found one that was loaded"
        ):
            getattr(loaded[0](*loaded[1]), ask)()


def test_functions_are_printed_again_where_they_have_changed():
    module, listings = relex.parse(PROGRAM), Listings()
    first = listings.of(module)
    assert listings.of(module)["main"] is first["main"]
    op = next(op for op in module.walk() if op.name == "relex.softmax")
    op.results[0].name_hint = "other"
    assert "%other = relex.softmax" in "\n".join(listings.of(module)["main"].lines)


OPEN = """
func.func @main(%x: tensor<?x64xf32> {relex.dims = ["batch", ""]}, %w: tensor<64xf32>)
    -> (tensor<?x?xf32>, tensor<?x64xf32>) {
  %0 = relex.multiply %x, %w : (tensor<?x64xf32>, tensor<64xf32>) -> tensor<?x64xf32>
  %1 = relex.softmax %0 axis = 0 : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %2 = relex.concat %0, %1 axis = 0 : (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  %3 = relex.softmax %2 axis = 0 : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %4 = relex.sum %1 axis = [1] keepdims : (tensor<?x64xf32>) -> tensor<?x1xf32>
  %5 = relex.permute_dims %4 axes = [1, 0] : (tensor<?x1xf32>) -> tensor<1x?xf32>
  %6 = relex.add %4, %5 : (tensor<?x1xf32>, tensor<1x?xf32>) -> tensor<?x?xf32>
  %7 = relex.exp %6 : (tensor<?x?xf32>) -> tensor<?x?xf32>
  func.return %7, %3 : tensor<?x?xf32>, tensor<?x64xf32>
}
"""


def test_sizes_have_names_and_memory_is_for_those_that_ran() -> None:
    x, w = np.ones((17, 64), np.float32), np.ones(64, np.float32)
    executable = relex.build(OPEN)
    found: object
    for found, batch in ((executable.report(), 1024), (executable.report(x=x[:3], w=w), 3)):
        assert isinstance(found, CompilationReport)
        [arena] = found.arenas
        assert arena.sizes == {"batch": batch}
        assert arena.bytes == max(part.offset + part.bytes for part in arena.buffers)
        assert batch * 64 * 4 in [part.bytes for part in arena.buffers]
        labels = [arrow.label for arrow in found.steps[0].drawings["main"].arrows]
        assert {"batch x 64", "batch x batch", "(2 * batch) x 64"} <= set(labels)
        assert found.steps[0].drawings["main"].boxes[0].rows == ("batch x 64",)


def test_boxes_of_a_picture_do_not_overlap():
    [drawing] = draw_graphs(relex.parse(PROGRAM)).values()
    assert [box.title for box in drawing.boxes if box.kind == "op"] == ["dense", "add", "softmax", "dense", "matmul"]
    for number, box in enumerate(drawing.boxes):
        assert box.x - box.width / 2 >= 0
        for other in drawing.boxes[number + 1 :]:
            beside = abs(box.x - other.x) >= (box.width + other.width) / 2
            assert beside or box.y + box.height <= other.y or other.y + other.height <= box.y
    for arrow in drawing.arrows:
        assert drawing.boxes[arrow.source].layer < drawing.boxes[arrow.target].layer


def test_tools_write_pages(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    program, page = tmp_path / "p.mlir", tmp_path / "p.html"
    program.write_text(SMALL)
    assert relex_opt([str(program), "-p", "legalize-ops,fuse-ops", "--html", str(page), "--check-each"]) == 0
    data = _data(page.read_text())
    assert [step["name"] for step in data["steps"]] == ["input", "legalize-ops", "fuse-ops"]
    assert data["steps"][1]["verdict"] == "1 checked"
    assert data["steps"][1]["findings"] == [{"function": "main", "kind": "checked", "why": "", "step": ""}]
    assert data["sources"] == {str(program): SMALL}
    assert data["assembly"] == {}
    array = tmp_path / "x.npy"
    np.save(array, np.ones(4, np.float32))
    page.unlink()
    assert relex_run([str(program), f"--input={array}", "--html", str(page)]) == 0
    assert _data(page.read_text())["profile"]["function"] == "main"
    assert relex_run([str(program), f"--input={array}", "--html", str(tmp_path / "no" / "p.html")]) == 1
    assert "cannot write" in capfd.readouterr().err


def test_a_pass_that_fails_is_the_last_one_of_the_page(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    program, page = tmp_path / "p.mlir", tmp_path / "p.html"
    program.write_text(PROGRAM)
    assert relex_opt([str(program), "-p", "cse,convert-to-llvm,cse", "--html", str(page)]) == 1
    steps = _data(page.read_text())["steps"]
    assert [step["name"] for step in steps] == ["input", "cse", "convert-to-llvm"]
    assert steps[2]["error"].startswith(f"{program}:2:1: error: 'func.func' op expected types of the core level")
    assert steps[2]["findings"][0]["kind"] == "wrong"
    assert relex_opt([str(program), "--split-input-file", "--html", str(page)]) == 1
    assert "--html" in capfd.readouterr().err


BESIDE = """
<script>
const report = (found) => fetch("/", { method: "POST", body: JSON.stringify(found) });
addEventListener("error", (e) => report({ error: e.message }));
addEventListener("unhandledrejection", (e) => report({ error: String(e.reason) }));
const until = async (condition) => { while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5)); };
(async () => {
  const [left, right] = frames.map((frame) => frame.contentWindow);
  const isReady = (frame) => frame.contentDocument?.documentElement?.dataset.ready;
  await until(() => frames.every(isReady));
  left.go({ step: 2, tab: "changes" });
  await until(() => right.shown().pass === left.shown().pass && right.shown().tab === "changes");
  report({ pass: right.shown().pass, step: right.state().step, rows: document.querySelector("tbody").innerText });
})();
</script>
"""


def test_two_reports_on_one_page(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    program, old, page = tmp_path / "p.mlir", tmp_path / "old.html", tmp_path / "both.html"
    program.write_text(PROGRAM)
    assert relex_opt([str(program), "-p", "cse,legalize-ops", "--html", str(old)]) == 0
    compare = ["--html", str(page), "--html-compare", str(old)]
    assert relex_opt([str(program), "-p", "fuse-ops,cse,legalize-ops,fuse-tir", *compare]) == 0
    text = page.read_text()
    assert "<tr><td>operators</td><td>5 kernels</td><td>4 kernels</td></tr>" in text
    assert "<tr><td>passes</td><td>no others</td><td>fuse-ops, fuse-tir</td></tr>" in text
    assert "<td>program</td>" not in text
    capfd.readouterr()
    assert relex_opt([str(program), "--html", str(page), "--html-compare", str(program)]) == 1
    assert "p.mlir: expected a report that --html or save() has written" in capfd.readouterr().err
    assert relex_opt([str(program), "--html", str(page), "--html-compare", str(tmp_path / "no.html")]) == 1
    assert "cannot read" in capfd.readouterr().err
    for tool in (relex_opt, relex_run):
        assert tool([str(program), "--html-compare", str(old)]) == 1
        assert "expected --html FILE.html with --html-compare" in capfd.readouterr().err
    if CHROMIUM is None:
        return
    found = _Browser(text.replace("</body>", BESIDE + "</body>")).visit(_chromium(tmp_path))
    # The second pass of one report is the third one of the other.
    assert (found["pass"], found["step"]) == ("legalize-ops", 3)
    assert "fuse-ops, fuse-tir" in found["rows"]


DROP_NAME = """
from dataclasses import dataclass
from relex.passes import RelexPass

@dataclass(frozen=True)
class DropNamePass(RelexPass):
    name = "drop-name"

    def apply(self, ctx, op):
        del op.body.block.first_op.properties["sym_name"]
"""


def test_a_pass_that_takes_away_a_name_is_told_by_the_page(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    program, passes, page = tmp_path / "p.mlir", tmp_path / "drop_name.py", tmp_path / "p.html"
    program.write_text(SMALL)
    passes.write_text(DROP_NAME)
    assert relex_opt([str(program), "--load-passes", str(passes), "-p", "drop-name", "--html", str(page)]) == 1
    assert "'func.func' op expected property 'sym_name'" in capfd.readouterr().err
    assert "expected property 'sym_name'" in _data(page.read_text())["steps"][-1]["error"]


COPY = """
tir.prim_func @copy(%X: memref<10xf32>) outs(%Y: memref<10xf32>) {
  %four = arith.constant 4 : index
  %ten = arith.constant 10 : index
  tir.for %io, %ii in (3, 4) {
    %a = arith.muli %io, %four : index
    %i = arith.addi %a, %ii : index
    %inside = arith.cmpi slt, %i, %ten : index
    scf.if %inside {
      tir.block @Y (%vi: spatial<10> = %i) {
        %x = memref.load %X[%vi] : memref<10xf32>
        memref.store %x, %Y[%vi] : memref<10xf32>
      }
    }
  }
}
"""


def _findings(tmp_path: Path, program: str, *options: str) -> list[dict[str, Any]]:
    file, page = tmp_path / "p.mlir", tmp_path / "p.html"
    file.write_text(program)
    relex_opt([str(file), *options, "--html", str(page), "-o", "/dev/null"])
    return _data(page.read_text())["steps"][-1]["findings"]


def test_what_check_tir_has_decided(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    assert _findings(tmp_path, COPY, "-p", "check-tir") == [
        {"function": "copy", "kind": "proved", "why": "", "step": ""}
    ]
    (wrong,) = _findings(tmp_path, COPY.replace("slt", "sle"), "-p", "check-tir")
    assert (wrong["function"], wrong["kind"]) == ("copy", "wrong")
    assert wrong["why"] == "expected %vi in 0..9, found 10 at %io = 2, %ii = 2"
    (unsure,) = _findings(tmp_path, COPY.replace("arith.addi", "arith.shli"), "-p", "check-tir")
    assert unsure["kind"] == "undecided"
    capfd.readouterr()


SUMS = """
func.func @main(%x: tensor<40x32xf32>) -> tensor<32xf32> {
  %y = relex.sum %x axis = [0] : (tensor<40x32xf32>) -> tensor<32xf32>
  func.return %y : tensor<32xf32>
}
"""


def test_schedules_tell_their_steps():
    remark, of_function = next(step.remarks for step in report(SUMS).steps if step.name == "schedule-cpu")
    assert (remark.function, remark.message) == ("sum", "@sum of @sum: column-sums: terms around @i0")
    sequence = f"schedule.sequence for @sum {{ {' '.join(remark.steps)} }}"
    assert all(step in of_function.notes[0] for step in remark.steps)
    loops = LegalizeOpsPass()(relex.parse(SUMS))
    scheduled = ApplySchedulePass()(relex.parse("\n".join([*map(str, loops.ops), sequence])))
    assert "tir.block @sum_init" in str(scheduled)


def test_proofs_of_passes_and_of_the_steps_of_schedules(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    found = _findings(tmp_path, SUMS, "-p", "set-target,legalize-ops,schedule-cpu", "--check-each=proof")
    assert any(f["step"].startswith("schedule.") and f["kind"] == "proved" for f in found)
    assert [f["kind"] for f in found if not f["step"]] == ["proved"]
    capfd.readouterr()


WRONG_PASSES = Path(__file__).parents[3] / "tests" / "lit" / "tools" / "Inputs" / "wrong_passes.py"


def test_a_pass_that_changes_results_is_marked(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    program = SMALL.replace("relex.add", "relex.subtract")
    options = ["--load-passes", str(WRONG_PASSES), "-p", "cse,fold-differences", "--check-each"]
    (wrong,) = _findings(tmp_path, program, *options)
    assert (wrong["function"], wrong["kind"]) == ("main", "wrong")
    *_, last = _data((tmp_path / "p.html").read_text())["steps"]
    assert (last["name"], list(last["changes"])) == ("fold-differences", ["main"])
    assert "error: 'func.func' op pass 'fold-differences' changes" in last["error"]
    capfd.readouterr()


VISITOR = """
<script>
const report = (found) => fetch("/", { method: "POST", body: JSON.stringify(found) });
addEventListener("error", (e) => report({ error: e.message }));
addEventListener("unhandledrejection", (e) => report({ error: String(e.reason) }));
const until = async (condition) => { while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1)); };
const tabs = () => [...document.querySelectorAll("#tabs [role=tab]")];
(async () => {
  await until(() => document.documentElement.dataset.ready);
  const seen = new Set(), opened = document.querySelector("#view").textContent;
  const folds = document.querySelectorAll("#road button").length;
  document.querySelector('#road [aria-label$="without changes"]').click();
  await until(() => document.querySelectorAll("#road button").length === data.steps.length);
  for (let step = 0; step < data.steps.length; step++) {
    document.querySelectorAll("#road button")[step].click();
    await until(() => state().step === step);
    const names = tabs().map((button) => button.textContent);
    for (const tab of step ? names.slice(1, 4) : names) {
      tabs().find((button) => button.textContent === tab).click();
      await until(() => tabs().find((button) => button.getAttribute("aria-current") === "true").textContent === tab);
      for (const closed of document.querySelectorAll("details:not([open])")) closed.open = true;
      await until(() => [...document.querySelectorAll("details")].every((opened) => opened.children.length > 1));
      if (document.querySelector("#view").textContent.trim()) seen.add(tab);
    }
  }
  location.hash = `step=${data.steps.findIndex((s) => s.name === "legalize-ops")}&tab=changes`;
  const shows = (tab) => document.querySelector("#tabs [aria-current=true]").textContent === tab;
  await until(() => shows("changes") && document.querySelector("#view [data-place] .value"));
  const line = [...document.querySelectorAll("#view [data-place]")].find((d) => Number(d.dataset.place) >= 0);
  line.querySelector(".value").dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
  line.click();
  const found = { seen: [...seen].sort(), tip: document.querySelector("#tip").textContent,
           opened, folds, passes: data.steps.length,
           origin: document.querySelector("#origin").textContent, same: document.querySelectorAll(".same").length,
           code: {} };
  for (const tab of ["schedule", "assembly"]) {
    location.hash = `step=${data.steps.findIndex((s) => s.name === "schedule-cpu")}&tab=changes`;
    const links = () => [...document.querySelectorAll("[data-fn=fused_dense_add] .links a")];
    const link = () => links().find((a) => a.textContent === tab);
    await until(() => shows("changes") && link());
    link().click();
    await until(() => shows(tab));
    found.code[tab] = document.querySelector("#view").textContent;
  }
  found.hot = document.querySelector(".asm").textContent;
  found.from = [...document.querySelectorAll(".asm .from")].map((line) => line.textContent);
  const names = ["_mlir_ciface_main", "main"];
  found.first = [slowest(names)];
  data.profile.rows.push({ ...data.profile.rows[0], function: names[0] });
  found.first.push(slowest(names));
  location.hash = "tab=memory";
  await until(() => document.querySelector(".buffer"));
  found.buffers = [...document.querySelectorAll(".buffer")].map((buffer) => buffer.dataset.tip);
  report(found);
})();
</script>
"""


def _chromium(folder: Path) -> list[str]:
    """A command that starts a browser without a window."""
    assert CHROMIUM is not None
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    # Browsers ignore more than 200 changes of the address in ten seconds.
    return [*command, "--remote-debugging-port=0", "--disable-ipc-flooding-protection"]


class _Browser:
    """Serves a page to a browser, and takes what a script in it reports."""

    def __init__(self, page: str):
        reports = self.reports = Queue[dict[str, Any]]()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200 if self.path == "/" else 404)
                self.end_headers()
                self.wfile.write(page.encode())

            def do_POST(self) -> None:
                reports.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/"

    def visit(self, chromium: list[str]) -> dict[str, Any]:
        """Open the page, and return the report."""
        Thread(target=self.server.serve_forever, daemon=True).start()
        with subprocess.Popen([*chromium, self.address], stderr=subprocess.DEVNULL) as browser:
            try:
                return self.reports.get(timeout=120)
            finally:
                browser.kill()
                self.server.shutdown()
                self.server.server_close()


@pytest.mark.skipif(CHROMIUM is None, reason="chromium was not found")
def test_clicking_through_the_page(reported: CompilationReport, tmp_path: Path):
    chromium = _chromium(tmp_path)
    found = _Browser(reported.html.replace("</body>", VISITOR + "</body>")).visit(chromium)
    assert "error" not in found, found
    assert found["seen"] == ["assembly", "changes", "checks", "graph", "memory", "overview", "schedule", "times"]
    assert re.match(r"[\d.]+ .s a run of main, of which one core needs at least ", found["opened"]), found["opened"]
    assert "5 operators → 4 kernels" in found["opened"]
    assert "Click on a box" in found["opened"]
    assert found["folds"] < found["passes"]
    assert re.search(r"^tensor<[\dx]+f32>: \d+ B$", found["tip"], re.MULTILINE), found["tip"]
    assert "convert-to-llvm: main" in found["origin"]
    assert found["same"] > 1
    assert "skipped partial-rows: " in found["code"]["schedule"]
    assert "ret" in found["code"]["assembly"]
    assert any("relex.dense" in line for line in found["from"])
    # Without times, the function that computes is shown first; else the slowest.
    assert found["first"] == ["main", "_mlir_ciface_main"]
    # Values with a number in the program have no other name.
    assert {re.match(r"(%\w+: )?memref<", tip) is not None for tip in found["buffers"]} == {True}
    assert any(tip.startswith("memref<") for tip in found["buffers"])
    page, shot = tmp_path / "page.html", tmp_path / "page.png"
    page.write_text(reported.html)
    # The page unpacks its data after it was loaded: the browser's clock goes on until that is done.
    picture = [*chromium[:-2], "--virtual-time-budget=10000", f"--screenshot={shot}", page.as_uri()]
    subprocess.run(picture, capture_output=True, timeout=120, check=True)
    assert shot.stat().st_size > 10_000
