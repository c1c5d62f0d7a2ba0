"""Infer the sizes of all functions."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from relex.dialects.errors import Diagnostic, PassError
from relex.dialects.sizes.attributes import annotate
from relex.dialects.sizes.modules import ModuleSizes, has_unknown_sizes
from relex.dialects.symbols import is_public
from relex.dialects.tir import PrimFuncOp
from relex.passes.driver.base import RelexPass
from relex.passes.rewriting.late_checks import check_late_sizes


class InferSizesPass(RelexPass):
    """
    States the sizes of the arguments and results of graph functions, and the conditions on them that every correct call
    satisfies: what all ops require that are there now, even if no result depends on them. Conditions of public loop
    functions are stated, too. Sizes that must be equal share a name, in `relex.dims`; sizes of results are expressions
    of these names; `relex.requires` has the other conditions, which are checked before a run begins. What is required
    of sizes that depend on elements is asserted where they become known. Sizes that can never fit are errors. Static
    functions are left unchanged.

    ```mlir
    func.func @main(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<4xf32>) {
      %s = relex.add %x, %y : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
      %c = relex.concat %s, %y : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
      %m = relex.max %c axis = [0] : (tensor<?x4xf32>) -> tensor<4xf32>
      func.return %c, %m : tensor<?x4xf32>, tensor<4xf32>
    }
    // infer-sizes
    func.func @main(%x: tensor<?x4xf32> {relex.dims = ["x_d0", ""]}, %y: tensor<?x4xf32> {relex.dims = ["x_d0", ""]})
        -> (tensor<?x4xf32> {relex.dims = ["2 * x_d0", ""]}, tensor<4xf32>)
        attributes {relex.requires = ["1 <= x_d0"]} {
      ...
    }
    ```
    """

    name = "infer-sizes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        infer_sizes(op)


def infer_sizes(module: ModuleOp) -> ModuleSizes | None:
    """State the sizes of a module's functions, in place. Return them; None if the types already state all sizes.

    Raises `PassError` with the problems of all functions.
    """
    if not has_unknown_sizes(module):
        return None
    sizes, problems = ModuleSizes(), list[Diagnostic]()
    functions = [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]
    loops = [op for op in module.ops if isinstance(op, PrimFuncOp) and is_public(op)]
    for function in (*functions, *loops):
        try:
            sizes.of(function)
        except PassError as e:
            problems += e.diagnostics
    if problems:
        raise PassError(problems)
    for function in functions:
        annotate(function, sizes.of(function))
    for function in loops:
        # Later passes may remove accesses, but not what they require of a caller.
        if sizes.of(function).requirements:
            annotate(function, sizes.of(function))
    check_late_sizes(module, sizes)
    return sizes
