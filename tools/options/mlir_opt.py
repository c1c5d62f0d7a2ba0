"""What users of `mlir-opt` and `mlir-runner` type: spellings of options, and names of what relex does otherwise."""

from __future__ import annotations

import re

from relex.tools.shell.diagnostics import ToolError

_SPELLINGS = {
    r"mlir-print-ir-tree-dir(?==|$)": "dump-dir",
    r"mlir-(?=print-|timing|pass-pipeline-crash-reproducer)": "",
    r"mlir-pass-statistics(?==|$)": "statistics",
    r"mlir-elide-(elementsattrs|resource-strings)-if-larger(?==|$)": "elide",
    r"mlir-pretty-debuginfo$": "print-debuginfo",
    r"mlir-very-unsafe-disable-verifier-on-parsing$": "disable-verify",
    r"remarks-filter(-\w+)?(=.*)?$": "remarks",
    r"split-input-file=// -----$": "split-input-file",
    r"verify-diagnostics=all$": "verify-diagnostics",
    r"verify-each=(0|false)$": "disable-verify",
    r"help-(hidden|list|list-hidden)$": "help",
}
"""Beginnings of options of mlir-opt as regular expressions, and what stands for them here."""

_DEFAULTS = re.compile(
    r"""
        (mlir-disable-threading | mlir-print-op-on-diagnostic)(=(0|1|false|true))?
      | mlir-print-ir-module-scope | mlir-print-local-scope | mlir-print-assume-verified
      | mlir-timing-display=(list|tree) | mlir-pass-statistics-display=(list|pipeline)
      | verify-each(=(1|true))? | mlir-print-stacktrace-on-diagnostic | mlir-pass-pipeline-local-reproducer
      | output-split-marker=//[ ]----- | entry-point-result=(void|i32|i64|f32) | O[123]
    """,
    re.VERBOSE,
)
"""Options of mlir-opt without effect, as what they ask for is so in any case."""

