"""
Canonicalizations of graph operators: simplifications with the same result.

Only exact ones are included. `x + 0` is not simplified, as it turns -0 into +0, nor are `x * 0`, `x - x` and `x == x`,
whose results depend on NaN and infinities. Other packages add theirs with the same decorator:

    @simplifies(SquareOp)
    def square_of_negative(op: SquareOp) -> Operator | None:
        return SquareOp(op.operand.owner.operand) if isinstance(op.operand.owner, NegativeOp) else None
"""

# Importing the module of each family fills the table.
from relex.passes.graph.canonicalization import algebraic_identities, dataflow, shape
from relex.passes.graph.canonicalization.canonicalization_table import SIMPLIFICATIONS, Simplification, simplifies

__all__ = ["SIMPLIFICATIONS", "Simplification", "algebraic_identities", "dataflow", "shape", "simplifies"]


def __dir__() -> list[str]:
    return __all__
