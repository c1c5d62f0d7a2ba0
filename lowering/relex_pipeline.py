"""The default compilation as a list of named passes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from relex.dialects.errors import RelexError
from relex.lowering.annotate_signatures import AnnotateSignaturesPass
from relex.lowering.annotate_temporaries import AnnotateTemporariesPass
from relex.lowering.convert_scf_while_to_cf import ConvertScfWhileToCfPass
from relex.lowering.convert_tir_to_scf import ConvertTirToScfPass
from relex.lowering.expand_dot4 import ExpandDot4Pass
from relex.lowering.expand_floats import ExpandFloatsPass
from relex.lowering.expand_look_ups import ExpandLookUpsPass
from relex.lowering.expand_math import ExpandMathPass
from relex.lowering.legalize_ops import LegalizeOpsPass
from relex.lowering.llvm.add_packed_entries import AddPackedEntriesPass
from relex.lowering.llvm.convert_to_llvm import ConvertToLlvmPass
from relex.lowering.lower_call_tir import LowerCallTirPass
from relex.lowering.outline_parallel_loops import OutlineParallelLoopsPass
from relex.lowering.plan_memory import PlanMemoryPass
from relex.lowering.return_failures import ReturnFailuresPass
from relex.lowering.scf_parallel_for_to_nested_fors import ScfParallelForToNestedForsPass
from relex.lowering.support.branches import ConvertScfToCfPass
from relex.lowering.vectorize_loops import VectorizeLoopsPass
from relex.passes import (
    AnnotateFastMathPass,
    AnnotateFinitePass,
    AnnotateNoaliasPass,
    AnnotateOpPatternPass,
    ApplySchedulePass,
    BlockChannelsPass,
    BlockRowsPass,
    CancelDivisionsPass,
    CancelTransposesPass,
    CarryNumbersPass,
    CompactBuffersPass,
    DelayScalesPass,
    FoldBatchNormPass,
    FoldConstantsPass,
    FoldInitBlocksPass,
    FuseAttentionPass,
    FuseOpsPass,
    FuseTirPass,
    InferSizesPass,
    InlineBlocksPass,
    InterchangeLoopsPass,
    JoinDimensionsPass,
    JoinRowsPass,
    LocalizeSizesPass,
    MergeLoopsPass,
    MergeScalesPass,
    MoveBytesPass,
    MultiplyBlocksPass,
    PackBytesPass,
    RemoveUnusedPass,
    RewriteLayoutPass,
    RoundToBytesPass,
    ScheduleCpuPass,
    SetTargetPass,
    ShareLoopsPass,
    SimplifyOpsPass,
    SimplifyRegionsPass,
    SplitReductionsPass,
    SplitWindowsPass,
    TrimWindowsPass,
    UnpackBlocksPass,
)
from relex.passes.driver.base import Level as Level
from relex.passes.driver.base import RelexPass, apply_pass
from relex.passes.driver.extension import AnyExtension, extend


@dataclass(frozen=True)
class RelexPipelinePass(RelexPass):
    """
    Runs the default compilation down to a level: `graph`, `loops` (graph functions that call loop functions), `core`
    (`func`, `scf`, `memref`, `arith`) or `llvm`. The same passes, one by one, give the same module:

    ```mlir
    // relex-pipeline{to=llvm}
    // set-target,multiply-blocks,fold-constants,simplify-ops,simplify-regions,cancel-transposes,trim-windows,
    // move-bytes,delay-scales,merge-scales,round-to-bytes,fold-batch-norm,split-windows,block-channels,pack-bytes,
    // unpack-blocks,join-rows,infer-sizes,localize-sizes,remove-unused{keep_functions=true},fuse-attention,
    // annotate-fast-math,annotate-noalias,apply-schedule{existing=true},fold-init-blocks,interchange-loops,
    // annotate-op-pattern,fuse-ops,legalize-ops,fuse-tir,inline-blocks,cancel-divisions,join-dimensions,block-rows,
    // split-reductions,annotate-finite,apply-schedule{final=true},schedule-cpu,rewrite-layout,merge-loops,
    // compact-buffers,share-loops,
    // annotate-signatures,carry-numbers,lower-call-tir,plan-memory,convert-tir-to-scf,expand-floats,vectorize-loops,
    // expand-math,expand-dot4,expand-look-ups,outline-parallel-loops,annotate-temporaries,
    // scf-parallel-for-to-nested-fors,convert-scf-while-to-cf,convert-scf-to-cf,return-failures,convert-to-llvm,
    // add-packed-entries
    ```

    `build` runs these passes, then `pool-allocations`, `watch-loops` and `split-kernels`, and has LLVM compile the
    result. It also takes what any of them prints; from the text of a level it goes on to the same object code.

    Operators on constants are computed at compile time; with `strict`, only if compiled code would give the same bits.
    With `strict`, sums keep the order and rounding of the plain loop, math functions are the C library's, and no
    batch normalization or factor is folded into the layer before it. With `approximate`, `winograd-conv2d` runs after
    `block-channels`: convolutions take fewer products, which are rounded otherwise than the sums they stand for.

    `passes` are others that run where they say by `extends_pipeline`; passes of files given to `relex-opt` by
    `--load-passes` take part too.
    """

    name = "relex-pipeline"

    to: Level = "llvm"
    strict: bool = False
    passes: Sequence[AnyExtension] = field(default=(), compare=False, repr=False)
    approximate: bool = False

    def steps(self) -> Sequence[ModulePass]:
        """The passes that this one runs, in order."""
        levels = pipeline(self.to, strict=self.strict, passes=self.passes, approximate=self.approximate)
        return [p for _, passes in levels for p in passes]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for p in self.steps():
            apply_pass(p, ctx, op)


def pipeline(
    to: Level = "llvm", *, strict: bool = False, passes: Iterable[AnyExtension] = (), approximate: bool = False
) -> list[tuple[Level, list[ModulePass]]]:
    """Return the passes of the default compilation down to the level `to`, grouped by the level they produce. `passes`
    are others, each at the place that it asks for; see `extends_pipeline`. Raises `RelexError` for a compilation that
    is to be both strict and approximate."""
    if strict and approximate:
        raise RelexError("expected a compilation to be strict or approximate, found both")
    folding = [FoldConstantsPass(strict=strict), SimplifyOpsPass(), SimplifyRegionsPass(), CancelTransposesPass(strict)]
    layers = [
        TrimWindowsPass(),
        MoveBytesPass(),
        DelayScalesPass(),
        MergeScalesPass(),
        RoundToBytesPass(),
        FoldBatchNormPass(),
        SplitWindowsPass(),
    ]
    images: list[ModulePass] = [BlockChannelsPass(), PackBytesPass(strict), UnpackBlocksPass(), JoinRowsPass()]
    if approximate:
        from relex.passes import WinogradConv2dPass  # Few programs need it.

        images.insert(1, WinogradConv2dPass())
    sizes = [InferSizesPass(), LocalizeSizesPass(), RemoveUnusedPass(keep_functions=True)]
    flags, schedules = AnnotateFastMathPass(), ApplySchedulePass(existing=True)
    loops_by_hand = [FoldInitBlocksPass(), InterchangeLoopsPass(), AnnotateOpPatternPass()]
    by_hand = [flags, AnnotateNoaliasPass(), schedules, *loops_by_hand]
    buffers = [CarryNumbersPass(), LowerCallTirPass(), PlanMemoryPass()]
    loops = [ConvertTirToScfPass(), ExpandFloatsPass(), VectorizeLoopsPass()]
    outline = [OutlineParallelLoopsPass(), AnnotateTemporariesPass()]
    instructions = [ExpandMathPass(), ExpandDot4Pass(), ExpandLookUpsPass()]
    cf = [ScfParallelForToNestedForsPass(), ConvertScfWhileToCfPass(), ConvertScfToCfPass(), ReturnFailuresPass()]
    levels: list[tuple[Level, list[ModulePass]]] = [
        (
            "graph",
            [
                SetTargetPass(),
                MultiplyBlocksPass(),  # Before small weights are folded.
                *folding,
                *layers,
                *images,
                *sizes,
                FuseAttentionPass(),
                *by_hand,
            ],
        ),
        ("loops", [*_kernels(strict), AnnotateSignaturesPass()]),
        ("core", [*buffers, *loops, *instructions, *outline]),
        ("llvm", [*cf, ConvertToLlvmPass(), AddPackedEntriesPass()]),
    ]
    count = [level for level, _ in levels].index(to) + 1
    left_out = (
        (
            MultiplyBlocksPass,
            MoveBytesPass,
            DelayScalesPass,
            MergeScalesPass,
            FoldBatchNormPass,
            BlockChannelsPass,
            UnpackBlocksPass,
            AnnotateFastMathPass,
            ExpandMathPass,
        )
        if strict
        else ()
    )
    return [
        (level, [p for p in group if not isinstance(p, left_out)]) for level, group in extend(levels, passes)[:count]
    ]


PRECISIONS = ("f32", "bf16", "i8")
"""The types that operands of products with weights may be rounded to; f32 rounds nothing. i8 is for data that are
multiplied with weights in blocks."""


def passes_for(precision: str) -> tuple[ModulePass, ...]:
    """Return the additional passes of a compilation whose operands of products are rounded. Raises `RelexError` for a
    type to which none are."""
    if precision not in PRECISIONS:
        raise RelexError(
            f"expected a precision of {', '.join(PRECISIONS[:-1])} or {PRECISIONS[-1]}, found {precision!r}"
        )
    if precision == "f32":
        return ()
    from relex.passes import NarrowProductsPass, RoundDataPass  # Few programs need them.

    return (NarrowProductsPass() if precision == "bf16" else RoundDataPass(),)


def _kernels(strict: bool) -> list[ModulePass]:
    """The passes that group operators, make one loop function of each group, tile the large ones, and share them."""
    fusion = [FuseOpsPass(strict=strict), LegalizeOpsPass(strict), FuseTirPass(), InlineBlocksPass()]
    own = ApplySchedulePass(final=True)
    sizes = [CancelDivisionsPass(), JoinDimensionsPass()]
    schedule = [BlockRowsPass(), SplitReductionsPass(), AnnotateFinitePass(), own, ScheduleCpuPass()]
    memory = [RewriteLayoutPass(), MergeLoopsPass(), CompactBuffersPass(), ShareLoopsPass()]
    return [*fusion, *sizes, *schedule, *memory]
