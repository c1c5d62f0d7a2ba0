"""An operator without loops."""

from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition
from xdsl.universe import Universe

from relex.dialects.arrays import Array
from relex.dialects.relex import UnaryElementwise


@irdl_op_definition
class CubeOp(UnaryElementwise):
    """The third power."""

    name = "mine.cube"

    def evaluate(self, *operands: Array) -> Array:
        (x,) = operands
        return x * x * x


UNIVERSE = Universe(all_dialects={"mine": lambda: Dialect("mine", [CubeOp])})
