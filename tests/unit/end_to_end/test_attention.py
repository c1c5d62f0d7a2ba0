"""Attention in one nest: its results, and which buffers are left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relex.dialects import parse_module
from relex.dialects.tir import AllocBufferOp
from relex.lowering.relex_pipeline import RelexPipelinePass
from relex.runtime import build

TARGETS = {
    "AVX-512": 'relex.target = {triple = "x86_64-linux-gnu", cpu = "x86-64-v4", features = "+avx512f"}',
    "AVX2": 'relex.target = {triple = "x86_64-linux-gnu", cpu = "x86-64-v3", features = "+avx2"}',
}


def attention(n: int | str, m: int | str, mask: str = "", target: str = "", safe: str = "") -> str:
    """Attention of 2 heads of 8, for `n` queries and `m` keys; `mask` is "where", "add", "add chosen" or nothing."""
    queries, keys, scores = f"tensor<2x{n}x8xf32>", f"tensor<2x{m}x8xf32>", f"tensor<2x{n}x{m}xf32>"
    kinds = {"where": f"tensor<{n}x{m}xi1>", "add": f"tensor<{n}x{m}xf32>", "add chosen": f"tensor<{n}x{m}xi1>"}
    parameter = f', %mask: {kinds[mask]} {{relex.dims = ["n", "m"]}}' if mask else ""
    masked = {
        "": f"%u = relex.multiply %t, %one : ({scores}, tensor<f32>) -> {scores}",
        "add": f"%u = relex.add %t, %mask : ({scores}, {kinds['add']}) -> {scores}",
        "where": f"%u = relex.where %mask, %t, %never : ({kinds['where']}, {scores}, tensor<f32>) -> {scores}",
        "add chosen": (
            f"%c = relex.where %mask, %zero, %never : ({kinds['where']}, tensor<f32>, tensor<f32>) -> {kinds['add']}\n"
            f"%u = relex.add %t, %c : ({scores}, {kinds['add']}) -> {scores}"
        ),
    }[mask]
    return f"""
    module attributes {{{target}}} {{
      func.func @main(%q: {queries} {{relex.dims = ["", "n", ""]}}, %k: {keys} {{relex.dims = ["", "m", ""]}},
                      %v: {keys} {{relex.dims = ["", "m", ""]}}{parameter}) -> {queries} {{
        %scale = relex.constant dense<0.25> : tensor<f32>
        %one = relex.constant dense<1.0> : tensor<f32>
        %zero = relex.constant dense<0.0> : tensor<f32>
        %never = relex.constant dense<0xFF800000> : tensor<f32>
        %kt = relex.permute_dims %k axes = [0, 2, 1] : ({keys}) -> tensor<2x8x{m}xf32>
        %s = relex.matmul %q, %kt : ({queries}, tensor<2x8x{m}xf32>) -> {scores}
        %t = relex.multiply %s, %scale : ({scores}, tensor<f32>) -> {scores}
        {masked}
        %p = relex.softmax %u {safe} : ({scores}) -> {scores}
        %o = relex.matmul %p, %v : ({scores}, {keys}) -> {queries}
        func.return %o : {queries}
      }}
    }}
    """


def operands(n: int, m: int, mask: str, seed: int = 0) -> list[Any]:
    random = np.random.default_rng(seed)
    q, k, v = (random.normal(size=(2, size, 8)).astype(np.float32) for size in (n, m, m))
    if not mask:
        return [q, k, v]
    return [q, k, v, random.normal(size=(n, m)).astype(np.float32) if mask == "add" else random.random((n, m)) < 0.7]


def expected(q: Any, k: Any, v: Any, *mask: Any) -> Any:
    with np.errstate(all="ignore"):
        scores = q.astype(np.float64) @ k.swapaxes(1, 2) * 0.25
        if mask:
            scores = np.where(mask[0], scores, -np.inf) if mask[0].dtype == bool else scores + mask[0]
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True) @ v


@pytest.mark.parametrize("m", [1, 10, 50, 64])
def test_keys_that_are_read_where_they_are(m: int) -> None:
    """Rows of a key are contiguous, keys are not: a score may be the sum of a vector of partial sums."""
    program = f"""
    func.func @main(%q: tensor<2x50x64xf32>, %k: tensor<{m}x2x64xf32>, %v: tensor<2x{m}x64xf32>)
        -> tensor<2x50x64xf32> {{
      %kt = relex.permute_dims %k axes = [1, 2, 0] : (tensor<{m}x2x64xf32>) -> tensor<2x64x{m}xf32>
      %s = relex.matmul %q, %kt : (tensor<2x50x64xf32>, tensor<2x64x{m}xf32>) -> tensor<2x50x{m}xf32>
      %p = relex.softmax %s : (tensor<2x50x{m}xf32>) -> tensor<2x50x{m}xf32>
      %o = relex.matmul %p, %v : (tensor<2x50x{m}xf32>, tensor<2x{m}x64xf32>) -> tensor<2x50x64xf32>
      func.return %o : tensor<2x50x64xf32>
    }}
    """
    random = np.random.default_rng(0)
    q, k, v = (random.normal(size=shape).astype(np.float32) for shape in ((2, 50, 64), (m, 2, 64), (2, m, 64)))
    wanted = expected(4 * q, k.swapaxes(0, 1), v)
    np.testing.assert_allclose(build(program)["main"](q, k, v), wanted, 1e-4, 1e-5)


@pytest.mark.parametrize("mask", [pytest.param("", marks=pytest.mark.full), "add"])
def test_open_sizes(mask: str) -> None:
    program = build(attention("?", "?", mask))["main"]
    for n, m in ((1, 1), (3, 50), (64, 64), (197, 31), (0, 5)):
        arguments = operands(n, m, mask)
        np.testing.assert_allclose(program(*arguments), expected(*arguments), 1e-5, 1e-5)


@pytest.mark.parametrize("n", [1, 9, 80])
def test_keys_of_an_open_number_are_transposed_in_the_loops(n: int) -> None:
    keys, scores = "tensor<2x?x16xf32>", f"tensor<2x{n}x?xf32>"
    program = f"""
    func.func @main(%q: tensor<2x{n}x16xf32>, %k: {keys} {{relex.dims = ["", "m", ""]}},
                    %v: {keys} {{relex.dims = ["", "m", ""]}}) -> tensor<2x{n}x16xf32> {{
      %kt = relex.permute_dims %k axes = [0, 2, 1] : ({keys}) -> tensor<2x16x?xf32>
      %s = relex.matmul %q, %kt : (tensor<2x{n}x16xf32>, tensor<2x16x?xf32>) -> {scores}
      %p = relex.softmax %s : ({scores}) -> {scores}
      %o = relex.matmul %p, %v : ({scores}, {keys}) -> tensor<2x{n}x16xf32>
      func.return %o : tensor<2x{n}x16xf32>
    }}
    """
    loops = str(RelexPipelinePass("loops")(parse_module(program)))
    assert loops.count("tir.prim_func") == 1
    compiled, random = build(program)["main"], np.random.default_rng(n)
    for m in (1, 17, 64, 333):
        q, k, v = (random.normal(size=(2, size, 16)).astype(np.float32) for size in (n, m, m))
        np.testing.assert_allclose(compiled(q, k, v), expected(4 * q, k, v), 1e-5, 1e-5)


def test_special_numbers() -> None:
    """A row that is masked as a whole is NaN, as the softmax of minus infinities; others do not see it."""
    arguments = operands(80, 24, "where")
    arguments[3][:] = True
    arguments[3][5] = False
    arguments[3][79] = False
    arguments[0][0, 7, 3] = np.nan
    arguments[0][1, 9] = 1e30
    arguments[2][0, 2, 1] = np.inf
    found, wanted = build(attention(80, 24, "where"))["main"](*arguments), expected(*arguments)
    assert np.isnan(wanted[:, [5, 79]]).all()
    assert not np.isnan(wanted[1, 6]).any()
    np.testing.assert_allclose(found, wanted, 1e-5, 1e-5)


@pytest.mark.parametrize("mask", ["where", "add chosen"])
def test_rows_that_are_hidden(mask: str) -> None:
    """The safe softmax gives 0 for a row that is masked as a whole. NaN is only hidden where it is not added to."""
    arguments = operands(80, 24, mask)
    arguments[3][:, 0] = True
    arguments[3][[5, 79]] = False
    arguments[0][0, 79, 3] = np.nan
    arguments[0][1, 9, 3] = np.nan
    found = build(attention(80, 24, mask, safe="safe"))["main"](*arguments)
    wanted = expected(*arguments)
    wanted[:, [5, 79]] = 0
    wanted[0, 79] = 0 if mask == "where" else np.nan
    assert np.isnan(wanted[1, 9]).all()
    np.testing.assert_allclose(found, wanted, 1e-5, 1e-5)


def elements_of_buffers(text: str) -> list[int]:
    module = RelexPipelinePass("loops")(parse_module(text))
    return [int(np.prod(op.buffer.type.get_shape())) for op in module.walk() if isinstance(op, AllocBufferOp)]


@pytest.mark.parametrize("mask", ["where", "add chosen"])
@pytest.mark.parametrize("target", TARGETS)
def test_scores_and_masks_are_never_complete(target: str, mask: str) -> None:
    largest = max(elements_of_buffers(attention(2048, 1024, mask, TARGETS[target], "safe")))
    assert largest <= 64 * 1024


def test_without_a_target_nothing_is_assumed_about_caches() -> None:
    assert 2 * 256 * 1024 in elements_of_buffers(attention(256, 1024, "", 'relex.target = {triple = "riscv64-linux"}'))
