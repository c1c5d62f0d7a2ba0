"""What a pass is told when it goes wrong, and what its rewrites are given."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint
from xdsl.transforms.canonicalize import CanonicalizePass

from relex.dialects import CompileError, parse_module
from relex.dialects.errors import DTypeError, fail, locate
from relex.dialects.relex import AddOp, NegativeOp, ReluOp, SubtractOp
from relex.passes import RelexPass, run_pass
from relex.passes.driver.crashes import crash_of
from relex.passes.graph.canonicalization import SIMPLIFICATIONS, simplifies

TEXT = """\
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relex.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = relex.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
"""

Rewrite = Callable[[Any, PatternRewriter], Any]


class OnAdd(RewritePattern):
    """A pattern that does something with additions."""

    def __init__(self, rewrite: Rewrite):
        self.rewrite = rewrite

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter):
        return self.rewrite(op, rewriter)


class OnAny(OnAdd):
    """The same, without the decorator."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        return self.rewrite(op, rewriter) if isinstance(op, AddOp) else None


def pass_of(*patterns: RewritePattern, kind: type[ModulePass] = RelexPass, recursive: bool = True) -> ModulePass:
    class TestPass(kind):
        name = "test"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            applier = GreedyRewritePatternApplier(list(patterns))
            PatternRewriteWalker(applier, apply_recursively=recursive).rewrite_module(op)

    return TestPass()


def lines(module: ModuleOp) -> dict[str, int | None]:
    """The line of each op of the function."""
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    return {op.name: place.line.data if (place := locate(op.location)) else None for op in function.body.block.ops}


def test_new_ops_have_the_location_of_what_they_replace() -> None:
    def rewrite(op: AddOp, rewriter: PatternRewriter) -> None:
        inserted = rewriter.insert(NegativeOp(op.rhs), InsertPoint.before(op))
        rewriter.replace(op, [third := ReluOp(inserted), SubtractOp(op.lhs, third)])

    changed = run_pass(pass_of(OnAdd(rewrite)), parse_module(TEXT))
    assert lines(changed) == {"relex.negative": 2, "relex.relu": 3, "relex.subtract": 2, "func.return": 4}


def test_a_location_of_its_own_is_kept() -> None:
    def rewrite(op: AddOp, rewriter: PatternRewriter) -> None:
        new = SubtractOp(op.lhs, op.rhs)
        new.location = next(iter(op.result.uses)).operation.location
        rewriter.replace(op, new)

    assert lines(run_pass(pass_of(OnAdd(rewrite)), parse_module(TEXT)))["relex.subtract"] == 3


