"""The exercises of the lessons: answers pass, beginnings do not, and wrong solutions are told what is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from relex.dialects.arrays import Array
from relex.dialects.parser import parse_module
from relex.runtime.library import LIBRARY
from relex.tools.learn import grading
from relex.tools.learn.exercises import Exercise, answer_of, exercises
from relex.tools.learn.lessons import AIMS, OPERATORS, PASSES
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
    numbers = [f"{lesson}.{number}" for lesson in range(1, 7) for number in range(1, 6)]
    assert list(EXERCISES) == sorted([*AIMS, *PASSES, *OPERATORS]) == numbers
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
    assert status == 1
    assert error.splitlines()[-1] == f"not solved yet; relex-learn hint {number} prints a hint"
    assert len(error.splitlines()) > 1
    assert "solved" not in output


@pytest.mark.parametrize(("ratio", "status"), [(4.9, 1), (20.0, 0)])
def test_the_speed_of_a_schedule(ratio: float, status: int, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    exercise = EXERCISES["1.5"]

    def measured(slow: object, fast: object) -> tuple[float, float]:
        return ratio, 1e-5

    monkeypatch.setattr(grading, "_ratio", measured)
    Path(exercise.file).write_text(answer_of(exercise))
    assert main(["check", "1.5"]) == status
    output, error = capsys.readouterr()
    assert ("10 us for a call, 20.00 times as fast as the start" in output) == (status == 0)
    assert ("expected at least 5.00 times the speed of the start: 10 us for a call" in error) == (status == 1)


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
    assert (status, error.splitlines()[0]) == (1, f"relex-learn: error: expected one result, found {found}")


def test_speeds_are_measured_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading, "SECONDS", 0.0)
    calls: list[str] = []
    ratio, seconds = grading._ratio(  # pyright: ignore[reportPrivateUsage]
        lambda: calls.append("slow"), lambda: calls.append("fast")
    )
    assert calls[:8] == ["slow", "slow", "fast", "fast"] * 2
    assert min(ratio, seconds) > 0


WRONG: dict[str, list[tuple[str, str, str]]] = {
    "1.1": [("2) * X[vi] + Y[vi]", "2) * (X[vi] + Y[vi])", "16 of 16 elements are wrong")],
    "1.2": [("Z[vi] = Z[vi] + X[vi, vk]", "Z[vi] = X[vi, vk]", "8 of 8 elements are wrong; at [0], expected")],
    "1.3": [
        ("B[vk, vj]", "B[vj, vk]", "expected index 1 of %B in 0..15, found 0..23"),
        ('"SSR"', '"SSS"', "expected a block with a reduce variable"),
    ],
    "1.4": [("range(15)", "range(16)", "1.4.py:4")],
    "1.5": [("arith.addf %z, %p", "arith.addf %p, %p", "expected the program as it was")],
    "2.1": [("relex.relu %1", "relex.tanh %1", "elements are wrong")],
    "2.2": [("relex.softmax %3", "relex.softmax %3 axis = 0", "31 of 40 elements are wrong")],
    "2.3": [("tensor<?x", "tensor<3x", "expected shape (3, 8)")],
    "2.4": [("relex.call_tir @square(%x)", "relex.exp %x", "expected 'relex.call_tir' in the solution")],
    "2.5": [("relex.relu %1", "relex.relu %0", "elements are wrong")],
    "3.1": [("return call.operand", "return call.operand.owner.operand", "expected 1 'relex.relu' in @main, found 0:")],
    "3.2": [(" if call.rhs.has_one_use()", "", "p + p: expected no change, found")],
    "3.3": [("axis % rank for axis", "0 for axis", "[1, 2, 0], twice: expected no change, found")],
    "3.4": [("op(AddOp, op(DenseOp", "op(AddOp, op(AddOp", "a layer: expected 1 'relex.call' in @main, found 0:")],
    "3.5": [(" and meaning(other) == meaning(call)", "", "softmax along two axes: expected no change, found")],
    "4.1": [
        ('relex.call_dps_packed "learn.tanh"(%x)', "relex.tanh %x", "expected 'relex.call_dps_packed' in the solution"),
        ("learn.tanh", "learn.tan", 'expected a registered library function, found "learn.tan"; there are learn.count'),
        ("learn.tanh", "learn.count", "elements are wrong"),
    ],
    "4.2": [
        ("relex.relu %0", "relex.tanh %0", "expected 'relex.relu' in the solution"),
        ("(%x, %w, %b)", "(%w, %x, %b)", "4.2.mlir:2:45: error: operand is used with type"),
    ],
    "4.3": [
        (" sizes(%n)", "", "4.3.mlir:4:8: error: 'relex.call_dps_packed' op expected 1 sizes"),
        ("sizes(%n)", "sizes(%c0)", "expected a result of shape (1, 16) of float32, found (0, 16) of float32"),
        ("tensor.dim %x, %c0 : tensor<?x8xf32>", "tensor.dim %w, %c0 : tensor<16x8xf32>", "found (16, 16) of float32"),
    ],
    "4.4": [
        (" {side_effects}", "", "calls of library functions: 1 of learn.count, found: none"),
        ("learn.count", "learn.tanh", "1 of learn.count, found: 1 of learn.tanh"),
        (
            "%1 = relex.relu %x",
            '%2 = relex.call_dps_packed "learn.count"(%x) {side_effects} : (tensor<4x8xf32>) -> tensor<4x8xf32>\n'
            "    %1 = relex.relu %x",
            "4.4.mlir:4:10: error: 'relex.call_dps_packed' op expected to be pure inside 'relex.dataflow'",
        ),
    ],
    "4.5": [
        (" >= 1024", " > 1024", "a layer of 1024 weights: expected 1 'relex.call_dps_packed' in @main, found 0:"),
        (" if prod(w.type.get_shape()) >= 1024", "", "a small layer: expected no change, found"),
        ("[x, w]", "[w, x]", "changes what @main computes"),
    ],
    "5.1": [
        ("vectorize @j", "vectorize @i", "5.1.mlir:17:3: error: 'schedule.vectorize' op expected at most 256"),
        ("(256, 512)", "(512, 256)", "expected %vj: spatial<256> to be bound to 0..255, found 0..511"),
    ],
    "5.2": [
        ("unroll @i_1", "unroll @i", "expected a loop @i, found @i_0, @j_0, @k, @i_1, @j_1"),
        ("vectorize @j_1", "vectorize @k", "expected iterations of @k that do not depend on each other"),
    ],
    "5.3": [
        ("compute_inline @T", "compute_inline @Z", "expected %Z to be a local buffer"),
        (
            "schedule.compute_inline @T",
            "schedule.split @i1 by [?, 64]\n  schedule.compute_at @T at @i1_0",
            "expected at most 0 bytes in local buffers after the schedule, found 16384: %T: memref<4096xf32>",
        ),
    ],
    "5.4": [
        (
            "  schedule.compact_buffer @Y write 0\n",
            "",
            "at most 256 bytes in local buffers after the schedule, found 16384",
        ),
        ("reverse_compute_at @Z at @i", "compute_inline @Y", "expected @Y to have spatial variables only"),
    ],
    "5.5": [
        ("@Z at @j_0", "@Z at @k", "expected elements of %Y to be computed in one iteration of @k, found several"),
        ("maximumf", "minimumf", "expected the program as it was, but for the steps of its schedule"),
    ],
    "6.1": [
        ("f.maximum", "f.minimum", "evaluate: 32 of 32 elements are wrong"),
        ("f.maximum", "max", "6.1.py:23: TypeError: an expression has no truth value"),
        ('"mine.leaky"', '"mine.leak"', "program.mlir:2:16: error: operation mine.leaky is not registered"),
    ],
    "6.2": [
        ("        same_element_type(data, scale)\n", "", "expected `infer` to refuse a scale in f64 for data in f32"),
        ("(2, 1)", "(2, 2)", "expected data of rank 2 and a scale of rank 1, found"),
        ("scale[i]", "scale[j]", "'memref.load' op expected index 0 of %scale in 0..3, found 0..7"),
    ],
    "6.3": [
        ('call("sqrt", total[i])', "total[i]", "compiled: 4 of 4 elements are wrong"),
        ("total[i]", "sum(x[i, k] * x[i, k], axis=k)", "6.3.py:44: ValueError: expected the reduction to be the whole"),
        ("axis=1", "axis=0", "expected a result of shape 4, found 8"),
    ],
    "6.4": [
        ("relex.multiply", "relex.add", "64 of 64 elements are wrong"),
        ("relex.dense %x, %1", "relex.dense %x, %0", "64 of 64 elements are wrong"),
    ],
    "6.5": [
        ("relex.round %1", "relex.relu %1", "elements are wrong"),
        ("min = -127.0", "min = -128.0", "39 of 256 elements are wrong; at [0, 0], expected -127, found -128"),
    ],
}
"""What is wrong in answers, and what is said of it. The beginning of an exercise is another wrong answer."""


@pytest.mark.parametrize(
    ("number", "case"), [(number, n) for number, cases in WRONG.items() for n in range(len(cases))]
)
def test_what_is_wrong_is_said(number: str, case: int, capsys: Captured) -> None:
    right, wrong, message = WRONG[number][case]
    text = answer_of(EXERCISES[number])
    assert right in text
    status, output, error = solved(EXERCISES[number], text.replace(right, wrong), capsys)
    assert (status, "solved" in output) == (1, False)
    assert message in error


def test_each_exercise_refuses_several_answers() -> None:
    assert list(WRONG) == list(EXERCISES)
    assert all(len(cases) >= 2 for number, cases in WRONG.items() if number > "4")


def test_library_functions_are_registered_while_a_solution_is_graded(capsys: Captured) -> None:
    before = dict(LIBRARY)
    for wrong in ("learn.tanh", "learn.tan"):
        answer = answer_of(EXERCISES["4.1"]).replace("learn.tanh", wrong)
        assert (solved(EXERCISES["4.1"], answer, capsys)[0] == 0) == (wrong == "learn.tanh")
        assert before == LIBRARY


@pytest.mark.parametrize(
    ("number", "than"),
    [("1.5", "unscheduled"), ("2.5", "NumPy"), ("5.2", "the start"), ("5.5", "the default schedule")],
)
def test_what_solutions_are_measured_beside(number: str, than: str) -> None:
    exercise, aim = EXERCISES[number], AIMS[number]
    assert aim.bar is not None
    assert aim.bar.than == than
    start, answer = parse_module(exercise.start), parse_module(answer_of(exercise))
    other = grading._other(answer, start, aim, aim.bar)  # pyright: ignore[reportPrivateUsage]
    given = grading.arguments(aim.shapes[0])
    np.testing.assert_allclose(np.asarray(other(*given)), aim.formula(*given), rtol=1e-3, atol=1e-3)


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
        grading.expect_right("compiled", main, AIMS["1.1"].formula, grading.arguments([(16,), (16,)]))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_the_commands(shell: str, capsys: Captured) -> None:
    pytest.importorskip("shtab")
    assert main(["--print-completion", shell]) == 0
    assert {"check", "hint", "answer"} <= {*re.findall(r"\w+", capsys.readouterr().out)}
