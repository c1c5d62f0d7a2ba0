"""Modules printed as TVMScript and read back."""

from __future__ import annotations

from collections.abc import Sequence
from re import search

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_cases import CASES
from programs import Array, MakeOperator, operator_of, operator_program, random_array
from test_random_graphs import DTYPES, OPERATORS, SHAPES, Graph
from test_script_programs import LIBRARY_CALLS, PROGRAMS, read
from xdsl.dialects.builtin import FloatAttr, ModuleOp, UnitAttr, f64
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import ParsePropInAttrDict, irdl_op_definition, opt_prop_def, prop_def

from relex.dialects import CompileError, parse_module
from relex.dialects.context import make_context
from relex.dialects.errors import PassError
from relex.dialects.relex import UnaryElementwise
from relex.dialects.relex.properties import Float64Constr, IntegersConstr, flag, integers
from relex.frontend.script import parse_script, print_script
from relex.lowering.legalize_ops import LegalizeOpsPass
from relex.reference import interpret


def read_back(module: ModuleOp) -> ModuleOp:
    """What a module's script says; the same text, when it is printed again."""
    text = print_script(module)
    again = parse_script(text)
    assert print_script(again) == text
    return again


def assert_comes_back(module: ModuleOp) -> None:
    again = read_back(module)
    assert again.is_structurally_equivalent(module), print_script(module)


@pytest.mark.parametrize("name", [*PROGRAMS, *LIBRARY_CALLS])
def test_programs(name: str):
    # Weights are printed number by number: one program with many is enough.
    assert_comes_back(read(name, 784 if name == "new_mlp" else 24))


def test_results_that_take_the_place_of_parameters():
    assert_comes_back(
        parse_module("""
        func.func @main(%x: tensor<2xf32> {relex.inout = 2 : i64}, %n: tensor<3xf32>,
            %y: tensor<2xf32> {relex.inout = 0 : i64}) -> (tensor<2xf32>, tensor<3xf32>, tensor<2xf32>) {
          func.return %x, %n, %y : tensor<2xf32>, tensor<3xf32>, tensor<2xf32>
        }
        """)
    )


@pytest.mark.parametrize("places", ["1", "[2]", "[0.5]", "[-2]", '["x"]'])
def test_places_that_are_no_parameters(places: str):
    with pytest.raises(CompileError, match=r"expected 'relex\.inout' to be a list of parameters, from 0 to 1, or -1"):
        parse_script(f"""
@R.function
def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
    R.func_attr({{"relex.inout": {places}}})
    return x
""")


OPERATORS_ALONE = [pytest.param(operator_program(*case), id=str(i)) for i, case in enumerate(CASES)]


@pytest.mark.parametrize("text", OPERATORS_ALONE)
def test_operators(text: str):
    assert_comes_back(parse_module(text))


SIGNED = [
    (make, operands)
    for make, operands in CASES
    if not search(r"ui\d|pack_bytes", operator_program(make, operands)) and not operator_of(make).COUNTS
]
"""Loop functions of scripts have no unsigned integers, which bytes are while they are packed, and graph functions have
no checks of sizes that depend on elements."""


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(("make", "operands"), SIGNED)
def test_loops_of_operators(make: MakeOperator, operands: list[Array]):
    """Constants may be read in another place, but every step gives what it gave."""
    module = LegalizeOpsPass()(parse_module(operator_program(make, operands)))
    again = read_back(module)
    assert_comes_back(again)
    expected, found = (interpret(m)["main"](*operands) for m in (module, again))
    np.testing.assert_array_equal(found, expected)


@irdl_op_definition
class ScaleOp(UnaryElementwise):
    """An operator of another package, with an option of each kind."""

    name = "audio.scale"

    factor = prop_def(Float64Constr)
    steps = prop_def(IntegersConstr)
    clip = opt_prop_def(UnitAttr)

    irdl_options = (ParsePropInAttrDict(),)

    def __init__(self, operand: SSAValue, factor: float, steps: Sequence[int] = (1,), clip: bool = False):
        properties = {"factor": FloatAttr(factor, f64), "steps": integers(steps), "clip": flag(clip)}
        super().__init__(operand, properties=properties)

    def evaluate(self, *operands: Array) -> Array:
        return operands[0] * self.factor.value.data


