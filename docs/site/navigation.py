"""The pages of the site, in order. Paths are relative to the repository; the build of the site makes `reference/`."""

from __future__ import annotations

from pathlib import Path

from relex.tools.learn.markdown import FENCE, prose

ROOT = Path(__file__).parents[2]
HOME = "README.md"

NAVIGATION: dict[str, tuple[str, ...]] = {
    "Start": (
        "docs/first-steps.md",
        "docs/usage.md",
        "docs/tour.md",
    ),
    "Course": (
        "docs/lessons/1-tensor-functions.md",
        "docs/lessons/2-end-to-end.md",
        "docs/lessons/3-transformations.md",
        "docs/lessons/4-libraries.md",
        "docs/lessons/5-why-loops-are-slow.md",
        "docs/lessons/6-an-operator-in-bytes.md",
        "docs/exercises.md",
        "docs/core.md",
    ),
    "How-to: models and programs": (
        "docs/onnx.md",
        "docs/torch.md",
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
        "docs/notebooks.md",
    ),
    "How-to: see and check what is compiled": (
        "docs/from-mlir-opt.md",
        "docs/reports.md",
        "docs/profiling.md",
        "docs/schedules.md",
        "docs/fusion.md",
        "docs/memory.md",
        "docs/llvm.md",
        "docs/checking.md",
        "docs/proofs.md",
        "docs/tracing-rules.md",
    ),
    "How-to: extend the compiler": (
        "docs/writing-a-pass.md",
        "docs/operators-to-loops.md",
        "docs/loop-passes.md",
        "docs/analyses.md",
        "docs/pdl.md",
        "docs/testing-a-pass.md",
        "docs/adding-an-op.md",
        "docs/adding-a-lowering.md",
        "docs/contributing.md",
        "tests/README.md",
        "benchmarks/README.md",
    ),
    "Reference: what there is": (
        "docs/operators.md",
        "docs/onnx-operators.md",
        "docs/torch-operators.md",
        "reference/dialect-relex.md",
        "reference/dialect-tir.md",
        "reference/dialect-schedule.md",
        "reference/graph-passes.md",
        "reference/loop-passes.md",
        "reference/lowerings.md",
        "reference/llvm-lowerings.md",
        "reference/primitives.md",
        "reference/python.md",
        "reference/commands.md",
        "docs/command-line.md",
        "docs/glossary.md",
        "docs/limits.md",
    ),
    "Reference: the project": (
        "docs/design-decisions.md",
        "docs/replays.md",
        "benchmarks/results/README.md",
        *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "benchmarks" / "results").glob("*/README.md")),
        "CHANGELOG.md",
        "docs/versions.md",
        "ROADMAP.md",
        "SECURITY.md",
    ),
}
"""The pages of each part. A part has one kind of pages, which is the first word of its title."""

TASKS: dict[str, str] = {
    "docs/onnx.md": "Run an ONNX model",
    "docs/torch.md": "Compile a PyTorch model",
    "docs/script.md": "Write programs in TVMScript",
    "docs/from-tvm.md": "Coming from TVM",
    "docs/sizes.md": "Leave sizes open until a call",
    "docs/calls.md": "Call functions from Python",
    "docs/control-flow.md": "Write branches and loops",
    "docs/narrow-numbers.md": "Quantize weights to 8 bits",
    "docs/random-numbers.md": "Draw random numbers",
    "docs/library.md": "Call a library from a program",
    "docs/saving.md": "Save a program, or call it from C",
    "docs/targets.md": "Compile for another machine",
    "docs/threads.md": "Use several threads",
    "docs/notebooks.md": "Work in notebooks",
    "docs/from-mlir-opt.md": "Coming from mlir-opt",
    "docs/reports.md": "See a compilation as a page",
    "docs/profiling.md": "Find out where the time goes",
    "docs/schedules.md": "Change a schedule, or measure others",
    "docs/fusion.md": "Find out what is fused, and why",
    "docs/memory.md": "Find out how much memory a program takes",
    "docs/llvm.md": "Follow a function to machine code",
    "docs/checking.md": "Find the pass that broke it",
    "docs/proofs.md": "Prove that a pass is right",
    "docs/tracing-rules.md": "See what a rule does, or why it does not",
    "docs/writing-a-pass.md": "Write a pass",
    "docs/operators-to-loops.md": "Lower operators to loops",
    "docs/loop-passes.md": "Write a pass on loops",
    "docs/analyses.md": "Find out what is known of a program",
    "docs/pdl.md": "Write rules in PDL",
    "docs/testing-a-pass.md": "Test and debug a pass",
    "docs/adding-an-op.md": "Add an operator",
    "docs/adding-a-lowering.md": "Add an op and its lowering",
    "docs/contributing.md": "Contribute",
    "tests/README.md": "Run the tests",
    "benchmarks/README.md": "Measure speed",
}
"""What readers of the how-to pages want to do: the names of these pages in the navigation."""

WORDS, LINES = 200, 12
"""The words of text, and the lines of code, that are read in a minute."""


def kind_of(page: str) -> str:
    """Return the kind of a page of the site."""
    return next((part.partition(":")[0] for part, pages in NAVIGATION.items() if page in pages), "Start")


def minutes(text: str) -> int:
    """Return how long it takes to read a page with its code."""
    code = sum(block[0].count("\n") - 1 for block in FENCE.finditer(text))
    return max(1, round(len(prose(text).split()) / WORDS + code / LINES))


STATED = {HOME: 5, "docs/first-steps.md": 10, "docs/core.md": 60, "docs/exercises.md": 120}
"""The minutes that pages take of which the text does not tell: models are downloaded, files are opened."""


def about(page: str, text: str) -> str:
    """Return a line that says which kind a page is, and how long it takes."""
    kind, time = kind_of(page), minutes(text)
    if kind == "Reference":
        return "*Reference: to look things up, a minute for each.*"
    if kind == "How-to":
        return f"*How-to: {'a minute' if time == 1 else f'{time} minutes'} to read.*"
    # Code is run and looked at.
    time = STATED.get(page, max(5, 5 * round(1.5 * time / 5)))
    return f"*{kind}: {time} minutes, with all that is run.*"


NOTEBOOKS = ("docs/tour.md", *(page for page in NAVIGATION["Course"] if page.startswith("docs/lessons/")))
"""The pages that are also notebooks: their Python is one program, which needs no files."""


def written_pages() -> list[str]:
    """Return the pages that are files of the repository."""
    pages = [page for part in NAVIGATION.values() for page in part]
    return [HOME, *(page for page in pages if not page.startswith("reference/"))]
