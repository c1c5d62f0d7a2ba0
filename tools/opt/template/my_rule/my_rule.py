"""Subtract, instead of adding a negative."""

from dataclasses import dataclass

from relex.passes.rewriting.patterns import wildcard
from relex.passes.rewriting.rewrite_rules import RulesPass, operators, rule

add, subtract, negative = operators.add, operators.subtract, operators.negative
x, y = wildcard("x"), wildcard("y")


@dataclass(frozen=True)
class MyRulePass(RulesPass):
    """
    Subtracts, instead of adding a negative.

    ```mlir
    %0 = relex.negative %b : (tensor<4xf32>) -> tensor<4xf32>
    %1 = relex.add %a, %0 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    // my-rule
    %1 = relex.subtract %a, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
    """

    name = "my-rule"
    rules = (rule(add(x, negative(y)), lambda m: subtract(m.x, m.y)),)
