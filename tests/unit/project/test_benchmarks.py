"""The benchmark suite runs, refuses wrong answers, and what it wrote last is what the documentation shows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import examinations
import numpy as np
import pytest
from started import run_python

from relex.reference import interpret

ROOT = Path(__file__).parents[3]

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


@pytest.mark.parametrize("name", ["swin", "conformer"])
def test_blocks_with_fixed_and_dynamic_sizes(name: str) -> None:
    networks = module("dynamic_models")
    shape = {"swin": (1, 16, 8, 96), "conformer": (2, 5, 144)}[name]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    names = {"swin": {"n": 1, "h": 16, "w": 8}, "conformer": {"n": 2, "h": 5}}[name]
    found: list[Any] = []
    for sizes in (names, {size: size for size in names}):
        networks.RANDOM = np.random.default_rng(0)
        found.append(interpret(networks.NETWORKS[name]({"w": 0, **sizes}))["main"](x))
    assert found[0].shape == shape
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4, atol=1e-5)


def test_measurements_are_repeated() -> None:
    only = ("--rows", "matmul 17x33x65", "--contenders", "NumPy", "relex", "--seconds", "0.001")
    result = run_python("-m", "benchmarks.repeat", "znver5", *only, "--tolerance", "1e9", cwd=ROOT, timeout=600)
    assert result.returncode == 0, result.stderr
    assert "0 of 1 ratios to the time of relex differ by more than 100000000000%" in result.stdout
    assert "processor: " in result.stdout
    wrong = run_python("-m", "benchmarks.repeat", "--rows", "nothing", cwd=ROOT, timeout=600)
    assert "no row has a name like 'nothing'" in wrong.stderr


def test_ratios_that_differ_are_named() -> None:
    repeat, results = module("repeat"), module("results")

    def measured(other: float, version: str | None) -> Any:
        calls = {
            name: results.Comparison({"relex": [1.0], "NumPy": [time]}) for name, time in (("a", 2.0), ("b", other))
        }
        return results.Results({"processor": "p"}, 1, {"numpy": version}, calls=calls)

    assert repeat.report(measured(2.0, "1"), measured(2.4, "1"), 0.25) == (
        "0 of 2 ratios to the time of relex differ by more than 25%; the geometric mean of all is 2.00 published, "
        "2.19 here.\n"
    )
    found = repeat.report(measured(2.0, "1"), measured(1.0, None), 0.25)
    assert "| b | NumPy | 2.00 | 1.00 | 0.50 |" in found
    assert "| a |" not in found
    assert found.endswith("numpy: 1 published, not installed here.\n")
    empty = results.Results({}, 1, {})
    assert repeat.report(empty, measured(1.0, "1"), 0.25) == "nothing was measured both times\n"


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
    picture = (results.FOLDER / report.README_PICTURE).read_text()
    assert picture == report.readme_picture(report.shown(published)), "run python -m benchmarks.report"
    readme = (ROOT / "README.md").read_text()
    assert report.MARKED.search(readme)
    assert report.with_results(readme, report.shown(published)) == readme, "run python -m benchmarks.report"


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


ENDINGS = {
    "right": "right",
    "raises": "expected a | b",
    "raises without a message": "ValueError",
    "hangs": "a call takes too long",
    "hangs at its end": "right",
    "crashes": "the process ended with -11 at 'a call takes too long'",
    "exits": "the process ended with 3 at 'a call takes too long'",
    "needs memory": "the memory does not suffice",
}


@pytest.mark.parametrize("way", ENDINGS)
def test_examinations_end(way: str) -> None:
    """A row says how, and has what was measured before."""
    examining = module("examining")
    begin = perf_counter()
    found = examining.examined(examinations.examine, way, seconds=8 if "hangs" in way else 60, megabytes=1000)
    assert perf_counter() - begin < 60
    assert found["verdict"] == ENDINGS[way]
    assert examining.amount(found, "compile", "{:.1f} s") == "1.5 s"
    assert examining.ratio(found, "time", "other") == ("0.50" if way == "right" else "-")


def test_examinations_that_do_not_start() -> None:
    examining = module("examining")
    found = examining.examined(examinations.examine, "right", seconds=0)
    assert found == {"verdict": "the process took too long to start"}


def test_who_is_to_blame() -> None:
    found = module("examining").examined(examinations.examine, "raises", seconds=60, blame=examinations.blame)
    assert found["verdict"] == "a call: expected a | b"


def test_rows_are_written_as_they_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    examining, path = module("examining"), tmp_path / "results" / "rows.json"

    def run(name: str) -> dict[str, Any]:
        if name == "third":
            assert json.loads(path.read_text()).keys() == {"first", "second"}
            raise KeyboardInterrupt
        return {"as it is": {"verdict": name}}

    def line(name: str, found: dict[str, Any]) -> str:
        return examining.cell(f"{name} | {found['as it is']['verdict']}")

    with pytest.raises(KeyboardInterrupt):
        examining.write_rows(["first", "second", "third"], run, line, path)
    assert capsys.readouterr().out == "first \\| first\nsecond \\| second\n"
