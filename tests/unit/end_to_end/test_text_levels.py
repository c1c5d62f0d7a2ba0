"""What the pipeline prints at any level is taken on to the same object code, with the signatures that the text states,
which are checked."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from code_hashes import example, open_operator, operator
from programs import Array
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import CompileError, parse_module
from relex.dialects.errors import ShapeError
from relex.lowering.relex_pipeline import Level, RelexPipelinePass
from relex.passes import SetTargetPass
from relex.reference import interpret
from relex.runtime import build, register_func, remove_func
from relex.runtime.compilation import compile_program

LEVELS: tuple[Level, ...] = ("graph", "loops", "core", "llvm")

MODELS: dict[str, Callable[[], ModuleOp]] = {
    "mlp": lambda: example("digits", "mlp.mlir"),
    "mlp_tir": lambda: example("digits", "mlp_tir.mlir"),
    "lenet": lambda: example("lenet", "lenet.mlir"),
}


def printed(module: ModuleOp, level: Level) -> ModuleOp:
    return parse_module(str(RelexPipelinePass(level)(module)))


def expect_same_at_all_levels(module: ModuleOp) -> None:
    """Stopping at one level after another, each read back from its text, gives the same program."""
    whole = compile_program(module)
    for level in LEVELS:
        module = printed(module, level)
    found = compile_program(module)
    assert found.code == whole.code
    assert dict(found.signatures) == dict(whole.signatures)
    assert found.libraries == whole.libraries


@pytest.mark.parametrize("model", ["mlp", "mlp_tir", pytest.param("lenet", marks=pytest.mark.full)])
def test_models(model: str) -> None:
    expect_same_at_all_levels(MODELS[model]())


@pytest.mark.parametrize("index", [6, 56, 106, 168, 206])
def test_operators(index: int) -> None:
    expect_same_at_all_levels(operator(index))
    expect_same_at_all_levels(open_operator(index))


PADDED = """
func.func @main(%x: tensor<?x1x4xf32>, %w: tensor<1x1x4xf32>) -> tensor<?x1x4xf32> {
  %0 = relex.conv1d %x, %w padding = [2, 1] : (tensor<?x1x4xf32>, tensor<1x1x4xf32>) -> tensor<?x1x4xf32>
  func.return %0 : tensor<?x1x4xf32>
}
"""


@pytest.mark.parametrize("level", ["core", "llvm"])
def test_masks_are_the_same_constants(level: Level) -> None:
    module = SetTargetPass(triple="x86_64-unknown-linux-gnu", cpu="skylake-avx512")(parse_module(PADDED))
    module = RelexPipelinePass(level)(module)
    assert "dense<true> : vector<16xi1>" in str(module)
    assert parse_module(str(module)).is_structurally_equivalent(module)


LIBRARY = """
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = relex.call_dps_packed "test.twice"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = relex.exp %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
"""

CALLS = """
func.func @main(%x: tensor<?x3xf32> {relex.dims = ["n", ""]}, %w: tensor<?x3xf32> {relex.dims = ["m", ""]}, %s: i64)
    -> (tensor<?x3xf32>, i64) attributes {relex.requires = ["m <= n"]} {
  %0 = relex.concat %x, %w axis = 0 : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  %1 = relex.softmax %0 axis = 1 : (tensor<?x3xf32>) -> tensor<?x3xf32>
  %2 = relex.concat %1, %0 axis = 0 : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  func.return %2, %s : tensor<?x3xf32>, i64
}
"""


SOME = """
func.func @main(%x: tensor<?x3xf32> {relex.dims = ["n", ""]}, %w: tensor<?x3xf32> {relex.dims = ["m", ""]}, %s: i64)
    -> (tensor<?x?xf32>, i64) attributes {relex.requires = ["m <= n"]} {
  %0 = relex.permute_dims %w axes = [1, 0] : (tensor<?x3xf32>) -> tensor<3x?xf32>
  %1 = relex.sum %0 axis = [0] : (tensor<3x?xf32>) -> tensor<?xf32>
  %2 = relex.sum %x axis = [1] keepdims : (tensor<?x3xf32>) -> tensor<?x1xf32>
  %3 = relex.exp %2 : (tensor<?x1xf32>) -> tensor<?x1xf32>
  %4 = relex.add %3, %1 : (tensor<?x1xf32>, tensor<?xf32>) -> tensor<?x?xf32>
  func.return %4, %s : tensor<?x?xf32>, i64
}
"""


def test_text_after_every_pass_is_called_like_the_program() -> None:
    """Between levels, a pass may find something to do that it did not see in the program: the code may differ. What a
    pass has not changed was built already."""
    module, x, w = parse_module(SOME), np.ones((2, 3), np.float32), np.zeros((1, 3), np.float32)
    expected, number = build(SOME)["main"](x, w, 7)
    built = {SOME}
    for p in RelexPipelinePass().steps():
        p.apply(Context(), module)
        if (text := str(module)) in built:
            continue
        built.add(text)
        found, same_number = build(text, cache=False)["main"](x, w, 7)
        np.testing.assert_array_equal(found, expected, p.name)
        assert number == same_number == 7
    assert len(built) > 15


@pytest.mark.parametrize("level", LEVELS)
def test_text_of_any_level_is_called_like_the_program(level: Level) -> None:
    module = printed(parse_module(CALLS), level)
    x, w = np.ones((2, 3), np.float32), np.zeros((1, 3), np.float32)
    expected, number = build(CALLS)["main"](x, w, 7)
    functions = [build(module)["main"]] if level == "llvm" else [build(module)["main"], interpret(module)["main"]]
    for function in functions:
        result, same = function(x, w=w, s=7)
        np.testing.assert_allclose(result, expected, rtol=1e-6)
        assert same == number == 7
        with pytest.raises(ShapeError, match=r"main\(\) expected m <= n, found m = 1 .*, n = 0"):
            function(x[:0], w, 7)


def test_library_functions_are_in_the_text() -> None:
    def twice(x: Array, y: Array) -> None:
        np.multiply(x, 2, out=y)

    register_func("test.twice", twice)
    try:
        expect_same_at_all_levels(parse_module(LIBRARY))
        x = np.ones((2, 3), np.float32)
        result = build(printed(parse_module(LIBRARY), "llvm"), cache=False)["main"](x)
    finally:
        remove_func("test.twice")
    np.testing.assert_allclose(result, np.exp(2 * x), rtol=1e-6)
    with pytest.raises(CompileError, match=r'registered library function, found "test[.]twice"'):
        build(printed(parse_module(LIBRARY), "llvm"), cache=False)


X = '{name = "x", shape = ["n", 3 : i64], element_type = "f32"}'

WRONG: dict[str, tuple[str, str]] = {
    "too few arguments": (f"{X}, ", ""),
    "too many arguments": (X, f"{X}, {X}"),
    "another element type": (X, X.replace("f32", "f64")),
    "another shape": (X, X.replace("3", "2")),
    "a negative size": (X, X.replace("3", "-3")),
    "another rank": (X, X.replace('"n", ', "")),
    "an unreadable size": (X, X.replace('"n"', '"n +"')),
    "another size": ('name = "w", shape = ["m"', 'name = "w", shape = ["n"'),
    "a size of nothing": ('name = "w", shape = ["m"', 'name = "w", shape = ["k + 1"'),
    "an array for a number": (", is_scalar = true}], outputs", "}], outputs"),
    "a result that is an argument": ("], outputs = [", ", "),
    "no requirements": ('requirements = ["m <= n"', 'requirements = ["1 <= n"'),
    "another requirement": ('requirements = ["m <= n"', 'requirements = ["m <= 2 * n"'),
    "less memory": ("temporaries = [", "temporaries = [8 : i64, "),
    "a number": ("relex.signature = {", "relex.signature = 3 : i64, relex.other = {"),
    "an unknown part": ("relex.signature = {", "relex.signature = {colour = 1 : i64, "),
}


@cache
def lowered(level: Level) -> str:
    return str(RelexPipelinePass(level)(parse_module(CALLS)))


@pytest.mark.sampled
@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("level", ["loops", "core", "llvm"])
def test_wrong_signatures(level: Level, case: str) -> None:
    text = lowered(level)
    old, new = WRONG[case]
    if level == "loops" and case == "less memory":
        pytest.skip("the core level says how much memory calls need")
    start = text.index("relex.signature")
    wrong = text[:start] + text[start:].replace(old, new, 1)
    assert wrong != text
    with pytest.raises(CompileError, match=r"expected .*main.*, found|cannot .*main"):
        build(parse_module(wrong), cache=False)


def after(name: str) -> str:
    """What is printed after the pass of this name."""
    module = parse_module(CALLS)
    for p in RelexPipelinePass().steps():
        p.apply(Context(), module)
        if p.name == name:
            break
    return str(module)


STATED = """
func.func @main({}) attributes {{relex.signature = {{
    inputs = [{{name = "x", shape = [4 : i64], element_type = "f32"}}], outputs = []}}}} {{
  func.return {}
}}
"""


@pytest.mark.parametrize(
    ("x", "result", "value", "message"),
    [
        ("memref<4xf32, strided<[1000]>>", "", "", "expected buffers that arrays can be, found memref<4xf32, strided"),
        ("memref<4xf32, 3 : i64>", "", "", "expected buffers that arrays can be, found memref<4xf32, 3"),
        ("memref<4xf32>", "-> memref<4xf32>", "%x : memref<4xf32>", "no results but scalars, found memref<4xf32>"),
    ],
)
def test_functions_that_no_signature_makes_callable(x: str, result: str, value: str, message: str) -> None:
    text = STATED.replace("({})", f"(%x: {x}) {result}").replace("return {}", f"return {value}").format()
    for use in (build, interpret):
        with pytest.raises(CompileError, match=message):
            use(text)


@pytest.mark.parametrize("seal", ["", ', relex.seal = "0123456789abcdef"'])
def test_wrong_seals(seal: str) -> None:
    wrong, count = re.subn(', relex.seal = "[0-9a-f]*"', seal, lowered("llvm"))
    assert count == 1
    with pytest.raises(CompileError, match=r"expected 'main' with the signature .*'relex.seal' of .*, found"):
        build(parse_module(wrong), cache=False)
