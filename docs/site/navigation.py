"""The pages of the site, in order. Paths are relative to the repository; the build of the site makes `reference/`."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
HOME = "README.md"

NAVIGATION: dict[str, tuple[str, ...]] = {
    "Lessons": (
        "docs/first-steps.md",
        "docs/usage.md",
        "docs/tour.md",
        "docs/lessons/1-tensor-functions.md",
        "docs/lessons/2-end-to-end.md",
        "docs/lessons/3-transformations.md",
        "docs/lessons/4-libraries.md",
    ),
    "Programs and models": (
        "docs/onnx.md",
        "docs/onnx-operators.md",
        "docs/torch.md",
        "docs/torch-operators.md",
        "docs/script.md",
        "docs/from-tvm.md",
        "docs/sizes.md",
        "docs/calls.md",
        "docs/control-flow.md",
        "docs/narrow-numbers.md",
        "docs/random-numbers.md",
        "docs/library.md",
        "docs/saving.md",
        "docs/targets.md",
        "docs/threads.md",
        "docs/command-line.md",
        "docs/from-mlir-opt.md",
        "docs/notebooks.md",
        "docs/limits.md",
    ),
    "What the compiler does": (
        "docs/core.md",
        "docs/llvm.md",
        "docs/fusion.md",
        "docs/schedules.md",
        "docs/memory.md",
        "docs/reports.md",
        "docs/profiling.md",
        "docs/checking.md",
        "docs/proofs.md",
        "docs/tracing-rules.md",
    ),
    "Extending the compiler": (
        "docs/writing-a-pass.md",
        "docs/loop-passes.md",
        "docs/analyses.md",
        "docs/pdl.md",
        "docs/testing-a-pass.md",
        "docs/adding-an-op.md",
        "docs/adding-a-lowering.md",
    ),
    "Reference": (
        "docs/operators.md",
        "reference/graph-passes.md",
        "reference/loop-passes.md",
        "reference/lowerings.md",
        "reference/llvm-lowerings.md",
        "reference/primitives.md",
        "reference/python.md",
        "reference/commands.md",
        "docs/glossary.md",
    ),
    "The project": (
        "docs/contributing.md",
        "tests/README.md",
        "benchmarks/README.md",
        "benchmarks/results/README.md",
        *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "benchmarks" / "results").glob("*/README.md")),
        "CHANGELOG.md",
        "SECURITY.md",
    ),
}
"""The pages of each part."""

NOTEBOOKS = tuple(page for page in NAVIGATION["Lessons"] if page not in ("docs/first-steps.md", "docs/usage.md"))
"""The pages that are also notebooks: their Python is one program, which needs no files."""


def written_pages() -> list[str]:
    """Return the pages that are files of the repository."""
    pages = [page for part in NAVIGATION.values() for page in part]
    return [HOME, *(page for page in pages if not page.startswith("reference/"))]
