"""What the interpreter refuses: in every run, and in checked ones. Errors stand at the op and say what was found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import Array
from xdsl.dialects import test
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls
from xdsl.interpreters.affine import AffineFunctions

from relex.dialects import CompileError, parse_module
from relex.dialects.errors import ArityError, DTypeError, ExecutionError, ShapeError, UnknownNameError
from relex.reference import interpret


def loop(body: str, *, inputs: str = "%X: memref<4xf32>", before: str = "") -> str:
    return f"""
    tir.prim_func @main({inputs}) outs(%Y: memref<4xf32>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %zero = arith.constant 0.0 : f32
      {before}
      tir.for %i in (4) {{
        {body}
      }}
    }}
    """


X = np.arange(4, dtype=np.float32)

OUT_OF_BOUNDS = {
    "behind": ("addi %i, %c1", "%x = memref.load %X[%j]", "X in 0..3, found 4"),
    "before": ("subi %i, %c1", "%x = memref.load %X[%j]", "X in 0..3, found -1"),
    "store": ("muli %i, %c2", "memref.store %zero, %Y[%j]", "Y in 0..3, found 4"),
}


@pytest.mark.parametrize("name", OUT_OF_BOUNDS)
@pytest.mark.parametrize("checked", [False, True])
def test_accesses_stay_in_bounds(name: str, checked: bool) -> None:
    index, access, message = OUT_OF_BOUNDS[name]
    op = "load" if "load" in access else "store"
    # An index that is no expression of loop variables alone, which the verifier cannot follow.
    text = loop(
        f"%k = arith.addi %i, %m : index\n%j = arith.{index.replace('%i', '%k')} : index\n{access} : memref<4xf32>",
        inputs="%X: memref<4xf32>, %N: memref<i64>",
        before="%n = memref.load %N[] : memref<i64>\n%m = arith.index_cast %n : i64 to index",
    )
    with pytest.raises(ExecutionError, match=f"'memref.{op}' op expected index 0 of %{message}") as caught:
        interpret(text, checked=checked)["main"](X, np.int64(0))
    (diagnostic,) = caught.value.diagnostics
    assert f"memref.{op}" in (diagnostic.source_line or "")


def test_block_accesses_stay_in_bounds_of_loops() -> None:
    text = """
    tir.prim_func @main(%I: memref<40xi64>, %X: memref<4xf32>) outs(%Y: memref<40xf32>) {
      tir.for %i in (40) {
        tir.block @Y (%v: spatial<40> = %i) {
          %n = memref.load %I[%v] : memref<40xi64>
          %j = arith.index_cast %n : i64 to index
          %x = memref.load %X[%j] : memref<4xf32>
          memref.store %x, %Y[%v] : memref<40xf32>
        }
      }
    }
    """
    indices = np.arange(40) % 4
    np.testing.assert_array_equal(interpret(text)["main"](indices, X), X[indices])
    for wrong in (-1, 4, 2**62):
        indices[17] = wrong
        with pytest.raises(ExecutionError, match=f"expected index 0 of %X in 0..3, found {wrong}"):
            interpret(text)["main"](indices, X)


EMPTY = """
tir.prim_func @main(%X: memref<0xf32>, %N: memref<i64>) outs(%Y: memref<f32>) {
  %n = memref.load %N[] : memref<i64>
  %i = arith.index_cast %n : i64 to index
  %x = memref.load %X[%i] : memref<0xf32>
  memref.store %x, %Y[] : memref<f32>
}
"""


def test_an_empty_buffer_has_no_elements() -> None:
    with pytest.raises(ExecutionError, match="expected no access to %X, which has no elements"):
        interpret(EMPTY)["main"](np.zeros(0, np.float32), np.int64(0))


FRESH = """
func.func @main() -> (tensor<3xf32>, tensor<3xf64>, tensor<2xi32>, tensor<3xi1>, tensor<i64>, tensor<0xi8>) {
  %0 = relex.alloc_tensor : tensor<3xf32>
  %1 = relex.alloc_tensor : tensor<3xf64>
  %2 = relex.alloc_tensor : tensor<2xi32>
  %3 = relex.alloc_tensor : tensor<3xi1>
  %4 = relex.alloc_tensor : tensor<i64>
  %5 = relex.alloc_tensor : tensor<0xi8>
  func.return %0, %1, %2, %3, %4, %5
      : tensor<3xf32>, tensor<3xf64>, tensor<2xi32>, tensor<3xi1>, tensor<i64>, tensor<0xi8>
}
"""


def test_fresh_memory_has_no_useful_content() -> None:
    a, b, c, d, e, f = interpret(FRESH, checked=True)["main"]()
    assert np.isnan(a).all()
    assert np.isnan(b).all()
    np.testing.assert_array_equal(c.view(np.uint8), 0xA5)
    np.testing.assert_array_equal(d, [True, False, True])
    assert e == np.frombuffer(b"\xa5" * 8, np.int64)[0]
    assert f.shape == (0,)


def test_results_that_are_not_written_show() -> None:
    text = "tir.prim_func @main() outs(%Y: memref<3xf32>) {\n}"
    assert np.isnan(interpret(text, checked=True)["main"]()).all()


BUFFERS = """
func.func @main(%Y: memref<4xf32>) {{
  %c0 = arith.constant 0 : index
  %T = memref.alloc() : memref<4xf32>
  memref.dealloc %T : memref<4xf32>
  {}
  func.return
}}
"""
FREED = {
    "memref.load": "%x = memref.load %T[%c0] : memref<4xf32>",
    "memref.store": "%z = arith.constant 0.0 : f32\nmemref.store %z, %T[%c0] : memref<4xf32>",
    "memref.copy": '"memref.copy"(%T, %Y) : (memref<4xf32>, memref<4xf32>) -> ()',
    "memref.dealloc": "memref.dealloc %T : memref<4xf32>",
}


@pytest.mark.parametrize("op", FREED)
def test_freed_memory(op: str) -> None:
    function = interpret(BUFFERS.format(FREED[op]), checked=True)["main"]
    when = " before" if op == "memref.dealloc" else ""
    message = f"'{op}' op expected memory that is in use, found %T, freed{when} in line 5"
    with pytest.raises(ExecutionError, match=message):
        function(np.zeros(4, np.float32))


def parallel(kind: str, store: str) -> str:
    return f"""
    tir.prim_func @main(%X: memref<4xf32>) outs(%Y: memref<4xf32>) {{
      %zero = arith.constant 0.0 : f32
      %c2 = arith.constant 2 : index
      tir.for {kind} %i in (4) {{
        {store}
      }}
    }}
    """


RACES: dict[str, tuple[str, str]] = {
    "parallel loop": (
        parallel("parallel", "%h = arith.divui %i, %c2 : index\nmemref.store %zero, %Y[%h] : memref<4xf32>"),
        r"'memref.store' op expected one iteration of the parallel loop in line 5 to write an element, "
        r"found %Y\[0\] written at %i = 0 and at %i = 1",
    ),
    "called function": (
        parallel("parallel", "tir.call @g(%X, %Y) : memref<4xf32>, memref<4xf32>")
        + parallel("", "memref.store %zero, %Y[%i] : memref<4xf32>").replace("@main", "private @g"),
        r"found %Y\[0\] written at %i = 0 and at %i = 1",
    ),
    "copy": (
        parallel("parallel", '"memref.copy"(%X, %Y) : (memref<4xf32>, memref<4xf32>) -> ()'),
        r"'memref.copy' op .* found %Y\[0\] written at %i = 0 and at %i = 1",
    ),
    "block": (
        parallel(
            "",
            "tir.block @B (%v: spatial<4> = %i) {\n%h = arith.remui %v, %c2 : index\n"
            "memref.store %zero, %Y[%h] : memref<4xf32>\n}",
        ),
        r"expected one value of the spatial variables of block @B to write an element, "
        r"found %Y\[0\] written at %v = 0 and at %v = 2",
    ),
    "scf.parallel": (
        parallel(
            "",
            "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
            '"scf.parallel"(%c0, %c0, %c2, %c2, %c1, %c1) '
            "<{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({\n^bb0(%a: index, %b: index):\n"
            "memref.store %zero, %Y[%a] : memref<4xf32>\nscf.reduce\n"
            "}) : (index, index, index, index, index, index) -> ()",
        ),
        r"found %Y\[0\] written at %a = 0, %b = 0 and at %a = 0, %b = 1",
    ),
}


@pytest.mark.parametrize("name", RACES)
def test_races(name: str) -> None:
    text, message = RACES[name]
    interpret(text)["main"](X)
    with pytest.raises(ExecutionError, match=message):
        interpret(text, checked=True)["main"](X)


NO_RACES = {
    "own elements": parallel("parallel", "memref.store %zero, %Y[%i] : memref<4xf32>"),
    "own elements twice": parallel(
        "parallel", "memref.store %zero, %Y[%i] : memref<4xf32>\nmemref.store %zero, %Y[%i] : memref<4xf32>"
    ),
    "own buffers": parallel(
        "parallel", "%T = tir.alloc_buffer : memref<4xf32>\nmemref.store %zero, %T[%c2] : memref<4xf32>"
    ),
    "serial loop": parallel("", "memref.store %zero, %Y[%c2] : memref<4xf32>"),
    "reduction": parallel(
        "",
        "tir.for %k in (3) {\ntir.block @B (%v: spatial<4> = %i, %r: reduce<3> = %k) {\n"
        "memref.store %zero, %Y[%v] : memref<4xf32>\n}\n}",
    ),
    "loops one after the other": parallel(
        "", "tir.for parallel %j in (4) {\nmemref.store %zero, %Y[%j] : memref<4xf32>\n}"
    ),
    "block in a block": parallel(
        "",
        "tir.block @A (%v: spatial<4> = %i) {\n%T = tir.alloc_buffer : memref<4xf32>\ntir.for %j in (4) {\n"
        "tir.block @B (%w: spatial<4> = %j) {\nmemref.store %zero, %T[%w] : memref<4xf32>\n}\n}\n"
        "memref.store %zero, %Y[%v] : memref<4xf32>\n}",
    ),
}


@pytest.mark.parametrize("name", NO_RACES)
def test_what_is_no_race(name: str) -> None:
    interpret(NO_RACES[name], checked=True)["main"](X)


def test_block_variables_stay_in_range() -> None:
    text = """
    tir.prim_func @main(%N: memref<i64>) outs(%Y: memref<4xf32>) {
      %zero = arith.constant 0.0 : f32
      %n = memref.load %N[] : memref<i64>
      %m = arith.index_cast %n : i64 to index
      tir.for %i in (%m) {
        tir.block @Y (%v: spatial<3> = %i) {
          memref.store %zero, %Y[%v] : memref<4xf32>
        }
      }
    }
    """
    interpret(text, checked=True)["main"](np.int64(3))
    interpret(text)["main"](np.int64(4))
    with pytest.raises(ExecutionError, match=r"'tir.block' op expected %v in 0..2, found 3"):
        interpret(text, checked=True)["main"](np.int64(4))


@pytest.mark.parametrize("checked", [False, True])
def test_inputs_and_constants_are_not_written(checked: bool) -> None:
    text = """
    tir.prim_func @main(%X: memref<4xf32>) outs(%Y: memref<4xf32>) {
      func.call @clear(%X) : (memref<4xf32>) -> ()
    }
    func.func @clear(%X: memref<4xf32>) {
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0.0 : f32
      memref.store %zero, %X[%c0] : memref<4xf32>
      func.return
    }
    """
    x = np.ones(4, np.float32)
    with pytest.raises(ExecutionError, match="expected a buffer that may be written, found %X"):
        interpret(text, checked=checked)["main"](x)
    np.testing.assert_array_equal(x, 1)


UNKNOWN = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = "test.op"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
"""


