"""The search for the rule that is wrong, where several passes or rules may be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnrealizedConversionCastOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern

from relex.dialects import CompileError, parse_module
from relex.dialects.context import make_context
from relex.dialects.relex import ReluOp
from relex.passes.rewriting.patterns import wildcard
from relex.passes.rewriting.rewrite_rules import RulesPass, operators, rule
from relex.tools.checking.bisection import Bisection
from relex.tools.opt.check_options import CheckOptions
from relex.tools.shell.diagnostics import Source

x, y = wildcard("x"), wildcard("y")


@dataclass(frozen=True)
class RightPass(RulesPass):
    """-(-x) to x."""

    name = "right"
    rules = (rule(operators.negative(operators.negative(x)), lambda m: m.x, name="double"),)


class Hide(RewritePattern):
    """Puts an op in place of relu that nobody can run."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if isinstance(op, ReluOp):
            new = UnrealizedConversionCastOp.get(op.operands, op.result_types)
            new.location = op.location
            rewriter.replace(op, new)


class Show(RewritePattern):
    """Forgets it."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if isinstance(op, UnrealizedConversionCastOp):
            rewriter.replace(op, [], op.operands)


@dataclass(frozen=True)
class HidePass(ModulePass):
    """Cannot be checked."""

    name = "hide"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(Hide()).rewrite_module(op)


@dataclass(frozen=True)
class ShowPass(ModulePass):
    """Leaves what can be checked again."""

    name = "show"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(Show()).rewrite_module(op)


PROGRAM = """\
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relex.negative %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relex.negative %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = relex.relu %1 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
"""


def bisect(folder: Path, *passes: ModulePass, text: str = PROGRAM) -> int:
    source = Source("program.mlir", text)
    bisection = Bisection(make_context(), CheckOptions(), lambda: folder, source, ())
    return bisection.run(passes, parse_module(text, source.name))


def test_passes_that_cannot_be_checked_are_suspects(tmp_path: Path):
    with pytest.raises(CompileError) as found:
        bisect(tmp_path, RightPass(), HidePass(), ShowPass())
    (diagnostic,) = found.value.diagnostics
    assert (diagnostic.file, diagnostic.line) == ("program.mlir", 4)
    assert diagnostic.message.startswith("rule 'Show' of pass 'show' changes what @main computes: ")
    # Two of the first pass come before: the rule, and an op that is unused then.
    assert "it is rule 4: --stop-after-rule 3 is the last program without the fault" in diagnostic.notes
    assert diagnostic.notes[-1].endswith("show.bisect.mlir -p hide,show --bisect --check-each=seed:0,samples:3")
    smaller = (tmp_path / "show.bisect.mlir").read_text()
    assert "relex.relu" in smaller
    assert "relex.negative" not in smaller


def test_nothing_is_wrong(tmp_path: Path):
    assert bisect(tmp_path, RightPass(), HidePass()) == 3
    assert bisect(tmp_path) == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", range(4))
def test_the_first_of_several_wrong_ones_is_found(place: int, tmp_path: Path):
    """One of the sums has operands whose order the rule does not keep."""
    kind = "tensor<4xf32>"
    values = ["%in", "%1", "%2", "%3", "%4"]
    others = ["%w" if i == place else "%y" for i in range(4)]
    lines = [
        f"  {new} = relex.subtract {old}, {other} : ({kind}, {kind}) -> {kind}"
        for old, new, other in zip(values, values[1:], others, strict=False)
    ]
    head = f"func.func @main(%in: {kind}, %y: {kind}, %w: {kind}) -> {kind} {{"
    text = "\n".join([head, *lines, f"  func.return %4 : {kind}", "}"])

    @dataclass(frozen=True)
    class OftenRightPass(RulesPass):
        """x - y to x + (-y), but x - w to w + (-x)."""

        name = "often-right"
        rules = (
            rule(
                operators.subtract(x, y),
                lambda m: (
                    operators.add(m.y, operators.negative(m.x))
                    if m.y.name_hint == "w"
                    else operators.add(m.x, operators.negative(m.y))
                ),
                name="r",
            ),
        )

    with pytest.raises(CompileError) as found:
        bisect(tmp_path, OftenRightPass(), text=text)
    (diagnostic,) = found.value.diagnostics
    assert (diagnostic.line, diagnostic.column) == (place + 2, 8)
