"""Passes for the default compilation."""

from dataclasses import dataclass

from relex.passes import extends_pipeline
from relex.passes.rewriting.patterns import wildcard
from relex.passes.rewriting.rewrite_rules import RulesPass, operators, rule

x, y = wildcard("x"), wildcard("y")


@extends_pipeline(after="fold-constants")
@dataclass(frozen=True)
class AbsorbPass(RulesPass):
    """x + (-y) is x - y."""

    name = "absorb"
    rules = (rule(operators.add(x, operators.negative(y)), lambda m: operators.subtract(m.x, m.y), name="absorb-sum"),)
