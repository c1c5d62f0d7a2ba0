"""Matrix products with sizes that are known at run time only: all of a product is in tiles, and right."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest

from relex.dialects import parse_module
from relex.dialects.errors import CompileRemark
from relex.dialects.machine import Target
from relex.dialects.target import set_target
from relex.lowering import LegalizeOpsPass
from relex.passes import ScheduleCpuPass
from relex.runtime import build

AVX2 = Target("x86_64-unknown-linux-gnu", "haswell", "")
OPEN = [*product([False, True], repeat=3)][1:]
"""Which of the rows, the terms and the columns are open."""


def dense(rows: Any, terms: Any, columns: Any) -> str:
    x, w, y = f"tensor<{rows}x{terms}xf32>", f"tensor<{columns}x{terms}xf32>", f"tensor<{rows}x{columns}xf32>"
    return f"""
    func.func @main(%x: {x}, %w: {w}) -> {y} {{
      %y = relex.dense %x, %w : ({x}, {w}) -> {y}
      func.return %y : {y}
    }}
    """


def with_open(sizes: tuple[int, int, int], are_open: tuple[bool, bool, bool]) -> list[Any]:
    return ["?" if is_open else size for size, is_open in zip(sizes, are_open, strict=True)]


@pytest.mark.parametrize("are_open", OPEN, ids=lambda o: "".join("mkn"[i] for i in range(3) if o[i]))
@pytest.mark.parametrize("sizes", [(128, 128, 128), (127, 253, 511), (1000, 1000, 1000), (64, 256, 4096)])
def test_vectors_are_along_the_columns(sizes: tuple[int, int, int], are_open: tuple[bool, bool, bool]) -> None:
    """Results of neighbouring columns are contiguous: other vectors would have to be stored element by element."""
    module = parse_module(dense(*with_open(sizes, are_open)))
    set_target(module, AVX2)
    module = LegalizeOpsPass()(module)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        scheduled = str(ScheduleCpuPass(explain=True)(module))
    remarks = [str(w.message) for w in found if isinstance(w.message, CompileRemark)]
    assert any("tiles: " in remark for remark in remarks)
    # The operand of the columns is copied, and that of the rows is not.
    assert "%w_local" in scheduled
    assert "%x_local" not in scheduled


@pytest.mark.parametrize("are_open", OPEN, ids=lambda o: "".join("mkn"[i] for i in range(3) if o[i]))
@pytest.mark.parametrize("sizes", [(1, 40, 33), (7, 37, 70), (16, 100, 130), (31, 33, 31), (60, 64, 96)])
def test_results_are_right(sizes: tuple[int, int, int], are_open: tuple[bool, bool, bool]) -> None:
    rng = np.random.default_rng(0)
    function = build(dense(*with_open(sizes, are_open)), target=AVX2)["main"]
    # Other sizes for those that are open, zero among them.
    for change in (0, 1, -1, None):
        m, k, n = (
            size if not is_open else 0 if change is None else size + change
            for size, is_open in zip(sizes, are_open, strict=True)
        )
        x, w = rng.standard_normal((m, k)).astype("float32"), rng.standard_normal((n, k)).astype("float32")
        np.testing.assert_allclose(function(x, w), x @ w.T, rtol=1e-4, atol=1e-4)
