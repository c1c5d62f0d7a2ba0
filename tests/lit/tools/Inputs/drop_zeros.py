"""Products with zero."""

from dataclasses import dataclass

from relex.passes.rewriting.patterns import constant, wildcard
from relex.passes.rewriting.rewrite_rules import RulesPass, operators, rule


@dataclass(frozen=True)
class DropZerosPass(RulesPass):
    """x * 0 is 0. It is not: NaN and infinities give NaN."""

    name = "drop-zeros"
    rules = (rule(operators.multiply(wildcard("x"), constant("zero", number=0)), lambda m: m.zero, name="zero"),)
