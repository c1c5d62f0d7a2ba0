"""`tvm.relax.transform`: relex's passes by the names of TVM's passes that do the same."""

from relex.lowering.legalize_ops import LegalizeOpsPass as LegalizeOps
from relex.lowering.lower_call_tir import LowerCallTirPass as CallTIRRewrite
from relex.lowering.plan_memory import PlanMemoryPass as StaticPlanBlockMemory
from relex.passes.graph.bind_params import BindParamsPass as BindParams
from relex.passes.graph.fold_constants import FoldConstantsPass as FoldConstant
from relex.passes.graph.fuse_ops import FuseOpsPass as FuseOps
from relex.passes.graph.fuse_tir import FuseTirPass as FuseTIR
from relex.passes.graph.remove_unused import RemoveUnusedPass as DeadCodeElimination
from relex.passes.loops.annotate_op_pattern import AnnotateOpPatternPass as AnnotateTIROpPattern

__all__ = [
    "AnnotateTIROpPattern",
    "BindParams",
    "CallTIRRewrite",
    "DeadCodeElimination",
    "FoldConstant",
    "FuseOps",
    "FuseTIR",
    "LegalizeOps",
    "StaticPlanBlockMemory",
]