OTHERWISE = {
    "affine-data-copy-generate": "'apply-schedule' has the steps cache_read and cache_write, which copy tiles",
    "affine-loop-fusion": "'merge-loops' and 'inline-blocks' fuse loops",
    "affine-loop-invariant-code-motion": "'licm' does it in loops",
    "affine-loop-tile": "'schedule-cpu' tiles loops, or 'apply-schedule' as a program says",
    "affine-loop-unroll": "'schedule-cpu' unrolls loops, or 'apply-schedule' as a program says",
    "affine-parallelize": "'share-loops' marks the loops that threads share",
    "affine-super-vectorize": "'schedule-cpu' and 'vectorize-loops' make vectors",
    "arith-expand": "LLVM expands what a processor lacks; 'expand-floats' does narrow floats",
    "async-parallel-for": "'share-loops' marks the loops that threads share, 'outline-parallel-loops' makes functions "
    "of them",
    "buffer-deallocation": "'plan-memory' decides where buffers live",
    "buffer-deallocation-pipeline": "'plan-memory' decides where buffers live",
    "buffer-hoisting": "'plan-memory' decides where buffers live",
    "buffer-loop-hoisting": "'plan-memory' decides where buffers live",
    "buffer-results-to-out-params": "'lower-call-tir' lets functions fill buffers that their callers allocate",
    "color": "terminals get colors unless NO_COLOR is set, files and pipes if FORCE_COLOR is",
    "composite-fixed-point-pass": "-p runs passes as often as it lists them",
    "control-flow-sink": "branches are computed where they are written; 'simplify-regions' takes known ones",
    "convert-affine-for-to-gpu": "relex compiles for CPUs",
    "convert-bufferization-to-memref": "'lower-call-tir' makes buffers of tensors",
    "convert-elementwise-to-linalg": "'legalize-ops' turns graph operators into loop functions",
    "convert-gpu-to-nvvm": "relex compiles for CPUs",
    "convert-gpu-to-rocdl": "relex compiles for CPUs",
    "convert-gpu-to-spirv": "relex compiles for CPUs",
    "convert-index-to-llvm": "'convert-arith-to-llvm' converts indices",
    "convert-linalg-to-affine-loops": "'legalize-ops' turns graph operators into loop functions",
    "convert-linalg-to-parallel-loops": "'legalize-ops' turns graph operators into loop functions, 'share-loops' marks "
    "the loops that threads share",
    "convert-openmp-to-llvm": "'outline-parallel-loops' makes functions of loops that threads share",
    "convert-parallel-loops-to-gpu": "relex compiles for CPUs",
    "convert-tensor-to-linalg": "'legalize-ops' turns graph operators into loop functions",
    "convert-ub-to-llvm": "'convert-to-llvm' converts all",
    "convert-vector-to-scf": "relex makes vectors of one dimension, which 'convert-vector-to-llvm' converts",
    "debug-only": "--trace-rules prints what rules do, --remarks what passes say, --explain-schedule why loops are as "
    "they are",
    "duplicate-function-elimination": "'legalize-ops' makes one loop function of equal operators",
    "elide-resource-data-from-bytecode": "relex writes text; --elide leaves out the elements of long constants",
    "eliminate-empty-tensors": "'plan-memory' lets calls work in place",
    "emit-bytecode": "relex writes text; from the core level on, mlir-opt reads it and makes bytecode",
    "emit-bytecode-version": "relex writes text; from the core level on, mlir-opt reads it and makes bytecode",
    "expand-strided-metadata": "'finalize-memref-to-llvm' expands addresses",
    "flatten-memref": "'finalize-memref-to-llvm' makes address arithmetic of indices",
    "fold-memref-alias-ops": "'finalize-memref-to-llvm' makes address arithmetic of indices",
    "generate-runtime-verification": "'check-tir' proves before a program runs that accesses are inside of buffers",
    "gpu-kernel-outlining": "relex compiles for CPUs",
    "gpu-to-llvm": "relex compiles for CPUs",
    "inline": "calls of loop functions are inlined by LLVM; 'fuse-tir' makes one function of those that are called "
    "together",
    "irdl-file": "--load-passes reads a Python file whose UNIVERSE may hold dialects",
    "linalg-fuse-elementwise-ops": "'fuse-ops' and 'fuse-tir' fuse operators",
    "load-dialect-plugin": "--load-passes reads a Python file whose UNIVERSE may hold dialects",
    "load-pass-plugin": "--load-passes reads a Python file with passes",
    "log-actions-to": "--trace-rules prints what rules do, --timing how long passes take",
    "loop-invariant-code-motion": "'licm' does it in loops, 'simplify-regions' in graphs",
    "lower-vector-mask": "'vectorize-loops' makes masked accesses, which 'convert-vector-to-llvm' converts",
    "math-expand-ops": "'expand-math' computes functions of floats by formulas",
    "math-uplift-to-fma": "LLVM makes FMAs of operations that 'annotate-fast-math' has marked",
    "mem2reg": "LLVM does it when it compiles; 'compact-buffers' shrinks local buffers to what is in use",
    "memref-expand": "'finalize-memref-to-llvm' makes address arithmetic of indices",
    "mlir-enable-debugger-hook": "--pdb opens the debugger of Python where a pass raises an exception",
    "mlir-print-elementsattrs-with-hex-if-larger": "--elide leaves out the elements of long constants",
    "mlir-print-skip-regions": "--elide leaves out the elements of long constants; whole programs are printed",
    "mlir-print-unique-ssa-ids": "names of values are unique in a function, and kept where passes keep the values",
    "mlir-print-value-users": "--html writes a page that shows where values come from, and what became of a line",
    "mlir-to-llvmir": "-p relex-pipeline{to=llvm} -t llvm prints LLVM IR",
    "mlir-use-nameloc-as-prefix": "values keep the names that a program gives them",
    "normalize-memrefs": "'finalize-memref-to-llvm' makes address arithmetic of indices",
    "one-shot-bufferize": "'lower-call-tir' makes buffers of tensors, 'plan-memory' packs them",
    "ownership-based-buffer-deallocation": "'plan-memory' decides where buffers live",
    "print-op-stats": "--html writes a report of ops, kernels and memory",
    "profile-actions-to": "--trace-rules prints what rules do, --timing how long passes take",
    "promote-buffers-to-stack": "'plan-memory' decides where buffers live",
    "remove-dead-values": "'remove-unused' does it",
    "resolve-shaped-type-result-dims": "'infer-sizes' does it",
    "run-reproducer": "a reproducer of relex begins with the command that runs it",
    "sccp": "'fold-constants' and 'canonicalize' compute constants, 'simplify-regions' takes branches that are known",
    "scf-for-loop-peeling": "'apply-schedule' has the step partition, which splits off the rest of a loop",
    "scf-parallel-loop-fusion": "'merge-loops' and 'inline-blocks' fuse loops",
    "set-llvm-module-datalayout": "'set-target' records the target",
    "snapshot-op-locations": "--dump-dir writes the program after each pass",
    "sparsifier": "relex computes with dense tensors",
    "sroa": "LLVM does it when it compiles; 'compact-buffers' shrinks local buffers to what is in use",
    "stats": "--statistics prints the counters of passes",
    "strip-debuginfo": "locations are printed with --print-debuginfo only",
    "symbol-dce": "'remove-unused' removes private functions that no public one needs",
    "symbol-privatize": "the visibility of a function is stated in the program, as in 'func.func private @f'",
    "test-lower-to-llvm": "-p relex-pipeline{to=llvm} lowers any program, 'convert-to-llvm' the core level",
    "tosa-to-linalg": "'legalize-ops' turns graph operators into loop functions",
    "view-op-graph": "--html writes a page that shows the program",
}
"""Options and passes of mlir-opt that relex lacks, and what does the same or comes near it."""


OF_RUNNERS = {
    "shared-libs": "--library executes a Python file, which registers functions of Python or of a shared library",
}
"""Options of mlir-runner that relex-run lacks, and what does the same."""

ONE_VALUE = {
    "output-split-marker": "programs are separated by '// -----', also in the output",
    "split-input-file": "programs are separated by '// -----'",
    "verify-diagnostics": "all errors, warnings and remarks are compared with those that comments expect",
}
"""Options of mlir-opt that have one of its values here, and what relex does in any case."""


def translated(option: str) -> str | None:
    """Return an option that relex does not have, without its dashes, in relex's spelling; None for one that has no
    effect. Raises `ToolError` for what is done otherwise."""
    if _DEFAULTS.fullmatch(option):
        return None
    theirs, _, value = option.partition("=")
    for spelling, ours in _SPELLINGS.items():
        option = re.sub(f"^{spelling}", ours, option)
    for name in (theirs, option.partition("=")[0]):
        if answer := OTHERWISE.get(name) or OF_RUNNERS.get(name):
            raise ToolError(f"there is no --{name}: {answer}")
    if theirs in ONE_VALUE and "=" in option:
        raise ToolError(f"--{theirs} has no value '{value}': {ONE_VALUE[theirs]}")
    return option
