"""Dense layers with their bias and relu as functions."""

from dataclasses import dataclass

from relex.dialects.relex import AddOp, DenseOp, ReluOp
from relex.passes.rewriting.outline import OutliningPass
from relex.passes.rewriting.patterns import op, wildcard


@dataclass(frozen=True)
class FuseLayersPass(OutliningPass):
    """Moves each dense layer with bias and relu into a separate function."""

    name = "fuse-layers"
    function_name = "layer"
    pattern = op(ReluOp, op(AddOp, op(DenseOp, wildcard("x"), wildcard("w")), wildcard("b")).commutative())
