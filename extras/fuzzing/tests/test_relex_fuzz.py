"""`relex-fuzz`: programs by number, what is wrong with them, and the files that show it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator
from itertools import count
from pathlib import Path
from random import Random
from textwrap import dedent

import pytest
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from relex.dialects import parse_module, verify_module
from relex.dialects.errors import fail
from relex.dialects.relex import AddOp, ReluOp, SubtractOp
from relex.dialects.schedule.loop_primitives import UnrollOp
from relex.dialects.tir import ForOp
from relex.lowering.relex_pipeline import pipeline
from relex.passes.schedule.primitive_table import PRIMITIVES
from relex.reference.fuzzing.structures import STRUCTURES
from relex.tools.campaign import workers
from relex.tools.campaign.comparing import difference_after, read_back
from relex.tools.campaign.relex_fuzz import main
from relex.tools.campaign.state import FILE, State
from relex.tools.campaign.subject import Case, Skip, Subject
from relex.tools.campaign.subject_table import SUBJECTS
from relex.tools.campaign.subjects.schedules import random_steps
from relex.tools.campaign.trial import TrialOutcome, try_case, try_number
from relex.tools.campaign.workers import Setting, outcomes

PROGRAM = """
func.func @main(%x: tensor<3x4xf32>, %y: tensor<4xf32>) -> tensor<3x4xf32> {
  %0 = relex.add %x, %y : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %1 = relex.relu %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %2 = relex.exp %1 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %2 : tensor<3x4xf32>
}
"""


class NoReluSubject(Subject):
    """Programs without `relex.relu`: a property that not all programs have."""

    name = "no-relu"

    def make(self, random: Random) -> Case:
        return Case(parse_module(PROGRAM), {"number": str(random.random())})

    def check(self, case: Case) -> str | None:
        if "hang" in case.options:
            raise Skip("it would hang")
        return "it has a relu" if any(isinstance(op, ReluOp) for op in case.module.walk()) else None


@pytest.fixture(autouse=True)
def no_relu() -> Generator[None]:
    SUBJECTS["no-relu"] = NoReluSubject()
    yield
    del SUBJECTS["no-relu"]


@pytest.mark.parametrize("make", dict.fromkeys(STRUCTURES), ids=lambda make: make.__name__)
def test_structures_are_valid_and_the_same_again(make: Callable[[Random], ModuleOp]) -> None:
    for seed in range(8):
        module = make(Random(seed))
        verify_module(module)
        assert str(module) == str(make(Random(seed)))


@pytest.mark.parametrize("name", [name for name in SUBJECTS if name != "no-relu"])
def test_every_subject(name: str) -> None:
    """A program is made, it says something, and is not wrong."""
    assert try_number(12, 2, [name], Path("unused")).verdict == "right"


def test_a_wrong_program_is_reduced_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = try_number(3, 0, ["no-relu"], tmp_path)
    assert outcome.verdict == "wrong"
    text = Path(outcome.path).read_text()
    module = parse_module(text)
    assert [op.name for op in module.walk() if op.name.startswith("relex.")] == ["relex.relu"]
    assert text.startswith("// RUN: relex-fuzz --replay %s\n// subject: no-relu {")
    assert main(["--replay", outcome.path]) == 1
    assert "is wrong: it has a relu" in capsys.readouterr().err
    Path(outcome.path).write_text(text.replace("relex.relu", "relex.exp"))
    assert main(["--replay", outcome.path]) == 0
    assert capsys.readouterr().out == f"{outcome.path}: right\n"


def test_errors_are_refusals_and_others_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(parse_module(PROGRAM), {"hang": ""})
    assert try_case("no-relu", case).verdict == "skipped"

    def stumble(self: object, case: Case) -> str | None:
        raise IndexError("list index out of range")

    monkeypatch.setattr(NoReluSubject, "check", stumble)
    outcome = try_case("no-relu", case)
    assert outcome.verdict == "wrong"
    assert "raises IndexError" in outcome.message
    assert "in stumble (test_relex_fuzz.py:" in outcome.message


def test_campaign(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same seed gives the same programs, and a campaign goes on where it was."""
    arguments = ["--subjects=texts,scripts", "--seed=5", "--jobs=1", f"--output={tmp_path}"]
    assert main([*arguments, "--programs=2"]) == 0
    assert "2 programs in" in capsys.readouterr().out
    assert main(["--resume", "--programs=1", f"--output={tmp_path}"]) == 0
    state = State.load(tmp_path)
    assert (state.seed, state.subjects, state.number, state.programs) == (5, ["texts", "scripts"], 3, 3)
    assert "3 programs in" in capsys.readouterr().out


OTHERS: dict[type[Operation], type[Operation]] = {AddOp: SubtractOp, arith.AddfOp: arith.SubfOp}


class SubtractInsteadPass(ModulePass):
    """Subtracts where a program adds."""

    name = "subtract-instead"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for old in [inner for inner in op.walk() if type(inner) in OTHERS]:
            other = OTHERS[type(old)]
            new = other.create(operands=old.operands, result_types=old.result_types, properties=old.properties)
            Rewriter.replace_op(old, new)


@pytest.mark.parametrize("mistaken", [None, "graph", "loops", "core", "llvm"])
def test_a_difference_names_the_pass(mistaken: str | None) -> None:
    """Levels are compared with each other; where they differ, it is said after which pass."""
    stages = [[SubtractInsteadPass(), *passes] if level == mistaken else passes for level, passes in pipeline()]
    found = difference_after(stages, parse_module(PROGRAM), 0)
    if mistaken is None:
        assert found is None
    else:
        assert found is not None
        assert "pass 'subtract-instead' changes what @main computes: " in found.splitlines()[0]


