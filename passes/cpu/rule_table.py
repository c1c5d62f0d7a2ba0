"""The open table of rules, in the order in which they are tried."""

from __future__ import annotations

from relex.dialects.table import Table
from relex.passes.cpu.rule import Match
from relex.passes.cpu.rules.bordered_rows import bordered_rows
from relex.passes.cpu.rules.column_sums import column_sums
from relex.passes.cpu.rules.dot_kernel import dot_kernel
from relex.passes.cpu.rules.extremes import extremes
from relex.passes.cpu.rules.joined_rows import joined_rows
from relex.passes.cpu.rules.look_ups import look_ups
from relex.passes.cpu.rules.matrix_units import matrix_units
from relex.passes.cpu.rules.partial_rows import partial_rows
from relex.passes.cpu.rules.scaled_sums import scaled_sums
from relex.passes.cpu.rules.short_rows import short_rows
from relex.passes.cpu.rules.split_at_conditions import split_at_conditions
from relex.passes.cpu.rules.split_at_divisors import split_at_divisors
from relex.passes.cpu.rules.stencil import stencil
from relex.passes.cpu.rules.terms_at_once import terms_at_once
from relex.passes.cpu.rules.tiles import tiles
from relex.passes.cpu.rules.transpose import transpose
from relex.passes.cpu.rules.unpacked_rows import unpacked_rows

RULES = Table[str, Match]("schedule-cpu")
"""
The rules of the default schedule: which steps apply to a block, judged by its memory accesses. `--explain-schedule`
names them.

Each rule is a function in a separate file in `rules/`, all named alike; other packages add theirs with `add_rule`.
They are tried in order; a rule that does not apply to a block gives a reason.
"""


def add_rule(name: str, match: Match, *, before: str | None = None) -> None:
    """Register a rule, to be tried after all others or before a given one."""
    names = list(RULES)
    RULES.add(match, name)
    for later in names[names.index(before) :] if before is not None else ():
        RULES[later] = RULES.pop(later)


for rule in (
    matrix_units,
    partial_rows,
    extremes,
    scaled_sums,
    unpacked_rows,
    dot_kernel,
    terms_at_once,
    tiles,
    stencil,
    column_sums,
    transpose,
    look_ups,
    split_at_conditions,
    joined_rows,
    short_rows,
    bordered_rows,
    split_at_divisors,
):
    add_rule(rule.__name__.replace("_", "-"), rule)