def test_operators_of_other_packages():
    context = make_context()
    context.register_dialect("audio", lambda: Dialect("audio", [ScaleOp]))
    text = """
@R.function
def main(x: R.Tensor((4,), "float32")):
    y = R.audio.scale(x, 0.5, steps=[2, 3], clip=True)
    return R.audio.scale(y, factor=2)
"""
    module = parse_script(text, context=context)
    assert [op.factor.value.data for op in module.walk() if isinstance(op, ScaleOp)] == [0.5, 2.0]
    printed = print_script(module)
    assert "R.audio.scale(x, factor=0.5, steps=[2, 3], clip=True)" in printed
    assert parse_script(printed, context=context).is_structurally_equivalent(module)
    with pytest.raises(CompileError, match=r":10:71: error: expected factor to be a number, found True"):
        parse_script(printed.replace("factor=2.0", "factor=True"), context=context)
    with pytest.raises(CompileError, match=r"'R.audio.scale' is not supported"):
        parse_script(text)


def unprintable(body: str, arguments: str = "%x: tensor<4xf32>") -> str:
    return f"func.func @main({arguments}) {{\n{body}\n  func.return\n}}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            unprintable("", "%x: memref<4xf32>"),
            "'func.func' op cannot be written in TVMScript: found a number of type memref<4xf32>",
        ),
        (unprintable('  relex.call_dps_packed "f"(%x) {side_effects} : (tensor<4xf32>) -> ()'), "in TVMScript$"),
        (unprintable("  %c = relex.constant dense<> : tensor<0x4xf32>"), "found a constant of type tensor<0x4xf32>"),
        ("func.func private @f(tensor<4xf32>)", "expected a function of one block, found 0"),
        ("tir.prim_func @class(%x: memref<4xf32>) {\n}", "expected a name, found 'class'"),
        ("tir.prim_func @f(%x: index) {\n}", "found a number of type index"),
        (
            "tir.prim_func @f(%x: i1) {\n  %0 = arith.addi %x, %x : i1\n  %1 = arith.xori %0, %0 : i1\n}",
            "'arith.addi' op cannot be written in TVMScript: expected numbers, found booleans",
        ),
        ("tir.prim_func @f(%x: f32) {\n  %0 = math.fma %x, %x, %x : f32\n}", "'math.fma' op cannot be written"),
        ("tir.prim_func @f() attributes {a = affine_map<(d0) -> (d0)>} {\n}", "expected attributes that are numbers"),
    ],
)
def test_what_scripts_have_no_form_for(text: str, message: str):
    with pytest.raises(PassError, match=message):
        print_script(parse_module(text))


def test_names_that_python_does_not_have():
    module = parse_module("""
tir.prim_func @f(%T: memref<4xf32>, %x.y: memref<4xf32>) outs(%lambda: memref<4xf32>) {
  tir.for %range @"a b" in (4) {
    tir.block @"Y\\22" (%if: spatial<4> = %range) {
      %1 = memref.load %T[%if] : memref<4xf32>
      %2 = memref.load %x.y[%if] : memref<4xf32>
      %3 = arith.addf %1, %2 : f32
      memref.store %3, %lambda[%if] : memref<4xf32>
    }
  }
}""")
    assert_comes_back(read_back(module))