@register_impls
class TestFunctions(InterpreterFunctions):
    __test__ = False

    @impl(test.TestOp)
    def run(self, interpreter: Interpreter, op: test.TestOp, args: tuple[Any, ...]) -> PythonValues:
        (x,) = args
        if x[0] < 0:
            raise ValueError("negative")
        return (x + 1,)


def test_ops_of_other_packages() -> None:
    x = np.array([1, 2], np.float32)
    with pytest.raises(
        ExecutionError,
        match=r"'test.op' op cannot be interpreted: could not find interpretation function for op test.op",
    ):
        interpret(UNKNOWN)["main"](x)
    function = interpret(UNKNOWN, implementations=[TestFunctions()])["main"]
    np.testing.assert_array_equal(function(x), [2, 3])
    with pytest.raises(ExecutionError, match=r"'test.op' op failed: ValueError: negative"):
        function(-x)


NUMBERS = """
tir.prim_func @main(%N: memref<i64>) outs(%Y: memref<i64>) {
  %n = memref.load %N[] : memref<i64>
  %i = arith.index_cast %n : i64 to index
  %j = affine.apply affine_map<(d0) -> (3 * d0 + 1)> (%i)
  %m = arith.index_cast %j : index to i64
  memref.store %m, %Y[] : memref<i64>
}
"""


