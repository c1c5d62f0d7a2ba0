"""`relex-tune`: schedules other than the default, measured, proved, and applied."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import parse_module
from relex.dialects.schedule import SequenceOp
from relex.dialects.target.processors import Processor, processor_of
from relex.dialects.target.target_attribute import get_target
from relex.dialects.tir import PrimFuncOp
from relex.passes import ApplySchedulePass, ApplyTuningPass
from relex.runtime import build
from relex.tools.run.relex_run import main as relex_run
from relex.tools.tuning import tuner
from relex.tools.tuning.candidates import Candidate, candidates
from relex.tools.tuning.harness import Harness
from relex.tools.tuning.record import Record
from relex.tools.tuning.relex_tune import main
from relex.tools.tuning.tuner import loop_functions

PROGRAM = """
func.func @main(%x: tensor<24x40xf32>) -> tensor<24x48xf32> {
  %w = relex.constant dense<0.5> : tensor<48x40xf32>
  %0 = relex.dense %x, %w : (tensor<24x40xf32>, tensor<48x40xf32>) -> tensor<24x48xf32>
  func.return %0 : tensor<24x48xf32>
}
"""

Times = Callable[[Harness, Any, int], list[float]]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the schedules, the default and two others: each is compiled, compared and proved."""

    def first(func: PrimFuncOp, processor: Processor) -> list[Candidate]:
        return candidates(func, processor)[:3]

    monkeypatch.setattr(tuner, "candidates", first)


def measured(*times: float) -> Times:
    """Measuring that takes the first time for the first function, and the second for others."""
    return lambda self, functions, rounds: [times[0], *times[1:]][: len(functions)]


def loops() -> PrimFuncOp:
    module = loop_functions(parse_module(PROGRAM), strict=False)
    (func,) = (op for op in module.ops if isinstance(op, PrimFuncOp))
    func.detach()
    return func


def test_candidates_are_schedules_of_the_function() -> None:
    """Each differs from all others, and applies as text."""
    module = loop_functions(parse_module(PROGRAM), strict=False)
    target = get_target(module)
    assert target is not None
    processor = processor_of(target)
    assert processor is not None
    (func,) = (op for op in module.ops if isinstance(op, PrimFuncOp))
    found = candidates(func, processor)
    assert found[0].why == "the default"
    assert len({candidate.text for candidate in found}) == len(found) > 3
    for candidate in found:
        steps = SequenceOp(func.sym_name.data, [op.clone() for op in candidate.steps])
        text = str(ModuleOp([func.clone(), steps]))
        assert "schedule" not in str(ApplySchedulePass()(parse_module(text)))


@pytest.mark.usefixtures("few")
def test_a_faster_schedule_is_kept(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Harness, "times", measured(2e-6, 1e-6))
    assert main([str(program)]) == 0
    out = capsys.readouterr().out
    assert "2.0 us       1.0 us   2.00" in out
    tuned = program.with_suffix(".tuned.mlir")
    assert "schedule.sequence for @dense {" in tuned.read_text()
    x = np.random.default_rng(0).standard_normal((24, 40)).astype(np.float32)
    np.save(program.with_suffix(".npy"), x)
    other = build(PROGRAM, passes=[ApplyTuningPass(str(tuned))])
    np.testing.assert_allclose(other["main"](x), x @ np.full((48, 40), 0.5, np.float32).T, rtol=1e-4, atol=1e-5)
    assert relex_run([str(program), f"--tuned={tuned}", f"--input={program.with_suffix('.npy')}"]) == 0
    assert main([str(program), "--resume"]) == 0
    assert "there is nothing to gain" in capsys.readouterr().out


@pytest.mark.usefixtures("few")
def test_the_tuned_schedule_is_the_one_that_is_compiled(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Harness, "times", measured(2e-6, 1e-6))
    assert main([str(program)]) == 0
    tuned = parse_module(program.with_suffix(".tuned.mlir").read_text())
    func = ApplyTuningPass(str(program.with_suffix(".tuned.mlir")))(loop_functions(parse_module(PROGRAM), strict=False))
    (found,) = (op for op in func.ops if isinstance(op, PrimFuncOp))
    (expected,) = (op for op in ApplySchedulePass()(tuned).ops if isinstance(op, PrimFuncOp))
    assert "relex.scheduled" in str(found).splitlines()[0]
    assert str(found).splitlines()[1:] == str(expected).splitlines()[1:]


@pytest.mark.usefixtures("few")
def test_the_default_stays(program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(Harness, "times", measured(1e-6, 0.99e-6))
    assert main([str(program)]) == 0
    assert "there is nothing to gain" in capsys.readouterr().out
    text = program.with_suffix(".tuned.mlir").read_text()
    assert "tir.prim_func private @dense" in text
    assert "schedule.sequence" not in text


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("check", ["_agrees", "_proved"])
def test_wrong_schedules_are_not_kept(check: str, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Harness, "times", measured(2e-6, 1e-6))

    def refuse(*_: object) -> bool:
        return False

    monkeypatch.setattr(tuner, check, refuse)
    assert main([str(program)]) == 0
    assert "schedule.sequence" not in program.with_suffix(".tuned.mlir").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--minutes=0"], "expected --minutes to be more than 0, found 0"),
        (["--resume"], "cannot read"),
        (["--shapes=batch=4"], "expected a model"),
    ],
)
def test_wrong_arguments(arguments: list[str], message: str, program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(program), *arguments]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_a_record_of_another_target_is_refused(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = program.with_suffix(".tuned.mlir")
    path.write_text(
        'builtin.module attributes {relex.target = {triple = "x86_64-linux", cpu = "k8", features = ""}} {}'
    )
    assert main([str(program), "--resume"]) == 1
    assert "to be for" in capsys.readouterr().err


def test_no_time(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Functions for which there was no time are not in the record."""
    assert main([str(program), "--minutes=1e-9"]) == 0
    assert "there is nothing to gain" in capsys.readouterr().out


def test_records_have_functions_by_what_they_do() -> None:
    func = loops()
    module = loop_functions(parse_module(PROGRAM.replace("%x", "%data")), strict=False)
    target = get_target(module)
    assert target is not None
    record = Record(target)
    record.add(func, None)
    (again,) = (op for op in module.ops if isinstance(op, PrimFuncOp))
    assert again in record
    other = loop_functions(parse_module(PROGRAM.replace("24x", "25x")), strict=False)
    (different,) = (op for op in other.ops if isinstance(op, PrimFuncOp))
    assert different not in record
