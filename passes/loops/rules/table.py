"""The open table of rules, in the order in which they are tried."""

from __future__ import annotations

from relex.passes.loops.rules.columns import columns
from relex.passes.loops.rules.dot_kernels import dot_kernel
from relex.passes.loops.rules.extremes import extremes
from relex.passes.loops.rules.partial_rows import partial_rows
from relex.passes.loops.rules.rule import Rule
from relex.passes.loops.rules.terms_at_once import terms_at_once
from relex.passes.loops.rules.transposes import transpose
from relex.passes.loops.tiled_reductions import tile_reduction

RULES: list[Rule] = [
    Rule("partial-rows", partial_rows),
    Rule("extremes", extremes),
    Rule("dot-kernel", dot_kernel),
    Rule("terms-at-once", terms_at_once),
    Rule("tiles", tile_reduction),
    Rule("columns", columns),
    Rule("transpose", transpose),
]
