"""Names of TVM's modules that are not here, and what does the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

PAGE = "docs/from-tvm.md has the names that are here"

ELSEWHERE = {
    "convert": "functions take numbers, NumPy arrays and whatever has DLPack as they are",
    "cuda": "relex compiles for CPUs",
    "dlight": "'relex.build' schedules loops by rules, and 'relex-opt --explain-schedule' prints how",
    "dpl": "'relex.passes.rewriting' has patterns and rules",
    "expr_functor": "'relex.frontend.CallRewriter' gets the calls of a graph one by one",
    "frontend": "'relex.build' reads ONNX files and programs of torch.export, 'from_onnx' makes modules",
    "get_pipeline": "'relax.build' runs the whole pipeline, which is 'RelexPipelinePass' of 'relex.lowering'",
    "lower": "'relex.lowering.RelexPipelinePass' lowers a module, and 'relex.build' compiles it",
    "meta_schedule": "'relex-tune' measures schedules",
    "metal": "relex compiles for CPUs",
    "opencl": "relex compiles for CPUs",
    "PyExprMutator": "'relex.frontend.CallRewriter' gets the calls of a graph one by one",
    "rocm": "relex compiles for CPUs",
    "s_tir": "'relex.passes.schedule.Schedule' has the steps of schedules",
    "target": "'relex.build(..., target=)' takes a triple with a processor, and 'llvm' is this machine",
    "TensorStructInfo": "'relax.Var(name, shape, dtype)' takes the shape and the type of elements",
    "testing": "NumPy's 'np.testing' compares arrays",
    "tir": "'relex.passes.schedule.Schedule' has the steps of schedules, and 'T' the loop functions",
    "ToMixedPrecision": "'relex.build(..., precision=\"bf16\")' rounds operands of products",
    "vulkan": "relex compiles for CPUs",
}
"""Names of modules, classes and functions, and where to look for what they do."""


def answers(module: str) -> Callable[[str], NoReturn]:
    """Return a function that raises an `AttributeError` with an answer, for names that a module lacks."""

    def missing(name: str) -> NoReturn:
        raise AttributeError(f"{module} has no {name} in relex: {ELSEWHERE.get(name, PAGE)}", name=name)

    return missing
