"""Assertions about elements: they hold or stop a call with an error, at every level and in every kind of call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import cf
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from relex.dialects import RelexError, parse_module
from relex.dialects.context import make_context
from relex.dialects.errors import AssertionFailedError, ExecutionError, IndexRangeError
from relex.dialects.relex import AssertOp
from relex.lowering import RelexPipelinePass, ReturnFailuresPass
from relex.lowering.support.branches import ConvertScfToCfPass
from relex.passes import run_pass
from relex.passes.driver.base import apply_pass
from relex.reference import interpret
from relex.reference.equivalence.check import Checker, check_pass
from relex.reference.equivalence.differences import NotEquivalentError
from relex.runtime import build, register_func, remove_func

PROGRAM = """
func.func @main(%x: tensor<4xf32>, %i: tensor<3xi64>) -> tensor<3xf32> {
  %zero = relex.constant dense<0.0> : tensor<f32>
  %least = relex.min %x : (tensor<4xf32>) -> tensor<f32>
  %positive = relex.greater %least, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
  relex.assert %positive, "expected positive numbers" : tensor<i1>
  %count = relex.constant dense<4> : tensor<i64>
  %largest = relex.max %i : (tensor<3xi64>) -> tensor<i64>
  %in_range = relex.less %largest, %count : (tensor<i64>, tensor<i64>) -> tensor<i1>
  relex.assert %in_range, "expected indices below 4" index %largest : tensor<i1>, tensor<i64>
  %y = relex.take %x, %i axis = 0 : (tensor<4xf32>, tensor<3xi64>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
"""
X = np.array([1, 2, 3, 4], np.float32)
RIGHT, WRONG = np.array([0, 3, 1]), np.array([0, 9, 1])


def lowered(level: str) -> ModuleOp:
    """The program at a level, and as far as the interpreter still knows it."""
    module = parse_module(PROGRAM)
    if level == "branches":
        for step in (RelexPipelinePass("core"), ConvertScfToCfPass(), ReturnFailuresPass()):
            module = run_pass(step, module)
        return module
    return run_pass(RelexPipelinePass(level), module)  # pyright: ignore[reportArgumentType]


def run(main: Callable[..., Any]) -> None:
    """Call the program."""
    assert main(X, RIGHT).tolist() == [1, 4, 2]
    with pytest.raises(IndexRangeError, match=r"expected indices below 4, found 9") as index:
        main(X, WRONG)
    assert isinstance(index.value, IndexError)
    assert isinstance(index.value, RelexError)
    with pytest.raises(AssertionFailedError, match=r"expected positive numbers$") as assertion:
        main(-X, WRONG)
    assert isinstance(assertion.value, AssertionError)
    assert isinstance(assertion.value, RelexError)
    with pytest.raises(AssertionFailedError):
        main(np.array([1, np.nan, 1, 1], np.float32), RIGHT)
    assert main(X, RIGHT).tolist() == [1, 4, 2]


@pytest.mark.parametrize("calls", ["native", "ctypes"])
def test_compiled(calls: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELEX_CALLS", calls)
    main = build(PROGRAM)["main"]
    run(main)
    out = np.zeros(3, np.float32)
    with pytest.raises(IndexRangeError):
        main(X, WRONG, out=out)
    assert main(X, RIGHT, out=out) is out
    assert out.tolist() == [1, 4, 2]


def test_strict() -> None:
    run(build(PROGRAM, strict=True)["main"])


@pytest.mark.parametrize("level", ["graph", "loops", "core", "branches"])
def test_interpreted(level: str) -> None:
    main = interpret(lowered(level))["main"]
    run(main)
    with pytest.raises(ExecutionError, match=r"op failed: expected indices below 4, found 9"):
        main(X, WRONG)


def test_text_of_each_level_compiles_to_the_same() -> None:
    for level in ("loops", "core", "llvm"):
        run(build(str(lowered(level)))["main"])


def test_arguments_and_results_are_not_kept_by_a_call_that_fails() -> None:
    from sys import getrefcount

    main, x, out = build(PROGRAM)["main"], X.copy(), np.zeros(3, np.float32)
    main(x, RIGHT)
    before = getrefcount(x), getrefcount(WRONG), getrefcount(out)
    for _ in range(100):
        with pytest.raises(IndexRangeError):
            main(x, WRONG, out=out)
    assert (getrefcount(x), getrefcount(WRONG), getrefcount(out)) == before


CALLS = """
func.func @main(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  relex.call_dps_packed "test.note"(%x) {side_effects} : (tensor<4xf32>) -> ()
  %y = func.call @inner(%x, %c) : (tensor<4xf32>, tensor<i1>) -> tensor<4xf32>
  %unused = relex.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  relex.call_dps_packed "test.note"(%y) {side_effects} : (tensor<4xf32>) -> ()
  func.return %y : tensor<4xf32>
}
func.func private @inner(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  relex.assert %c, "expected more" : tensor<i1>
  %y = relex.negative %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""


def test_side_effects_before_an_assertion_happen_and_later_ones_do_not() -> None:
    seen: list[float] = []

    def note(x: np.ndarray[Any, Any]) -> None:
        seen.append(float(x[0]))

    register_func("test.note", note)
    try:
        for main in (build(CALLS)["main"], interpret(CALLS)["main"]):
            seen.clear()
            main(X, np.array(True))
            assert seen == [1, -1]
            with pytest.raises(AssertionFailedError, match="expected more"):
                main(X, np.array(False))
            assert seen == [1, -1, 1]
    finally:
        remove_func("test.note")


def test_an_error_of_a_library_function_goes_first() -> None:
    def refuse(x: Any) -> None:
        raise LookupError("refused")

    register_func("test.note", refuse)
    try:
        with pytest.raises(LookupError, match="refused"):
            build(CALLS)["main"](X, np.array(False))
    finally:
        remove_func("test.note")


def test_each_iteration_of_a_loop_function() -> None:
    main = build("""
        tir.prim_func @main(%x: memref<8xf32>) outs(%y: memref<8xf32>) {
          %zero = arith.constant 0.0 : f32
          tir.for %i in (8) {
            tir.block @y (%vi: spatial<8> = %i) {
              %v = memref.load %x[%vi] : memref<8xf32>
              %ok = arith.cmpf oge, %v, %zero : f32
              cf.assert %ok, "expected no negative number"
              %r = math.sqrt %v : f32
              memref.store %r, %y[%vi] : memref<8xf32>
            }
          }
        }""")["main"]
    x = np.arange(8, dtype=np.float32)
    assert np.array_equal(main(x), np.sqrt(x))
    with pytest.raises(AssertionFailedError, match="expected no negative number"):
        main(x - 7)


class DropAssertions(ModulePass):
    """A pass that does what none may."""

    name = "drop-assertions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in [*op.walk()]:
            if isinstance(inner, AssertOp | cf.AssertOp):
                inner.detach()
                inner.erase()


def test_checks_of_passes() -> None:
    module = parse_module(PROGRAM)
    report = check_pass(RelexPipelinePass(), module)
    assert ("return-failures", "main") in report.compared
    assert ("convert-to-llvm", "main") in report.compared
    assert not report.skipped
    for level in ("graph", "loops", "core"):
        checker, module = Checker(), parse_module(PROGRAM)
        checker.start(module)
        for step in RelexPipelinePass(level).steps():
            apply_pass(step, make_context(), module)
            checker.expect_same(step, module)
        apply_pass(DropAssertions(), make_context(), module)
        with pytest.raises(NotEquivalentError, match=r"expected the failed assertion '.*', found a result"):
            checker.expect_same(DropAssertions(), module)
