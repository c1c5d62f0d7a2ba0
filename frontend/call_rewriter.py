"""Passes that replace calls one by one: of a call, they make an expression of the builder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern
from xdsl.rewriter import InsertPoint
from xdsl.traits import is_side_effect_free

from relex.dialects.errors import fail
from relex.dialects.functions import stated_dims
from relex.dialects.names import Names
from relex.dialects.relex import PRIMITIVE_ATTR, CallDpsPackedOp, CallOp, CallTirOp, Operator
from relex.dialects.walks import ancestors
from relex.frontend.block_builder import BlockBuilder
from relex.frontend.expressions import Tensor
from relex.frontend.function_body import FunctionBody
from relex.passes.base import Level, RelexPass

AnyCall = Operator | CallOp | CallTirOp | CallDpsPackedOp
"""A call in a graph function: of an operator, a fused group, a loop function or a library function."""


class CallRewriter(RelexPass, ABC):
    """
    A pass that replaces calls in graph functions. Its method `rewrite` gets each call once, in the order of the
    program, after the calls that compute its operands:

        class FuseMultiplyAdd(CallRewriter):
            name = "fuse-multiply-add"

            def rewrite(self, bb, call):
                match call:
                    case AddOp(lhs=OpResult(op=MultiplyOp(lhs=x, rhs=y)), rhs=z):
                        return op.ewise_fma(x, y, z)

    It returns what takes the place of the call, an expression or a value of the same type, or None. `bb` is a
    `BlockBuilder` at the call: it emits ops before it, and adds functions to the module. What is added is not visited,
    so a rewriter ends; calls that nothing uses any more are removed. With `in_groups = False`, fused groups are left
    alone.
    """

    in_groups: ClassVar[bool] = True
    works_on: ClassVar[Level | None] = "graph"

    @abstractmethod
    def rewrite(self, bb: BlockBuilder, call: AnyCall) -> Tensor | None:
        """Return what takes the place of a call, or None."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pattern = _RewriteCalls(self.rewrite, op, BlockBuilder(ModuleOp([])), type(self).__name__)
        for function in [f for f in op.ops if isinstance(f, FuncOp)]:
            if self.in_groups or PRIMITIVE_ATTR not in function.attributes:
                PatternRewriteWalker(pattern, apply_recursively=False).rewrite_region(function.body)


@dataclass
class _RewriteCalls(RewritePattern):
    function: Callable[[BlockBuilder, AnyCall], Tensor | None]
    module: ModuleOp
    builder: BlockBuilder
    rule_name: str

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, AnyCall):
            return
        body = _Place(self.module, op, rewriter)
        with self.builder.continuing(self.module, body):
            expression = self.function(self.builder, op)
            if expression is None:
                return
            values = [binding.value for binding in body.bind(expression, op.results[0].name_hint or "lv")]
        if [value.type for value in values] != [*op.result_types]:
            expected, found = (", ".join(map(str, types)) for types in (op.result_types, [v.type for v in values]))
            fail(op, f"expected '{self.rule_name}' to replace {expected}, found {found}")
        operands = list(op.operands)
        rewriter.replace(op, [], values)
        _erase_unused(operands, rewriter)


class _Place(FunctionBody):
    """A function that exists, at a call in it: ops are added before the call, with its location."""

    exists: ClassVar[bool] = True

    def __init__(self, module: ModuleOp, call: AnyCall, rewriter: PatternRewriter):
        function = next(around for around in ancestors(call) if isinstance(around, FuncOp))
        super().__init__(module, Names(), function)
        self._call = call
        self._rewriter = rewriter
        for i, argument in enumerate(function.args):
            if dims := stated_dims(function, i):
                self._declare_sizes(argument, [size if size.isidentifier() else None for size in dims])

    def insert(self, op: Operation, place: FileLineColLoc) -> None:
        op.location = self._call.location
        self._rewriter.insert(op, InsertPoint.before(self._call))


def _erase_unused(values: list[SSAValue], rewriter: PatternRewriter) -> None:
    """Erase the ops that compute values which nothing uses any more."""
    for value in values:
        op = value.owner
        if isinstance(op, Operation) and op.parent is not None and not any(result.uses for result in op.results):
            if is_side_effect_free(op):
                operands = list(op.operands)
                rewriter.erase(op)
                _erase_unused(operands, rewriter)
