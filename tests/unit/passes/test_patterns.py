"""Patterns over graphs, and the functions that are made of what they match."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation

from relex.dialects import parse_module, verify_module
from relex.dialects.exceptions import ArityError
from relex.dialects.relex import (
    AddOp,
    AllocTensorOp,
    ConcatOp,
    DenseOp,
    ExpOp,
    MultiplyOp,
    NegativeOp,
    PermuteDimsOp,
    ReluOp,
    SubtractOp,
    TanhOp,
)
from relex.dialects.relex.properties import integers
from relex.passes.rewriting.outline import OutliningPass
from relex.passes.rewriting.patterns import Pattern, constant, each, op, wildcard
from relex.reference import interpret

BINARY = "(tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>"
UNARY = "(tensor<2x2xf32>) -> tensor<2x2xf32>"


def program(body: str, results: str) -> str:
    """A function @main of %x and %y. A line `%a = relu %x` is an operator on 2x2 matrices."""

    def complete(line: str) -> str:
        found = re.fullmatch(r"(%\w+) = (\w+) ((%\w+)(, %\w+)?)(.*)", line.strip())
        if found is None:
            return line
        value, name, operands, _, second, properties = found.groups()
        return f"{value} = relex.{name} {operands}{properties} : {BINARY if second else UNARY}"

    types = ", ".join(["tensor<2x2xf32>"] * (results.count(",") + 1))
    lines = [complete(line) for line in body.strip().splitlines()]
    return "\n".join(
        [
            "func.func private @effect()",
            f"func.func @main(%x: tensor<2x2xf32>, %y: tensor<2x2xf32>) -> ({types}) {{",
            *lines,
            f"func.return {results} : {types}",
            "}",
        ]
    )


def only(text: str, kind: type[IRDLOperation]) -> Operation:
    (found,) = (op for op in parse_module(text).walk() if isinstance(op, kind))
    return found


RELU_OF_SUM = program("%0 = add %x, %y\n%1 = relu %0", "%1")


def test_operands_and_names() -> None:
    root = only(RELU_OF_SUM, ReluOp)
    match = op(ReluOp, op(AddOp, wildcard("a"), wildcard("b")).named("sum")).match(root)
    assert match is not None
    assert [found.name for found in match.ops] == ["relex.relu", "relex.add"]
    assert [match[name].name_hint for name in ("a", "b")] == ["x", "y"]
    assert match["sum"] is root.operands[0]
    assert match.value is root.results[0]
    assert op(ReluOp, op(AddOp)).match(root) is not None
    assert op(ReluOp, op(MultiplyOp)).match(root) is None
    assert op(AddOp).match(root) is None


def test_a_name_is_one_value() -> None:
    square = op(MultiplyOp, wildcard("a"), wildcard("a"))
    assert square.match(only(program("%0 = multiply %x, %x", "%0"), MultiplyOp)) is not None
    assert square.match(only(program("%0 = multiply %x, %y", "%0"), MultiplyOp)) is None


def test_operands_in_any_order() -> None:
    text = program("%0 = exp %x\n%1 = subtract %y, %0", "%1")
    pattern = op(SubtractOp, op(ExpOp), wildcard("other"))
    assert pattern.match(only(text, SubtractOp)) is None
    match = pattern.commutative().match(only(text, SubtractOp))
    assert match is not None
    assert match["other"].name_hint == "y"


def test_alternatives_in_their_order() -> None:
    first = op(ReluOp, op(AddOp)) | op(ReluOp, wildcard("whatever"))
    assert [len(match.ops) for match in first.matches(only(RELU_OF_SUM, ReluOp))] == [2, 1]
    either = op((ExpOp, ReluOp), op(AddOp) | op(MultiplyOp))
    assert either.match(only(RELU_OF_SUM, ReluOp)) is not None
    assert either.match(only(program("%0 = multiply %x, %y\n%1 = exp %0", "%1"), ExpOp)) is not None
    assert either.match(only(program("%0 = add %x, %y\n%1 = tanh %0", "%1"), TanhOp)) is None


def test_an_alternative_is_given_up_where_the_rest_does_not_fit() -> None:
    """The first choice for one operand may leave no choice for the next."""
    text = program("%0 = exp %x\n%1 = subtract %0, %0", "%1")
    pattern = op(SubtractOp, op(ExpOp, wildcard("a")) | wildcard("a"), wildcard("a"))
    match = pattern.match(only(text, SubtractOp))
    assert match is not None
    assert [found.name for found in match.ops] == ["relex.subtract"]


def test_properties() -> None:
    root = only(program("%0 = permute_dims %x axes = [1, 0]", "%0"), PermuteDimsOp)
    assert op(PermuteDimsOp, axes=integers([1, 0])).match(root) is not None
    assert op(PermuteDimsOp, axes=integers([0, 1])).match(root) is None
    assert op(PermuteDimsOp, axes=None).match(root) is None
    assert op(PermuteDimsOp, axes=None).match(only(program("%0 = permute_dims %x", "%0"), PermuteDimsOp)) is not None
    with pytest.raises(ValueError, match=r"expected properties of 'relex\.add' among none, found axes"):
        op((PermuteDimsOp, AddOp), axes=None)


def test_a_wrong_number_of_operands_is_refused() -> None:
    for wrong in ((wildcard(),), (wildcard(), wildcard(), wildcard())):
        message = rf"expected patterns for 2 operands of 'relex\.add', found {len(wrong)}"
        with pytest.raises(ArityError, match=message):
            op(AddOp, *wrong)
    assert str(op(ConcatOp, wildcard("x"))) == "concat(x)"
    assert str(op(AddOp, each(wildcard("x")))) == "add(each(x))"
    assert str(op(AddOp)) == "add()"


@pytest.mark.parametrize(
    ("element_type", "literal", "number", "found"),
    [
        ("f32", "1.0", 1, True),
        ("f32", "[1.0, 1.0]", 1, True),
        ("f32", "[1.0, 2.0]", 1, False),
        ("f32", "0.0", 0, True),
        ("f32", "-0.0", 0, False),
        ("f32", "-0.0", -0.0, True),
        ("f32", "0.1", 0.1, True),
        ("f32", '"0x0000807F"', float("inf"), True),
        ("f16", "3.0", 1e9, False),
        ("bf16", "6.0", 6, True),
        ("f64", "0.5", 0.5, True),
        ("i8", "3", 3.0, True),
        ("i8", "3", 3.5, False),
        ("i8", "3", 300, False),
        ("i8", "3", float("inf"), False),
        ("bf16", "6.0", 6.01, False),
        ("i32", "-1", -1, True),
        ("i1", "true", 1, True),
        ("i1", "false", 0, True),
    ],
)
def test_constants_of_one_number(element_type: str, literal: str, number: float, found: bool) -> None:
    t = f"tensor<2x{element_type}>"
    module = parse_module(f"""
        func.func @main(%x: {t}) {{
          %c = relex.constant dense<{literal}> : {t}
          %0 = relex.multiply %x, %c : ({t}, {t}) -> {t}
          func.return
        }}""")
    (root,) = (op for op in module.walk() if isinstance(op, MultiplyOp))
    assert (op(MultiplyOp, wildcard(), constant(number=number)).match(root) is not None) == found


def outlined(text: str, wanted: Pattern) -> str:
    """A program after outlining, which must not change what it computes, nor change anything when it is done again."""

    @dataclass(frozen=True)
    class FuseWantedPass(OutliningPass):
        name = "fuse-wanted"
        pattern = wanted
        function_name = "wanted"

    module = parse_module(text)
    result = FuseWantedPass()(module)
    verify_module(result)
    parse_module(str(result))
    assert str(FuseWantedPass()(result)) == str(result)
    if "@effect()" in text.partition("@main")[2]:
        return str(result)
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 2, 2), np.float32)
    expected, found = interpret(module)["main"](x, y), interpret(result)["main"](x, y)
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(a, b)
    return str(result)


def ops_of(text: str, function: str) -> list[str]:
    """The names of the ops of a function, ops of the graph dialect without its name."""
    (main,) = (op for op in parse_module(text).ops if op.properties["sym_name"].data == function)  # pyright: ignore
    return [op.name.removeprefix("relex.") for op in main.regions[0].block.ops]


CHAIN = program("%0 = exp %x\n%1 = add %0, %y\n%2 = relu %1\n%3 = exp %2\n%4 = add %3, %y", "%4")


def test_the_match_that_ends_last_is_taken() -> None:
    summed = op(AddOp, op(ExpOp), wildcard())
    result = outlined(CHAIN, op(ReluOp, summed) | summed)
    assert ops_of(result, "main") == ["call", "call", "func.return"]
    assert ops_of(result, "wanted0") == ["exp", "add", "relu", "func.return"]
    assert ops_of(result, "wanted1") == ["exp", "add", "func.return"]


def test_an_op_gets_into_one_function() -> None:
    result = outlined(program("%0 = exp %x\n%1 = exp %0\n%2 = exp %1", "%2"), op(ExpOp, op(ExpOp)))
    assert ops_of(result, "main") == ["exp", "call", "func.return"]
    assert ops_of(result, "wanted0") == ["exp", "exp", "func.return"]


def test_what_is_used_outside_is_no_part() -> None:
    text = program("%0 = exp %x\n%1 = relu %0\n%2 = tanh %0", "%1, %2")
    assert "relex.call" not in outlined(text, op(ReluOp, op(ExpOp)))


def test_what_is_used_twice_inside() -> None:
    text = program("%0 = exp %x\n%1 = multiply %0, %0", "%1")
    result = outlined(text, op(MultiplyOp, op(ExpOp, wildcard("a")), wildcard()))
    assert "func.func private @wanted0(%a: tensor<2x2xf32>) -> tensor<2x2xf32>" in result


def test_outputs_are_results_too() -> None:
    text = program("%0 = exp %x\n%1 = negative %0\n%2 = tanh %1\n%3 = add %0, %y", "%2, %3")
    result = outlined(text, op(AddOp, op(ExpOp).output(), wildcard()))
    assert ops_of(result, "main") == ["call", "negative", "tanh", "func.return"]
    assert "-> (tensor<2x2xf32>, tensor<2x2xf32>) attributes {relex.primitive}" in result
    assert "relex.call @wanted0(%x, %y)" in result


def test_no_function_that_would_need_itself() -> None:
    """An op outside needs the first and is needed by the second."""
    text = program("%0 = exp %x\n%1 = negative %0\n%2 = tanh %1\n%3 = add %0, %2", "%3")
    assert "relex.call" not in outlined(text, op(AddOp, op(ExpOp).output(), wildcard()))
    text = program("%0 = exp %x\n%1 = negative %0\n%2 = tanh %1\n%3 = add %0, %2\n%4 = subtract %3, %2", "%4")
    pattern = op(AddOp, op(ExpOp).output(), op(TanhOp, op(NegativeOp)).output())
    assert ops_of(outlined(text, pattern), "main") == ["call", "subtract", "func.return"]


def test_two_functions_that_would_need_each_other() -> None:
    text = program(
        "%0 = exp %x\n%1 = tanh %y\n%2 = negative %0\n%3 = negative %1\n%4 = add %0, %3\n%5 = multiply %1, %2", "%4, %5"
    )
    pattern = op(AddOp, op(ExpOp).output(), wildcard()) | op(MultiplyOp, op(TanhOp).output(), wildcard())
    assert ops_of(outlined(text, pattern), "main").count("call") == 1


def test_effects_stay_in_their_place() -> None:
    middle = "func.call @effect() : () -> ()"
    text = program(f"%0 = exp %x\n{middle}\n%1 = add %0, %y", "%1")
    assert ops_of(outlined(text, op(AddOp, op(ExpOp), wildcard())), "main") == ["func.call", "call", "func.return"]
    # A library function with effects that needs one of the results cannot be moved behind the call.
    middle = 'relex.call_dps_packed "env.log"(%0) {side_effects} : (tensor<2x2xf32>) -> ()'
    text = program(f"%0 = exp %x\n{middle}\n%1 = add %0, %y\nfunc.call @effect() : () -> ()", "%1")
    assert "relex.call @" not in outlined(text, op(AddOp, op(ExpOp).output(), wildcard()))


def test_what_has_effects_is_no_part() -> None:
    text = program("%0 = relex.alloc_tensor : tensor<2x2xf32>\n%1 = add %0, %y", "%y")
    assert "relex.call @" not in outlined(text, op(AddOp, op(AllocTensorOp), wildcard()))


def test_matched_constants_become_arguments() -> None:
    c = "%c = relex.constant dense<1.0> : tensor<2x2xf32>"
    result = outlined(program(f"{c}\n%0 = dense %x, %c\n%1 = add %0, %c", "%1"), op(AddOp, op(DenseOp), constant("b")))
    assert "relex.call @wanted0(%x, %c)" in result
    assert "@wanted0(%x: tensor<2x2xf32>, %b: tensor<2x2xf32>)" in result


def test_argument_names_differ() -> None:
    """A name of the pattern and one of the program may be the same."""
    result = outlined(program("%0 = exp %x\n%1 = add %0, %y", "%1"), op(AddOp, op(ExpOp, wildcard()), wildcard("x")))
    assert "@wanted0(%x: tensor<2x2xf32>, %x1: tensor<2x2xf32>)" in result


BINARY_OPS, UNARY_OPS = (AddOp, MultiplyOp, SubtractOp), (NegativeOp, ReluOp)


@st.composite
def patterns(draw: st.DrawFn, depth: int = 3) -> Pattern:
    """A pattern of a few operators, some of which are outputs."""
    if not depth:
        return wildcard()
    operands = [draw(patterns(depth - 1)) for _ in range(draw(st.integers(1, 2)))]
    found: Pattern = op(BINARY_OPS if len(operands) == 2 else UNARY_OPS, *operands)
    found = found.output() if draw(st.booleans()) else found
    return found | wildcard() if depth < 3 else found


@settings(max_examples=30, deadline=None)
@given(wanted=patterns(), data=st.data())
def test_random_graphs(wanted: Pattern, data: st.DataObject) -> None:
    """Whatever is matched, the program computes the same; `outlined` checks it."""
    lines = ["%0 = add %x, %y"]
    for i in range(1, data.draw(st.integers(2, 25))):
        operands = [f"%{j}" for j in data.draw(st.lists(st.integers(max(i - 5, 0), i - 1), min_size=1, max_size=2))]
        name = data.draw(st.sampled_from(["add", "multiply"] if len(operands) == 2 else ["negative", "relu"]))
        lines.append(f"%{i} = {name} {', '.join(operands)}")
    results = data.draw(st.lists(st.integers(0, len(lines) - 1), min_size=2, max_size=3))
    outlined(program("\n".join(lines), ", ".join(f"%{i}" for i in results)), wanted)
