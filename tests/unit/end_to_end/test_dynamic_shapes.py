"""Programs whose sizes are known at run time: one compilation for all, and no call with sizes that do not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from programs import Array, random_array

from relex.dialects import CompileError, parse_module
from relex.dialects.errors import OutOfMemoryError, ShapeError
from relex.passes import BindParamsPass
from relex.reference import interpret
from relex.runtime import build

MLP = """
func.func @main(%x: tensor<?x784xf32>, %w0: tensor<128x784xf32>, %b0: tensor<128xf32>,
                %w1: tensor<10x128xf32>, %b1: tensor<10xf32>) -> tensor<?x10xf32> {
  %out = relex.dataflow -> tensor<?x10xf32> {
    %h = relex.dense %x, %w0 : (tensor<?x784xf32>, tensor<128x784xf32>) -> tensor<?x128xf32>
    %a = relex.add %h, %b0 : (tensor<?x128xf32>, tensor<128xf32>) -> tensor<?x128xf32>
    %r = relex.relu %a : (tensor<?x128xf32>) -> tensor<?x128xf32>
    %g = relex.dense %r, %w1 : (tensor<?x128xf32>, tensor<10x128xf32>) -> tensor<?x10xf32>
    %y = relex.add %g, %b1 : (tensor<?x10xf32>, tensor<10xf32>) -> tensor<?x10xf32>
    relex.output %y : tensor<?x10xf32>
  }
  func.return %out : tensor<?x10xf32>
}
"""

RNG = np.random.default_rng(0)


def floats(*shape: int) -> Array:
    return random_array(RNG, "float32", shape)


PARAMS = {"w0": floats(128, 784) / 28, "b0": floats(128), "w1": floats(10, 128) / 11, "b1": floats(10)}


def mlp(x: Array) -> Array:
    hidden = np.maximum(x @ PARAMS["w0"].T + PARAMS["b0"], 0)
    return hidden @ PARAMS["w1"].T + PARAMS["b1"]


def test_one_compilation_serves_every_batch() -> None:
    function = build(MLP)["main"]
    for batch in (64, 0, 1, 2, 3, 17, 64, 1):
        x = floats(batch, 784)
        found = function(x, **PARAMS)
        assert found.shape == (batch, 10)
        np.testing.assert_allclose(found, mlp(x), rtol=1e-4, atol=1e-4)


def test_bound_parameters() -> None:
    module = BindParamsPass("main", PARAMS)(parse_module(MLP))
    function = build(module)["main"]
    assert str(function.signature) == "main(x: (x_d0, 784) of f32) -> (result: (x_d0, 10) of f32)"
    x = floats(5, 784)
    np.testing.assert_allclose(function(x), mlp(x), rtol=1e-4, atol=1e-4)


def test_sizes_that_a_bound_parameter_has_are_those_of_others() -> None:
    module = parse_module(
        """
        func.func @main(%x: tensor<?xf32> {relex.dims = ["n"]}, %b: tensor<4xf32> {relex.dims = ["n"]})
            -> tensor<?xf32> {
          func.return %x : tensor<?xf32>
        }
        """
    )
    bound = build(BindParamsPass("main", {"b": floats(4)})(module))["main"]
    assert bound(floats(4)).shape == (4,)
    with pytest.raises(ShapeError, match=r"argument 'x': expected shape \(4,\), found \(3,\)"):
        bound(floats(3))


PROGRAM = """
func.func @joined(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>, %z: tensor<?xf32>) -> (tensor<?x4xf32>, tensor<?xf32>) {
  %s = relex.add %x, %y : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %c = relex.concat %s, %y : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %r = relex.sum %c axis = [1] : (tensor<?x4xf32>) -> tensor<?xf32>
  %t = relex.add %r, %z : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.return %s, %t : tensor<?x4xf32>, tensor<?xf32>
}
func.func @named(%a: tensor<?x?xf32> {relex.dims = ["n", "k"], relex.name = "the data"},
                 %b: tensor<?xf32> {relex.dims = ["k"]}, %c: tensor<?x?x2xf32> {relex.dims = ["n", "k", ""]}) {
  func.return
}
func.func @product(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c = relex.matmul %a, %b : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  func.return %c : tensor<?x?xf32>
}
func.func @known(%a: tensor<?x?xf32>, %b: tensor<3xf32>) -> tensor<?x3xf32> {
  %c = relex.add %a, %b : (tensor<?x?xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  func.return %c : tensor<?x3xf32>
}
func.func @windows(%x: tensor<1x1x?x?xf32>, %w: tensor<1x1x3x2xf32>) -> tensor<1x1x?x?xf32> {
  %y = relex.conv2d %x, %w strides = [2, 1] : (tensor<1x1x?x?xf32>, tensor<1x1x3x2xf32>) -> tensor<1x1x?x?xf32>
  func.return %y : tensor<1x1x?x?xf32>
}
func.func @largest(%x: tensor<?xf32>) -> tensor<f32> {
  %y = relex.max %x : (tensor<?xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}
func.func @chosen(%x: tensor<?x2xf32>, %i: tensor<?xi64>) -> tensor<?x2xf32> {
  %y = relex.take %x, %i axis = 0 : (tensor<?x2xf32>, tensor<?xi64>) -> tensor<?x2xf32>
  func.return %y : tensor<?x2xf32>
}
func.func @pairs(%x: tensor<?x3xf32>) -> tensor<?x2xf32> {
  %y = relex.reshape %x shape = [-1, 2] : (tensor<?x3xf32>) -> tensor<?x2xf32>
  func.return %y : tensor<?x2xf32>
}
func.func @row(%x: tensor<?x?xf32>) -> tensor<?xf32> {
  %y = relex.squeeze %x axis = [0] : (tensor<?x?xf32>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}
func.func @normal(%x: tensor<?x?xf32>, %g: tensor<?xf32>) -> tensor<?x?xf32> {
  %y = relex.layer_norm %x, %g, %g : (tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>) -> tensor<?x?xf32>
  func.return %y : tensor<?x?xf32>
}
func.func @outer(%x: tensor<?x0xf32>, %y: tensor<0x?xf32>) -> tensor<?x?xf32> {
  %s = relex.matmul %x, %y : (tensor<?x0xf32>, tensor<0x?xf32>) -> tensor<?x?xf32>
  func.return %s : tensor<?x?xf32>
}
func.func private @same(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %c = relex.multiply %a, %b : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.return %c : tensor<?xf32>
}
func.func @caller(%x: tensor<?x2xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %s = relex.sum %x axis = [1] : (tensor<?x2xf32>) -> tensor<?xf32>
  %c = func.call @same(%s, %y) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.return %c : tensor<?xf32>
}
func.func @fixed(%x: tensor<?xf32>) -> tensor<4xf32> {
  %y = relex.call_tir @copy(%x) : (tensor<?xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @shorter(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %m = arith.subi %n, %c2 : index
  %y = relex.call_tir @front(%x) sizes(%m) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}
tir.prim_func private @front(%X: memref<?xf32>) outs(%Y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %Y, %c0 : memref<?xf32>
  tir.for %i in (%n) {
    tir.block @Y (%v: spatial<%n> = %i) {
      %x = memref.load %X[%v] : memref<?xf32>
      memref.store %x, %Y[%v] : memref<?xf32>
    }
  }
}
tir.prim_func private @copy(%X: memref<4xf32>) outs(%Y: memref<4xf32>) {
  tir.for %i in (4) {
    tir.block @Y (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      memref.store %x, %Y[%v] : memref<4xf32>
    }
  }
}
tir.prim_func @shifted(%X: memref<?xf32> {relex.dims = ["n"]}, %W: memref<?xf32>)
    outs(%Y: memref<?xf32> {relex.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %X, %c0 : memref<?xf32>
  tir.for %i in (%n) {
    tir.block @Y (%v: spatial<%n> = %i) {
      %x = memref.load %X[%v] : memref<?xf32>
      %j = arith.addi %v, %c2 : index
      %w = memref.load %W[%j] : memref<?xf32>
      %s = arith.addf %x, %w : f32
      memref.store %s, %Y[%v] : memref<?xf32>
    }
  }
}
"""

MANY = 2**40

GOOD_CALLS: list[tuple[str, list[tuple[int, ...]], list[tuple[int, ...]]]] = [
    ("joined", [(2, 4), (2, 4), (4,)], [(2, 4), (4,)]),
    ("joined", [(0, 4), (0, 4), (0,)], [(0, 4), (0,)]),
    ("named", [(2, 3), (3,), (2, 3, 2)], []),
    ("named", [(3, 3), (3,), (3, 3, 2)], []),
    ("product", [(2, 3), (3, 4)], [(2, 4)]),
    ("product", [(2, 0), (0, 4)], [(2, 4)]),
    ("known", [(1, 3), (3,)], [(1, 3)]),
    ("windows", [(1, 1, 3, 2), (1, 1, 3, 2)], [(1, 1, 1, 1)]),
    ("windows", [(1, 1, 6, 5), (1, 1, 3, 2)], [(1, 1, 2, 4)]),
    ("largest", [(1,)], [()]),
    ("chosen", [(1, 2), (5,)], [(5, 2)]),
    ("chosen", [(0, 2), (0,)], [(0, 2)]),
    ("pairs", [(4, 3)], [(6, 2)]),
    ("row", [(1, 7)], [(7,)]),
    ("normal", [(0, 0), (0,)], [(0, 0)]),
    ("outer", [(3, 0), (0, 4)], [(3, 4)]),
    ("caller", [(3, 2), (3,)], [(3,)]),
    ("fixed", [(4,)], [(4,)]),
    ("shorter", [(2,)], [(0,)]),
    ("shorter", [(5,)], [(3,)]),
    ("shifted", [(3,), (5,)], [(3,)]),
    ("shifted", [(3,), (9,)], [(3,)]),
    ("shifted", [(0,), (0,)], [(0,)]),
]

WRONG_CALLS = [
    ("joined", [(2, 4), (3, 4), (4,)], "argument 'y': expected shape (x_d0, 4) with x_d0 = 2 (dimension 0 of 'x'), found (3, 4)"),  # noqa: E501
    ("joined", [(2, 4), (1, 4), (4,)], "argument 'y': expected shape (x_d0, 4) with x_d0 = 2 (dimension 0 of 'x'), found (1, 4)"),  # noqa: E501
    ("joined", [(1, 4), (2, 4), (2,)], "argument 'y': expected shape (x_d0, 4) with x_d0 = 1 (dimension 0 of 'x'), found (2, 4)"),  # noqa: E501
    ("joined", [(2, 4), (2, 4), (2,)], "argument 'z': expected shape (2 * x_d0,) with x_d0 = 2 (dimension 0 of 'x'), found (2,)"),  # noqa: E501
    ("joined", [(0, 4), (0, 4), (1,)], "argument 'z': expected shape (2 * x_d0,) with x_d0 = 0 (dimension 0 of 'x'), found (1,)"),  # noqa: E501
    ("joined", [(2, 5), (2, 4), (4,)], "argument 'x': expected shape (x_d0, 4), found (2, 5)"),
    ("joined", [(2, 4, 1), (2, 4), (4,)], "argument 'x': expected shape (x_d0, 4), found (2, 4, 1)"),
    ("joined", [(2, 4), (2, 4), ()], "argument 'z': expected shape (2 * x_d0,), found ()"),
    ("named", [(2, 3), (2,), (2, 3, 2)], "argument 'b': expected shape (k,) with k = 3 (dimension 1 of 'the data'), found (2,)"),  # noqa: E501
    ("named", [(2, 3), (3,), (3, 2, 2)], "argument 'c': expected shape (n, k, 2) with n = 2 (dimension 0 of 'the data'), k = 3 (dimension 1 of 'the data'), found (3, 2, 2)"),  # noqa: E501
    ("named", [(2, 3), (3,), (2, 3, 1)], "argument 'c': expected shape (n, k, 2), found (2, 3, 1)"),
    ("product", [(2, 3), (4, 3)], "argument 'b': expected shape (a_d1, b_d1) with a_d1 = 3 (dimension 1 of 'a'), b_d1 = 3 (dimension 1 of 'b'), found (4, 3)"),  # noqa: E501
    ("product", [(2, 1), (3, 4)], "argument 'b': expected shape (a_d1, b_d1) with a_d1 = 1 (dimension 1 of 'a'), b_d1 = 4 (dimension 1 of 'b'), found (3, 4)"),  # noqa: E501
    ("known", [(2, 1), (3,)], "argument 'a': expected shape (a_d0, 3), found (2, 1)"),
    ("windows", [(1, 1, 2, 5), (1, 1, 3, 2)], "expected 3 <= x_d2, found x_d2 = 2 (dimension 2 of 'x')"),
    ("windows", [(1, 1, 5, 0), (1, 1, 3, 2)], "expected 2 <= x_d3, found x_d3 = 0 (dimension 3 of 'x')"),
    ("largest", [(0,)], "expected 1 <= x_d0, found x_d0 = 0 (dimension 0 of 'x')"),
    ("chosen", [(0, 2), (3,)], "expected i_d0 <= i_d0 * x_d0, found i_d0 = 3 (dimension 0 of 'i'), x_d0 = 0 (dimension 0 of 'x')"),  # noqa: E501
    ("pairs", [(3, 3)], "expected 2 * (x_d0 // 2) == x_d0, found x_d0 = 3 (dimension 0 of 'x')"),
    ("row", [(2, 7)], "argument 'x': expected shape (1, x_d1), found (2, 7)"),
    ("normal", [(2, 3), (1,)], "argument 'g': expected shape (x_d1,) with x_d1 = 3 (dimension 1 of 'x'), found (1,)"),
    ("outer", [(MANY, 0), (0, MANY)], f"expected x_d0 * y_d1 <= {2**61 - 1}, found x_d0 = {MANY} (dimension 0 of 'x'), y_d1 = {MANY} (dimension 1 of 'y')"),  # noqa: E501
    ("outer", [(2**58, 0), (0, 1)], f"argument 'x': expected sizes of at most {2**57} together, found ({2**58}, 0)"),
    ("caller", [(3, 2), (2,)], "argument 'y': expected shape (x_d0,) with x_d0 = 3 (dimension 0 of 'x'), found (2,)"),
    ("shorter", [(1,)], "expected 2 <= x_d0, found x_d0 = 1 (dimension 0 of 'x')"),
    ("fixed", [(5,)], "argument 'x': expected shape (4,), found (5,)"),
    ("fixed", [(3,)], "argument 'x': expected shape (4,), found (3,)"),
    ("shifted", [(3,), (4,)], "expected n * n + 2 * n <= W_d0 * n, found n = 3 (dimension 0 of 'X'), W_d0 = 4 (dimension 0 of 'W')"),  # noqa: E501
]  # fmt: skip


def arguments(name: str, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    dtypes = ["float32", "int64"] if name == "chosen" else ["float32"] * len(shapes)
    return [np.zeros(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]


@pytest.fixture(scope="module")
def functions() -> Mapping[str, Any]:
    return build(PROGRAM)


@pytest.fixture(scope="module")
def interpreted_functions() -> Mapping[str, Any]:
    return interpret(PROGRAM)


@pytest.mark.parametrize(("name", "shapes", "results"), GOOD_CALLS)
def test_sizes_that_fit(
    functions: Mapping[str, Any],
    interpreted_functions: Mapping[str, Any],
    name: str,
    shapes: Any,
    results: Sequence[Any],
) -> None:
    for function in (functions[name], interpreted_functions[name]):
        found: Any = function(*arguments(name, shapes))
        arrays: Any = found if len(results) > 1 else [found] if results else []
        assert [array.shape for array in arrays] == results


@pytest.mark.parametrize(("name", "shapes", "message"), WRONG_CALLS)
def test_sizes_that_do_not_fit(
    functions: Mapping[str, Any], interpreted_functions: Mapping[str, Any], name: str, shapes: Any, message: str
) -> None:
    for function in (functions[name], interpreted_functions[name]):
        with pytest.raises(ShapeError) as caught:
            function(*arguments(name, shapes))
        assert str(caught.value) == f"{name}() {message}"


def test_nothing_is_taken_from_nothing() -> None:
    """No index may be given for an empty operand, which is known only when it is called."""
    text = """
      func.func @main(%x: tensor<0xf32>, %i: tensor<?xi32>) -> tensor<?xf32> {
        %y = relex.take %x, %i axis = 0 : (tensor<0xf32>, tensor<?xi32>) -> tensor<?xf32>
        func.return %y : tensor<?xf32>
      }
    """
    for function in (build(text)["main"], interpret(text)["main"]):
        assert function(np.zeros(0, np.float32), np.zeros(0, np.int32)).shape == (0,)
        with pytest.raises(ShapeError, match=r"main\(\) expected i_d0 <= 0, found i_d0 = 2"):
            function(np.zeros(0, np.float32), np.zeros(2, np.int32))


def test_more_memory_than_there_is() -> None:
    text = """
      func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
        %a = relex.expand_dims %x axis = [1] : (tensor<?xf32>) -> tensor<?x1xf32>
        %b = relex.expand_dims %x axis = [0] : (tensor<?xf32>) -> tensor<1x?xf32>
        %p = relex.multiply %a, %b : (tensor<?x1xf32>, tensor<1x?xf32>) -> tensor<?x?xf32>
        %s = relex.softmax %p : (tensor<?x?xf32>) -> tensor<?x?xf32>
        %y = relex.sum %s axis = [1] : (tensor<?x?xf32>) -> tensor<?xf32>
        func.return %y : tensor<?xf32>
      }
    """
    function = build(text)["main"]
    np.testing.assert_allclose(function(np.ones(3, np.float32)), [1, 1, 1])
    with pytest.raises(OutOfMemoryError, match=r"main\(\) cannot allocate \d{16} bytes for temporaries"):
        function(np.ones(2**24, np.float32))


def test_a_call_like_an_earlier_one_is_checked_by_its_own_shapes(functions: Mapping[str, Any]) -> None:
    product = functions["product"]
    for _ in range(2):
        a, b = floats(2, 3), floats(3, 4)
        np.testing.assert_allclose(product(a, b), a @ b, rtol=1e-5)
        with pytest.raises(ShapeError):
            product(b, b)


def test_more_shapes_than_are_remembered(functions: Mapping[str, Any]) -> None:
    for n in range(600):
        assert functions["known"](np.zeros((n, 3), np.float32), np.zeros(3, np.float32)).shape == (n, 3)


def test_a_fixed_size_where_a_dynamic_one_is_expected() -> None:
    """The operand of a reshape, which takes its size from another tensor, has a size that is known."""
    function = build("""
        func.func @main(%x: tensor<?x2xf32>, %y: tensor<3x2xf32>) -> tensor<?x2xf32> {
          %0 = relex.add %y, %x : (tensor<3x2xf32>, tensor<?x2xf32>) -> tensor<3x2xf32>
          %1 = relex.sort %0 axis = 0 : (tensor<3x2xf32>) -> tensor<3x2xf32>
          %2 = relex.reshape %1 like(%x) shape = [-1, 2] sizes = ["like0_d0"]
              : (tensor<3x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
          func.return %2 : tensor<?x2xf32>
        }
    """)["main"]
    x, y = np.random.default_rng(0).standard_normal((2, 3, 2)).astype("float32")
    np.testing.assert_array_equal(function(x, y), np.sort(x + y, axis=0))
    with pytest.raises(ShapeError, match="expected"):
        function(x[:2], y)


WRONG_PROGRAMS = {
    "sizes that never fit": (
        "func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
        "  %p = relex.pad %x pad_width = [0, 1] : (tensor<?xf32>) -> tensor<?xf32>\n"
        "  %y = relex.add %p, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>\n"
        "  func.return %y : tensor<?xf32>\n}",
        "<string>:3:8: error: 'relex.add' op expected shapes that broadcast, found ? and ?",
    ),
    "sizes that contradict each other": (
        "func.func @f(%x: tensor<?xf32>, %y: tensor<3xf32>, %z: tensor<4xf32>) {\n"
        "  %a = relex.add %x, %y : (tensor<?xf32>, tensor<3xf32>) -> tensor<3xf32>\n"
        "  %b = relex.add %x, %z : (tensor<?xf32>, tensor<4xf32>) -> tensor<4xf32>\n"
        "  func.return\n}",
        "<string>:3:8: error: 'relex.add' op expected shapes that broadcast, found 3 and 4",
    ),
    "a size that contradicts what was required of it": (
        "func.func @f(%x: tensor<1x?x4xf32>, %w: tensor<1x2x4xf32>) -> tensor<1x4x7xf32> {\n"
        "  %y = relex.conv1d_transpose %x, %w groups = 2\n"
        "      : (tensor<1x?x4xf32>, tensor<1x2x4xf32>) -> tensor<1x4x7xf32>\n"
        "  func.return %y : tensor<1x4x7xf32>\n}",
        "<string>:2:8: error: 'relex.conv1d_transpose' op expected sizes with x_d1 % 2 == 0, found 1 and 0",
    ),
    "a loop function with static arguments that differ": (
        "func.func @f(%x: tensor<3xf32>, %y: tensor<2xf32>) -> tensor<3xf32> {\n"
        "  %z = relex.call_tir @g(%x, %y) : (tensor<3xf32>, tensor<2xf32>) -> tensor<3xf32>\n"
        "  func.return %z : tensor<3xf32>\n}\n"
        'tir.prim_func private @g(%X: memref<?xf32> {relex.dims = ["n"]}, %Y: memref<?xf32> {relex.dims = ["n"]})\n'
        '    outs(%Z: memref<?xf32> {relex.dims = ["n"]}) {}',
        "<string>:2:8: error: 'relex.call_tir' op expected sizes with 2 == 3, found 2 and 3",
    ),
    "a size for a result that is another": (
        "func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
        "  %c0 = arith.constant 0 : index\n"
        "  %c1 = arith.constant 1 : index\n"
        "  %n = tensor.dim %x, %c0 : tensor<?xf32>\n"
        "  %m = arith.addi %n, %c1 : index\n"
        "  %z = relex.call_tir @g(%x) sizes(%m) : (tensor<?xf32>) -> tensor<?xf32>\n"
        "  func.return %z : tensor<?xf32>\n}\n"
        'tir.prim_func private @g(%X: memref<?xf32> {relex.dims = ["n"]}) outs(%Z: memref<?xf32> {relex.dims = ["n"]}) {}',  # noqa: E501
        "<string>:6:8: error: 'relex.call_tir' op expected sizes with x_d0 + 1 == x_d0, found x_d0 + 1 and x_d0",
    ),
    "an output of any size": (
        "tir.prim_func @f(%X: memref<4xf32>) outs(%Y: memref<?xf32>) {}",
        "<string>:1:1: error: 'tir.prim_func' op expected 'relex.dims' that say 'Y_d0', a size of output 0, by sizes of inputs",  # noqa: E501
    ),
    "a reshape with two unknown sizes": (
        "func.func @f(%x: tensor<?x6xf32>) -> tensor<?x?xf32> {\n"
        "  %y = relex.reshape %x shape = [-1, -1] : (tensor<?x6xf32>) -> tensor<?x?xf32>\n"
        "  func.return %y : tensor<?x?xf32>\n}",
        "<string>:2:8: error: 'relex.reshape' op expected one size of -1 at most, found 2",
    ),
}


@pytest.mark.parametrize("kind", WRONG_PROGRAMS)
def test_programs_that_are_refused(kind: str) -> None:
    text, message = WRONG_PROGRAMS[kind]
    with pytest.raises(CompileError) as caught:
        build(text)
    assert str(caught.value).splitlines()[0] == message


CONVOLVED = """
func.func @main(%x: tensor<?x2x?x?xf32>) -> tensor<?x2x?x?xf32> {
  %w = relex.constant dense<0.1> : tensor<2x2x3x3xf32>
  %a = relex.conv2d %x, %w : (tensor<?x2x?x?xf32>, tensor<2x2x3x3xf32>) -> tensor<?x2x?x?xf32>
  %b = relex.conv2d %a, %w : (tensor<?x2x?x?xf32>, tensor<2x2x3x3xf32>) -> tensor<?x2x?x?xf32>
  %c = relex.max_pool2d %b pool_size = [2, 2] strides = [2, 2] : (tensor<?x2x?x?xf32>) -> tensor<?x2x?x?xf32>
  %d = relex.conv2d %c, %w : (tensor<?x2x?x?xf32>, tensor<2x2x3x3xf32>) -> tensor<?x2x?x?xf32>
  func.return %d : tensor<?x2x?x?xf32>
}
"""


def test_halves_of_sizes_that_convolutions_lessen() -> None:
    """A difference of sizes may be negative as far as its expression says; a dimension of a tensor is not."""
    main, wanted, rng = build(CONVOLVED)["main"], interpret(CONVOLVED)["main"], np.random.default_rng(0)
    for shape in ((1, 2, 10, 11), (2, 2, 13, 12), (0, 2, 10, 10)):
        x = rng.standard_normal(shape).astype(np.float32)
        np.testing.assert_allclose(main(x), wanted(x), 1e-4, 1e-5)
    with pytest.raises(ShapeError, match="expected"):
        main(np.ones((1, 2, 9, 10), np.float32))


def test_halves_of_sizes_and_a_number() -> None:
    """A convolution with a stride of two has half of a size and one."""
    text = """
    func.func @main(%x: tensor<1x1x?xf32>) -> tensor<1x1x?xf32> {
      %w = relex.constant dense<0.5> : tensor<1x1x3xf32>
      %0 = relex.conv1d %x, %w : (tensor<1x1x?xf32>, tensor<1x1x3xf32>) -> tensor<1x1x?xf32>
      %1 = relex.conv1d %0, %w strides = [2] : (tensor<1x1x?xf32>, tensor<1x1x3xf32>) -> tensor<1x1x?xf32>
      %2 = relex.conv1d %1, %w strides = [2] : (tensor<1x1x?xf32>, tensor<1x1x3xf32>) -> tensor<1x1x?xf32>
      func.return %2 : tensor<1x1x?xf32>
    }
    """
    main, wanted, rng = build(text)["main"], interpret(text)["main"], np.random.default_rng(0)
    for size in (9, 10, 33, 64):
        x = rng.standard_normal((1, 1, size)).astype(np.float32)
        np.testing.assert_allclose(main(x), wanted(x), 1e-4, 1e-5)
