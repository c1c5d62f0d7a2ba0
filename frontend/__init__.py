"""Front ends: ways to write a program other than as MLIR text.

`from relex import frontend as relax` provides the names that programs written for TVM's builder use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from relex.lazy import lazy_exports

if TYPE_CHECKING:
    from relex.frontend import op as op
    from relex.frontend import topi as topi
    from relex.frontend import tvm as tvm
    from relex.frontend.block_builder import BlockBuilder as BlockBuilder
    from relex.frontend.call_rewriter import CallRewriter as CallRewriter
    from relex.frontend.graph_expressions import DynTensorType as DynTensorType
    from relex.frontend.graph_expressions import Expr as Expr
    from relex.frontend.graph_expressions import Var as Var
    from relex.frontend.graph_expressions import const as const
    from relex.frontend.ir_module import IRModule as IRModule
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__)
