"""What is observed of passes: rules that are applied and refused, statistics and remarks."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from relex.dialects import parse_module
from relex.dialects.relex import AddOp, NegativeOp, SubtractOp
from relex.passes import FuseDenseAddPass, RelexPass, observe, refuse, remark, statistic
from relex.passes.rewriting.patterns import wildcard
from relex.passes.rewriting.rewrite_rules import RulesPass, operators, rule
from relex.passes.tracing import RuleApplication, Trace, applying

PROGRAM = """
func.func @main(%x: tensor<2x4xf32>, %y: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = relex.negative %y : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relex.subtract %x, %0 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = relex.negative %1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = relex.add %2, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %3 : tensor<2x4xf32>
}
"""


class AddInstead(RewritePattern):
    """x - (-y) to x + y."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SubtractOp, rewriter: PatternRewriter) -> None:
        if not isinstance(negative := op.rhs.owner, NegativeOp):
            return refuse("its right side is no negative")
        statistic("negatives")
        remark(op, lambda: f"absorbed {negative.name}")
        new = AddOp(op.lhs, negative.operand)
        new.location = op.location
        rewriter.replace(op, new)
        return None


class MarkSums(RewritePattern):
    """Marks sums in place, once."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter) -> None:
        if "seen" not in op.attributes:
            op.attributes["seen"] = op.result_types[0]
            rewriter.notify_op_modified(op)


@dataclass(frozen=True)
class PatternsPass(RelexPass):
    """Ordinary patterns."""

    name = "patterns"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(GreedyRewritePatternApplier([AddInstead(), MarkSums()])).rewrite_module(op)
        self.statistic("runs")
        self.statistic("ops", 10)


x, y = wildcard("x"), wildcard("y")


@dataclass(frozen=True)
class TwoRulesPass(RulesPass):
    """Two rules, one of which has a name."""

    name = "two-rules"
    rules = (
        rule(operators.subtract(x, operators.negative(y)), lambda m: operators.add(m.x, m.y), name="add-instead"),
        rule(operators.add(operators.negative(x), y), lambda m: operators.subtract(m.y, m.x)),
    )


def parse(text: str = PROGRAM) -> ModuleOp:
    return parse_module(text.strip(), "program.mlir")


def shown(applications: list[RuleApplication]) -> list[str]:
    return [f"{a.place.line}: {a.rule} {' '.join(line.split(' :')[0] for line in a.lines())}" for a in applications]


def test_rules_are_shown_with_their_places_and_ops():
    with observe(Trace(with_texts=True)) as seen:
        after = TwoRulesPass()(parse())
    assert shown(seen.applications) == [
        "3: add-instead     %0 = relex.negative %y   - %1 = relex.subtract %x, %0   + %1 = relex.add %x, %y",
        "2: dead code   - %0 = relex.negative %y",
        "5: add(negative(x), y) -> subtract(y, x)     %2 = relex.negative %1   - %3 = relex.add %2, %x"
        "   + %3 = relex.subtract %x, %1",
        "4: dead code   - %2 = relex.negative %1",
    ]
    assert [a.number for a in seen.applications] == [1, 2, 3, 4]
    assert {a.pass_name for a in seen.applications} == {"two-rules"}
    assert str(after) == str(TwoRulesPass()(parse()))


def test_ordinary_patterns_are_rules():
    with observe(Trace(with_texts=True)) as seen:
        PatternsPass()(parse())
    assert shown(seen.applications) == [
        "3: AddInstead   - %1 = relex.subtract %x, %0   + %1 = relex.add %x, %y",
        "2: dead code   - %0 = relex.negative %y",
        "3: MarkSums   - %1 = relex.add %x, %y   + %1 = relex.add %x, %y {seen = tensor<2x4xf32>}",
        "5: MarkSums   - %3 = relex.add %2, %x   + %3 = relex.add %2, %x {seen = tensor<2x4xf32>}",
    ]


def test_counters_of_passes_and_rules():
    with observe() as seen:
        PatternsPass()(parse())
        PatternsPass()(parse())
    found = seen.passes["patterns"]
    assert found.statistics == {"negatives": 2, "runs": 2, "ops": 20}
    assert found.applied == {"AddInstead": 2, "MarkSums": 4, "dead code": 2}
    assert found.refused == {}
    with observe() as seen:
        PatternsPass()(parse(PROGRAM.replace("relex.negative", "relex.relu")))
    # Patterns are tried again whenever something has changed.
    assert seen.passes["patterns"].refused == {"AddInstead": {"its right side is no negative": 1}}


def test_rules_say_why_they_are_refused():
    def refused(text: str, *rules_of_pass: object) -> dict[str, int]:
        @dataclass(frozen=True)
        class SomePass(RulesPass):
            name = "some"
            rules = rules_of_pass  # pyright: ignore[reportAssignmentType]

        with observe() as seen:
            SomePass()(parse(text))
        return seen.passes["some"].refused.get("r", {})

    negative, add, concat = operators.negative, operators.add, operators.concat
    twice = PROGRAM.replace("%2, %x", "%2, %2")
    never = rule(negative(x), lambda m: m.x, where=lambda m: False, name="r")
    assert refused(PROGRAM, never) == {"'where' is false": 2}
    assert refused(twice, rule(add(negative(x).single_use(), y), lambda m: m.x, name="r")) == {
        "a value is not used once": 1
    }
    in_pattern = x.where(lambda m: False, "x is not what it should be")
    assert refused(PROGRAM, rule(negative(in_pattern), lambda m: m.x, name="r")) == {"x is not what it should be": 2}
    other_type = rule(negative(x), lambda m: operators.sum(m.x), name="r")
    assert refused(PROGRAM, other_type) == {"its type would change to tensor<f32>": 2}
    (wrong,) = refused(PROGRAM, rule(add(x, y), lambda m: concat(m.x, m.y, axis=7), name="r"))
    assert wrong.startswith("its right side does not accept its operands: ")
    assert refused(PROGRAM, rule(negative(x), lambda m: m.x, name="r")) == {}


def test_outlined_ops_are_rules():
    text = """
    func.func @main(%x: tensor<2x4xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
      %0 = relex.dense %x, %w : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
      %1 = relex.add %0, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
      func.return %1, RESULT : tensor<2x3xf32>, tensor<2x3xf32>
    }
    """
    with observe(Trace(with_texts=True)) as seen:
        FuseDenseAddPass()(parse(text.replace("RESULT", "%1")))
    ((application),) = seen.applications
    assert application.rule == "outline"
    assert [line[:16] for line in application.lines()] == ["  - %0 = relex.d", "  - %1 = relex.a", "  + %1 = relex.c"]
    with observe() as seen:
        FuseDenseAddPass()(parse(text.replace("RESULT", "%0")))
    assert seen.passes["fuse-dense-add"].refused != {}


@pytest.mark.parametrize("count", range(5))
def test_rules_are_stopped_after_a_number(count: int):
    with observe(Trace(stop_after=count)) as seen:
        module = TwoRulesPass()(parse())
    assert len(seen.applications) == count
    left = [op.name for op in module.walk() if isinstance(op, NegativeOp | SubtractOp | AddOp)]
    assert (
        left
        == [
            ["relex.negative", "relex.subtract", "relex.negative", "relex.add"],
            ["relex.negative", "relex.add", "relex.negative", "relex.add"],
            ["relex.add", "relex.negative", "relex.add"],
            ["relex.add", "relex.negative", "relex.subtract"],
            ["relex.add", "relex.subtract"],
        ][count]
    )
    module.verify()


def test_a_pass_without_patterns_says_what_it_applies():
    @dataclass(frozen=True)
    class ByHandPass(RelexPass):
        """Removes one unused op after the other."""

        name = "by-hand"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            for inner in [inner for inner in op.walk(reverse=True) if is_trivially_dead(inner)]:
                with applying("remove", inner):
                    inner.detach()
                    inner.erase()

    text = PROGRAM.replace("return %3", "return %x")
    with observe(Trace(with_texts=True)) as seen:
        ByHandPass()(parse(text))
    assert shown(seen.applications) == ["5: remove   - %3 = relex.add %2, %x"]
    with observe(Trace(stop_after=0)):
        assert "relex.add" in str(ByHandPass()(parse(text)))
    assert "relex.add" not in str(ByHandPass()(parse(text)))


def test_patterns_are_as_before_when_nothing_is_observed():
    method = AddInstead.match_and_rewrite
    with observe():
        with observe():
            assert AddInstead.match_and_rewrite is not method

            class Late(RewritePattern):
                """Defined while something is observed."""

                def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None: ...

            assert hasattr(Late.match_and_rewrite, "__wrapped__")
        assert AddInstead.match_and_rewrite is not method
    assert AddInstead.match_and_rewrite is method
    assert not hasattr(Late.match_and_rewrite, "__wrapped__")
    assert "__init_subclass__" not in vars(RewritePattern)


def test_the_rule_that_raises_is_known():
    class Fails(RewritePattern):
        """Raises an error."""

        def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
            if isinstance(op, AddOp):
                raise ValueError("no sums")

    @dataclass(frozen=True)
    class FailsPass(RelexPass):
        """Raises an error."""

        name = "fails"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            PatternRewriteWalker(GreedyRewritePatternApplier([AddInstead(), Fails()])).rewrite_module(op)

    with observe() as seen, pytest.raises(Exception, match="no sums"):
        FailsPass()(parse())
    assert seen.failed is not None
    assert str(seen.failed) == "'Fails' of pass 'fails'"
