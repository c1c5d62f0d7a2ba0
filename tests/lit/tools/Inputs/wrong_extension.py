"""A wrong pass for the default compilation."""

from dataclasses import dataclass

from relex.passes import extends_pipeline
from relex.passes.rewriting.patterns import wildcard
from relex.passes.rewriting.rewrite_rules import RulesPass, operators, rule

x, y = wildcard("x"), wildcard("y")


@extends_pipeline(after="absorb", before="infer-sizes")
@dataclass(frozen=True)
class SumPass(RulesPass):
    """x - y is not y + x."""

    name = "sum"
    rules = (rule(operators.subtract(x, y), lambda m: operators.add(m.y, m.x)),)
