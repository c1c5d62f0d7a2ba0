"""Sizes that ops require are required of every call: interpreted and compiled, before and after passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import parse_module
from relex.dialects.errors import ShapeError
from relex.lowering import RelexPipelinePass
from relex.passes import InferSizesPass, RelexPass, RemoveUnusedPass
from relex.reference import NotEquivalentError, check_pass, interpret
from relex.runtime import build

GRAPH = """
func.func @main(%x: tensor<?xf32>, %y: tensor<4xf32>, %n: index) -> tensor<?xf32> {{
  {unused}
  %r = relex.exp %x : (tensor<?xf32>) -> tensor<?xf32>
  func.return %r : tensor<?xf32>
}}
"""

UNUSED = {
    "x == 4": "%0 = relex.add %x, %y : (tensor<?xf32>, tensor<4xf32>) -> tensor<4xf32>",
    "reshaped": "%0 = relex.reshape %x shape = [2, 2] : (tensor<?xf32>) -> tensor<2x2xf32>",
    "4 <= x": """
        %q = relex.reshape %x shape = [1, 1, -1] : (tensor<?xf32>) -> tensor<1x1x?xf32>
        %0 = relex.max_pool1d %q pool_size = [4] : (tensor<1x1x?xf32>) -> tensor<1x1x?xf32>
        """,
    "n == 4": """
        %a = relex.alloc_tensor sizes(%n) : tensor<?xf32>
        %0 = relex.add %a, %y : (tensor<?xf32>, tensor<4xf32>) -> tensor<4xf32>
        """,
}

LOADS = """
tir.prim_func @main(%x: memref<?xf32>, %y: memref<4xf32>) outs(%z: memref<4xf32>) {
  tir.for %i in (4) {
    tir.block @z (%v: spatial<4> = %i) {
      %unused = memref.load %x[%v] : memref<?xf32>
      %e = memref.load %y[%v] : memref<4xf32>
      memref.store %e, %z[%v] : memref<4xf32>
    }
  }
}
"""

PROGRAMS = {name: GRAPH.format(unused=unused) for name, unused in UNUSED.items()} | {"load": LOADS}

FIRST: Mapping[str, RelexPass | None] = {"as written": None, "infer-sizes": InferSizesPass()}

RUN: Mapping[str, Callable[[ModuleOp], Mapping[str, Any]]] = {
    "interpreted": interpret,
    "loops": lambda module: interpret(RelexPipelinePass(to="loops")(module)),
    "native": build,
}


@pytest.mark.parametrize("run", RUN)
@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_unused_is_required(name: str, first: str, run: str) -> None:
    p, module = FIRST[first], parse_module(PROGRAMS[name])
    main = RUN[run](p(module) if p is not None else module)["main"]
    numbers = (3,) if name != "load" else ()
    with pytest.raises(ShapeError, match=r"expected|4"):
        main(np.ones(3, np.float32), np.ones(4, np.float32), *numbers)
    numbers = (4,) if name != "load" else ()
    assert main(np.ones(4, np.float32), np.ones(4, np.float32), *numbers).shape == (4,)


@pytest.mark.parametrize("run", RUN)
@pytest.mark.parametrize("name", UNUSED)
def test_what_is_removed_before_is_not_required(name: str, run: str) -> None:
    module = RemoveUnusedPass()(parse_module(PROGRAMS[name]))
    found = RUN[run](module)["main"](np.zeros(3, np.float32), np.ones(4, np.float32), 3)
    np.testing.assert_array_equal(found, np.ones(3, np.float32))


@pytest.mark.parametrize("name", UNUSED)
def test_it_is_kept_where_it_is_stated_first(name: str) -> None:
    module = InferSizesPass()(parse_module(PROGRAMS[name]))
    check_pass(RemoveUnusedPass(), module)
    with pytest.raises(NotEquivalentError, match="expected that it is refused for a call with"):
        check_pass(RemoveUnusedPass(), parse_module(PROGRAMS[name]))


def test_a_number_that_a_live_op_requires_is_checked() -> None:
    """Compiled code would read beyond %a."""
    text = """
    func.func @main(%y: tensor<4xf32>, %n: index) -> tensor<4xf32> {
      %a = relex.alloc_tensor sizes(%n) : tensor<?xf32>
      %r = relex.add %a, %y : (tensor<?xf32>, tensor<4xf32>) -> tensor<4xf32>
      func.return %r : tensor<4xf32>
    }
    """
    assert 'relex.requires = ["n_d0 == 4"]' in str(InferSizesPass()(parse_module(text)))
    for run in RUN.values():
        with pytest.raises(ShapeError, match="expected n_d0 == 4, found n_d0 = 3"):
            run(parse_module(text))["main"](np.ones(4, np.float32), 3)