def test_numbers_of_the_interpreter_of_xdsl() -> None:
    """Its functions take and return attributes or Python's numbers, as its version has them."""
    for n in (0, 5, -7, 2**62):
        y = interpret(NUMBERS, implementations=[AffineFunctions()])["main"](np.int64(n))
        assert y == np.int64(((3 * n + 1) + 2**63) % 2**64 - 2**63)


CALLS: list[tuple[list[Array], type[Exception], str]] = [
    ([], ArityError, r"main\(\) expected 1 arguments \(x\), found none for x"),
    ([np.zeros(3, np.float32)], ShapeError, r"argument 'x': expected shape \(2,\), found \(3,\)"),
    ([np.zeros(2)], DTypeError, r"argument 'x': expected dtype float32, found float64"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), CALLS, ids=["arity", "shape", "dtype"])
def test_wrong_calls(arguments: list[Array], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        interpret(UNKNOWN)["main"](*arguments)
    with pytest.raises(UnknownNameError, match="no function 'f'; there are main"):
        interpret(UNKNOWN)["f"]


def test_wrong_programs() -> None:
    with pytest.raises(CompileError, match="is not registered"):
        interpret("func.func @main() { nonsense }")
    module = parse_module("func.func @main() -> tensor<2xf32> {\n %0 = func.call @main() : () -> tensor<2xf32>\n"
                          "func.return %0 : tensor<2xf32>\n}")  # fmt: skip
    with pytest.raises(Exception, match=r"main\(\) calls itself too deeply to be interpreted"):
        interpret(module)["main"]()


def test_assertions_and_steps() -> None:
    text = """
    tir.prim_func @main(%N: memref<i64>) outs(%Y: memref<f32>) {
      %c0 = arith.constant 0 : index
      %n = memref.load %N[] : memref<i64>
      %m = arith.index_cast %n : i64 to index
      %ok = arith.cmpi sge, %m, %c0 : index
      cf.assert %ok, "expected no negative number"
      scf.for %i = %c0 to %m step %m {
        %x = arith.constant 1.0 : f32
        memref.store %x, %Y[] : memref<f32>
      }
    }
    """
    assert interpret(text)["main"](np.int64(2)) == 1
    with pytest.raises(ExecutionError, match=r"'cf.assert' op failed: expected no negative number"):
        interpret(text)["main"](np.int64(-2))
    with pytest.raises(ExecutionError, match=r"'scf.for' op expected a step of 1 or more, found 0"):
        interpret(text)["main"](np.int64(0))
