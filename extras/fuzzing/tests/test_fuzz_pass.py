"""Mistakes in passes are found on generated programs alone, and named; right passes have none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from mistaken_passes import MISTAKES, RIGHT
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import parse_module, relex
from relex.dialects.errors import RelexError, fail
from relex.passes import PASSES, RelexPass
from relex.passes.rewriting.patterns import wildcard
from relex.passes.rewriting.rewrite_rules import RulesPass, operators, rule
from relex.reference import FuzzError, fuzz_pass
from relex.reference.fuzzing.focus import ops_named
from relex.reference.fuzzing.sources import Programs
from relex.tools.opt import relex_opt


def test_there_are_enough() -> None:
    assert len(MISTAKES) >= 20


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found_and_named(name: str) -> None:
    mistake = MISTAKES[name]
    with pytest.raises(FuzzError) as caught:
        fuzz_pass(mistake.p, programs=200)
    rule = f", rule '{mistake.rule}'" if mistake.rule else ""
    assert f"pass '{name}'{rule}, applied to '{mistake.op}', " in str(caught.value)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_pass_has_none(name: str) -> None:
    report = fuzz_pass(RIGHT[name], programs=20 if name != "annotate-loops" else 8)
    assert report.changed >= 4
    assert not report.unused


GRAPH_PASSES = ["bind-params", "fold-constants", "fuse-dense-add", "fuse-ewise-fma", "infer-sizes", "remove-unused"]


@pytest.mark.parametrize("name", GRAPH_PASSES)
def test_passes_of_relex_have_none(name: str) -> None:
    assert fuzz_pass(PASSES[name](), programs=8).programs > 4


LOOP_PASSES = ["annotate-fast-math", "annotate-noalias", "fold-init-blocks", "interchange-loops"]


@pytest.mark.parametrize("name", LOOP_PASSES)
def test_passes_on_loops_have_none(name: str) -> None:
    assert fuzz_pass(PASSES[name](), programs=40).changed_kinds["written"] > 0


def test_ops_that_a_pass_names_with_their_dialect() -> None:
    assert {relex.MatmulOp, relex.AstypeOp} <= {*ops_named(PASSES["delay-scales"]()())}
    assert relex.BatchNormOp in ops_named(PASSES["fold-batch-norm"]()())


def test_a_pass_that_changes_nothing_is_not_tested() -> None:
    @dataclass(frozen=True)
    class NoChangePass(RelexPass):
        name = "no-change"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            pass

    report = fuzz_pass(NoChangePass, programs=10)
    assert not report.is_tested
    assert "none of them changed" in str(report)
    assert "no mistake" not in str(report)


def test_the_tool_says_so_by_its_status(capsys: pytest.CaptureFixture[str]) -> None:
    passes = Path(__file__).parents[3] / "tests" / "lit/tools/Inputs/no_change.py"
    arguments = ["--load-passes", str(passes), "--fuzz-pass", "no-change", "--fuzz", "programs:5"]
    assert relex_opt.main(arguments) == 2
    assert "pass 'no-change' was not tested" in capsys.readouterr().err


def test_kinds_of_programs_without_a_change_are_named() -> None:
    report = fuzz_pass(RIGHT["annotate-loops"], programs=10)
    assert "graph" in report.unchanged_kinds
    assert f"changed none of the kinds: {', '.join(report.unchanged_kinds)}" in str(report)


def test_equal_seeds_give_equal_programs() -> None:
    for seed in (0, 1):
        first, second = (Programs(RIGHT["absorb"](), None, seed).make(3) for _ in range(2))
        assert first is not None
        assert second is not None
        assert str(first.module) == str(second.module)
        other = Programs(RIGHT["absorb"](), None, seed + 2).make(3)
        assert other is not None
        assert str(other.module) != str(first.module)


PROGRAM = """
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>, %z: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = relex.negative %y : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = relex.subtract %x, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = relex.matmul %1, %z : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  func.return %2 : tensor<2x4xf32>
}
"""


def test_a_given_program_comes_first() -> None:
    with pytest.raises(FuzzError) as caught:
        fuzz_pass(MISTAKES["swap-operands"].p, parse_module(PROGRAM), programs=1)
    finding = caught.value.finding
    assert (finding.number, finding.rule, finding.op) == (0, "swap", "relex.subtract")
    # Reduced to the match, on one element.
    assert "matmul" not in finding.text
    assert "tensor<1x1xf32>" in finding.text


def test_a_refused_program_is_no_mistake() -> None:
    @dataclass(frozen=True)
    class RefusingPass(RelexPass):
        name = "refusing"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            fail(op, "expected nothing")

    report = fuzz_pass(RefusingPass, programs=5)
    assert report.refused.total() == report.programs > 0
    assert "programs refused, as: 'builtin.module' op expected nothing" in str(report)


# Time may be up in a function that the garbage collector calls, Hypothesis' own for one; it is up again soon after.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_loop_without_end_is_stopped() -> None:
    @dataclass(frozen=True)
    class BusyPass(RelexPass):
        name = "busy"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            while True:
                pass

    with pytest.raises(FuzzError, match=r"pass 'busy', .*does not come to an end: it was stopped after 0\.01 seconds"):
        fuzz_pass(BusyPass, seconds=0.01)


def test_rules_that_are_never_applied_are_told() -> None:
    @dataclass(frozen=True)
    class NeverPass(RulesPass):
        name = "never"
        rules = (rule(operators.exp(wildcard("x")), lambda m: m.x, where=lambda m: False, name="no"),)

    report = fuzz_pass(NeverPass, programs=3)
    assert report.unused == ["no"]
    assert "never applied: no" in str(report)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: fuzz_pass(3), "expected a pass, found int"),  # pyright: ignore[reportArgumentType]
        (lambda: fuzz_pass(int), "expected a pass, found the class int"),  # pyright: ignore[reportArgumentType]
        (lambda: fuzz_pass(RIGHT["absorb"], programs=0), "expected programs to be 1 or more, found 0"),
        (lambda: fuzz_pass(RIGHT["absorb"], "text"), "expected a module"),  # pyright: ignore[reportArgumentType]
    ],
)
def test_wrong_calls(call: Callable[[], object], expected: str) -> None:
    with pytest.raises(RelexError, match=expected):
        call()
