"""Passes that replace ops one by one, mostly calls: of an op, they make an expression of the builder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern
from xdsl.rewriter import InsertPoint
from xdsl.traits import is_side_effect_free

from relex.dialects.errors import fail
from relex.dialects.function_arguments import stated_dims
from relex.dialects.names import Names
from relex.dialects.relex import PRIMITIVE_ATTR
from relex.dialects.walks import ancestors
from relex.frontend.block_builder import BlockBuilder
from relex.frontend.function_body import FunctionBody
from relex.frontend.graph_expressions import Tensor
from relex.passes.driver.base import Level, RelexPass


class CallRewriter(RelexPass, ABC):
    """
    A pass that replaces ops in functions of the graph level. Its method `rewrite` gets each op once, of whatever
    dialect, in the order of the program, after the ops that compute its operands, and before those in its regions:

        class FuseMultiplyAdd(CallRewriter):
            name = "fuse-multiply-add"

            def rewrite(self, bb, call):
                match call:
                    case AddOp(lhs=OpResult(op=MultiplyOp(lhs=x, rhs=y)), rhs=z):
                        return op.ewise_fma(x, y, z)

    It returns what takes the place of the op, an expression or a value of the same type; None, or the op's own result,
    leaves it as it is. `bb` is a `BlockBuilder` at the op: it emits ops before it, and adds functions to the module.
    What is added is not visited, so a rewriter ends; ops that nothing uses any more are removed. With
    `in_groups = False`, fused groups are left alone. An op without results, such as `func.return`, can only be looked
    at, and loop functions (`tir.prim_func`) are not visited: both are for a `RewritePattern`.
    """

    in_groups: ClassVar[bool] = True
    works_on: ClassVar[Level | None] = "graph"

    @abstractmethod
    def rewrite(self, bb: BlockBuilder, call: Operation) -> Tensor | None:
        """Return what takes the place of an op, or None."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pattern = _RewriteCalls(self.rewrite, op, BlockBuilder(ModuleOp([])), type(self).__name__)
        for function in [f for f in op.ops if isinstance(f, FuncOp)]:
            if self.in_groups or PRIMITIVE_ATTR not in function.attributes:
                PatternRewriteWalker(pattern, apply_recursively=False).rewrite_region(function.body)


@dataclass
class _RewriteCalls(RewritePattern):
    function: Callable[[BlockBuilder, Operation], Tensor | None]
    module: ModuleOp
    builder: BlockBuilder
    rule_name: str

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        body = _Place(self.module, op, rewriter)
        with self.builder.continuing(self.module, body):
            expression = self.function(self.builder, op)
            if expression is None:
                return
            if not op.results:
                fail(
                    op,
                    f"expected '{self.rule_name}' to replace an op with results, found '{op.name}' without; "
                    "a RewritePattern can replace it",
                )
            values = [binding.value for binding in body.bind(expression, op.results[0].name_hint or "lv")]
        if values == [*op.results]:
            return
        if [value.type for value in values] != [*op.result_types]:
            expected, found = (", ".join(map(str, types)) for types in (op.result_types, [v.type for v in values]))
            fail(op, f"expected '{self.rule_name}' to replace {expected}, found {found}")
        operands = list(op.operands)
        rewriter.replace(op, [], values)
        _erase_unused(operands, rewriter)


class _Place(FunctionBody):
    """A function that exists, at an op in it: ops are added before this op, with its location."""

    exists: ClassVar[bool] = True

    def __init__(self, module: ModuleOp, op: Operation, rewriter: PatternRewriter):
        function = next(around for around in ancestors(op) if isinstance(around, FuncOp))
        super().__init__(module, Names(), function)
        self._at = op
        self._rewriter = rewriter
        for i, argument in enumerate(function.args):
            if dims := stated_dims(function, i):
                self._declare_sizes(argument, [size if size.isidentifier() else None for size in dims])

    def insert(self, op: Operation, place: LocationAttr) -> None:
        if any(operand.owner is self._at for operand in op.operands):
            fail(self._at, f"expected a replacement computed from other values, found '{op.name}' of its own result")
        op.location = self._at.location
        self._rewriter.insert(op, InsertPoint.before(self._at))


def _erase_unused(values: list[SSAValue], rewriter: PatternRewriter) -> None:
    """Erase the ops that compute values which nothing uses any more."""
    for value in values:
        op = value.owner
        if isinstance(op, Operation) and op.parent is not None and not any(result.uses for result in op.results):
            if is_side_effect_free(op):
                operands = list(op.operands)
                rewriter.erase(op)
                _erase_unused(operands, rewriter)
