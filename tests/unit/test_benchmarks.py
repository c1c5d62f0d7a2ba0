"""The benchmark suite runs, refuses wrong answers, and what it wrote last is what the documentation shows."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from fnmatch import fnmatch
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from started import run_python

from relex.dialects.features import VARIABLE
from relex.tools.limits import fma_text, least_seconds, stream_text, vector_bytes

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.usefixtures("importable")


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def module(name: str) -> Any:
    return import_module(f"benchmarks.{name}")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run_python("-m", "benchmarks", *arguments, cwd=ROOT, timeout=600)


def test_a_short_run(tmp_path: Path) -> None:
    result = run("--rows", "*17x33x65*", "--contenders", "NumPy", "--seconds", "0.001", "--output", str(tmp_path))
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) == 3
    found = json.loads((tmp_path / "results.json").read_text())
    assert list(found["calls"]) == ["dense 17x33x65, constant", "dense 17x33x65", "matmul 17x33x65"]
    for row in found["calls"].values():
        assert list(row["seconds"]) == ["NumPy"]
        assert all(seconds > 0 for seconds in row["seconds"]["NumPy"])
        assert all(seconds > 0 for limits in row["limits"] for seconds in limits)
    page = (tmp_path / "README.md").read_text()
    assert page.count("| matmul 17x33x65 |") == 2
    assert str(Path.home()) not in page


@pytest.mark.skipif(platform.machine() != "x86_64", reason="AVX2 is of x86-64")
def test_vectors_of_avx2(tmp_path: Path) -> None:
    only = ("--rows", "matmul 17x33x65", "--contenders", "relex", "NumPy", "--seconds", "0.001")
    result = run(*only, "--repeats", "0", "--features", "avx2", "--output", str(tmp_path))
    assert result.returncode == 0, result.stderr
    found = json.loads((tmp_path / "results.json").read_text())
    assert found["features"] == "avx2"
    assert list(found["calls"]["matmul 17x33x65"]["seconds"]) == ["relex", "NumPy"]


def test_limits_are_those_of_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    assert module("contenders").CPU_VARIABLE == VARIABLE
    monkeypatch.setenv(VARIABLE, "x86-64" if platform.machine() == "x86_64" else "generic")
    assert vector_bytes() == 16
    assert "<4 x float>" in fma_text("float32")


def test_compilations_and_starts(tmp_path: Path) -> None:
    row = "MLP 784-128-10, batch 1"
    only = ("--rows", row, "--contenders", "NumPy", "relex", "--seconds", "0.001", "--repeats", "1")
    result = run(*only, "--output", str(tmp_path))
    assert result.returncode == 0, result.stderr
    found = json.loads((tmp_path / "results.json").read_text())
    assert found["memory"].keys() == {"NumPy", "relex"}
    assert all(1e6 < peak < 1e10 for peak in found["memory"].values())
    assert min(found["starts"]["seconds"]["relex"][0], found["compilations"][row]["seconds"]["relex"][0]) > 0
    # NumPy in the legend, and at the row.
    assert (tmp_path / "times.svg").read_text().count("<circle") == 2
    assert (tmp_path / "limits.svg").read_text().count("<rect x=") == 1
    assert (tmp_path / "roofline.svg").read_text().count("<circle") == 1
    assert re.search(r"^\| relex \| \d", (tmp_path / "README.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--threads", "0"), "threads, found 0"),
        (("--threads", "100000"), "threads, found 100000"),
        (("--contenders", "abacus"), "invalid choice: 'abacus'"),
        (("--features", "mmx"), "invalid choice: 'mmx'"),
        (("--contenders", "ONNX Runtime", "--features", "avx2"), "nothing keeps ONNX Runtime to avx2"),
        (("--publish", "--rows", "MLP*"), "expected all rows and all contenders for --publish"),
        (("--rows", "no such row"), "no row has a name like 'no such row'"),
    ],
)
def test_wrong_options(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_what_is_shown_is_what_was_measured() -> None:
    report, results = module("report"), module("results")
    published = results.published()
    for found in published:
        for name, text in report.pages(found).items():
            assert (results.FOLDER / found.name / name).read_text() == text, f"run python -m benchmarks.report: {name}"
        assert found.calls.keys() <= module("rows").ROWS.keys()
    assert (results.FOLDER / "README.md").read_text() == report.index(published), "run python -m benchmarks.report"
    readme = (ROOT / "README.md").read_text()
    assert report.MARKED.search(readme)
    assert report.with_results(readme, report.shown(published)) == readme, "run python -m benchmarks.report"


def test_names_of_results() -> None:
    kind, report = module("results").Results, module("report")
    found = {"processor": "AMD EPYC (znver4), 2 cores"}
    whole = kind(found, 1, {}, "2026-11-21")
    assert [kind(found, 1, {}).name, kind(found, 2, {}).name] == ["znver4", "znver4-2-threads"]
    avx2 = kind(found, 1, {}, "2026-11-23", "avx2")
    assert avx2.name == "znver4-avx2"
    assert kind({}, 1, {}).name == "unknown"
    assert report.shown([avx2, whole]) is whole
    assert "left out, since nothing keeps it to that: ONNX Runtime\n" in report.machine(avx2)


def test_rows_in_which_a_library_is_not_kept_to_features() -> None:
    contenders, rows = module("contenders").CONTENDERS, module("rows").ROWS
    for contender in contenders.values():
        assert all(any(fnmatch(row, pattern) for row in rows) for pattern in contender.uncut)
    row = "BERT layer, 128 tokens"
    assert contenders["OpenVINO"].takes(row, is_file=True, features="")
    assert not contenders["OpenVINO"].takes(row, is_file=True, features="avx2")
    assert contenders["OpenVINO"].takes("resnet50, batch 1", is_file=True, features="avx2")
    assert contenders["JAX"].takes("matmul 128x128x128", is_file=False, features="avx2")
    assert not contenders["JAX"].takes(row, is_file=True, features="avx2")


def test_compile_times_of_operators() -> None:
    program = ("-m", "benchmarks.operator_compile_time", "--sizes", "16", "64", "--operators")
    result = run_python(*program, "relex.relu Nx31", cwd=ROOT, timeout=600, check=True)
    assert re.search(r"^relex.relu Nx31(\s+\d+\s+\d+\.\d\s+\d+){2}$", result.stdout, re.MULTILINE)
    result = run_python(*program, "none", cwd=ROOT, timeout=600)
    assert result.returncode == 2
    assert "no operator has a name like 'none'" in result.stderr


def test_compile_times_of_passes() -> None:
    result = run_python("-m", "benchmarks.compile_time", "--operators", "2", cwd=ROOT, timeout=600, check=True)
    assert len(re.findall(r"^schedule-cpu +\d+$", result.stdout, re.MULTILINE)) == 2
    assert len(re.findall(r"^LLVM +\d+$", result.stdout, re.MULTILINE)) == 2


ROWS_OF_ALL_OPERATORS = [
    "LeNet, batch 1",
    "dense 17x33x65",
    "matmul 17x33x65",
    "relu(x * y + y), 1000",
    "exp(x), 100000",
    "transpose 1000x1000",
    "sum, 100000, f64",
    "sums of columns, 1000x1000",
    "maxima of rows, 1000x1000",
    "softmax 64x1000",
    "layer_norm 64x1024",
    "attention 128x128",
]


@pytest.mark.parametrize("row", ROWS_OF_ALL_OPERATORS)
def test_relex_computes_what_numpy_does(row: str) -> None:
    module("worker").ContenderHost("relex").prepare(row)


@pytest.mark.parametrize("title", ["NumPy", "ONNX Runtime", "OpenVINO", "PyTorch", "JAX", "TVM", "TVM fusing"])
def test_others_compute_what_numpy_does(title: str) -> None:
    if module("contenders").CONTENDERS[title].version is None:
        pytest.skip(f"{title} is not installed")
    worker = module("worker").Worker(partial(module("worker").ContenderHost, title))
    try:
        for row in ("LeNet, batch 1", "layer_norm 64x1024", "attention 128x128"):
            assert worker.ask("prepare", row) > 0
    finally:
        worker.close()


class SlowAtFirst:
    """A contender whose first call takes a second, and the others as long as it is told."""

    def __init__(self, later: float):
        self.later = later

    def ask(self, what: str, *_: object) -> float:
        return 1.0 if what == "prepare" else self.later


@pytest.mark.parametrize(("later", "bursts"), [(0.001, 10), (0.9, 1)])
def test_a_pause_in_the_first_call_is_not_a_contenders(later: float, bursts: int) -> None:
    measured = module("measure").measure_calls("a row", {"slow": SlowAtFirst(later)}, None, 0.25)
    assert measured.seconds["slow"] == [later] * bursts


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def test_the_operators_of_all_contenders_are_complete() -> None:
    rows = module("rows")
    wanted = public(rows.Operators)
    for place in ("in_numpy.NumPyOperators", "in_relex.RelexOperators", "in_onnx.OnnxOperators"):
        name, _, kind = place.partition(".")
        assert wanted <= public(getattr(module(f"contenders.{name}"), kind)), place


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.array([1.0, 2.001], np.float32), "off by 5e-04"),
        (np.array([1.0, np.nan], np.float32), "off by nan"),
        (np.array([1.0, np.inf], np.float32), "off by inf"),
        (np.array([1.0, 2.0], np.float64), r"expected float32\(2,\), found float64\(2,\)"),
        (np.array([[1.0, 2.0]], np.float32), r"found float32\(1, 2\)"),
        ([1.0, 2.0], "expected an array, found a list"),
        (None, "expected an array, found a NoneType"),
    ],
)
def test_wrong_answers(answer: Any, message: str) -> None:
    with pytest.raises(module("results").NotMeasuredError, match=message):
        module("worker").check(answer, np.array([1.0, 2.0]), "float32")


def test_right_answers() -> None:
    check = module("worker").check
    check(np.array([1.0, 2.00001], np.float32), np.array([1.0, 2.0]), "float32")
    check(np.zeros(3), np.zeros(3), "float64")
    check(np.zeros((0, 3)), np.zeros((0, 3)), "float64")


class Host:
    """What a worker may run into."""

    def die(self) -> None:
        os._exit(7)

    def fail(self) -> None:
        raise ValueError("first line\nsecond line")

    def double(self, number: int) -> int:
        return 2 * number


def test_workers_survive_what_their_hosts_do() -> None:
    worker = module("worker").Worker(Host)
    refused = pytest.raises(module("results").NotMeasuredError, match=r"^ValueError: first line$")
    try:
        assert worker.ask("double", 4) == 8
        with refused:
            worker.ask("fail")
        with pytest.raises(module("results").NotMeasuredError, match="exit code 7"):
            worker.ask("die")
        assert worker.ask("double", 5) == 10
    finally:
        worker.close()


def test_limits() -> None:
    limits, rows = module("row_limits"), module("rows").ROWS

    def counted(row: str) -> int:
        return limits.RowLimits(rows[row]).flops

    assert counted("matmul 17x33x65") == 2 * 17 * 33 * 65
    assert counted("MLP 784-128-10, batch 16") == 2 * 16 * (784 * 128 + 128 * 10)
    assert counted("LeNet, batch 1") == 2 * (64 * 8 * 9 + 16 * 16 * 72 + 256 * 64 + 64 * 10)
    assert counted("attention 1x1000") == 2 * 2 * 12 * 1000 * 64
    assert counted("sum, 1000") == 0


@pytest.mark.parametrize(("reads", "writes"), [(12, 0), (8, 4), (1, 11)])
def test_the_stream_reads_and_writes_each_place_once(reads: int, writes: int) -> None:
    text = stream_text(reads, writes)
    assert text.count(" = load ") == reads
    assert text.count("  store <") == writes


def test_the_least_time_grows_with_the_work() -> None:
    assert 0 < least_seconds(10**6, 8) < least_seconds(10**7, 8)
    assert 0 < least_seconds(0, 10**5) < least_seconds(0, 10**7)
    assert least_seconds(0, 0) == 0


def test_numbers_in_words() -> None:
    report = module("report")
    shown = [report.duration(seconds) for seconds in (None, 0, 1.234e-8, 9.96e-6, 99.6e-6, 0.0123, 2)]
    assert shown == ["-", "0.00 us", "0.01 us", "10.0 us", "100 us", "12.3 ms", "2.00 s"]
    assert report.percent(None) == "-"
    assert report.percent(0.856) == "86 %"


def test_comparison() -> None:
    comparison = module("results").Comparison(
        {"relex": [1.0, 2.0, 3.0], "slow": [4.0, 6.0, 9.0], "once": [20.0], "none": []},
        limits=[[0.5, 1.0], [0.5, 1.0]],
    )
    comparison.seconds.pop("none")
    assert comparison.median("slow") == 6
    assert comparison.ratio("slow") == 3
    assert comparison.ratio("once") == 20
    assert comparison.ratio("absent") is None
    assert comparison.best_rival() == "slow"
    assert comparison.lead() == 3
    assert comparison.spread("relex") == 1
    assert comparison.spread("once") == 0
    assert comparison.limit() == (1.0, "memory")
    assert comparison.share_of_limit() == 0.75


def test_nothing_was_measured() -> None:
    comparison = module("results").Comparison()
    assert comparison.best_rival() is comparison.lead() is comparison.limit() is comparison.share_of_limit() is None


def test_aims() -> None:
    aims, results = module("aims"), module("results")
    rows = module("rows").ROWS
    for aim in aims.AIMS:
        assert aim.reached(results.Results({}, 1, {})) is None
    both = results.Comparison({"relex": [1.0], "NumPy": [2.0]}, {}, [[1.0, 0.5]])
    full = results.Results({}, 1, {}, calls=dict.fromkeys(rows, both))
    full.starts = results.Comparison({"relex": [0.9]})
    reached = {aim.text: aim.reached(full) for aim in aims.AIMS}
    verdicts = [aim.met(value) for aim in aims.AIMS if (value := reached[aim.text]) is not None]
    assert verdicts == [False, True, True, True, True, True, True, True, False]


@pytest.mark.parametrize("program", ["chain:2", "fan:3", "equal:3", "distinct:3"])
def test_the_stages_of_a_build(program: str) -> None:
    stages = module("stages")
    row = stages.measure(program)
    assert tuple(row.stages) == stages.STAGES
    assert all(row.stages[stage] > 0 for stage in ("import", "graph", "schedule", "lowering", "LLVM", "link"))
    assert str(row).startswith(program)
    assert len(str(row)) == 24 + len(stages.TITLES)


def test_layers_have_as_many_operators_as_asked_for() -> None:
    for is_distinct in (False, True):
        layers = module("stages").layers(30, is_distinct)
        assert sum(op.name in ("relex.dense", "relex.add", "relex.relu") for op in layers.walk()) == 30
