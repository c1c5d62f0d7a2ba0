"""Names for the blocks and loops that a primitive creates."""

from __future__ import annotations

from collections.abc import Sequence

from relex.dialects.errors import fail
from relex.dialects.names import Names
from relex.dialects.tir import BlockOp, ForOp, PrimFuncOp
from relex.passes.analysis.loop_tree import structures_in


class NewNames:
    """The names that a step of a schedule gives to what it creates, or fresh ones if it gives none."""

    def __init__(self, func: PrimFuncOp, given: Sequence[str] = ()):
        self.taken: list[str] = []
        """The names in use, those of blocks first."""
        self._func, self._given = func, given

    def take(self, blocks: Sequence[str] = (), loops: Sequence[str] = ()) -> tuple[list[str], list[str]]:
        """Return names for new blocks and loops; where none are given, fresh ones made from these."""
        structures = list(structures_in(self._func))
        block_names = Names(op.block_name.data for op in structures if type(op) is BlockOp)
        loop_names = Names(op.label.data for op in structures if type(op) is ForOp and op.label is not None)
        new_blocks = self._choose(block_names, blocks, self._given[: len(blocks)])
        new_loops = self._choose(loop_names, loops, self._given[len(blocks) :])
        self.taken = [*new_blocks, *new_loops]
        return new_blocks, new_loops

    def _choose(self, in_use: Names, derived: Sequence[str], given: Sequence[str]) -> list[str]:
        if not given:
            return [in_use.fresh(name) for name in derived]
        if len(given) != len(derived):
            fail(self._func, f"expected {len(derived)} new names, found {len(given)}")
        for name in given:
            if in_use.fresh(name) != name:
                fail(self._func, f"expected new names that are free, found @{name}")
        return list(given)
