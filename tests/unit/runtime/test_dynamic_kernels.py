"""Kernels for dynamic sizes are kept: one that was compiled for some relations of sizes serves no others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_kernel_cache import code_of, compiled, folder, forgotten
from test_kernel_workers import kernels, without_workers
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from relex.dialects import parse_module
from relex.dialects.function_arguments import PASSED_ATTR
from relex.lowering.kernels.alone import KernelGroup
from relex.runtime import build, compilation, kernel_workers
from relex.runtime.kernel_cache import MEMORY

__all__ = ["compiled", "folder"]

SQUARE = """
func.func @main(%x: tensor<?x?xf32> {{relex.dims = {dims}}}) -> tensor<?x?xf32> {{
  %0 = relex.permute_dims %x axes = [1, 0] : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = relex.softmax %0 : (tensor<?x?xf32>) -> tensor<?x?xf32>
  func.return %1 : tensor<?x?xf32>
}}
"""

JOINED = """
func.func @main(%x: tensor<?x8xf32> {{relex.dims = ["{x}", ""]}}, %y: tensor<?x8xf32> {{relex.dims = ["{y}", ""]}},
                %z: tensor<?x8xf32> {{relex.dims = ["{z}", ""]}})
    -> (tensor<?x8xf32>, tensor<8xf32>) {{
  %0 = relex.concat %x, %y : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = relex.exp %0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %2 = relex.sum %z axis = [0] : (tensor<?x8xf32>) -> tensor<8xf32>
  func.return %1, %2 : tensor<?x8xf32>, tensor<8xf32>
}}
"""

RESIDUAL = """
func.func @main(%x: tensor<?x48xf32>) -> tensor<?x48xf32> {{
  %w = relex.constant dense<"0x{weights}"> : tensor<48x48xf32>
  %0 = relex.dense %x, %w : (tensor<?x48xf32>, tensor<48x48xf32>) -> tensor<?x48xf32>
  %1 = relex.softmax %0 : (tensor<?x48xf32>) -> tensor<?x48xf32>
  %2 = relex.dense %1, %w : (tensor<?x48xf32>, tensor<48x48xf32>) -> tensor<?x48xf32>
  %3 = relex.add %2, %0 : (tensor<?x48xf32>, tensor<?x48xf32>) -> tensor<?x48xf32>
  %4 = relex.softmax %3 : (tensor<?x48xf32>) -> tensor<?x48xf32>
  func.return %4 : tensor<?x48xf32>
}}
"""
"""Products with packed constants, and a sum whose result takes the place of an operand."""


def residual(seed: int = 0) -> ModuleOp:
    weights = np.random.default_rng(seed).random((48, 48), np.float32) / 48
    return parse_module(RESIDUAL.format(weights=weights.tobytes().hex()))


PROGRAMS: dict[str, Callable[[], ModuleOp]] = {
    "square": lambda: parse_module(SQUARE.format(dims='["n", "n"]')),
    "not square": lambda: parse_module(SQUARE.format(dims='["n", "m"]')),
    "sizes that are twice others": lambda: parse_module(JOINED.format(x="n", y="2 * n", z="n")),
    "sizes that are sums of others": lambda: parse_module(JOINED.format(x="n", y="m", z="n + m")),
    "packed, and in place": residual,
    "convolutions": lambda: parse_module("""
    func.func @main(%x: tensor<?x3x?x?xf32>, %w: tensor<8x3x3x3xf32>, %v: tensor<8x8x3x3xf32>) -> tensor<?x8x?x?xf32> {
      %0 = relex.conv2d %x, %w strides = [2, 2] padding = [1]
          : (tensor<?x3x?x?xf32>, tensor<8x3x3x3xf32>) -> tensor<?x8x?x?xf32>
      %1 = relex.relu %0 : (tensor<?x8x?x?xf32>) -> tensor<?x8x?x?xf32>
      %2 = relex.conv2d %1, %v strides = [2, 2] padding = [1]
          : (tensor<?x8x?x?xf32>, tensor<8x8x3x3xf32>) -> tensor<?x8x?x?xf32>
      func.return %2 : tensor<?x8x?x?xf32>
    }"""),
    "temporaries": lambda: parse_module("""
    func.func @main(%x: tensor<?x?xf32>) -> tensor<?xf32> {
      %0 = relex.cumsum %x axis = 0 : (tensor<?x?xf32>) -> tensor<?x?xf32>
      %1 = relex.softmax %0 axis = 0 : (tensor<?x?xf32>) -> tensor<?x?xf32>
      %2 = relex.sum %1 axis = [1] : (tensor<?x?xf32>) -> tensor<?xf32>
      func.return %2 : tensor<?xf32>
    }"""),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_code_does_not_depend_on_the_cache(
    name: str, monkeypatch: pytest.MonkeyPatch, compiled: Callable[[], int], folder: Path
):
    program, forgot = PROGRAMS[name](), forgotten(monkeypatch)
    expected = code_of(program, cache=False)
    assert code_of(program) == expected
    assert compiled() > 0
    assert code_of(program) == expected
    MEMORY.clear()
    assert code_of(program) == expected
    assert (compiled(), forgot) == (0, [])


@pytest.mark.parametrize("name", PROGRAMS)
def test_groups_that_are_alone_have_the_same_code(name: str, monkeypatch: pytest.MonkeyPatch):
    """What is known of their sizes goes along as text, to another process too."""
    program = PROGRAMS[name]()
    expected = without_workers(program)
    found, started = list[KernelGroup](), list[int]()

    def share_out(groups: list[KernelGroup], here: Callable[[list[KernelGroup]], None], *_: Any) -> None:
        for group in groups:
            here([group])
        found.extend(groups)

    monkeypatch.setattr(kernel_workers, "share_out", share_out)
    monkeypatch.setattr(kernel_workers, "MIN_GROUPS", 1)
    monkeypatch.setattr(kernel_workers, "GROUPS_OF_A_WORKER", 1)
    monkeypatch.setattr(kernel_workers, "workers_wanted", lambda: 1)
    monkeypatch.setattr(kernel_workers, "entered_by_others", lambda: False)
    monkeypatch.setattr(kernel_workers.POOL, "start", started.append)
    build(program)
    assert found
    assert kernels() == expected
    monkeypatch.setattr(compilation, "compile_groups", None)
    build(program)
    assert kernels() == expected


def softmax(x: np.ndarray) -> np.ndarray:
    y = np.exp(x - x.max(axis=-1, keepdims=True))
    return y / y.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("first", [0, 1])
def test_a_kernel_for_squares_serves_squares_only(first: int, compiled: Callable[[], int]):
    """The groups have the same text, in both orders of compilation."""
    texts = [SQUARE.format(dims=dims) for dims in ('["n", "n"]', '["n", "m"]')]
    built = {i: build(texts[i]) for i in (first, 1 - first)}
    assert compiled() == 4
    for i, shape in ((0, (33, 33)), (1, (5, 70)), (1, (70, 5)), (1, (33, 33))):
        x = np.random.default_rng(0).standard_normal(shape, np.float32)
        np.testing.assert_allclose(built[i]["main"](x), softmax(x.T), rtol=1e-5)
    with pytest.raises(ValueError, match="expected"):
        built[0]["main"](np.ones((5, 70), np.float32))


def test_one_kernel_for_squares_and_others():
    """Calls in one program share a kernel, for what is true of both."""
    main = SQUARE.format(dims='["n", "m"]') + SQUARE.format(dims='["n", "n"]').replace("@main", "@square")
    program = build(main)
    for name, shape in (("square", (33, 33)), ("main", (5, 70)), ("main", (70, 5))):
        x = np.random.default_rng(0).standard_normal(shape, np.float32)
        np.testing.assert_allclose(program[name](x), softmax(x.T), rtol=1e-5)


def test_a_program_cannot_state_what_its_calls_pass():
    """It could be wrong."""
    text = (
        SQUARE.format(dims='["n", "m"]').replace("relex.softmax", "relex.call @group")
        + """
    func.func private @group(%x: tensor<?x?xf32>) -> tensor<?x?xf32>
        attributes {relex.primitive, relex.passed = [["n", "n"], ["n", "n"]]} {
      %y = relex.softmax %x : (tensor<?x?xf32>) -> tensor<?x?xf32>
      func.return %y : tensor<?x?xf32>
    }
    """
    )
    text = text.replace("@group %0", "@group(%0)")
    passed: list[str] = []

    def see(p: ModulePass, module: ModuleOp) -> None:
        passed.extend(str(op) for op in module.ops if PASSED_ATTR in op.attributes)

    compilation.lower_program(parse_module(text), instrument=see)
    assert not passed
    x = np.random.default_rng(0).standard_normal((5, 70), np.float32)
    np.testing.assert_allclose(build(text)["main"](x), softmax(x.T), rtol=1e-5)


RELATIONS = [("n", "2 * n", "n"), ("n", "3 * n", "n"), ("n", "m", "n"), ("n", "n", "m"), ("n", "m", "n + m")]


@pytest.mark.parametrize("order", [RELATIONS, RELATIONS[::-1]])
def test_relations_that_are_nearly_the_same(order: list[tuple[str, str, str]]):
    """Each program is right after each other one was compiled."""
    for x, y, z in order:
        program = build(JOINED.format(x=x, y=y, z=z))
        for n, m in ((3, 4), (40, 7), (7, 40)):
            sizes = [eval(size, {"n": n, "m": m}) for size in (x, y, z)]
            arrays = [np.random.default_rng(i).random((size, 8), np.float32) for i, size in enumerate(sizes)]
            joined, total = program["main"](*arrays)
            np.testing.assert_allclose(joined, np.exp(np.concatenate(arrays[:2])), rtol=1e-5)
            np.testing.assert_allclose(total, arrays[2].sum(axis=0), rtol=1e-5)
    keys = set(kernels())
    for x, y, z in order:
        build(JOINED.format(x=x, y=y, z=z))
    assert set(kernels()) == keys


def test_other_constants_are_the_same_kernels(compiled: Callable[[], int]):
    build(residual())
    assert compiled() > 0
    assert code_of(residual(1))[1] != code_of(residual())[1]
    assert compiled() == 0


@pytest.mark.parametrize("what", ["a requirement", "a bound"])
def test_what_callers_check_does_not_count(what: str, compiled: Callable[[], int]):
    """Kernels assume only what their own operators require."""
    text = SQUARE.format(dims='["n", "m"]')
    requires = "n <= m" if what == "a requirement" else "n <= 64"
    stated = f'-> tensor<?x?xf32> attributes {{relex.requires = ["{requires}"]}} {{'
    build(text.replace("-> tensor<?x?xf32> {", stated))
    assert compiled() == 2
    x = np.random.default_rng(0).standard_normal((70, 5), np.float32)
    np.testing.assert_allclose(build(text)["main"](x), softmax(x.T), rtol=1e-5)
    assert compiled() == 0