class KeepNoOperandsPass(ModulePass):
    """Leaves an op without its operand."""

    name = "keep-no-operands"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        next(inner for inner in op.walk() if isinstance(inner, ReluOp)).operands = []


class RefuseEverythingPass(ModulePass):
    """Handles no program."""

    name = "refuse-everything"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        fail(op, "expected another program")


def test_a_program_that_becomes_invalid_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a pass, or by printing it; one that a pass refuses is not."""

    def outcome_of(check: Callable[[ModuleOp], object]) -> TrialOutcome:
        def check_case(self: object, case: Case) -> None:
            check(case.module)

        monkeypatch.setattr(NoReluSubject, "check", check_case)
        return try_case("no-relu", Case(parse_module(PROGRAM)))

    outcome = outcome_of(lambda module: difference_after([[KeepNoOperandsPass()]], module, 0))
    assert outcome.verdict == "wrong"
    assert outcome.message.startswith("it becomes invalid: 'relex.relu' op")
    outcome = outcome_of(lambda module: difference_after([[RefuseEverythingPass()]], module, 0))
    assert outcome.verdict == "refused"
    outcome = outcome_of(lambda module: read_back(parse_module, f"{module} more"))
    assert outcome.verdict == "wrong"
    assert outcome.message.endswith("when it is read back")


def test_a_step_that_goes_wrong_is_in_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trace ends with it, so that the file of the program shows it."""

    def stumble(loop: ForOp) -> None:
        raise ValueError("expected a positive divisor, found 0")

    monkeypatch.setitem(PRIMITIVES, UnrollOp, stumble)
    module = parse_module("""
    tir.prim_func @main() outs(%Y: memref<4xf32>) {
      %zero = arith.constant 0.0 : f32
      tir.for %i in (4) {
        tir.block @Y (%vi: spatial<4> = %i) {
          memref.store %zero, %Y[%vi] : memref<4xf32>
        }
      }
    }
    """)
    found = (random_steps(module.clone(), "main", Random(seed)) for seed in count())
    steps = next(steps for steps in found if any(isinstance(op, UnrollOp) for one in steps for op in one.walk()))
    assert isinstance(steps[0].regions[0].block.last_op, UnrollOp)
    outcome = try_case(
        "schedules", Case(ModuleOp([*(op.clone() for op in module.ops), *steps]), {"strict": "", "seed": "0"})
    )
    assert outcome.verdict == "wrong"
    assert "raises ValueError: expected a positive divisor, found 0 in stumble" in outcome.message


WORKER = """
    import os, sys, time
    from relex.tools.campaign import workers
    from relex.tools.campaign.trial import TrialOutcome

    def try_number(seed, number, subjects, folder):
        if number == 1:
            os.abort()
        if number == 2:
            time.sleep(60)
        if number == 4:
            workers.limit_time(1)
            while True:
                pass
        print("this is not an outcome")
        return TrialOutcome(subjects[0], "right", str(number))

    workers.try_number = try_number
    workers.main(sys.argv[1:])
"""


REPEATED = """
func.func @main(%x: tensor<?xf32>, %n: tensor<?xi64>) -> tensor<?xf32> {
  %0 = relex.repeat %x, %n : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}
"""


def test_calls_of_which_the_data_decides() -> None:
    # A size that the data decides: nobody can give its array; numbers that the program refuses say nothing.
    found = [try_case("calls", Case(parse_module(REPEATED), {"seed": str(seed)})) for seed in range(12)]
    assert {outcome.verdict for outcome in found} == {"right", "skipped"}
    assert any("elements that are refused: 'relex.repeat'" in outcome.message for outcome in found)


def test_a_process_that_crashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "COMMAND", (sys.executable, "-c", dedent(WORKER)))
    found = list(outcomes(Setting(0, ["no-relu"], tmp_path), iter([0, 1, 3]), 2))
    verdicts = sorted((o.verdict, o.message) for o in found)
    assert verdicts == [("right", "0"), ("right", "3"), ("wrong", "the process ended by signal 6")]
    assert all("relex.relu" in Path(o.path).read_text() for o in found if o.path)


def test_a_process_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "COMMAND", (sys.executable, "-c", dedent(WORKER)))
    monkeypatch.setattr(workers, "PATIENCE", 0.5)
    (found,) = outcomes(Setting(0, ["no-relu"], tmp_path), iter([2]), 1)
    assert found.message == "does not come to an end: it was stopped after 0.5 seconds"
    assert "relex.relu" in Path(found.path).read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--subjects=level"], "expected --subjects from levels, loops, "),
        (["--seed=-1"], "expected --seed to be 0 or more, found -1"),
        (["--programs=0"], "expected --programs to be 1 or more, found 0"),
        (["--minutes=0"], "expected --minutes to be more than 0, found 0"),
        (["--minutes=nan"], "expected --minutes to be more than 0, found nan"),
        (["--resume"], "to have a campaign to resume"),
        (["--replay={file}"], "to have a line '// subject: NAME OPTIONS'"),
        (["--replay=missing.mlir"], "cannot read 'missing.mlir'"),
    ],
)
def test_wrong_arguments(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.mlir"
    file.write_text("builtin.module {}")
    assert main([*(a.format(file=file) for a in arguments), f"--output={tmp_path}"]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_a_damaged_state_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("", "[]", json.dumps({"seed": 1}), json.dumps({"unknown": 1})):
        (tmp_path / FILE).write_text(text)
        assert main(["--resume", f"--output={tmp_path}"]) == 1
        assert "to have a campaign to resume" in capsys.readouterr().err
