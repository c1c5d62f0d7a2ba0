"""Passes: IR to IR transformations within one level. `relex.passes.FuseOpsPass` and the others are imported on first
use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relex.lazy import lazy_exports, lazy_passes

if TYPE_CHECKING:
    from relex.passes import analysis as analysis
    from relex.passes import rewriting as rewriting
    from relex.passes import schedule as schedule
    from relex.passes.driver.base import RelexPass as RelexPass
    from relex.passes.driver.base import run_pass as run_pass
    from relex.passes.driver.extension import extends_pipeline as extends_pipeline
    from relex.passes.driver.extension import placed as placed
    from relex.passes.graph.apply_pdl import ApplyPdlPass as ApplyPdlPass
    from relex.passes.graph.bind_params import BindParamsPass as BindParamsPass
    from relex.passes.graph.block_channels import BlockChannelsPass as BlockChannelsPass
    from relex.passes.graph.cancel_transposes import CancelTransposesPass as CancelTransposesPass
    from relex.passes.graph.carry_numbers import CarryNumbersPass as CarryNumbersPass
    from relex.passes.graph.delay_scales import DelayScalesPass as DelayScalesPass
    from relex.passes.graph.fold_batch_norm import FoldBatchNormPass as FoldBatchNormPass
    from relex.passes.graph.fold_constants import FoldConstantsPass as FoldConstantsPass
    from relex.passes.graph.fuse_attention import FuseAttentionPass as FuseAttentionPass
    from relex.passes.graph.fuse_dense_add import FuseDenseAddPass as FuseDenseAddPass
    from relex.passes.graph.fuse_ewise_fma import FuseEwiseFmaPass as FuseEwiseFmaPass
    from relex.passes.graph.fuse_ops import FuseOpsPass as FuseOpsPass
    from relex.passes.graph.fuse_tir import FuseTirPass as FuseTirPass
    from relex.passes.graph.infer_sizes import InferSizesPass as InferSizesPass
    from relex.passes.graph.join_rows import JoinRowsPass as JoinRowsPass
    from relex.passes.graph.localize_sizes import LocalizeSizesPass as LocalizeSizesPass
    from relex.passes.graph.merge_scales import MergeScalesPass as MergeScalesPass
    from relex.passes.graph.move_bytes import MoveBytesPass as MoveBytesPass
    from relex.passes.graph.multiply_blocks import MultiplyBlocksPass as MultiplyBlocksPass
    from relex.passes.graph.narrow_products import NarrowProductsPass as NarrowProductsPass
    from relex.passes.graph.pack_bytes import PackBytesPass as PackBytesPass
    from relex.passes.graph.remove_index_checks import RemoveIndexChecksPass as RemoveIndexChecksPass
    from relex.passes.graph.remove_unused import RemoveUnusedPass as RemoveUnusedPass
    from relex.passes.graph.round_data import RoundDataPass as RoundDataPass
    from relex.passes.graph.round_to_bytes import RoundToBytesPass as RoundToBytesPass
    from relex.passes.graph.set_target import SetTargetPass as SetTargetPass
    from relex.passes.graph.simplify_ops import SimplifyOpsPass as SimplifyOpsPass
    from relex.passes.graph.simplify_regions import SimplifyRegionsPass as SimplifyRegionsPass
    from relex.passes.graph.split_windows import SplitWindowsPass as SplitWindowsPass
    from relex.passes.graph.trim_windows import TrimWindowsPass as TrimWindowsPass
    from relex.passes.graph.unpack_blocks import UnpackBlocksPass as UnpackBlocksPass
    from relex.passes.graph.winograd_conv2d import WinogradConv2dPass as WinogradConv2dPass
    from relex.passes.loops.annotate_fast_math import AnnotateFastMathPass as AnnotateFastMathPass
    from relex.passes.loops.annotate_finite import AnnotateFinitePass as AnnotateFinitePass
    from relex.passes.loops.annotate_noalias import AnnotateNoaliasPass as AnnotateNoaliasPass
    from relex.passes.loops.annotate_op_pattern import AnnotateOpPatternPass as AnnotateOpPatternPass
    from relex.passes.loops.apply_schedule import ApplySchedulePass as ApplySchedulePass
    from relex.passes.loops.apply_tuning import ApplyTuningPass as ApplyTuningPass
    from relex.passes.loops.block_rows import BlockRowsPass as BlockRowsPass
    from relex.passes.loops.cancel_divisions import CancelDivisionsPass as CancelDivisionsPass
    from relex.passes.loops.check_tir import CheckTirPass as CheckTirPass
    from relex.passes.loops.compact_buffers import CompactBuffersPass as CompactBuffersPass
    from relex.passes.loops.fold_init_blocks import FoldInitBlocksPass as FoldInitBlocksPass
    from relex.passes.loops.inline_blocks import InlineBlocksPass as InlineBlocksPass
    from relex.passes.loops.interchange_loops import InterchangeLoopsPass as InterchangeLoopsPass
    from relex.passes.loops.join_dimensions import JoinDimensionsPass as JoinDimensionsPass
    from relex.passes.loops.merge_loops import MergeLoopsPass as MergeLoopsPass
    from relex.passes.loops.rewrite_layout import RewriteLayoutPass as RewriteLayoutPass
    from relex.passes.loops.schedule_cpu import ScheduleCpuPass as ScheduleCpuPass
    from relex.passes.loops.share_loops import ShareLoopsPass as ShareLoopsPass
    from relex.passes.loops.split_reductions import SplitReductionsPass as SplitReductionsPass
    from relex.passes.rewriting.numerics import approximate as approximate
    from relex.passes.rewriting.numerics import exact as exact
    from relex.passes.rewriting.numerics import reassociates as reassociates
    from relex.passes.rewriting.numerics import relaxes as relaxes
    from relex.passes.rewriting.numerics import rounds_operands as rounds_operands
    from relex.passes.tracing import observe as observe
    from relex.passes.tracing import refuse as refuse
    from relex.passes.tracing import remark as remark
    from relex.passes.tracing import statistic as statistic

PASSES = lazy_passes(__name__)
"""The passes of this package by name."""

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, "PASSES")
