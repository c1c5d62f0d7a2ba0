"""Dataflow blocks."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, region_def, traits_def, var_result_def
from xdsl.pattern_rewriter import RewritePattern
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import (
    HasParent,
    IsTerminator,
    MemoryEffectKind,
    Pure,
    RecursivelySpeculatable,
    RecursiveMemoryEffect,
    get_effects,
)
from xdsl.utils.exceptions import VerifyException

from relex.dialects.dtypes import TensorConstr, var_tensor_operand_def
from relex.dialects.errors import WrongOp, types_str

_EFFECTS = {
    MemoryEffectKind.READ: "reads memory",
    MemoryEffectKind.WRITE: "writes memory",
    MemoryEffectKind.ALLOC: "allocates memory",
    MemoryEffectKind.FREE: "frees memory",
}


@irdl_op_definition
class DataflowOp(HasCanonicalizationPatternsInterface, IRDLOperation):
    """
    A region of pure ops that form a graph: their order carries no meaning beyond its edges. Only the values
    that `relex.output` lists are visible outside. Side effects go between dataflow blocks.

    ```mlir
    %r = relex.dataflow -> tensor<4xf32> {
      %lv = relex.relu %x : (tensor<4xf32>) -> tensor<4xf32>
      relex.output %lv : tensor<4xf32>
    }
    ```
    """

    name = "relex.dataflow"

    body = region_def("single_block")
    outputs = var_result_def(TensorConstr)

    traits = traits_def(RecursiveMemoryEffect(), RecursivelySpeculatable())

    assembly_format = "(`->` type($outputs)^)? $body attr-dict"

    def __init__(self, result_types: Sequence[Attribute], body: Region | Block):
        if isinstance(body, Block):
            body = Region(body)
        super().__init__(result_types=[result_types], regions=[body])

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from relex.passes.graph.canonicalization.dataflow import ForwardOutputs, RemoveUnusedOutputs

        return (ForwardOutputs(), RemoveUnusedOutputs())

    @property
    def output(self) -> OutputOp:
        """The terminator of the block."""
        last = self.body.block.last_op
        if not isinstance(last, OutputOp):
            raise VerifyException("expected 'relex.output' at the end of the block")
        return last

    def dissolve(self) -> None:
        """Replace the block by the ops in it."""
        output = self.output
        values = list(output.values)
        Rewriter.erase_op(output)
        Rewriter.inline_block(self.body.block, InsertPoint.before(self))
        for result, value in zip(self.results, values, strict=True):
            value.name_hint = value.name_hint or result.name_hint
            result.replace_all_uses_with(value)
        Rewriter.erase_op(self)

    def verify_(self) -> None:
        if self.body.block.args:
            raise VerifyException(f"expected a block without arguments, found {len(self.body.block.args)}")
        if tuple(self.output.operand_types) != tuple(self.result_types):
            expected, found = types_str(self.result_types), types_str(self.output.operand_types)
            raise VerifyException(f"expected 'relex.output' of {expected}, as the block says, found {found}")
        for op in self.body.block.ops:
            if (found := impure_part(op)) is not None:
                raise WrongOp(found[0], f"expected to be pure inside 'relex.dataflow', but it {found[1]}")


@irdl_op_definition
class OutputOp(IRDLOperation):
    """
    Terminates a dataflow block and lists the values that are visible outside of it.

    ```mlir
    %r:2 = relex.dataflow -> tensor<4xf32>, tensor<4xf32> {
      relex.output %x, %y : tensor<4xf32>, tensor<4xf32>
    }
    ```
    """

    name = "relex.output"

    values = var_tensor_operand_def()

    traits = traits_def(IsTerminator(), HasParent(DataflowOp), Pure())

    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, *values: SSAValue | Operation):
        super().__init__(operands=[values])


def impure_part(op: Operation) -> tuple[Operation, str] | None:
    """Return the innermost op that makes `op` impure, which may be `op` itself, and why; None for a pure op."""
    if (reason := impurity(op)) is None:
        return None
    inside = (inner for region in op.regions for block in region.blocks for inner in block.ops)
    return next(filter(None, map(impure_part, inside)), (op, reason))


def impurity(op: Operation) -> str | None:
    """Return why an op may not be in a dataflow block; None for a pure op."""
    effects = get_effects(op)
    if effects is None:
        return "may have any side effect"
    if not effects:
        return None
    return " and ".join(sorted(_EFFECTS[kind] for kind in {effect.kind for effect in effects}))