@settings(max_examples=20)
@given(data=st.data())
def test_random_graphs(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    dtype = data.draw(st.sampled_from(DTYPES))
    graph = Graph([random_array(rng, dtype, shape) for shape in data.draw(st.lists(SHAPES, min_size=1, max_size=3))])
    for shape in data.draw(st.lists(SHAPES, max_size=2)):
        if 0 not in shape[:-1]:
            graph.add_constant(random_array(rng, dtype, shape))
    for operator in data.draw(st.lists(st.sampled_from(OPERATORS), min_size=1, max_size=15)):
        if fitting := graph.operands(operator):
            graph.add(operator, data.draw(st.sampled_from(fitting)))
    returned = data.draw(st.lists(st.integers(0, len(graph.values) - 1), min_size=1, max_size=4))
    module = graph.module(returned)
    assert_comes_back(read_back(module))
    assert_comes_back(read_back(LegalizeOpsPass(strict=data.draw(st.booleans()))(module)))


def test_a_size_of_two_results() -> None:
    """It has no separate name: it is printed in the shapes of both."""
    module = LegalizeOpsPass()(
        parse_module("""
        func.func @main(%x: tensor<1x1x?xf32>) -> tensor<1x1x?xi64> {
          %0, %1 = relex.max_pool1d_with_indices %x pool_size = [3]
              : (tensor<1x1x?xf32>) -> (tensor<1x1x?xf32>, tensor<1x1x?xi64>)
          func.return %1 : tensor<1x1x?xi64>
        }""")
    )
    text = print_script(module)
    assert text.count("R.Tensor((1, 1, x_d2 + -2), dtype=") == 2
    again = parse_script(text)
    assert_comes_back(parse_script(print_script(again)))
    x = np.array([[[1, 3, 2, 0, 5]]], np.float32)
    np.testing.assert_array_equal(interpret(again)["main"](x), [[[1, 1, 4]]])


def test_constants_do_not_take_the_names_of_values() -> None:
    module = parse_module("""
        func.func @main(%x: tensor<17xi32>) -> tensor<17xi32> {
          %0 = relex.constant dense<1> : tensor<17xi32>
          %1 = relex.constant dense<2> : tensor<17xi32>
          %lv = relex.add %x, %0 : (tensor<17xi32>, tensor<17xi32>) -> tensor<17xi32>
          %lv1 = relex.add %lv, %1 : (tensor<17xi32>, tensor<17xi32>) -> tensor<17xi32>
          %lv2 = relex.multiply %lv1, %1 : (tensor<17xi32>, tensor<17xi32>) -> tensor<17xi32>
          func.return %lv2 : tensor<17xi32>
        }""")
    lines = print_script(module).splitlines()
    assert [line.split(":")[0].strip() for line in lines if " = " in line] == ["const", "const1", "lv", "lv1", "lv2"]
    assert_comes_back(module)
    elided = print_script(module, elide=True)
    for line in (
        'lv = R.add(x, metadata["ir.GenericConst"][0])',
        'lv1 = R.add(lv, metadata["ir.GenericConst"][1])',
        'lv2 = R.multiply(lv1, metadata["ir.GenericConst"][1])',
    ):
        assert line.partition(" = ")[2] in elided
    ones = np.ones(17, np.int32)
    again = parse_script(elided, params={"ir.GenericConst": [ones, ones * 2]})
    assert interpret(again)["main"](ones).tolist() == [8] * 17


def test_library_functions_as_objects() -> None:
    """`R.ExternFunc(name)` is what TVM makes of a name."""
    text = """
from tvm import relax
@R.function
def main(x: R.Tensor((2,), "float32")):
    with R.dataflow():
        y = R.{call}({function}, (x,), out_sinfo=R.Tensor((2,), "float32"))
        R.output(y)
    return y
"""
    plain = parse_script(text.format(call="call_dps_packed", function='"env.f"'))
    for call in ("call_dps_packed", "call_tir"):
        for function in ('R.ExternFunc("env.f")', 'relax.ExternFunc(global_symbol="env.f")'):
            found = parse_script(text.format(call=call, function=function))
            assert found.is_structurally_equivalent(plain)


def test_assertions() -> None:
    module = parse_module("""
        func.func @main(%x: tensor<4xf32>, %c: tensor<i1>, %i: tensor<i64>) -> tensor<4xf32> {
          relex.assert %c, "expected {braces} and \\22quotes\\22" : tensor<i1>
          relex.assert %c, "expected indices in {0, 1}" index %i : tensor<i1>, tensor<i64>
          %y = func.call @calls(%x, %c) : (tensor<4xf32>, tensor<i1>) -> tensor<4xf32>
          %z = relex.call_tir @roots(%y) : (tensor<4xf32>) -> tensor<4xf32>
          func.return %z : tensor<4xf32>
        }
        func.func @calls(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
          relex.assert %c, "expected, found {}" : tensor<i1>
          func.return %x : tensor<4xf32>
        }
        func.func @pure(%x: tensor<4xf32>) -> tensor<4xf32> {
          func.return %x : tensor<4xf32>
        }
        tir.prim_func @roots(%x: memref<4xf32>) outs(%y: memref<4xf32>) {
          tir.for %i @i in (4) {
            tir.block @y (%vi: spatial<4> = %i) {
              %v = memref.load %x[%vi] : memref<4xf32>
              %zero = arith.constant 0.0 : f32
              %ok = arith.cmpf oge, %v, %zero : f32
              cf.assert %ok, "expected no negative number"
              %r = math.sqrt %v : f32
              memref.store %r, %y[%vi] : memref<4xf32>
            }
          }
        }""")
    text = print_script(module)
    assert text.count("@R.function(pure=False)") == 2
    assert 'assert v >= T.float32(0.0), "expected no negative number"' in text
    assert_comes_back(module)
    printed_by_tvm = text.replace(
        '"expected no negative number"', '("RuntimeError", ["expected ", "no negative number"])'
    )
    assert parse_script(printed_by_tvm).is_structurally_equivalent(parse_script(text))


def test_a_format_with_other_arguments_than_an_index() -> None:
    text = """
from tvm.script import relax as R
@R.function(pure=False)
def main(c: R.Tensor((), "bool"), i: R.Tensor((), "int64")):
    R.assert_op(c, i, format="expected {} and more")
    return c
"""
    with pytest.raises(CompileError, match=r"expected at most an index, whose format ends with ', found {}'"):
        parse_script(text)