@pytest.mark.parametrize("kind", [RelexPass, ModulePass])
@pytest.mark.parametrize("pattern", [OnAdd, OnAny])
def test_patterns_without_end(pattern: type[OnAdd], kind: type[ModulePass], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relex.passes.driver.running.MIN_REWRITES", 50)
    swap = pattern(lambda op, rewriter: rewriter.replace(op, AddOp(op.rhs, op.lhs)))
    with pytest.raises(CompileError, match=f"pattern '{pattern.__name__}' of pass 'test' was applied 500 times") as e:
        run_pass(pass_of(swap, kind=kind), parse_module(TEXT))
    (diagnostic,) = e.value.diagnostics
    assert diagnostic.line == 2
    assert set(diagnostic.notes) == {
        f"pattern '{pattern.__name__}' was applied to 'relex.add' op at <string>:2:8, and made 'relex.add'"
    }
    assert not getattr(e.value, "__notes__", [])


def test_a_pass_that_repeats_a_walk_without_end() -> None:
    class RepeatPass(RelexPass):
        name = "repeat"
        max_rewrites = 20

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            swap = OnAdd(lambda op, rewriter: rewriter.replace(op, AddOp(op.rhs, op.lhs)))
            while PatternRewriteWalker(swap, apply_recursively=False).rewrite_module(op):
                pass

    with pytest.raises(CompileError, match="20 times without end; 'max_rewrites' in RepeatPass or --max-rewrites"):
        RepeatPass()(parse_module(TEXT))


def test_many_rewrites_of_one_op_are_fine() -> None:
    """An unrolled loop: one op becomes many, and each of them is rewritten."""

    def grow(op: AddOp, rewriter: PatternRewriter) -> None:
        if op.lhs is not op.rhs:
            ops = [SubtractOp(op.lhs, op.rhs) for _ in range(2000)]
            rewriter.replace(op, ops)

    class ToNegative(RewritePattern):
        @op_type_rewrite_pattern
        def match_and_rewrite(self, op: SubtractOp, rewriter: PatternRewriter):
            rewriter.replace(op, NegativeOp(op.lhs))

    run_pass(pass_of(OnAdd(grow), ToNegative()), parse_module(TEXT))


def test_simplifications_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relex.passes.driver.running.MIN_REWRITES", 50)
    monkeypatch.setitem(cast(Any, SIMPLIFICATIONS), ReluOp, ())

    @simplifies(ReluOp)
    def relu_again(op: ReluOp) -> ReluOp:
        return ReluOp(op.operand)

    with pytest.raises(CompileError, match=r"simplification '.*relu_again' of pass 'canonicalize' was applied"):
        run_pass(CanonicalizePass(), parse_module(TEXT))


def test_exceptions_say_where_they_come_from() -> None:
    def crash(op: AddOp, rewriter: PatternRewriter) -> None:
        _ = op.operands[2]

    for kind in (RelexPass, ModulePass):
        with pytest.raises(IndexError) as e:
            run_pass(pass_of(OnAdd(crash), kind=kind), parse_module(TEXT))
        crash_ = crash_of(e.value)
        assert crash_ is not None
        assert (crash_.pattern, crash_.op and crash_.op.name, crash_.line.line) == (
            "pattern 'OnAdd'", "relex.add", "_ = op.operands[2]",
        )  # fmt: skip
        # xDSL's note is the whole module.
        (note,) = e.value.__notes__
        expected = (
            r"test_running.py:\d+: in 'crash' of pattern 'OnAdd' of pass 'test': _ = .* \(on 'relex.add' op at .*:2:"
        )
        assert re.search(expected, note)


def test_errors_of_passes_are_as_before() -> None:
    refuse = OnAdd(lambda op, rewriter: fail(op, "expected no additions"))
    with pytest.raises(CompileError, match="op expected no additions") as e:
        run_pass(pass_of(refuse), parse_module(TEXT))
    assert crash_of(e.value) is None

    class CatchPass(RelexPass):
        name = "catch"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            with pytest.raises(CompileError):
                PatternRewriteWalker(refuse).rewrite_module(op)

    CatchPass()(parse_module(TEXT))


@pytest.mark.parametrize("pattern", [OnAdd, OnAny])
def test_what_a_pattern_returns_is_not_lost(pattern: type[OnAdd]) -> None:
    expected = r"to call 'rewriter.replace\(op, ...\)' and return None, found that it returns ('|a value)"
    lost: list[Rewrite] = [
        lambda op, rewriter: SubtractOp(op.lhs, op.rhs),
        lambda op, rewriter: [NegativeOp(op.lhs), SubtractOp(op.lhs, op.rhs)],
        lambda op, rewriter: SubtractOp(op.lhs, op.rhs).result,
        lambda op, rewriter: op.lhs,
    ]
    for rewrite in lost:
        with pytest.raises(DTypeError, match=expected):
            run_pass(pass_of(pattern(rewrite)), parse_module(TEXT))
    fine: list[Rewrite] = [
        lambda op, rewriter: False,
        lambda op, rewriter: None,
        lambda op, rewriter: rewriter.insert(NegativeOp(op.lhs), InsertPoint.before(op)),
    ]
    for rewrite in fine:
        run_pass(pass_of(pattern(rewrite), recursive=False), parse_module(TEXT))


@pytest.mark.parametrize("kind", [RelexPass, ModulePass])
def test_a_pass_that_returns_a_module(kind: type[ModulePass]) -> None:
    class ReturnPass(kind):
        name = "return"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            return cast(None, op.clone())

    with pytest.raises(DTypeError, match="expected 'apply' of pass 'return' to change the module in place and return"):
        run_pass(ReturnPass(), parse_module(TEXT))
