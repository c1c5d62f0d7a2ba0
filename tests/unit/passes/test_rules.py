"""Rewriting rules with both sides."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import CompileError, parse_module
from relex.dialects.errors import UnknownNameError
from relex.passes.rewriting.patterns import attribute, each, values, wildcard
from relex.passes.rewriting.rewrite_rules import Rule, RulesPass, operators, rule
from relex.reference import interpret

add, concat, matmul, negative, multiply = (
    operators.add,
    operators.concat,
    operators.matmul,
    operators.negative,
    operators.multiply,
)
xs, x, y, z, b = values("xs"), wildcard("x"), wildcard("y"), wildcard("z"), wildcard("b")

HOIST = rule(
    concat(each(add(xs, b)), axis=attribute("axis")),
    lambda m: add(concat(m.xs, axis=m.axis), m.b),
    where=lambda m: m.b.type.get_num_dims() == 0,
    name="hoist",
)


def apply(module: ModuleOp, *rules: Rule, **options: Any) -> ModuleOp:
    @dataclass(frozen=True)
    class SomeRulesPass(RulesPass):
        name = "some-rules"

    SomeRulesPass.rules = rules
    after = SomeRulesPass(**options)(module)
    after.verify()
    return after


def names(module: ModuleOp) -> list[str]:
    """The operators of a module, in order."""
    return [op.name.removeprefix("relex.") for op in module.walk() if op.name.startswith("relex.")]


PARTS = """
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>, %b: tensor<f32>, %c: tensor<f32>) -> tensor<2x7xf32> {
  %0 = relex.add %x, %b : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %1 = relex.add %y, %SECOND : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %2 = relex.concat %0, %1 axis = 1 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
  func.return %2 : tensor<2x7xf32>
}
"""


def test_variadic_operators_and_their_properties():
    module = parse_module(PARTS.replace("%SECOND", "%b"))
    after = apply(module, HOIST)
    assert names(after) == ["concat", "add"]
    rng = np.random.default_rng(0)
    args = [rng.standard_normal(shape).astype(np.float32) for shape in ((2, 3), (2, 4), (), ())]
    np.testing.assert_array_equal(interpret(after)["main"](*args), interpret(module)["main"](*args))


def test_a_name_is_one_value():
    module = parse_module(PARTS.replace("%SECOND", "%c"))
    assert names(apply(module, HOIST)) == ["add", "add", "concat"]


def test_rules_are_shown_as_expressions():
    assert str(HOIST) == "hoist: concat(each(add(xs, b)), axis=axis) -> add(concat(xs, axis=axis), b)"
    assert str(rule(negative(negative(x)), lambda m: m.x)) == "negative(negative(x)) -> x"
    assert str(rule(negative(x), lambda m: add(m.x, m.x.owner))) == "negative(x) -> ..."
    assert str(rule(add(x, y) | multiply(x, y), lambda m: m.x)) == "(add(x, y) | multiply(x, y)) -> x"


CHAIN = """
func.func @main(%a: tensor<50x2xf32>, %b: tensor<2x60xf32>, %c: tensor<60x3xf32>) -> tensor<50x3xf32> {
  %0 = relex.matmul %a, %b : (tensor<50x2xf32>, tensor<2x60xf32>) -> tensor<50x60xf32>
  %1 = relex.matmul %0, %c : (tensor<50x60xf32>, tensor<60x3xf32>) -> tensor<50x3xf32>
  func.return %1 : tensor<50x3xf32>
}
"""


def test_a_condition_compares_costs():
    def is_cheaper(m: Any) -> bool:
        (rows, inner), (_, columns), (_, last) = (v.type.get_shape() for v in (m.x, m.y, m.z))
        return inner * columns * last + rows * inner * last < rows * inner * columns + rows * columns * last

    chain = rule(matmul(matmul(x, y), z), lambda m: matmul(m.x, matmul(m.y, m.z)), where=is_cheaper)
    after = apply(parse_module(CHAIN), chain)
    assert "tensor<2x60xf32>, tensor<60x3xf32>) -> tensor<2x3xf32>" in str(after)
    costly = apply(parse_module(CHAIN), rule(chain.pattern, chain.replacement, where=lambda m: not is_cheaper(m)))
    assert str(costly) == str(parse_module(CHAIN))


NEGATIVES = """
func.func @main(%x: tensor<3xf32>, %y: tensor<2x3xf32>) -> (tensor<3xf32>, tensor<2x3xf32>) {
  %0 = relex.negative %x : (tensor<3xf32>) -> tensor<3xf32> loc("first.py":1:2)
  %1 = relex.negative %0 : (tensor<3xf32>) -> tensor<3xf32> loc("second.py":3:4)
  %2 = relex.add %y, %1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return %1, %2 : tensor<3xf32>, tensor<2x3xf32>
}
"""
TWICE = rule(negative(negative(x)), lambda m: m.x)


def test_a_value_of_the_match_replaces_it():
    after = apply(parse_module(NEGATIVES), TWICE)
    assert names(after) == ["add"]
    assert "func.return %x, " in str(after)


def test_the_type_stays():
    # x is smaller than the sum where it is broadcast.
    first = rule(add(x, y), lambda m: m.y)
    assert names(apply(parse_module(NEGATIVES), first)) == ["negative", "negative", "add"]


def test_a_replacement_that_cannot_be_made_is_not_made():
    # Its operands do not fit; nothing that was made for it is left among the users.
    module = parse_module(CHAIN)
    after = apply(module, rule(matmul(matmul(x, y), z), lambda m: matmul(matmul(m.x, m.y), matmul(m.x, m.y))))
    assert str(after) == str(module)
    assert all(use.operation.parent is not None for op in after.walk() for v in op.results for use in v.uses)


def test_new_operators_have_the_locations_of_the_match():
    twice = rule(negative(negative(x)), lambda m: multiply(m.x, m.x))
    made = next(op for op in apply(parse_module(NEGATIVES), twice).walk() if op.name == "relex.multiply")
    assert all(place in str(made.location) for place in ("first.py", "second.py"))


def test_a_new_operator_may_be_used_twice_or_not_at_all():
    def square(m: Any) -> Any:
        negative(negative(m.x))  # Nothing is made of it.
        made = add(m.x, m.x)
        return multiply(made, made)

    after = apply(parse_module(NEGATIVES), rule(negative(negative(x)), square))
    assert names(after) == ["add", "multiply", "add"]
    assert all(use.operation.parent is not None for op in after.walk() for v in op.results for use in v.uses)
    (function,) = after.ops
    assert all(use.operation.parent is not None for v in function.regions[0].block.args for use in v.uses)


def test_benefit_orders_rules():
    low, high = rule(negative(x), lambda m: m.x, benefit=1), rule(negative(x), lambda m: multiply(m.x, m.x), benefit=2)
    for rules in ((low, high), (high, low)):
        assert names(apply(parse_module(NEGATIVES), *rules)) == ["multiply", "multiply", "add"]


def test_commutative_and_properties_by_value():
    text = """
      func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
        %0 = relex.softmax %x AXIS: (tensor<2x3xf32>) -> tensor<2x3xf32>
        %1 = relex.add %y, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
        func.return %1 : tensor<2x3xf32>
      }"""
    found = add(operators.softmax(x, axis=1), y).commutative()
    replace = rule(found, lambda m: multiply(m.x, m.y))
    assert names(apply(parse_module(text.replace("AXIS", "axis = 1")), replace)) == ["multiply"]
    assert names(apply(parse_module(text.replace("AXIS", "axis = 0")), replace)) == ["softmax", "add"]


def test_rules_without_end():
    swap = rule(add(x, y), lambda m: add(m.y, m.x), name="swap")
    message = "rule 'swap: add(x, y) -> add(y, x)' of pass 'some-rules' was applied 7 times without end"
    with pytest.raises(CompileError, match=re.escape(message)):
        apply(parse_module(NEGATIVES), swap, max_rewrites=7)
    with pytest.raises(CompileError, match="option 'max-rewrites' or --max-rewrites of relex-opt raises the limit"):
        apply(parse_module(NEGATIVES), swap)


def test_wrong_names():
    with pytest.raises(UnknownNameError, match=re.escape("expected a name of the left side (x), found y")):
        apply(parse_module(NEGATIVES), rule(negative(x), lambda m: m.y))
    with pytest.raises(AttributeError, match="no operator 'relu7'; there are abs, acos, "):
        _ = operators.relu7
    assert "relu" in dir(operators)
