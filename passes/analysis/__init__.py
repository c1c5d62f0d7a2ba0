"""Analyses: what passes ask of graphs and loop functions. They do not modify the IR.

`analysis` makes one of a function, which is computed again only after a change. The names of this package are the ones
for use in passes of other packages; docs/analyses.md shows them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from relex.lazy import lazy_exports

if TYPE_CHECKING:
    from relex.dialects.sizes.modules import ModuleSizes as ModuleSizes
    from relex.dialects.tir.accesses import Access as Access
    from relex.dialects.tir.accesses import accesses as accesses
    from relex.dialects.tir.accesses import is_pure as is_pure
    from relex.dialects.tir.accesses import variables_in as variables_in
    from relex.passes.analysis.caching import Analysis as Analysis
    from relex.passes.analysis.caching import analysis as analysis
    from relex.passes.analysis.caching import keeping as keeping
    from relex.passes.analysis.dependence import block_accesses as block_accesses
    from relex.passes.analysis.dependence import carrying as carrying
    from relex.passes.analysis.dependence import dependences as dependences
    from relex.passes.analysis.dependence import may_conflict as may_conflict
    from relex.passes.analysis.loop_tree import blocks_in as blocks_in
    from relex.passes.analysis.loop_tree import find_block as find_block
    from relex.passes.analysis.loop_tree import find_loop as find_loop
    from relex.passes.analysis.loop_tree import function_of as function_of
    from relex.passes.analysis.loop_tree import loops_in as loops_in
    from relex.passes.analysis.loop_tree import loops_of as loops_of
    from relex.passes.analysis.op_patterns import pattern_of_function as pattern_of_function
    from relex.passes.analysis.work import Work as Work
    from relex.passes.analysis.work import work_of as work_of
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__)
