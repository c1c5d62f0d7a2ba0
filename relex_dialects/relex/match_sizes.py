"""Names for sizes, and checks of them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from relex.dialects.dtypes import TensorConstr
from relex.dialects.errors import InferenceError
from relex.dialects.index.text import parse_index
from relex.dialects.relex.operator import tensor_type
from relex.dialects.relex.properties import TextsConstr, texts
from relex.dialects.relex.size_properties import texts_of


@irdl_op_definition
class MatchSizesOp(IRDLOperation):
    """
    The same tensor, whose sizes are what the program says: an expression of sizes that have names, such as those in
    `relex.dims` of arguments, or a new name, by which later ones call this size; an empty text says nothing. A size
    that is another one in a run is an error. The type of the result states numbers among them.

    ```mlir
    %a = relex.match_sizes %y sizes = ["n", ""] : (tensor<?x2xi64>) -> tensor<?x2xi64>
    %b = relex.match_sizes %z sizes = ["n + 1"] : (tensor<?xf32>) -> tensor<?xf32>
    %c = relex.match_sizes %v sizes = ["4"] : (tensor<?xf32>) -> tensor<4xf32>
    ```
    """

    name = "relex.match_sizes"

    operand = operand_def(TensorConstr)
    sizes = prop_def(TextsConstr)
    result = result_def(TensorConstr)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)

    assembly_format = "$operand `sizes` `=` $sizes attr-dict `:` functional-type($operand, $result)"

    def __init__(self, operand: SSAValue | Operation, sizes: Sequence[str]):
        value = SSAValue.get(operand)
        t = tensor_type(value.type)
        shape = [_stated(text, size) for text, size in zip(sizes, t.get_shape(), strict=True)]
        result = TensorType(t.element_type, shape)
        super().__init__(operands=[value], result_types=[result], properties={"sizes": texts(sizes)})

    @property
    def texts(self) -> list[str]:
        """What the program says of each size."""
        return texts_of(self.properties, "sizes", tensor_type(self.operand.type).get_num_dims())

    def verify_(self) -> None:
        operand, result = tensor_type(self.operand.type), tensor_type(self.result.type)
        try:
            shape = [_stated(text, size) for text, size in zip(self.texts, operand.get_shape(), strict=True)]
        except (InferenceError, ValueError) as e:
            raise VerifyException(str(e)) from e
        expected = TensorType(operand.element_type, shape)
        if result != expected:
            raise VerifyException(f"expected result type {expected}, found {result}")


def _stated(text: str, size: int) -> int:
    """Return a size of the result: the number that a text or the type of the operand states. Raises `ValueError` if
    they state two."""
    said = parse_index(text) if text else size
    if not isinstance(said, int) or said == size:
        return size
    if size != DYNAMIC_INDEX or said < 0:
        raise ValueError(f"expected a size of {'0 or more' if said < 0 else size}, found {said}")
    return said
