"""Apply rewriting rules that are written in PDL."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects import pdl
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreters.pdl import PDLRewritePattern
from xdsl.ir import Operation
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriter, PatternRewriteWalker, RewritePattern
from xdsl.utils.exceptions import InterpretationError

from relex.dialects.errors import CompileError, Diagnostic, fail
from relex.dialects.parser import parse_module
from relex.passes.driver.base import RelexPass

_UNSUPPORTED = (
    pdl.ApplyNativeConstraintOp,
    pdl.ApplyNativeRewriteOp,
    pdl.OperandsOp,
    pdl.RangeOp,
    pdl.ResultsOp,
    pdl.TypesOp,
)
"""Ops that xDSL's matcher does not support, or that need C++ functions."""


@dataclass(frozen=True)
class ApplyPdlPass(RelexPass):
    """
    Applies rewriting rules that are written in PDL, MLIR's dialect for them, until none applies any more. Ops without
    users and effects are removed.

    The rules are every `pdl.pattern` in the file `pdl-file`, or in the module itself. Those with more benefit are tried
    first. New ops have the location of the op that they replace.

    ```mlir
    pdl.pattern @subtract_instead : benefit(1) {
      %negative_type = pdl.type
      %type = pdl.type
      %x = pdl.operand
      %y = pdl.operand
      %negative = pdl.operation "relex.negative"(%y : !pdl.value) -> (%negative_type : !pdl.type)
      %minus_y = pdl.result 0 of %negative
      %sum = pdl.operation "relex.add"(%x, %minus_y : !pdl.value, !pdl.value) -> (%type : !pdl.type)
      pdl.rewrite %sum {
        %difference = pdl.operation "relex.subtract"(%x, %y : !pdl.value, !pdl.value) -> (%type : !pdl.type)
        pdl.replace %sum with %difference
      }
    }
    %0 = relex.negative %b : (tensor<4xf32>) -> tensor<4xf32>
    %1 = relex.add %a, %0 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    // apply-pdl
    %1 = relex.subtract %a, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
    """

    name = "apply-pdl"

    pdl_file: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = (op if self.pdl_file is None else _read(self.pdl_file, ctx)).walk()
        rules = [_PdlRule(rule, ctx) for rule in found if isinstance(rule, pdl.PatternOp)]
        rules.sort(key=lambda rule: -rule.op.benefit.value.data)
        PatternRewriteWalker(GreedyRewritePatternApplier([*rules])).rewrite_module(op)


def _read(file: str, ctx: Context) -> ModuleOp:
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        reason = e.strerror if isinstance(e, OSError) else "expected UTF-8 text"
        raise CompileError(Diagnostic(f"pass 'apply-pdl' cannot read '{file}': {reason}", file)) from e
    return parse_module(text, file, context=ctx)


class _PdlRule(RewritePattern):
    """A rule."""

    def __init__(self, op: pdl.PatternOp, ctx: Context):
        self.op = op
        self.rule_name = f"@{op.sym_name.data}" if op.sym_name is not None else "without a name"
        self.title = f"rule {self.rule_name}"
        rewrite = op.body.block.last_op
        assert isinstance(rewrite, pdl.RewriteOp)
        if rewrite.root is None or not rewrite.body.blocks:
            fail(rewrite, "expected a root and a body; native rewrites are not supported")
        for part in op.walk():
            if isinstance(part, _UNSUPPORTED):
                fail(part, "is not supported by this pass")
        self._pattern = PDLRewritePattern(rewrite, ctx)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        try:
            self._pattern.match_and_rewrite(op, rewriter)
        except InterpretationError as e:
            fail(self.op, f"{self.rule_name} cannot be applied: {e}")
