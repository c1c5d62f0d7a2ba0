"""Matrix products with sizes that are known at run time only: all of a product is in tiles, and right."""

from __future__ import annotations

import re
import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest

from relex.dialects import parse_module
from relex.dialects.errors import CompileRemark
from relex.dialects.target.machine import Target
from relex.dialects.target.target_attribute import set_target
from relex.lowering import LegalizeOpsPass
from relex.lowering.relex_pipeline import pipeline
from relex.passes import ScheduleCpuPass, run_pass
from relex.runtime import build

AVX2 = Target("x86_64-unknown-linux-gnu", "haswell", "")
AVX512 = Target("x86_64-unknown-linux-gnu", "x86-64-v4", "")
OPEN = [*product([False, True], repeat=3)][1:]
"""Which of the rows, the terms and the columns are dynamic."""


def dense(rows: Any, terms: Any, columns: Any) -> str:
    x, w, y = f"tensor<{rows}x{terms}xf32>", f"tensor<{columns}x{terms}xf32>", f"tensor<{rows}x{columns}xf32>"
    return f"""
    func.func @main(%x: {x}, %w: {w}) -> {y} {{
      %y = relex.dense %x, %w : ({x}, {w}) -> {y}
      func.return %y : {y}
    }}
    func.func @scores(%x: {x}, %w: {w}) -> {y} {{
      %y = relex.dense %x, %w : ({x}, {w}) -> {y}
      %s = relex.softmax %y : ({y}) -> {y}
      %r = relex.relu %s : ({y}) -> {y}
      func.return %r : {y}
    }}
    """


def with_open(sizes: tuple[int, int, int], are_open: tuple[bool, bool, bool]) -> list[Any]:
    return ["?" if is_open else size for size, is_open in zip(sizes, are_open, strict=True)]


@pytest.mark.sampled
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
    assert any("of @dense: tiles: " in str(w.message) for w in found if isinstance(w.message, CompileRemark))
    # The operand of the columns is copied, and the operand of the rows is not.
    assert "%w_local" in scheduled
    assert "%x_local" not in scheduled


@pytest.mark.sampled
@pytest.mark.parametrize("are_open", OPEN, ids=lambda o: "".join("mkn"[i] for i in range(3) if o[i]))
@pytest.mark.parametrize("sizes", [(1, 40, 33), (7, 37, 70), (16, 100, 130), (31, 33, 31), (60, 64, 96)])
def test_results_are_right(sizes: tuple[int, int, int], are_open: tuple[bool, bool, bool]) -> None:
    rng = np.random.default_rng(0)
    executable = build(dense(*with_open(sizes, are_open)), target=AVX2)
    # Other sizes for the dynamic ones, zero among them.
    for change in (0, 1, -1, None):
        m, k, n = (
            size if not is_open else 0 if change is None else size + change
            for size, is_open in zip(sizes, are_open, strict=True)
        )
        x, w = rng.standard_normal((m, k)).astype("float32"), rng.standard_normal((n, k)).astype("float32")
        products = x @ w.T
        np.testing.assert_allclose(executable["main"](x, w), products, rtol=1e-4, atol=1e-4)
        powers = np.exp(products - products.max(axis=-1, keepdims=True, initial=-np.inf))
        scores = powers / powers.sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(executable["scores"](x, w), scores, rtol=1e-3, atol=1e-5)


ATTENTION = """
func.func @main(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) -> tensor<?x4x?x64xf32> {
  %a = relex.permute_dims %q axes = [0, 2, 1, 3] : (tensor<?x?x4x64xf32>) -> tensor<?x4x?x64xf32>
  %b = relex.permute_dims %k axes = [0, 2, 3, 1] : (tensor<?x?x4x64xf32>) -> tensor<?x4x64x?xf32>
  %c = relex.permute_dims %v axes = [0, 2, 1, 3] : (tensor<?x?x4x64xf32>) -> tensor<?x4x?x64xf32>
  %s = relex.matmul %a, %b : (tensor<?x4x?x64xf32>, tensor<?x4x64x?xf32>) -> tensor<?x4x?x?xf32>
  %scale = relex.constant dense<8.0> : tensor<f32>
  %d = relex.divide %s, %scale : (tensor<?x4x?x?xf32>, tensor<f32>) -> tensor<?x4x?x?xf32>
  %p = relex.softmax %d : (tensor<?x4x?x?xf32>) -> tensor<?x4x?x?xf32>
  %r = relex.matmul %p, %c : (tensor<?x4x?x?xf32>, tensor<?x4x?x64xf32>) -> tensor<?x4x?x64xf32>
  func.return %r : tensor<?x4x?x64xf32>
}
"""


def test_scores_of_attention_are_in_tiles() -> None:
    """The consumer of a product with dynamic batches cannot follow it panel by panel: the other batches may be 1."""
    module = parse_module(ATTENTION)
    set_target(module, AVX512)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _, passes in pipeline("loops"):
            for p in passes:
                module = run_pass(ScheduleCpuPass(explain=True) if isinstance(p, ScheduleCpuPass) else p, module)
    pattern = r"op @matmul1?(_rest)? of @\w+: (?!threads)(.*)"
    choices = [match[2] for w in found if (match := re.search(pattern, str(w.message)))]
    assert len(choices) == 4
    assert all(choice.startswith("tiles: ") for choice in choices)
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((2, n, 4, 64)).astype("float32") for n in (37, 70, 70))
    scores = np.einsum("bnhd,bmhd->bhnm", q, k) / 8
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    expected = np.einsum("bhnm,bmhd->bhnd", powers / powers.sum(-1, keepdims=True), v)
    np.testing.assert_allclose(build(ATTENTION, target=AVX2)["main"](q, k, v), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rows", [0, 1, 7, 40])
def test_one_column_that_loses_its_dimension(rows: int) -> None:
    """What consumes the results of a tile has no loop along the columns."""
    x, w, y, flat = "tensor<?x?xf32>", "tensor<?x1xf32>", "tensor<?x1xf32>", "tensor<?xf32>"
    executable = build(
        f"""
        func.func @main(%x: {x}, %w: {w}) -> {flat} {{
          %y = relex.matmul %x, %w : ({x}, {w}) -> {y}
          %flat = relex.reshape %y shape = [-1] : ({y}) -> {flat}
          func.return %flat : {flat}
        }}
        """,
        target=AVX2,
    )
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((rows, 37)).astype("float32"), rng.standard_normal((37, 1)).astype("float32")
    np.testing.assert_allclose(executable["main"](a, b), (a @ b)[:, 0], rtol=1e-4, atol=1e-4)
