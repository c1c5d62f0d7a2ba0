"""Graph operators as `fuse-ops` sees them: their patterns, and the loops that they are going to become."""

from __future__ import annotations

from relex.dialects.relex import Operator
from relex.dialects.tir import OpPattern, PrimFuncOp
from relex.passes.analysis.op_patterns import stated_pattern


class OperatorPatterns:
    """The patterns and loops of operators, found once for each class, types and properties. With `strict`, sums keep
    their order."""

    def __init__(self, strict: bool):
        self._strict = strict
        self._patterns: dict[object, OpPattern] = {}
        self._loops: dict[object, PrimFuncOp | None] = {}

    def pattern(self, op: Operator) -> OpPattern:
        """Return the pattern of an operator: what its class states, or else the pattern of its loops; opaque if there
        are none."""
        key = _key(op)
        if key not in self._patterns:
            known = op.pattern if _is_lowered_as_stated(op) else None
            loops = self.loops(op) if known is None else None
            self._patterns[key] = known or (OpPattern.OPAQUE if loops is None else stated_pattern(loops))
        return self._patterns[key]

    def are_lowered(self, op: Operator) -> bool:
        """Return whether the table of legalizations has an entry for an operator."""
        from relex.lowering.legalizations import LEGALIZATIONS

        return LEGALIZATIONS.find(op) is not None

    def loops(self, op: Operator) -> PrimFuncOp | None:
        """Return the loops of an operator by the table of legalizations; None if it has no entry, or one for two
        loop functions."""
        from relex.lowering.legalizations import LEGALIZATIONS
        from relex.lowering.legalize_ops import loops_of

        key = _key(op)
        if key not in self._loops:
            legalize = LEGALIZATIONS.find(op)
            self._loops[key] = None if legalize is None else loops_of(op, legalize, strict=self._strict)
        return self._loops[key]


def _key(op: Operator) -> object:
    return type(op), tuple(op.operand_types), tuple(sorted(op.properties.items()))


def _is_lowered_as_stated(op: Operator) -> bool:
    """Return whether the package that states the pattern of an operator, in its class or a base class, has made the
    entry by which it is lowered, too."""
    from relex.lowering.legalizations.legalization_table import lowered_by

    stating = next(kind for kind in type(op).__mro__ if not {"pattern", "PATTERN"}.isdisjoint(vars(kind)))
    return stating.__module__.partition(".")[0] == lowered_by(op)
