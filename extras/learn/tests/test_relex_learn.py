"""The exercises of the lessons: answers pass, beginnings do not, and wrong solutions are told what is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from relex.dialects.arrays import Array
from relex.tools.learn import grading
from relex.tools.learn.exercises import Exercise, answer_of, exercises
from relex.tools.learn.lessons import AIMS, PASSES
from relex.tools.learn.relex_learn import main
from relex.tools.shell.diagnostics import ToolError

EXERCISES = exercises()

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def solved(exercise: Exercise, text: str, capsys: Captured) -> tuple[int, str, str]:
    """Grade a solution without its speed. Returns the exit code, the output and the error."""
    Path(exercise.file).write_text(text)
    capsys.readouterr()
    status = main(["check", exercise.number, "--no-speed"])
    output, error = capsys.readouterr()
    assert "internal error" not in error
    return status, output, error


def test_lessons_have_five_exercises_each() -> None:
    numbers = [f"{lesson}.{number}" for lesson in (1, 2, 3) for number in range(1, 6)]
    assert list(EXERCISES) == [*AIMS, *PASSES] == numbers
    assert all(len(exercise.hints) >= 2 for exercise in EXERCISES.values())
    assert all(exercise.task for exercise in EXERCISES.values())


@pytest.mark.parametrize("number", EXERCISES)
def test_answers_pass(number: str, capsys: Captured) -> None:
    status, output, error = solved(EXERCISES[number], answer_of(EXERCISES[number]), capsys)
    assert (status, error) == (0, "")
    assert output.endswith(f"{number}  solved\n")


@pytest.mark.parametrize("number", EXERCISES)
def test_beginnings_do_not_pass(number: str, capsys: Captured) -> None:
    """Their speed is not measured."""
    assert main(["start", number]) == 0
    assert EXERCISES[number].task in capsys.readouterr().out
    status, output, error = solved(EXERCISES[number], EXERCISES[number].start, capsys)
    assert (status, bool(error)) == (1, True)
    assert "solved" not in output


@pytest.mark.parametrize(("ratio", "status"), [(7.9, 1), (20.0, 0)])
def test_the_speed_of_a_schedule(ratio: float, status: int, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    exercise = EXERCISES["1.5"]

    def measured(slow: object, fast: object) -> tuple[float, float]:
        return ratio, 1e-5

    monkeypatch.setattr(grading, "_ratio", measured)
    Path(exercise.file).write_text(answer_of(exercise))
    assert main(["check", "1.5"]) == status
    output, error = capsys.readouterr()
    assert ("10 us for a call, 20.00 times as fast as the start" in output) == (status == 0)
    assert ("expected at least 8.00 times the speed of the start: 10 us for a call" in error) == (status == 1)


@pytest.mark.parametrize(("results", "found"), [("%x, %y", 2), ("", 0)])
def test_one_result_is_expected(results: str, found: int, capsys: Captured) -> None:
    types = ", ".join(["tensor<32xf32>"] * found)
    text = f"""
    func.func @main(%x: tensor<32xf32>) -> ({types}) {{
      %y = relex.call_tir @square(%x) : (tensor<32xf32>) -> tensor<32xf32>
      func.return {results} {f": {types}" if found else ""}
    }}
    tir.prim_func private @square"""
    text += EXERCISES["2.4"].start.partition("tir.prim_func private @square")[2]
    status, _, error = solved(EXERCISES["2.4"], text, capsys)
    assert (status, error) == (1, f"relex-learn: error: expected one result, found {found}\n")


def test_speeds_are_measured_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading, "SECONDS", 0.0)
    calls: list[str] = []
    ratio, seconds = grading._ratio(  # pyright: ignore[reportPrivateUsage]
        lambda: calls.append("slow"), lambda: calls.append("fast")
    )
    assert calls[:8] == ["slow", "slow", "fast", "fast"] * 2
    assert min(ratio, seconds) > 0


WRONG = {
    "1.2": (("Z[vi] = Z[vi] + X[vi, vk]", "Z[vi] = X[vi, vk]"), "8 of 8 elements are wrong; at [0], expected"),
    "1.4": (("range(15)", "range(16)"), "1.4.py:4"),
    "1.5": (("arith.addf %z, %p", "arith.addf %p, %p"), "expected the program as it was"),
    "2.1": (("relex.relu %1", "relex.tanh %1"), "elements are wrong"),
    "2.3": (("tensor<?x", "tensor<3x"), "expected shape (3, 8)"),
    "2.4": (("relex.call_tir @square(%x)", "relex.exp %x"), "expected 'relex.call_tir' in the solution"),
    "3.1": (("return call.operand", "return call.operand.owner.operand"), "expected 1 'relex.relu' in @main, found 0:"),
    "3.2": ((" if call.rhs.has_one_use()", ""), "p + p: expected no change, found"),
    "3.3": (("axis % rank for axis", "0 for axis"), "[1, 2, 0], twice: expected no change, found"),
    "3.4": (("op(AddOp, op(DenseOp", "op(AddOp, op(AddOp"), "a layer: expected 1 'relex.call' in @main, found 0:"),
    "3.5": ((" and meaning(other) == meaning(call)", ""), "softmax along two axes: expected no change, found"),
}


@pytest.mark.parametrize("number", WRONG)
def test_what_is_wrong_is_said(number: str, capsys: Captured) -> None:
    (right, wrong), message = WRONG[number]
    text = answer_of(EXERCISES[number])
    assert right in text
    status, _, error = solved(EXERCISES[number], text.replace(right, wrong), capsys)
    assert status == 1
    assert message in error


def test_files_of_passes(capsys: Captured) -> None:
    answer, other = (answer_of(EXERCISES[number]) for number in ("3.1", "3.2"))
    for text, message in (
        (answer + other, "expected one pass in 3.1.py, found 2: remove-second-relu, fuse-products"),
        ("x = 1\n", "'3.1.py' brings nothing: expected a pass"),
        ("def f(:\n", "3.1.py:1"),
        ("1 / 0\n", "division by zero"),
        (other.replace("ewise_fma(x, y, z)", "ewise_fma(x, y, x)"), "pass 'fuse-products' changes"),
    ):
        status, output, error = solved(EXERCISES["3.2" if "y, x)" in text else "3.1"], text, capsys)
        assert (status, "solved" in output) == (1, False)
        assert message in error


def test_a_pass_that_fails_is_named_with_its_line(capsys: Captured) -> None:
    Path("3.1.py").write_text(answer_of(EXERCISES["3.1"]).replace("return call.operand", "return 1 / 0"))
    assert main(["check", "3.1"]) == 1
    assert "note: 3.1.py:14: in 'rewrite' of pattern" in capsys.readouterr().err


def test_steps_of_hints(capsys: Captured) -> None:
    hints = EXERCISES["1.1"].hints
    assert main(["hint", "1.1"]) == 0
    assert capsys.readouterr().out == f"{hints[0]}\n\nMore: relex-learn hint 1.1 --step 2\n"
    assert main(["hint", "1.1", "--step", str(len(hints))]) == 0
    assert capsys.readouterr().out == f"{hints[-1]}\n"
    assert main(["hint", "1.1", "--step", "9"]) == 1
    assert "expected --step from 1 to 3, found 9" in capsys.readouterr().err


def test_the_list_and_answers(capsys: Captured) -> None:
    assert main(["list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(EXERCISES)
    assert main(["answer", "2.1"]) == 0
    assert "relex.relu" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["check"], "expected the number of an exercise: relex-learn check 1.1"),
        (["check", "1.9"], "no exercise '1.9'; "),
        (["check", "1.1"], "1.1.py was not found; relex-learn start 1.1 writes it"),
        (["solve", "1.1"], "invalid choice: 'solve'"),
    ],
)
def test_wrong_calls(args: list[str], message: str, capsys: Captured) -> None:
    assert main(args) == 1
    assert message in capsys.readouterr().err


def test_beginnings_replace_no_file(capsys: Captured) -> None:
    Path("1.1.py").write_text("mine")
    assert main(["start", "1.1"]) == 1
    assert "1.1.py exists already; nothing was written" in capsys.readouterr().err
    assert Path("1.1.py").read_text() == "mine"


def test_results_that_are_no_numbers_are_wrong() -> None:
    def main(x: Array, y: Array) -> Array:
        return np.full_like(x, np.nan)

    with pytest.raises(ToolError, match="16 of 16 elements are wrong"):
        grading._expect_right("compiled", main, AIMS["1.1"], [(16,), (16,)])  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_the_commands(shell: str, capsys: Captured) -> None:
    pytest.importorskip("shtab")
    assert main(["--print-completion", shell]) == 0
    assert {"check", "hint", "answer"} <= {*re.findall(r"\w+", capsys.readouterr().out)}
