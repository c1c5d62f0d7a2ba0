"""Lowerings from each level to the next: legalization, graph to loops to core to LLVM, object code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relex.lazy import lazy_exports, lazy_passes

if TYPE_CHECKING:
    from relex.lowering.annotate_signatures import AnnotateSignaturesPass as AnnotateSignaturesPass
    from relex.lowering.annotate_temporaries import AnnotateTemporariesPass as AnnotateTemporariesPass
    from relex.lowering.convert_scf_while_to_cf import ConvertScfWhileToCfPass as ConvertScfWhileToCfPass
    from relex.lowering.convert_tir_to_scf import ConvertTirToScfPass as ConvertTirToScfPass
    from relex.lowering.expand_dot4 import ExpandDot4Pass as ExpandDot4Pass
    from relex.lowering.expand_floats import ExpandFloatsPass as ExpandFloatsPass
    from relex.lowering.expand_look_ups import ExpandLookUpsPass as ExpandLookUpsPass
    from relex.lowering.expand_math import ExpandMathPass as ExpandMathPass
    from relex.lowering.instrument_calls import InstrumentCallsPass as InstrumentCallsPass
    from relex.lowering.legalize_ops import LegalizeOpsPass as LegalizeOpsPass
    from relex.lowering.llvm.add_packed_entries import AddPackedEntriesPass as AddPackedEntriesPass
    from relex.lowering.llvm.convert_arith_to_llvm import ConvertArithToLlvmPass as ConvertArithToLlvmPass
    from relex.lowering.llvm.convert_cf_to_llvm import ConvertCfToLlvmPass as ConvertCfToLlvmPass
    from relex.lowering.llvm.convert_func_to_llvm import ConvertFuncToLlvmPass as ConvertFuncToLlvmPass
    from relex.lowering.llvm.convert_math_to_libm import ConvertMathToLibmPass as ConvertMathToLibmPass
    from relex.lowering.llvm.convert_math_to_llvm import ConvertMathToLlvmPass as ConvertMathToLlvmPass
    from relex.lowering.llvm.convert_to_llvm import ConvertToLlvmPass as ConvertToLlvmPass
    from relex.lowering.llvm.convert_vector_to_llvm import ConvertVectorToLlvmPass as ConvertVectorToLlvmPass
    from relex.lowering.llvm.finalize_memref_to_llvm import FinalizeMemrefToLlvmPass as FinalizeMemrefToLlvmPass
    from relex.lowering.llvm.llvm_request_c_wrappers import LlvmRequestCWrappersPass as LlvmRequestCWrappersPass
    from relex.lowering.llvm.pool_allocations import PoolAllocationsPass as PoolAllocationsPass
    from relex.lowering.llvm.split_kernels import SplitKernelsPass as SplitKernelsPass
    from relex.lowering.llvm.watch_loops import WatchLoopsPass as WatchLoopsPass
    from relex.lowering.lower_call_tir import LowerCallTirPass as LowerCallTirPass
    from relex.lowering.outline_parallel_loops import OutlineParallelLoopsPass as OutlineParallelLoopsPass
    from relex.lowering.plan_memory import PlanMemoryPass as PlanMemoryPass
    from relex.lowering.relex_pipeline import RelexPipelinePass as RelexPipelinePass
    from relex.lowering.return_failures import ReturnFailuresPass as ReturnFailuresPass
    from relex.lowering.scf_parallel_for_to_nested_fors import (
        ScfParallelForToNestedForsPass as ScfParallelForToNestedForsPass,
    )
    from relex.lowering.vectorize_loops import VectorizeLoopsPass as VectorizeLoopsPass

PASSES = lazy_passes(__name__)
"""The passes of this package by name."""

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, "PASSES")
