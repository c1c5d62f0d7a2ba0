"""The op of the `arith` dialect that xDSL's does not have, with MLIR's syntax and semantics."""

from __future__ import annotations

from xdsl.dialects.arith import FloatingPointLikeBinaryOperation
from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure


@irdl_op_definition
class RemFOp(FloatingPointLikeBinaryOperation):
    """
    The remainder of a division of floats that is truncated, as C's `fmod`: it has the sign of the dividend.

    ```mlir
    %r = arith.remf %a, %b : f32
    ```
    """

    name = "arith.remf"

    traits = traits_def(Pure())


MISSING_OPS: dict[str, type[Operation]] = {RemFOp.name: RemFOp}
"""Ops by name, for the parser."""
