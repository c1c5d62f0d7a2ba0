"""Whatever the form in which a product is written by hand, it becomes the same code."""

from __future__ import annotations

from functools import cache

import pytest
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.function_arguments import find_function
from relex.dialects.target.target_attribute import processor_in
from relex.dialects.tir import PrimFuncOp
from relex.frontend.script import parse_script
from relex.lowering import RelexPipelinePass
from relex.passes import (
    AnnotateFastMathPass,
    AnnotateNoaliasPass,
    FoldInitBlocksPass,
    InterchangeLoopsPass,
    SetTargetPass,
)
from relex.passes.loops.schedule_cpu import schedule_function

INIT = """
        with T.init():
            Y[vi, vj] = T.float32(0)"""
SEPARATE_INIT = """
for {order} in T.grid({extents}):
    with T.sblock("first"):
        vi, vj = T.axis.remap("SS", [i, j])
        Y[vi, vj] = {value}
"""
NESTED = """
for i, j in T.grid({m}, {n}):
    with T.sblock("first"):
        vi, vj = T.axis.remap("SS", [i, j])
        Y[vi, vj] = T.float32(0)
    for k in range({k}):
        with T.sblock("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vj, vk]
"""


def product(
    size: tuple[int, int, int],
    order: str = "ijk",
    *,
    first: str = "",
    init: str = INIT,
    update: str = "Y[vi, vj] + X[vi, vk] * W[vj, vk]",
    noalias: bool = True,
    body: str = "",
) -> str:
    """A product of X and the transpose of W in loops of some order, after `first`; or a `body` of another form."""
    m, n, k = size
    extents = dict(zip("ijk", size, strict=True))
    loops = f"""{first}
for {", ".join(order)} in T.grid({", ".join(str(extents[v]) for v in order)}):
    with T.sblock("Y"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k]){init}
        Y[vi, vj] = {update}
"""
    attributes = 'T.func_attr({"tir.noalias": True})' if noalias else ""
    lines = [attributes, *(body.format(m=m, n=n, k=k) or loops).split("\n")]
    return f"""
@T.prim_func
def main(X: T.Buffer(({m}, {k}), "float32"), W: T.Buffer(({n}, {k}), "float32"), B: T.Buffer(({n},), "float32"),
         Y: T.Buffer(({m}, {n}), "float32")):
    {(chr(10) + "    ").join(lines)}
"""


def zeros(size: tuple[int, int, int], order: str = "ij", value: str = "T.float32(0)") -> str:
    """Loops that set all results to a value."""
    extents = dict(zip("ijk", size, strict=True))
    return SEPARATE_INIT.format(order=", ".join(order), extents=", ".join(str(extents[v]) for v in order), value=value)


def forms(size: tuple[int, int, int]) -> dict[str, str]:
    return {
        "plain": product(size),
        "other order": product(size, "kji"),
        "commuted": product(size, update="W[vj, vk] * X[vi, vk] + Y[vi, vj]"),
        "may alias": product(size, noalias=False),
        "separate init": product(size, first=zeros(size), init=""),
        "all at once": product(size, "jki", first=zeros(size, "ji"), init="", noalias=False),
        "nested": product(size, body=NESTED),
        "bias": product(size, first=zeros(size, value="B[vj]"), init=""),
    }


SIZE = (20, 48, 40)
TARGET = SetTargetPass(triple="x86_64-unknown-linux-gnu", cpu="haswell")
FORMS = [*forms(SIZE)]


@cache
def lowered(form: str) -> ModuleOp:
    return RelexPipelinePass("core")(TARGET(parse_script(forms(SIZE)[form])))


@pytest.mark.parametrize("form", ["other order", "may alias", "separate init", "all at once", "nested"])
def test_the_same_product_becomes_the_same_loops(form: str):
    assert lowered(form).is_structurally_equivalent(lowered("plain"))


@pytest.mark.parametrize("form", FORMS)
def test_products_become_tiles(form: str):
    module = TARGET(parse_script(forms(SIZE)[form]))
    for p in (AnnotateFastMathPass(), AnnotateNoaliasPass(), FoldInitBlocksPass(), InterchangeLoopsPass()):
        module = p(module)
    processor, function = processor_in(module), find_function(module, "main")
    assert processor is not None
    assert isinstance(function, PrimFuncOp)
    assert [decision.rule for decision in schedule_function(function, processor)] == ["tiles"]
