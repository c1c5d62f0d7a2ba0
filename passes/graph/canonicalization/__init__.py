"""
What `canonicalize` knows about graph operators: the same result by less.

Only what is exact stands here. `x + 0` does not, as it turns -0 into +0, nor do `x * 0`, `x - x` and `x == x`, which
NaN and infinities make different from what they look like. Other packages add theirs with the same decorator:

    @simplifies(SquareOp)
    def square_of_negative(op: SquareOp) -> Operator | None:
        return SquareOp(op.operand.owner.operand) if isinstance(op.operand.owner, NegativeOp) else None
"""

# The module of each family fills the table when it is imported.
from relex.passes.graph.canonicalization import arithmetic, dataflow, shape
from relex.passes.graph.canonicalization.table import SIMPLIFICATIONS, Simplification, simplifies

__all__ = ["SIMPLIFICATIONS", "Simplification", "arithmetic", "dataflow", "shape", "simplifies"]
