"""The open table of rules, in the order in which they are tried."""

from __future__ import annotations

from relex.dialects.table import Table
from relex.passes.cpu.columns import columns
from relex.passes.cpu.dot_kernels import dot_kernel
from relex.passes.cpu.extremes import extremes
from relex.passes.cpu.partial_rows import partial_rows
from relex.passes.cpu.rule import Match
from relex.passes.cpu.terms_at_once import terms_at_once
from relex.passes.cpu.tiled_reductions import tile_reduction
from relex.passes.cpu.transposes import transpose

RULES = Table[str, Match]("schedule-cpu")
"""
The rules of the default schedule: which steps suit a block, judged by its memory accesses. `--explain-schedule` names
them.

Each rule is a function in a file of its own; other packages add theirs with `add_rule`. They are tried in order; a rule
that does not suit a block gives a reason.
"""


def add_rule(name: str, match: Match, *, before: str | None = None) -> None:
    """Register a rule, to be tried after all others or before a given one."""
    names = list(RULES)
    RULES.add(match, name)
    for later in names[names.index(before) :] if before is not None else ():
        RULES[later] = RULES.pop(later)


add_rule("partial-rows", partial_rows)
add_rule("extremes", extremes)
add_rule("dot-kernel", dot_kernel)
add_rule("terms-at-once", terms_at_once)
add_rule("tiles", tile_reduction)
add_rule("columns", columns)
add_rule("transpose", transpose)
